"""Explain one ledger entry as a sequence of events: owners, polls, and commits with their outcomes.

The chain of an entry contains the first events; this module adds the events of the two owners,
their group and their commits on that partition, from the first event of the chain on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC, Coordinators
from emulator.ledger.entries import Cause, Entry, EntryKind
from emulator.report.event_wording import event_text, instant_text, offset_of, term_of
from emulator.report.screens.entry import Line, LogPosition, collapse_repetitions
from emulator.report.starts import Starts
from emulator.report.timeline import GroupStarts, group_start
from emulator.report.wording import offset_range

Accepted = ev.CommitAccepted | ev.OffsetsStored
Commit = ev.CommitSent | ev.CommitAccepted | ev.OffsetsStored | ev.CommitRefused
ReplicaEvent = ev.LeaderChanged | ev.IsrChanged | ev.PartitionStalled | ev.PartitionResumed

PRELUDE = 4
"""Commits, and replica events, included from before the first event of the chain."""

GROUP_EVENTS = (
    ev.RebalanceStarted,
    ev.AssignorRan,
    ev.JoinPhaseEnded,
    ev.GroupConverted,
    ev.GroupEpochRaised,
    ev.TargetComputed,
    ev.GroupStabilised,
    ev.GroupEmptied,
    ev.CoordinatorMoved,
)
MEMBER_EVENTS = (ev.MemberAdded, ev.MemberRemoved, ev.MemberMoved, ev.ClientDropped)
PROCESS_EVENTS = (
    ev.ConsumerStarted,
    ev.ConsumerStopped,
    ev.ConsumerPaused,
    ev.ConsumerResumed,
)
PROCESSED = (ev.Processed, ev.ProcessedOutOfOrder)
PARTITION_EVENTS = (ev.EpochOpened, ev.EpochClosed, ev.NotProcessed, ev.PartlyProcessed)
TOPIC_EVENTS = (ev.TopicCreated, ev.PartitionsAdded, ev.TopicDeleted)

OF_COMMITS_IN_SYNC = frozenset({Cause.NOT_REPLICATED, Cause.STALE_COORDINATOR})
OF_RECORDS_IN_SYNC = frozenset({Cause.TRUNCATED, Cause.LEADER_ALONE, Cause.OUT_OF_RANGE})
"""Causes that may begin with lagging replicas, of the offsets topic or the entry's topic."""


def explain(entry: Entry, events: Sequence[ev.Event]) -> tuple[Line, ...]:
    """Return the sequence of events that shows how *entry* came about, in order."""
    selection = _Selection(entry, events)
    for event in events:
        if event.row > selection.until:
            break
        selection.feed(event)
    return tuple(collapse_repetitions(list(selection.lines())))


def _instants(events: Iterable[ev.Event]) -> frozenset[str]:
    """Return the faults that ended as they began, such as a permanent crash or a created topic.

    Only their effect lasts; the end of such a fault is not shown.
    """
    began: dict[str, int] = {}
    over = set()
    for event in events:
        match event.what:
            case ev.FaultBegan(fault=fault):
                began[fault] = event.at_us
            case ev.FaultEnded(fault=fault) if began.get(fault) == event.at_us:
                over.add(fault)
    return frozenset(over)


def _unsent(events: Iterable[ev.Event]) -> frozenset[str]:
    """Return the commits that clients refused without sending them."""
    refused = (event.what for event in events if isinstance(event.what, ev.CommitRefused))
    return frozenset(what.commit for what in refused if what.by == "client")


def _since(entry: Entry, events: Sequence[ev.Event]) -> int:
    """Return the row of the first event of the chain, except the first owner's start.

    The first owner often starts much earlier.
    """
    chain = {link.row for link in entry.chain}
    first = entry.first_owner.consumer if entry.first_owner else ""
    for event in events:
        what = event.what
        if event.row in chain and not (isinstance(what, ev.EpochOpened) and what.consumer == first):
            return event.row
    return min(chain, default=0)


class _Selection:
    """Selects the events of a run that belong to one entry."""

    def __init__(self, entry: Entry, events: Sequence[ev.Event]) -> None:
        owners = [owner for owner in (entry.first_owner, entry.second_owner) if owner]
        self._entry = entry
        self._partition = entry.topic_partition
        self._names = {owner.consumer for owner in owners}
        self._chain = frozenset(link.row for link in entry.chain)
        self._coordination = Coordination(entry.group, events)
        self._instants = _instants(events)
        self._unsent = _unsent(events)
        self._term = term_of(entry.group, events)
        self._since = _since(entry, events)
        self._group_starts = GroupStarts()
        self._starts = Starts()
        self._late_start: ev.Event | None = None
        self._ends_us = max((owner.at_us for owner in owners), default=0)
        self._base: ev.Event | None = None
        self._covering: set[str] = set()
        self._kept: list[ev.Event] = []
        self._prelude: deque[ev.Event] = deque(maxlen=PRELUDE)
        self._replicas: deque[ev.Event] = deque(maxlen=PRELUDE)
        self._faults: dict[int | None, ev.Event] = {}
        self.until = 1 << 62

    def feed(self, event: ev.Event) -> None:
        """Keep *event* if it belongs to the entry; stop after the last processing of its records."""
        what = event.what
        self._starts.follow(event)
        if isinstance(what, ev.FaultBegan):
            self._faults[event.id] = event
        late = self._group_starts.late(event)
        if late is not None and late.group == self._entry.group:
            self._late_start = event
            self._kept.append(event)
        elif isinstance(what, Accepted) and not self._covers(what):
            self._note_base(event, what)
        elif self._keeps(event):
            self._kept.append(event)
        elif isinstance(what, Commit) and self._covers(what) and not self._is_unsent(what):
            self._prelude.append(event)
        elif isinstance(what, ReplicaEvent) and self._leads_up(what):
            self._replicas.append(event)
        if event.row >= max(self._chain, default=0) and self._is_last(event):
            self.until = event.row

    def _keeps(self, event: ev.Event) -> bool:
        """Return whether the selection shows an event at its own place."""
        what = event.what
        if self._shows(event) or (isinstance(what, ev.Polled) and self._hands_out(what)):
            return True
        return event.row >= self._since and self._belongs(what)

    def lines(self) -> Iterator[Line]:
        """Yield the lines; adjacent processing and polls of one owner are merged."""
        bases = [] if self._base is None else [self._base]
        selected = (*self._prelude, *self._behind(), *bases, *self._kept)
        kept = list(self._starts.marked(sorted(selected, key=lambda event: event.instant)))
        at = 0
        while at < len(kept):
            run = at + 1
            while run < len(kept) and self._continues(kept[run - 1].what, kept[run].what):
                run += 1
            yield self._line(kept[at], kept[run - 1], run - at)
            at = run

    def _behind(self) -> Iterator[ev.Event]:
        """Yield the events by which replicas fell behind, each after the fault that caused it."""
        shown = {id(event) for event in self._kept}
        for event in self._replicas:
            fault = self._faults.get(event.cause)
            if fault is not None and id(fault) not in shown:
                shown.add(id(fault))
                yield fault
            yield event

    def _continues(self, one: ev.What, other: ev.What) -> bool:
        """Return whether two events of processing, or two polls, become one line."""
        if isinstance(one, ev.Processed) and isinstance(other, ev.Processed):
            return one.consumer == other.consumer and one.next_offset == other.first
        if isinstance(one, ev.Polled) and isinstance(other, ev.Polled):
            (_, end), (first, _) = self._handed(one), self._handed(other)
            return one.consumer == other.consumer and end == first
        return False

    def _handed(self, what: ev.Polled) -> tuple[int, int]:
        """Return the range of this partition that a poll returned."""
        ends = [(first, end) for each, first, end in what.ranges if each == self._partition]
        return ends[0][0], ends[-1][1]

    def _line(self, first: ev.Event, last: ev.Event, events: int) -> Line:
        text = self._words(first)
        began_us = first.what.began_us if isinstance(first.what, PROCESSED) else None
        if isinstance(first.what, ev.Processed) and isinstance(last.what, ev.Processed):
            worked = offset_range(first.what.first, last.what.next_offset)
            text = f"{first.what.consumer} processes {self._partition} {worked}"
        elif isinstance(first.what, ev.Polled) and isinstance(last.what, ev.Polled) and events > 1:
            got = offset_range(self._handed(first.what)[0], self._handed(last.what)[1])
            text = (
                f"{events} polls have returned {got} of {self._partition} to {first.what.consumer}"
            )
        return Line(
            last.at_us,
            text,
            first.id,
            shown=self._shows(first),
            began_us=began_us,
            log=position_of(first.what),
        )

    def _words(self, event: ev.Event) -> str:
        what = event.what
        if isinstance(what, ev.FaultBegan) and what.fault in self._instants:
            return instant_text(what)
        if event is self._late_start and isinstance(what, ev.ConsumerStarted):
            return group_start(what)
        successor = self._coordination.successor(event)
        return event_text(what, self._partition, self._term(event.at_us), successor)

    def _shows(self, event: ev.Event) -> bool:
        """Return whether the chain contains an event."""
        return event.row in self._chain

    def _note_base(self, event: ev.Event, what: Accepted) -> None:
        """Keep the last commit from which the next owner could begin."""
        ours = what.group == self._entry.group and _speaks_of(what, self._partition)
        if ours and event.at_us <= self._ends_us:
            self._base = event

    def _is_last(self, event: ev.Event) -> bool:
        what = event.what
        if self._entry.kind is not EntryKind.REPROCESSED or self._entry.second_owner is None:
            return True
        return (
            isinstance(what, PROCESSED)
            and what.consumer == self._entry.second_owner.consumer
            and what.partition == self._partition
            and what.next_offset > self._entry.last
            and event.at_us >= self._entry.second_owner.at_us
        )

    def _belongs(self, what: ev.What) -> bool:
        if isinstance(what, Commit):
            return self._covers(what) and not self._is_unsent(what)
        if isinstance(what, ev.CommitAnswered):
            return what.commit in self._covering and what.consumer in self._names
        if isinstance(what, ev.MessageLost):
            return what.commit in self._covering or bool(
                not what.commit and {what.sender, what.receiver} & self._names
            )
        if isinstance(what, PROCESSED):
            return self._concerns(what.group, what.partition) and what.consumer in self._names
        return self._belongs_elsewhere(what)

    def _hands_out(self, what: ev.Polled) -> bool:
        """Return whether a poll returned records of the entry to one of its owners."""
        entry = self._entry
        return what.consumer in self._names and any(
            each == self._partition and first <= entry.last and end > entry.first
            for each, first, end in what.ranges
        )

    def _belongs_elsewhere(self, what: ev.What) -> bool:
        if isinstance(what, GROUP_EVENTS):
            return what.group == self._entry.group
        if isinstance(what, MEMBER_EVENTS + PROCESS_EVENTS):
            return what.consumer in self._names
        if isinstance(what, (*PARTITION_EVENTS, ev.StoreRestored)):
            return self._concerns(what.group, what.partition)
        if isinstance(what, ev.ListenerCalled | ev.OffsetsDropped):
            return what.group == self._entry.group and self._partition in what.partitions
        if isinstance(what, ev.Polled):
            ranges = (each for each, _, _ in what.ranges)
            return what.consumer in self._names and self._partition in ranges
        if isinstance(what, ReplicaEvent) and what.partition == self._partition:
            return self._leads_up(what) or not isinstance(what, ev.IsrChanged)
        if isinstance(what, TOPIC_EVENTS):
            return what.topic == self._entry.topic
        if isinstance(what, ev.FaultBegan):
            return self._is_root(what.fault) or what.target in self._names
        if isinstance(what, ev.FaultEnded):
            return self._is_root(what.fault) and what.fault not in self._instants
        return self._coordination.concerns(what)

    def _is_unsent(self, what: Commit) -> bool:
        """Return whether a client did not send a commit; the refusal shows it."""
        return isinstance(what, ev.CommitSent) and what.commit in self._unsent

    def _leads_up(self, what: ReplicaEvent) -> bool:
        """Return whether an event shows the lagging replicas that led to the entry's cause."""
        if what.partition == self._partition:
            return self._entry.cause in OF_RECORDS_IN_SYNC
        return self._entry.cause in OF_COMMITS_IN_SYNC and self._coordination.concerns(what)

    def _is_root(self, fault: str) -> bool:
        return self._entry.root is not None and self._entry.root.id == fault

    def _concerns(self, group: str, partition: TopicPartition) -> bool:
        return group == self._entry.group and partition == self._partition

    def _covers(self, what: Commit) -> bool:
        """Return whether a commit would have prevented, or skipped, the entry's records."""
        offset = offset_of(what.offsets, self._partition)
        covers = (
            what.group == self._entry.group
            and what.consumer in self._names
            and offset is not None
            and offset > self._entry.first
        )
        if covers:
            self._covering.add(what.commit)
        return covers


def _speaks_of(what: Accepted, partition: TopicPartition) -> bool:
    return offset_of(what.offsets, partition) is not None


LEADER_EVENTS = (
    ev.LeaderChanged,
    ev.IsrChanged,
    ev.LogTruncated,
    ev.PartitionStalled,
    ev.PartitionResumed,
)
COORDINATOR_EVENTS = (ev.CoordinatorLoaded, ev.CoordinatorUnloaded, ev.AppendFailed)
BROKER_EVENTS = (ev.BrokerDown, ev.BrokerUp, ev.BrokerFenced, ev.BrokerUnfenced)


def position_of(what: ev.What) -> LogPosition | None:
    """Return the position of an event in the offsets log, if the event contains it."""
    if isinstance(what, ev.CommitAccepted):
        at = (what.log_offset, what.high_watermark, what.leader_epoch, what.broker)
        return _position(what.log_partition, *at)
    if isinstance(what, ev.CoordinatorLoaded):
        at = (what.log_end, what.high_watermark, what.leader_epoch, what.broker)
        return _position(what.log_partition, *at)
    if isinstance(what, ev.CoordinatorUnloaded):
        return _position(what.log_partition, -1, -1, what.leader_epoch, what.broker)
    if isinstance(what, ev.AppendFailed):
        return _position(what.log_partition, what.log_offset, -1, -1, what.broker)
    if isinstance(what, ev.LeaderChanged) and what.partition.topic == OFFSETS_TOPIC:
        return _position(what.partition.partition, -1, -1, what.epoch, what.broker)
    if isinstance(what, ev.LogTruncated) and what.partition.topic == OFFSETS_TOPIC:
        return _position(what.partition.partition, what.first, -1, what.leader_epoch, what.broker)
    return None


def _position(partition: int, *others: int) -> LogPosition | None:
    if partition < 0:
        return None
    return LogPosition(partition, *(None if number < 0 else number for number in others))


class Coordination:
    """The offsets partition of one group, and all brokers that have coordinated the group."""

    def __init__(self, group: str, events: Iterable[ev.Event]) -> None:
        self._partition: TopicPartition | None = None
        self._brokers: set[int] = set()
        self._successors: dict[int, int] = {}
        """Rows of commits that a broker appended after it was replaced, and its leader then."""

        coordinators = Coordinators()
        for event in events:
            what = event.what
            coordinators.follow(event)
            if isinstance(what, ev.Appended) and what.group == group:
                self._partition = TopicPartition(OFFSETS_TOPIC, what.log_partition)
                self._brokers.add(what.broker)
            elif isinstance(what, ev.CoordinatorMoved) and what.group == group:
                self._brokers.add(what.broker)
            elif isinstance(what, ev.CommitAccepted) and what.group == group:
                known = coordinators.of(group)
                if known.successor_of(event, what) is not None:
                    self._successors[event.row] = known.leader

    def successor(self, event: ev.Event) -> int | None:
        """Return the broker that had replaced the one that appends a commit, if any."""
        return self._successors.get(event.row)

    def concerns(self, what: ev.What) -> bool:
        """Return whether an event concerns the partition, or a broker that coordinated it."""
        if isinstance(what, BROKER_EVENTS):
            return what.broker in self._brokers
        if isinstance(what, LEADER_EVENTS):
            return what.partition == self._partition
        if isinstance(what, COORDINATOR_EVENTS):
            return self._partition is not None and what.log_partition == self._partition.partition
        return False
