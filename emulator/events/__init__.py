"""The event types of a run: written by the world, read by ledger, metrics and reports.

An :class:`Event` is a time, the event that caused it, and what happened. A real Kafka's history
written in these words gives a real ledger by the same code. Times are microseconds since the run
began; offsets are record offsets of the topic; ranges are half open.
*Control events* are numbered and part of the digest of a run. *Data events*
show the ordinary work of consumers: polls, processing, and commits that succeed. They have no
number, are not part of the digest and never cause another event.

Data events may be written *late*, with the time at which they happened, and *sums* may stand for
them (:class:`ProgressCounted`, :class:`CommitsCounted`, :class:`AppendsCounted`). Ledger, metrics,
findings and reports are the same, to the microsecond, if the writer keeps these rules.

*Order.* The data events of a consumer keep their order, except that a :class:`ProgressCounted` may
precede the commits of its time. They precede

- the next control event with it as ``consumer``, ``sender`` or ``receiver``, and the end of the run;
- a fault that has it in its target, if they happened at the very instant of the fault;
- of each partition that it owns: the next :class:`EpochOpened`, commit of another consumer,
  :class:`OffsetsDropped`, :class:`RecordsTruncated` and :class:`TopicDeleted`.

Appends to a partition of the offsets log precede its next control event (with its
``log_partition``), and a sum precedes the next :class:`Appended`.

*On time* and one by one are written: the processing of a partition with two owners, or by a pool of
workers; a commit of a consumer that is not the only owner of all its partitions, that is refused, lost
or not answered, or whose consumer is named by a control event between request and answer; an append
with other records than commits, the first one of a group, and one of a replaced leader. *Sums* end
before the events that have to follow them.

- :class:`ProgressCounted` has the end and the time of each :class:`Processed` that would be written
  otherwise: one for each partition and commit that made progress, at the time of the request.
- :class:`CommitsCounted` has no commit that lowered an offset, nor the first one of a consumer that was
  ahead of processing, nor the last accepted one of a partition, which is written in the same stretch.
- :class:`AppendsCounted` has the time and bytes of each batch, as equal batches at equal intervals.

Control events never differ: what they contain of data (:class:`RequestsCounted`,
:class:`LagSampled`, sizes and offsets of the offsets log) counts the work done by their time. So the
records of commits in sums are in the offsets log before it rolls, is compacted or loaded.

*Single events* on time are what ``emulator.world.build.play`` writes with ``each_commit``, ``polls`` or
``folding=False``, for users of single events: ``Run.events``, ``--events``, ``explain``, ``verify``.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, get_args

from emulator.events.cluster import (
    Appended,
    AppendFailed,
    AppendsCounted,
    BrokerFenced,
    BrokerUnfenced,
    CoordinatorLoaded,
    CoordinatorMoved,
    CoordinatorUnloaded,
    IsrChanged,
    LeaderChanged,
    LogCompacted,
    LogTruncated,
    PartitionResumed,
    PartitionStalled,
    RecordsCompacted,
    RecordsTruncated,
    SegmentRolled,
)
from emulator.events.consumers import (
    AssignorRan,
    ConsumerPaused,
    ConsumerResumed,
    ConsumerStarted,
    ConsumerStopped,
    DuplicateDelivered,
    End,
    EpochClosed,
    ListenerCalled,
    ListenerThrew,
    NotProcessed,
    OffsetsRead,
    OffsetsStored,
    PartlyProcessed,
    Polled,
    PositionSource,
    Processed,
    ProcessedOutOfOrder,
    ProcessingFailed,
    ProgressCounted,
    ReadOn,
    ResetReason,
    ResultsRolledBack,
    StoreRestored,
    SubscriptionChanged,
)
from emulator.events.run import (
    ActRefused,
    BrokerDown,
    BrokerUp,
    CommitsCounted,
    FaultBegan,
    FaultEnded,
    FaultMissed,
    LagSampled,
    MessageLost,
    OffsetGaps,
    PartitionsAdded,
    RequestsCounted,
    Rescaled,
    RunEnded,
    RunStarted,
    TopicCreated,
    TopicDeleted,
)
from protocols.facts import (
    AssignmentWarning,
    AssignorFailed,
    ClientDropped,
    CommitAccepted,
    CommitAnswered,
    CommitKind,
    CommitRefused,
    CommitSent,
    Departure,
    EpochOpened,
    GroupConverted,
    GroupEmptied,
    GroupEpochRaised,
    GroupStabilised,
    JoinPhaseEnded,
    MemberAdded,
    MemberMoved,
    MemberRemoved,
    Offsets,
    OffsetsDropped,
    RebalanceStarted,
    TargetComputed,
)
from protocols.values import NOT_REPLACED, needed_fields, set_values

__all__ = [
    "NOT_REPLACED",
    "ActRefused",
    "AppendFailed",
    "Appended",
    "AppendsCounted",
    "AssignmentWarning",
    "AssignorFailed",
    "AssignorRan",
    "BrokerDown",
    "BrokerFenced",
    "BrokerUnfenced",
    "BrokerUp",
    "ClientDropped",
    "CommitAccepted",
    "CommitAnswered",
    "CommitKind",
    "CommitRefused",
    "CommitSent",
    "CommitsCounted",
    "ConsumerPaused",
    "ConsumerResumed",
    "ConsumerStarted",
    "ConsumerStopped",
    "ControlEvent",
    "CoordinatorLoaded",
    "CoordinatorMoved",
    "CoordinatorUnloaded",
    "DataEvent",
    "Dated",
    "Departure",
    "DuplicateDelivered",
    "End",
    "EpochClosed",
    "EpochOpened",
    "Event",
    "FaultBegan",
    "FaultEnded",
    "FaultMissed",
    "GroupConverted",
    "GroupEmptied",
    "GroupEpochRaised",
    "GroupStabilised",
    "Instant",
    "IsrChanged",
    "JoinPhaseEnded",
    "LagSampled",
    "LeaderChanged",
    "ListenerCalled",
    "ListenerThrew",
    "LogCompacted",
    "LogTruncated",
    "MemberAdded",
    "MemberMoved",
    "MemberRemoved",
    "MessageLost",
    "NotProcessed",
    "OffsetGaps",
    "Offsets",
    "OffsetsDropped",
    "OffsetsRead",
    "OffsetsStored",
    "PartitionResumed",
    "PartitionStalled",
    "PartitionsAdded",
    "PartlyProcessed",
    "Polled",
    "PositionSource",
    "Processed",
    "ProcessedOutOfOrder",
    "ProcessingFailed",
    "ProgressCounted",
    "ReadOn",
    "RebalanceStarted",
    "RecordsCompacted",
    "RecordsTruncated",
    "RequestsCounted",
    "Rescaled",
    "ResetReason",
    "ResultsRolledBack",
    "RunEnded",
    "RunStarted",
    "SegmentRolled",
    "StoreRestored",
    "SubscriptionChanged",
    "TargetComputed",
    "TopicCreated",
    "TopicDeleted",
    "What",
    "by_replaced_coordinator",
    "is_data_event",
    "row_of",
    "values_of",
]


ControlEvent = (
    RunStarted
    | RunEnded
    | TopicCreated
    | OffsetGaps
    | PartitionsAdded
    | TopicDeleted
    | FaultBegan
    | FaultEnded
    | FaultMissed
    | Rescaled
    | ActRefused
    | BrokerDown
    | BrokerUp
    | BrokerFenced
    | BrokerUnfenced
    | LeaderChanged
    | IsrChanged
    | PartitionStalled
    | PartitionResumed
    | LogTruncated
    | RecordsCompacted
    | RecordsTruncated
    | CoordinatorLoaded
    | CoordinatorUnloaded
    | ConsumerStarted
    | ConsumerStopped
    | ConsumerPaused
    | ConsumerResumed
    | SubscriptionChanged
    | AssignorRan
    | ListenerCalled
    | ListenerThrew
    | EpochOpened
    | ReadOn
    | PartlyProcessed
    | NotProcessed
    | ProcessingFailed
    | DuplicateDelivered
    | EpochClosed
    | CommitRefused
    | CommitAnswered
    | OffsetsDropped
    | OffsetsRead
    | ResultsRolledBack
    | StoreRestored
    | MemberAdded
    | MemberRemoved
    | RebalanceStarted
    | JoinPhaseEnded
    | GroupStabilised
    | GroupConverted
    | GroupEmptied
    | GroupEpochRaised
    | TargetComputed
    | MemberMoved
    | AssignmentWarning
    | AssignorFailed
    | CoordinatorMoved
    | ClientDropped
    | MessageLost
    | AppendFailed
    | SegmentRolled
    | LogCompacted
    | LagSampled
    | RequestsCounted
)
"""What a control event may contain; :class:`CommitAnswered` with an error only."""

DataEvent = (
    Appended
    | AppendsCounted
    | CommitAccepted
    | CommitAnswered
    | CommitSent
    | CommitsCounted
    | OffsetsStored
    | Polled
    | Processed
    | ProcessedOutOfOrder
    | ProgressCounted
)
"""What a data event may contain; :class:`CommitAnswered` without an error only."""

Work = Processed | ProcessedOutOfOrder | ProgressCounted
"""What shows that records were processed."""

What = ControlEvent | DataEvent
_DATA_EVENTS = frozenset(get_args(DataEvent))


def is_data_event(what: What) -> bool:
    """Return whether an event with this content is a data event."""
    if type(what) is CommitAnswered:
        return what.error == "NONE"
    return type(what) in _DATA_EVENTS


class Instant(NamedTuple):
    """The place of an event in a run; instants have the order in which the events happened."""

    at_us: int
    row: int


class Dated:
    """A value with the time and the row of an event."""

    __slots__ = ()
    at_us: int
    row: int

    @property
    def instant(self) -> Instant:
        """When the event happened, also if it was written later."""
        return Instant(self.at_us, self.row)


class Event(NamedTuple):
    """One event of a run."""

    id: int | None
    """Counts the control events from 0; None: a data event."""

    at_us: int
    """Microseconds from the start of the run."""

    cause: int | None
    """Id of the control event that made this one happen, if one did."""

    what: What
    row: int
    """Counts all events from 0 in order of writing."""

    @property
    def instant(self) -> Instant:
        """When it happened, also if it was written later."""
        return Instant(self.at_us, self.row)


_FIELDS: dict[type, tuple[str, ...]] = {kind: needed_fields(kind) for kind in get_args(What)}
_VALUES: dict[type, Callable[[Any], Any]] = {
    kind: attrgetter(*fields) for kind, fields in _FIELDS.items() if fields
}


def row_of(what: What) -> tuple[Any, ...]:
    """Return the values of an event's content as :func:`values_of` does."""
    kind = type(what)
    if len(_FIELDS[kind]) < 2 or by_replaced_coordinator(what):
        return tuple(values_of(what).values())
    values: tuple[Any, ...] = _VALUES[kind](what)
    return values


def by_replaced_coordinator(what: What) -> bool:
    """Return whether a replaced coordinator reported an event; see ``protocols.values.NOT_REPLACED``."""
    return getattr(what, "replaced_broker", NOT_REPLACED) != NOT_REPLACED


def values_of(what: What) -> dict[str, Any]:
    """Return the fields of an event's content, in order of definition; optional ones if set."""
    return {name: getattr(what, name) for name in _FIELDS[type(what)]} | set_values(what)
