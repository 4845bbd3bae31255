"""The event types of a run: written by the world, read by ledger, metrics and reports.

An :class:`Event` is a time, the event that caused it, and what happened. A real Kafka's history
written in these words gives a real ledger by the same code. Times are microseconds since the run
began; offsets are record offsets of the topic; ranges are half open.

There are two kinds. *Control events* are numbered and part of the digest of a run. *Data events*
show the ordinary work of consumers: polls, processing, and commits that succeed. They have no
number, are not part of the digest and never cause another event. They may be written later than
they happened: ledger and metrics come to the same if they precede

- the next control event of their consumer, and the end of the run;
- the next epoch, or commit by another consumer, of a partition that their consumer owns;
- for :class:`Appended`, the next control event of its partition of the offsets log.

Where consumers overlap on a partition, and below the end of what a group has processed, each
:class:`Processed` is written when it happens. Otherwise adjacent ones may be merged, and commits
counted (:class:`CommitsCounted`, :class:`AppendsCounted`).
"""

from __future__ import annotations

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
    RecordsTruncated,
    SegmentRolled,
)
from emulator.events.consumers import (
    ConsumerPaused,
    ConsumerResumed,
    ConsumerStarted,
    ConsumerStopped,
    End,
    EpochClosed,
    ListenerCalled,
    ListenerThrew,
    NotProcessed,
    PartlyProcessed,
    Polled,
    PositionSource,
    Processed,
    ReadOn,
    ResetReason,
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
    PartitionsAdded,
    RequestsCounted,
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
from protocols.values import recorded_fields

__all__ = [
    "ActRefused",
    "AppendFailed",
    "Appended",
    "AppendsCounted",
    "AssignmentWarning",
    "AssignorFailed",
    "BrokerDown",
    "BrokerFenced",
    "BrokerUnfenced",
    "BrokerUp",
    "ClientDropped",
    "CommitAccepted",
    "CommitAnswered",
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
    "Offsets",
    "OffsetsDropped",
    "PartitionResumed",
    "PartitionStalled",
    "PartitionsAdded",
    "PartlyProcessed",
    "Polled",
    "PositionSource",
    "Processed",
    "ReadOn",
    "RebalanceStarted",
    "RecordsTruncated",
    "RequestsCounted",
    "ResetReason",
    "RunEnded",
    "RunStarted",
    "SegmentRolled",
    "SubscriptionChanged",
    "TargetComputed",
    "TopicCreated",
    "TopicDeleted",
    "What",
    "is_data_event",
    "values_of",
]


ControlEvent = (
    RunStarted
    | RunEnded
    | TopicCreated
    | PartitionsAdded
    | TopicDeleted
    | FaultBegan
    | FaultEnded
    | FaultMissed
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
    | RecordsTruncated
    | CoordinatorLoaded
    | CoordinatorUnloaded
    | ConsumerStarted
    | ConsumerStopped
    | ConsumerPaused
    | ConsumerResumed
    | SubscriptionChanged
    | ListenerCalled
    | ListenerThrew
    | EpochOpened
    | ReadOn
    | PartlyProcessed
    | NotProcessed
    | EpochClosed
    | CommitRefused
    | CommitAnswered
    | OffsetsDropped
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
    | Polled
    | Processed
)
"""What a data event may contain; :class:`CommitAnswered` without an error only."""

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
    cause: int | None
    """Id of the control event that made this one happen, if one did."""

    what: What
    row: int
    """Counts all events from 0 in order of writing."""

    @property
    def instant(self) -> Instant:
        """When it happened, also if it was written later."""
        return Instant(self.at_us, self.row)


_FIELDS: dict[type, tuple[str, ...]] = {kind: recorded_fields(kind) for kind in get_args(What)}


def values_of(what: What) -> dict[str, Any]:
    """Return the fields of an event's content, in order of definition."""
    return {name: getattr(what, name) for name in _FIELDS[type(what)]}
