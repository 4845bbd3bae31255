"""The event types of a run: written by the world, read by ledger, metrics and reports.

An :class:`Event` is a time, the event that caused it, and what happened. A real Kafka's history
written in these words gives a real ledger by the same code. Times are microseconds since the run
began; offsets are record offsets of the topic; ranges are half open.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from emulator.events.cluster import (
    Appended,
    AppendFailed,
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
from emulator.events.commits import (
    CommitAccepted,
    CommitAnswered,
    CommitRefused,
    CommitSent,
    Offsets,
)
from emulator.events.consumers import (
    ConsumerPaused,
    ConsumerResumed,
    ConsumerStarted,
    ConsumerStopped,
    EpochClosed,
    EpochOpened,
    ListenerCalled,
    ListenerThrew,
    NotProcessed,
    PartlyProcessed,
    Polled,
    Processed,
    ReadOn,
    SubscriptionChanged,
)
from emulator.events.run import (
    ActRefused,
    BrokerDown,
    BrokerUp,
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
    GroupConverted,
    GroupEmptied,
    GroupEpochRaised,
    GroupStabilised,
    JoinPhaseEnded,
    MemberAdded,
    MemberMoved,
    MemberRemoved,
    OffsetsDropped,
    RebalanceStarted,
    TargetComputed,
    recorded_fields,
)

__all__ = [
    "ActRefused",
    "AppendFailed",
    "Appended",
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
    "ConsumerPaused",
    "ConsumerResumed",
    "ConsumerStarted",
    "ConsumerStopped",
    "CoordinatorLoaded",
    "CoordinatorMoved",
    "CoordinatorUnloaded",
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
    "Processed",
    "ReadOn",
    "RebalanceStarted",
    "RecordsTruncated",
    "RequestsCounted",
    "RunEnded",
    "RunStarted",
    "SegmentRolled",
    "SubscriptionChanged",
    "TargetComputed",
    "TopicCreated",
    "TopicDeleted",
    "What",
    "values_of",
]


What = (
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
    | Processed
    | PartlyProcessed
    | NotProcessed
    | EpochClosed
    | Polled
    | CommitSent
    | CommitAccepted
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
    | Appended
    | AppendFailed
    | SegmentRolled
    | LogCompacted
    | LagSampled
    | RequestsCounted
)


class Event(NamedTuple):
    """One event of a run."""

    id: int
    """Counts from 0 in order of writing; times never decrease."""

    at_us: int
    cause: int | None
    """Id of the event that made this one happen, if one did."""

    what: What


_FIELDS: dict[type, tuple[str, ...]] = {kind: recorded_fields(kind) for kind in get_args(What)}


def values_of(what: What) -> dict[str, Any]:
    """Return the fields of an event's content, in order of definition."""
    return {name: getattr(what, name) for name in _FIELDS[type(what)]}
