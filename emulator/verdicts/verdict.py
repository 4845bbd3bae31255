"""A verdict: one conclusion about a run, with its numbers; and the evidence that it follows from."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeVar

from assignors.values import dataclass
from emulator.ledger.entries import Ledger
from emulator.metrics.catalogue import VALUES
from emulator.metrics.metrics import Metrics
from emulator.report.wording import duration, joined
from emulator.scenario.estimates.loads import Load
from emulator.verdicts.facts import Facts
from emulator.verdicts.group import POLL, Stalled, Stuck, Wait

MAX_NAMED = 3
"""Partitions, faults or consumers named in a sentence; the others are counted."""


LONG_S: Final = 60
"""So long a time without an owner, or without brokers, is a problem."""


class VerdictId(enum.StrEnum):
    """The id of a verdict, as in JSON."""

    FAULT_MISSED = "fault-missed"
    ACT_REFUSED = "act-refused"
    FAULT_LASTING = "fault-lasting"
    WITHOUT_OWNER = "without-owner"
    REBALANCING = "rebalancing"
    SESSION_RUNNING = "session-running"
    IN_FLIGHT = "in-flight"
    REPROCESSING = "reprocessing"
    NOTHING_PROCESSED = "nothing-processed"
    MEMBERS_DIED = "members-died"
    GROUP_DEAD = "group-dead"
    MEMBER_LOOP = "member-loop"
    PARTITION_STUCK = "partition-stuck"
    PARTITION_STALLED = "partition-stalled"
    LONG_DOWNTIME = "long-downtime"
    UNAVAILABLE = "unavailable"
    DELETED_TOPIC = "deleted-topic"
    OLD_TOPIC_OFFSETS = "old-topic-offsets"
    TOPIC_REBALANCES = "topic-rebalances"
    FOUND_LATE = "found-late"
    BACKLOG_UNREAD = "backlog-unread"
    OVERLOAD = "overload"
    LAG_GROWS = "lag-grows"
    LISTENER_THREW = "listener-threw"
    KILLED_IN_GROUP = "killed-in-group"
    REMOVED_IN_CLOSE = "removed-in-close"
    REMOVED_ASSIGNING = "removed-assigning"
    SHARED_GROUP = "shared-group"
    GROUP_HANDOVER = "group-handover"
    AUTOSCALER_FLAPS = "autoscaler-flaps"
    IDLE_REPLICAS = "idle-replicas"
    SCALING_REPEATS = "scaling-repeats"
    DEPLOY_STOPPED = "deploy-stopped"
    MONITOR_WRONG = "monitor-wrong"
    ASSIGNOR_CHANGED = "assignor-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One conclusion about a run."""

    id: VerdictId
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The numbers in the sentence, by name."""

    group: str = ""
    """The group that it is about; empty: the run."""

    reasons: frozenset[str] = frozenset()
    """Why its members left, were removed, or ended."""

    problem: bool = False
    """Whether it names a dead, stuck or looping group or member."""

    cut_short: frozenset[str] = frozenset()
    """The metrics whose values the end of the run cut short; empty: the verdict is conclusive."""

    @property
    def inconclusive(self) -> bool:
        """Whether the run was too short, or did not do what the scenario says."""
        return bool(self.cut_short)

    @property
    def is_outcome(self) -> bool:
        """Whether it says what went right."""
        return not (self.problem or self.inconclusive)


_INDEPENDENT = ("requests", "log_", "member_hours", "run_s", "unreadable_", "commit_messages_lost")
"""Beginnings of the names of metrics that do not follow from a group's recovery."""

EVERYTHING = frozenset(metric.name for metric in VALUES)
CONSEQUENCES = frozenset(name for name in EVERYTHING if not name.startswith(_INDEPENDENT))
"""Metrics of a group whose recovery is incomplete."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that verdicts follow from."""

    ledger: Ledger
    metrics: Metrics
    facts: Facts
    loads: Sequence[Load] = ()
    backlogs: Mapping[str, int] = field(default_factory=dict)
    """The records of each partition of a topic that were there before the run."""

    def unread(self) -> dict[tuple[str, str], int]:
        """Return what first owners that started at the end left of backlogs, by group and topic."""
        found = Counter[tuple[str, str]]()
        for group, topic, skipped in self.facts.skipped:
            found[group, topic] += min(skipped, self.backlogs.get(topic, 0))
        return {key: number for key, number in found.items() if number}


def named(names: Sequence[str]) -> str:
    """Return the first names and the number of the others.

    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 others')
    """
    more = len(names) - MAX_NAMED
    others = [f"{more} other{'s' if more > 1 else ''}"] if more > 0 else []
    return joined([*names[:MAX_NAMED], *others])


Standing = TypeVar("Standing", Stuck, Stalled)


def culprit(
    standing: Sequence[Standing], slow_records: Sequence[str], badness: Callable[[Standing], Any]
) -> tuple[Standing, str]:
    """Return the partition that holds its group up, with the clause that names its record.

    The one with a slow or failing record is behind the standstill of the others, which have the same
    owner; without one it is the worst by *badness*, and the clause is empty.
    """
    clauses = {
        each.partition: slow_record_text(slow_records, str(each.partition), each.offset)
        for each in standing
    }
    worst = max(standing, key=lambda each: (bool(clauses[each.partition]), badness(each)))
    return worst, clauses[worst.partition]


def no_process_text(facts: Facts, group: str) -> str:
    """Return a clause that says that no process of a group runs at the end; empty: one does.

    It is also empty for a group of which processes ended with an error: that is a verdict of its own.
    """
    known = any(each.running or each.failures for each in facts.groups if each.group == group)
    return "" if known else f": no process of {group} runs any more"


def longest_wait(facts: Facts, partition: str, downtime_s: float) -> Wait | None:
    """Return the longest wait of a rebalance that explains a downtime; None: none does.

    *partition* had no owner for *downtime_s*: waits of its group count, of at least half of that time.
    """
    longest = longest_wait_for(facts, partition)
    if longest is None or longest.lasted_us / 1_000_000 < downtime_s / 2:
        return None
    return longest


def longest_wait_for(facts: Facts, partition: str) -> Wait | None:
    """Return the longest wait of a rebalance of a partition's group; *partition*: as metrics name it."""
    waits = [
        group.longest_wait
        for group in facts.groups
        if group.longest_wait is not None
        and ("/" not in partition or partition.startswith(f"{group.group}/"))
    ]
    return max(waits, key=lambda wait: wait.lasted_us, default=None)


def wait_text(wait: Wait | None) -> str:
    """Return a clause that names the members a rebalance waited for; empty without a wait."""
    if wait is None:
        return ""
    waited = (
        f": a rebalance waited {duration(wait.lasted_us / 1_000_000)} for {named(wait.members)}"
    )
    if wait.expired:
        return waited + _of_session(wait)
    if wait.again:
        lasted = duration(wait.lasted_us / 1_000_000)
        return f": a rebalance waited {lasted} for SyncGroup, until {wait.members[0]} began another"
    verb = "call" if wait.missing == POLL else "send"
    return (
        f"{waited} to {verb} {wait.missing}, up to its rebalance timeout "
        "(max.poll.interval.ms of Java clients)"
    )


def _of_session(wait: Wait) -> str:
    """Return what a rebalance waited for that ended when a session expired."""
    until = "until the session expired (session.timeout.ms)"
    if wait.ended_us is None:
        return f", which sent no heartbeats, {until}"
    silent = duration(min(wait.ended_us, wait.lasted_us) / 1_000_000)
    if wait.ended_us >= wait.lasted_us:
        return f", whose process had ended, {until}"
    before = duration((wait.lasted_us - wait.ended_us) / 1_000_000)
    return f": {before} until its process ended, then {silent} {until}"


NEAR = 500
"""A record so many offsets behind a standstill may be in the batch that does not end."""


def slow_record_text(records: Sequence[str], partition: str, offset: int) -> str:
    """Return a clause that names the record at which a partition stands still; empty: unknown.

    *records*: those with work of their own that were met, as ``record 60 of orders-0``; of a rule for
    many records only the first one.

    >>> slow_record_text(["record 19 of t-0", "record 60 of t-0"], "t-0", 55)
    '; record 60 of t-0 is the one that takes long or fails'
    >>> slow_record_text(["record 19 of t-0"], "t-0", 55)
    '; a rule of the scenario makes records of t-0 take long or fail'
    >>> slow_record_text(["record 19 of t-1"], "t-0", 55)
    ''
    """
    own = [record for record in records if record.endswith(f" of {partition}")]
    for record in own:
        if offset <= int(record.split()[1]) < offset + NEAR:
            return f"; {record} is the one that takes long or fails"
    return f"; a rule of the scenario makes records of {partition} take long or fail" if own else ""
