"""What machines tell: the content of Kafka's own log lines, as values.

A fact changes nothing; hosts turn facts into events for the ledger and for people.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from assignors.types import TopicPartition
from protocols.messages import Header, OffsetToCommit
from protocols.messages.errors import ErrorCode


class Departure(enum.StrEnum):
    """Why a member left its group."""

    LEFT = "left"
    EXPIRED = "session expired"
    DID_NOT_REJOIN = "did not rejoin in time"
    DID_NOT_SYNC = "did not sync in time"
    REPLACED = "replaced by the same instance"
    GROUP_FULL = "group is full"
    DID_NOT_REVOKE = "did not give partitions up in time"
    REMOVED = "removed by an administrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAdded:
    """A member entered its group; ``replaced``: the id it took over from (static restart)."""

    group: str
    member_id: str
    instance_id: str | None
    client: str
    protocol: str
    """``classic`` or ``consumer``: what the member speaks; a group of the consumer protocol may have
    members of both (KIP-848)."""

    replaced: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRemoved:
    group: str
    member_id: str
    why: Departure


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceStarted:
    """PreparingRebalance was entered; ``reason`` is the text of the coordinator's log."""

    group: str
    generation: int
    """The generation that ends."""

    reason: str
    member_id: str
    """The member whose join, departure or change began it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPhaseEnded:
    """A generation began: all who joined in time are its members."""

    group: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStabilised:
    """The leader's assignment is durable and handed out."""

    group: str
    generation: int
    assignment: tuple[tuple[str, tuple[TopicPartition, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEmptied:
    group: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConverted:
    """A group went over to the other protocol; its committed offsets went along."""

    group: str
    protocol: str
    """``consumer`` or ``classic``: what the group is from now on."""

    generation: int
    """The last generation or group epoch, from which the other goes on; without members, the new
    count begins anew."""

    member_id: str
    """Whose coming or going it was; empty: the id of one that has none yet."""

    client: str
    """Who came; empty: somebody went."""

    assignment: tuple[tuple[str, tuple[TopicPartition, ...]], ...] = ()
    """Who went along, members of the classic protocol, each with what it is to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEpochRaised:
    """What a consumer group's assignment depends on changed: a new target is due (KIP-848)."""

    group: str
    epoch: int
    member_id: str
    """The member whose heartbeat or departure raised it; empty: a look-up of patterns."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetComputed:
    """The coordinator decided who shall have what in a consumer group."""

    group: str
    epoch: int
    assignor: str
    changed: tuple[tuple[str, tuple[TopicPartition, ...]], ...]
    """The whole targets of the members whose target is new, by member id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMoved:
    """A member of a consumer group took a step towards its target."""

    group: str
    member_id: str
    epoch: int
    previous_epoch: int
    state: str
    assigned: tuple[TopicPartition, ...]
    revoking: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsAccepted:
    """A commit passed the verdict and was proposed to the log."""

    group: str
    header: Header
    member_id: str
    generation: int
    offsets: tuple[OffsetToCommit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsRefused:
    group: str
    header: Header
    member_id: str
    generation: int
    error: ErrorCode
    offsets: tuple[OffsetToCommit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsDropped:
    """Committed offsets vanished; ``why``: expired, deleted, or topic deleted."""

    group: str
    partitions: tuple[TopicPartition, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoaded:
    """A coordinator took a group over from the log."""

    group: str
    generation: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionSet:
    """A client (re)initialised where it reads a partition: an ownership epoch begins.

    ``source``: ``committed``, ``earliest``, ``latest``, ``by_duration``, ``seek``, or
    ``truncated``: moved back to where the leader's log parted from what was read;
    ``why``: for a reset ``no offset``, ``out of range`` or ``truncated``, else empty.
    """

    partition: TopicPartition
    offset: int
    source: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSent:
    """A client asked for offsets to be stored; ``kind`` says which of its commits it was.

    ``kind``: ``auto``, ``prepare`` (before a rebalance), ``close``, ``sync`` or ``async``.
    """

    correlation_id: int
    kind: str
    generation: int
    offsets: tuple[OffsetToCommit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEnded:
    """The client learned of a commit's fate; ``refused_locally``: it was never sent."""

    correlation_id: int
    kind: str
    error: ErrorCode
    offsets: tuple[OffsetToCommit, ...]
    refused_locally: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignorFailed:
    """The leader's assignor raised or would never have ended."""

    name: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionGivenTwice:
    """The leader's assignor gave a partition to several members without meaning to."""

    assignor: str
    generation: int
    partition: TopicPartition
    member_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """The client let go of the group by itself: poll interval passed, or an error told it so."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorLost:
    """The client no longer knows its coordinator and looks it up."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStateChanged:
    """A client of the consumer protocol stands elsewhere with its group now.

    ``before`` and ``after``: names of ``MemberState`` of the Java client, as its log has them.
    """

    member_id: str
    epoch: int
    before: str
    after: str


Fact = (
    MemberAdded
    | MemberRemoved
    | RebalanceStarted
    | JoinPhaseEnded
    | GroupStabilised
    | GroupEmptied
    | GroupConverted
    | GroupEpochRaised
    | TargetComputed
    | MemberMoved
    | OffsetsAccepted
    | OffsetsRefused
    | OffsetsDropped
    | GroupLoaded
    | PositionSet
    | CommitSent
    | CommitEnded
    | AssignorFailed
    | PartitionGivenTwice
    | Dropped
    | CoordinatorLost
    | ClientStateChanged
)
