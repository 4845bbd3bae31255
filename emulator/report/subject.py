"""The subject of a report as plain values: reports do not depend on the scenario's classes."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from assignors.values import dataclass
from emulator.ledger.entries import Ledger
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics
from emulator.report.group_state import DescribedGroup
from emulator.report.timeline import Timeline
from emulator.report.wording import paragraph
from emulator.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from emulator.metrics.checks import Expected
    from emulator.report.proposals import Proposal, Trial

OWN_HANDLER = "own handler"
"""Begins the words of a handler that is code of the user."""

COOPERATIVE_STICKY = "cooperative-sticky"
MAX_GROUPS = 3

SET_BY_BROKERS = ("session.timeout.ms", "heartbeat.interval.ms")
"""Consumer settings for which the consumer protocol uses the brokers' settings instead."""


class Commits(enum.StrEnum):
    """How members commit: a call, and more about it."""

    AUTO = "auto"
    NONE = "none"
    SYNC = "sync"
    ASYNC = "async"
    BACKGROUND = "auto, in the background"
    """Automatic commits of a client that works in the background, while the handler works."""

    EARLIER_POLLS = "auto, earlier polls"
    """Automatic commits cover the records of earlier polls, not the batch in hand."""

    NONE_AT_REVOCATION = "auto, none at revocations"
    """A callback of the application takes the place of those before partitions are given away."""

    STORE = "store"
    """Automatic commits cover the offsets that the application has stored."""

    STORED_ONLY = "stored only"
    """The application stores offsets, and nothing commits them: automatic commits are disabled."""

    BEFORE_WORK = "before work"
    EACH_RECORD = "each record"
    INTERVAL = "at an interval"
    NO_OFFSETS = "no offsets"
    """The call has no offsets: it commits everything that poll() returned."""

    NO_EPOCH = "no leader epoch in the offsets"
    IN_LISTENER = "also in the rebalance listener"
    KEPT = "kept"
    """The application keeps what a rebalance refuses, and commits it again behind its next poll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """A consumer group and its settings in force."""

    id: str
    members: int
    assignors: tuple[str, ...]
    cooperative: bool
    """Whether its members keep the partitions that do not move during a rebalance."""

    becomes_cooperative: bool = False
    """Whether a deploy gives its members an assignor, or a protocol, with which they do."""

    by_coordinator: bool = False
    """Whether it uses the consumer protocol: the coordinator assigns, and sets the timeouts."""

    finds_topics: bool = True
    """Whether its members find new topics and partitions by their own metadata, not the coordinator."""

    mixed: bool = False
    """Whether it begins with members of both protocols."""

    static: bool
    """Whether all its members have instance ids."""

    shared: bool
    """Whether its assignor intentionally assigns a partition to several members."""

    commits: str
    """When its members commit, in words: ``auto commit every 5s``."""

    framework: str = ""
    """Its framework, with what that sets; empty: it names none."""

    handler: str = ""
    """Its pool of workers, in words; empty: each member processes its records one by one."""

    queue: int = 0
    """Records that its pool of workers holds at most; 0: it has no pool."""

    repeats_batches: bool = False
    """Whether its batch listener throws exceptions that do not name the failed record."""

    commit_kinds: frozenset[Commits]
    """How its members commit."""

    clients: tuple[str, ...] = ("java",)
    """The clients of its members, in the order of the file."""

    own_names: Mapping[str, str] = field(default_factory=dict)
    """Names of its client for settings, by Kafka's names."""

    can_cooperate: bool = True
    """Whether all its clients have a cooperative assignor."""

    lacks: frozenset[str] = frozenset()
    """Settings of the Java consumer that none of its clients has."""

    stores: str = ""
    """The call with which its application stores offsets for automatic commits; empty: none."""

    by_hand: tuple[str, ...] = ()
    """Its members that assign partitions to themselves (``assign()``)."""

    new_ids: bool = False
    """Whether a deploy gives its static members new names, and with them new instance ids."""

    names_change: bool = False
    """Whether a deploy gives members new names, or starts a new one before the old one ends."""

    has_id: bool = True
    """Whether its members have a ``group.id``; without one they commit nothing."""

    closes_early: bool = False
    """Whether its members wait less for the end of close() than Kafka's default."""

    deviations: tuple[str, ...] = ()
    """The keys of ``deviates``, and ``coordinator_lookup``, in which a member differs from its client."""

    fenced_alone: bool = False
    """Whether static members can be fenced, or refused, without another process that has their id."""

    unfenced: bool = False
    """Whether it writes results with offsets to a database that rejects no former owner."""

    joins_s: float = 0.0
    """The time that the coordinator needs for one JoinGroup of each member."""

    deployed_interval_ms: int | None = None
    """``max.poll.interval.ms`` of a deploy, if it is shorter than the one before; None: it is not."""

    starts_us: tuple[int, ...] = ()
    """When its members start that no act starts, the earliest first."""

    starts_again: bool = False
    """Whether members that were stopped start again."""

    grace_us: int | None = None
    """The shortest time that an act leaves its processes from SIGTERM to SIGKILL; None: none kills."""

    work_us: float = 0.0
    """The mean work on a record, of the member with the most."""

    slowest_us: float = 0.0
    """The longest work on one record: of a rule for slow or failing records, of a hang, or the mean."""

    listener_us: float = 0.0
    """The mean duration of a call of the rebalance listener."""

    work_by_member: Mapping[str, float] = field(default_factory=dict)
    """The mean work of each member on a record, in microseconds."""

    work_by_topic: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The same by member and topic, if it depends on the topic; else empty."""

    autoscaler: str = ""
    """Its autoscaler in words; empty: it has none."""

    arrival_per_s: float = 0.0
    """Records per second that arrive for it until the end of the run."""

    peak_per_s: float = 0.0
    """The most that arrives at any time of the run, where rates change; 0: none changes."""

    capacity_per_s: float = 0.0
    """Records per second that its members together, as many as run at a time, can process."""

    overload: str = ""
    """What arrives for it and what it can process, if that is less, in words; empty: it is not."""

    speeds: Mapping[str, float] = field(default_factory=dict)
    """Records per second that each member can process."""

    max_running: int = 0
    """The largest number of its members that run at a time."""

    offsets: str = "kafka"
    """Where its offsets are: ``kafka``, ``zookeeper`` or ``database``."""

    store_bound: bool = False
    """Whether its capacity is that of the database with its offsets."""

    settings: Mapping[str, Any]
    """Kafka's consumer settings of its first member, by name; with the consumer protocol, the
    brokers' own settings in place of those that brokers determine."""

    def name_of(self, setting: str) -> str:
        """Return the name of a consumer setting where it is configured for this group."""
        by_brokers = self.by_coordinator and setting in SET_BY_BROKERS
        return f"group.consumer.{setting}" if by_brokers else setting

    def value(self, setting: str) -> Any:
        """Return the value in force of a consumer setting."""
        return self.settings[self.name_of(setting)]

    @property
    def arrival_per_member_s(self) -> float:
        """Records per second that arrive for one of its members on average."""
        return self.arrival_per_s / self.members

    @property
    def stays_eager(self) -> bool:
        """Whether each rebalance stops all its partitions, though its clients know another way."""
        can = self.can_cooperate and not self.is_by_hand
        return can and not (self.cooperative or self.becomes_cooperative)

    @property
    def is_by_hand(self) -> bool:
        """Whether all its members assign partitions to themselves: no assignor runs."""
        return len(self.by_hand) == self.members

    @property
    def switch(self) -> str:
        """How to change a running group to a cooperative assignor (KIP-429)."""
        others = [name for name in self.assignors if name != COOPERATIVE_STICKY]
        if len(others) == len(self.assignors):
            return "switching a running group takes two rolling restarts"
        return f"one rolling restart that removes {' and '.join(others)} from the list is enough"

    @property
    def batch_us(self) -> float | None:
        """The time of a full batch; None: it has no limit, or workers process it."""
        if self.handler or "max.poll.records" in self.lacks:
            return None
        return int(self.value("max.poll.records")) * self.work_us

    @property
    def shortest_interval_ms(self) -> int:
        """The shortest ``max.poll.interval.ms`` in force: of the group, or of a deploy."""
        if self.deployed_interval_ms is not None:
            return self.deployed_interval_ms
        return int(self.value("max.poll.interval.ms"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One scenario, as in the heading of a report."""

    name: str
    """Its name on the command line: a file or a name of the catalogue."""

    options: str
    """The options that repeat the same run, as `` --set …``; may be empty."""

    title: str
    kafka: str
    run_for: str
    until_settled: bool = False
    """Whether a run ends when it has settled; then ``run_for`` is its limit."""

    run_for_s: float = 0.0
    """The same in seconds."""

    loss: float = 0.0
    """The largest share of group messages that a direction of the network loses."""

    groups: tuple[GroupFacts, ...]
    broker_settings: Mapping[str, Any]
    outdated: tuple[str, ...] = ()
    """The keys of ``[cluster]`` in which the coordinators are those of an older version of Kafka."""

    lag_unit: str = "record"
    """What lag counts: offsets, if some of them hold no record."""

    moment: Callable[[int], str]
    """Returns a time of the run, given in microseconds, in readable form."""

    def group(self, group_id: str) -> GroupFacts:
        """Return a group by its id."""
        return next(group for group in self.groups if group.id == group_id)


def heading(subject: Subject, seeds: str) -> Iterator[str]:
    """Yield the first lines of a report."""
    yield from title_lines(subject, seeds)
    for group in subject.groups[:MAX_GROUPS]:
        yield from paragraph(in_force(group), "", "  ")
    if len(subject.groups) > MAX_GROUPS:
        yield f"and {len(subject.groups) - MAX_GROUPS} more groups"


def overload_lines(subject: Subject) -> Iterator[str]:
    """Yield the overloads of a scenario, which are known before a run; most have none."""
    overloads = [group.overload for group in subject.groups if group.overload]
    if overloads:
        yield from ("", "OVERLOAD, by the scenario's rates and work times")
    for text in overloads:
        yield from paragraph(text, "  - ")


def seeds_named(seeds: Sequence[int]) -> str:
    """Return consecutive seeds as a report names them."""
    several = len(seeds) > 1
    return f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}" if several else f"seed {seeds[0]}"


def title_lines(subject: Subject, seeds: str) -> list[str]:
    """Return the title of a report, with its seeds, Kafka's version and the length of a run."""
    parts = [subject.title, seeds, f"Apache Kafka {subject.kafka}", f"{subject.run_for} long"]
    return paragraph(" | ".join(parts), "", "  ")


def in_force(group: GroupFacts, besides: GroupFacts | None = None) -> str:
    """Return the settings of a group that determine the cost of a failure.

    *besides*: the same group elsewhere; settings that both have are left out.
    """
    known = [] if besides is None else _parts(besides)
    parts = [part for part in _parts(group) if part not in known]
    return f"{group.id}: {', '.join(parts) or 'as in the first column'}"


def _parts(group: GroupFacts) -> list[str]:
    protocol = "cooperative" if group.cooperative else "eager"
    if group.by_coordinator:
        protocol = "group.protocol=consumer"
    if group.mixed:
        protocol += "; members of both protocols"
    shown = [name for name in NAMED if name not in group.lacks and group.value(name) != INT_MAX]
    members = f"{group.members} {'static ' if group.static else ''}members"
    named = [] if group.clients == ("java",) else [f"client {' and '.join(group.clients)}"]
    if group.deviations:
        named.append(f"deviates in {', '.join(group.deviations)}")
    return [
        group.autoscaler or (members.removesuffix("s") if group.members == 1 else members),
        *named,
        *_assigned(group, f"{', '.join(group.assignors)} ({protocol})"),
        *filter(None, [group.framework, group.handler]),
        group.commits,
        *(f"{group.name_of(name)}={group.value(name)}" for name in shown),
    ]


def _assigned(group: GroupFacts, by_group: str) -> list[str]:
    """Return who assigns partitions: the group, its members by themselves, or some of them."""
    without = [] if group.has_id else ["no group.id"]
    if group.is_by_hand:
        return [*without, "assign()"]
    beside = [f"{len(group.by_hand)} of them with assign()"] if group.by_hand else []
    return [*beside, by_group]


NAMED = ("session.timeout.ms", "max.poll.interval.ms", "max.poll.records", "auto.offset.reset")
INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A finished run and its subject."""

    subject: Subject
    seed: int
    digest: str
    ledger: Ledger
    metrics: Metrics
    findings: tuple[Finding, ...]
    expectations: tuple[Expected, ...]
    verdicts: tuple[Verdict, ...] = ()
    timeline: Timeline
    groups: tuple[DescribedGroup, ...]
    """Each group as its coordinator would describe it at the end."""

    folded: float = 1.0
    """The part of the members' time that was computed without events."""

    live: Mapping[str, float] = field(default_factory=dict)
    """The other parts, by reason, the largest first."""

    proposals: tuple[Proposal, ...] = ()
    """Changes that its hints recommend, with values for its scenario."""

    trials: tuple[Trial, ...] = ()
    """The changes that were tried, the most useful first."""
