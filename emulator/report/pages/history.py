"""What the timeline of a run shows, collected from its events: owners, members, faults, lag."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.report.event_wording import EPOCH, GENERATION, fault_words
from emulator.report.timeline import SCALING_VERBS


class Span(NamedTuple):
    """An owner of a partition, or the state of a member, for some time."""

    begin_us: int
    end_us: int
    name: str


class MemberState(enum.StrEnum):
    """The state of a member's process, as its lane shows it."""

    MEMBER = "member"
    OUTSIDE = "not a member"
    PAUSED = "paused"


class Moment(NamedTuple):
    """A fault, for as long as it lasts."""

    begin_us: int
    end_us: int
    verb: str
    text: str


class Sample(NamedTuple):
    """The offsets of a group at one time, summed over its partitions."""

    at_us: int
    log_end: int
    processed: int
    committed: int


class Step(NamedTuple):
    """One step of an autoscaler."""

    at_us: int
    before: int
    after: int
    words: str
    """Why, and what it cost."""


class Watched(NamedTuple):
    """A standstill of a partition, or an alarm of a monitor."""

    begin_us: int
    end_us: int
    kind: str
    """``stuck``, ``missed``, ``alarm`` or ``false-alarm``: the class of its shape."""

    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Automation:
    """What the autoscaler and the monitors of a group did."""

    replicas: int | None
    """Those at the beginning of the run; None: the group has no autoscaler."""

    steps: tuple[Step, ...]
    monitors: Mapping[str, tuple[Watched, ...]]
    """By monitor: the standstills and its alarms."""


@dataclass(slots=True)
class GroupHistory:
    """One consumer group."""

    name: str
    owners: dict[TopicPartition, list[Span]] = field(default_factory=dict)
    members: dict[str, list[Span]] = field(default_factory=dict)
    """By consumer: its states; no state while the process does not run."""

    rebalances: list[Span] = field(default_factory=list)
    """Each from its start until the group is stable, with its reason."""

    samples: list[Sample] = field(default_factory=list)
    epochs: list[tuple[int, bool]] = field(default_factory=list)
    """Whether the group counts epochs, instead of generations, from a time on."""

    automation: Automation | None = None
    """What its autoscaler and monitors did; None: it has neither."""

    def term(self, at_us: int) -> str:
        """Return what the group counts at a time: generations or epochs."""
        known = [counts for since_us, counts in self.epochs if since_us <= at_us]
        return EPOCH if known and known[-1] else GENERATION


@dataclass(slots=True)
class History:
    """Everything that the timelines of a run show, except its ledger."""

    groups: dict[str, GroupHistory] = field(default_factory=dict)
    faults: list[Moment] = field(default_factory=list)
    end_us: int = 0
    events: int = 0
    """The number of events of the run, those in sums included."""


class Historian:
    """Collects the history of a run; pass every event to ``feed``, then call ``close`` once."""

    def __init__(self) -> None:
        self._history = History()
        self._open: dict[tuple[str, TopicPartition, str], int] = {}
        self._states: dict[str, tuple[str, int, MemberState]] = {}
        """By consumer: its group, since when, and its state."""

        self._member_ids: dict[str, str] = {}
        """By consumer: the newest of its member ids."""

        self._before_pause: dict[str, MemberState] = {}
        self._unstable: dict[str, tuple[int, str]] = {}
        self._faults: dict[str, Moment] = {}
        """Those without an end yet."""

        self._steps: set[str] = set()
        """Steps of autoscalers: the starts and stops that they make are not shown."""

        self._handlers: dict[type, Callable[[int, Any], None]] = {
            ev.EpochOpened: self._opened,
            ev.EpochClosed: self._closed,
            ev.ConsumerStarted: self._started,
            ev.ConsumerStopped: lambda at, w: self._change(at, w.consumer, None),
            ev.ConsumerPaused: self._paused,
            ev.ConsumerResumed: self._resumed,
            ev.MemberAdded: self._added,
            ev.MemberRemoved: self._removed,
            ev.ClientDropped: lambda at, w: self._change(at, w.consumer, MemberState.OUTSIDE),
            ev.RebalanceStarted: lambda at, w: self._disturbed(at, w.group, w.reason),
            ev.GroupEpochRaised: self._raised,
            ev.GroupConverted: lambda at, w: self._count(at, w.group, w.protocol == "consumer"),
            ev.GroupStabilised: lambda at, w: self._settled(at, w.group),
            ev.GroupEmptied: lambda at, w: self._settled(at, w.group),
            ev.FaultBegan: self._fault_began,
            ev.FaultEnded: self._fault_ended,
            ev.LagSampled: self._sampled,
        }

    def feed(self, event: ev.Event) -> None:
        """Add an event, if the timeline shows it."""
        self._history.events += _single_events(event.what)
        self._history.end_us = event.at_us
        handler = self._handlers.get(type(event.what))
        if handler is not None and not ev.by_replaced_coordinator(event.what):
            handler(event.at_us, event.what)

    def close(self) -> History:
        """Return the history; what still lasts ends with the run."""
        end_us = self._history.end_us
        for (group, partition, consumer), begin_us in self._open.items():
            self._owners(group, partition).append(Span(begin_us, end_us, consumer))
        for consumer in list(self._states):
            self._change(end_us, consumer, None)
        for group in list(self._unstable):
            self._settled(end_us, group)
        from emulator.report.fault_wording import lasts  # noqa: PLC0415  logs of real groups have no faults

        faults = [
            moment._replace(end_us=end_us) if lasts(moment.verb) else moment
            for moment in self._faults.values()
        ]
        self._history.faults = sorted([*self._history.faults, *faults])
        for found in self._history.groups.values():
            for spans in found.owners.values():
                spans.sort()
        return self._history

    def _group(self, name: str) -> GroupHistory:
        return self._history.groups.setdefault(name, GroupHistory(name))

    def _owners(self, group: str, partition: TopicPartition) -> list[Span]:
        return self._group(group).owners.setdefault(partition, [])

    # -- owners ------------------------------------------------------------------------------

    def _opened(self, at_us: int, what: ev.EpochOpened) -> None:
        self._owners(what.group, what.partition)
        self._open.setdefault((what.group, what.partition, what.consumer), at_us)

    def _closed(self, at_us: int, what: ev.EpochClosed) -> None:
        if what.why == ev.End.REOPENED:
            return
        begin_us = self._open.pop((what.group, what.partition, what.consumer), None)
        if begin_us is not None:
            self._owners(what.group, what.partition).append(Span(begin_us, at_us, what.consumer))

    # -- members -----------------------------------------------------------------------------

    def _started(self, at_us: int, what: ev.ConsumerStarted) -> None:
        self._group(what.group).members.setdefault(what.consumer, [])
        self._states[what.consumer] = (what.group, at_us, MemberState.OUTSIDE)

    def _added(self, at_us: int, what: ev.MemberAdded) -> None:
        self._member_ids[what.consumer] = what.member_id
        self._change(at_us, what.consumer, MemberState.MEMBER)

    def _removed(self, at_us: int, what: ev.MemberRemoved) -> None:
        """Note the end of a membership, unless it is that of an earlier process."""
        if self._member_ids.get(what.consumer) == what.member_id:
            self._change(at_us, what.consumer, MemberState.OUTSIDE)

    def _paused(self, at_us: int, what: ev.ConsumerPaused) -> None:
        known = self._states.get(what.consumer)
        if known is not None:
            self._change(at_us, what.consumer, MemberState.PAUSED)
            self._before_pause[what.consumer] = known[2]

    def _resumed(self, at_us: int, what: ev.ConsumerResumed) -> None:
        before = self._before_pause.pop(what.consumer, MemberState.MEMBER)
        self._change(at_us, what.consumer, before)

    def _change(self, at_us: int, consumer: str, state: MemberState | None) -> None:
        """Begin another state of a running process; None: it ended."""
        known = self._states.get(consumer)
        if known is None:
            return
        group, since_us, before = known
        if state is not None and consumer in self._before_pause and before is MemberState.PAUSED:
            self._before_pause[consumer] = state
            return
        if state is before:
            return
        if since_us < at_us:
            self._group(group).members[consumer].append(Span(since_us, at_us, before))
        if state is None:
            del self._states[consumer]
        else:
            self._states[consumer] = (group, at_us, state)

    # -- the group ---------------------------------------------------------------------------

    def _raised(self, at_us: int, what: ev.GroupEpochRaised) -> None:
        self._count(at_us, what.group, True)
        self._disturbed(at_us, what.group, what.reason)

    def _count(self, at_us: int, group: str, epochs: bool) -> None:
        counted = self._group(group).epochs
        if epochs != (counted[-1][1] if counted else False):
            counted.append((at_us, epochs))

    def _disturbed(self, at_us: int, group: str, reason: str) -> None:
        self._unstable.setdefault(group, (at_us, reason))

    def _settled(self, at_us: int, group: str) -> None:
        began = self._unstable.pop(group, None)
        if began is not None:
            self._group(group).rebalances.append(Span(began[0], at_us, began[1]))

    def _sampled(self, at_us: int, what: ev.LagSampled) -> None:
        total = Sample(
            at_us,
            sum(what.log_ends),
            sum(max(offset, 0) for offset in what.processed),
            sum(max(offset, 0) for offset in what.committed),
        )
        self._group(what.group).samples.append(total)

    # -- faults ------------------------------------------------------------------------------

    def _fault_began(self, at_us: int, what: ev.FaultBegan) -> None:
        if what.verb in SCALING_VERBS:
            self._steps.add(what.fault)
        if what.fault.partition("/")[0] in self._steps and "/" in what.fault:
            return
        scales = what.verb in SCALING_VERBS
        words = f"autoscaler: {what.target}" if scales else fault_words(what)
        moment = Moment(at_us, at_us, what.verb, words)
        self._faults[what.fault] = moment

    def _fault_ended(self, at_us: int, what: ev.FaultEnded) -> None:
        began = self._faults.pop(what.fault, None)
        if began is not None:
            self._history.faults.append(began._replace(end_us=at_us))


def _single_events(what: ev.What) -> int:
    """Return the number of single events that an event stands for: of a sum, more than one."""
    match what:
        case ev.CommitsCounted():
            return 3 * what.commits
        case ev.AppendsCounted():
            return what.times
        case ev.ProgressCounted():
            return what.times * len(what.ends)
    return 1
