"""Requests to coordinators about groups, their members and their offsets, in both protocols.

Members find the coordinator, join, sync, send heartbeats and leave; the consumer protocol has one
request for these, ConsumerGroupHeartbeat (KIP-848). Members commit and fetch offsets.
Administrators describe and delete groups, and delete offsets.
"""

from __future__ import annotations

from typing import NamedTuple

from assignors.types import Subscription, TopicPartition
from assignors.values import dataclass
from protocols.messages.errors import (
    CONSUMER_PROTOCOL_TYPE,
    UNKNOWN_EPOCH,
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_OFFSET,
    ErrorCode,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest:
    """Request the coordinator of a group from any broker (API 10)."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    error: ErrorCode = ErrorCode.NONE
    node_id: int = -1


class Protocol(NamedTuple):
    """One assignor that a member supports, with its subscription for the leader."""

    name: str
    metadata: Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    """Join a classic group, or its next generation (API 11)."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    """Set for a static member, which may restart without a rebalance (KIP-345)."""

    protocol_type: str = CONSUMER_PROTOCOL_TYPE
    protocols: tuple[Protocol, ...] = ()
    """In order of preference."""

    reason: str = ""
    """Only logged (KIP-800)."""

    version: int = 9


class JoinGroupMember(NamedTuple):
    """One member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    generation_id: int = UNKNOWN_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    """True for a restarted static leader, which keeps the assignment (KIP-814)."""

    member_id: str = ""
    members: tuple[JoinGroupMember, ...] = ()
    """For the leader only, in the order of the coordinator's member map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    """Send the leader's assignment, or request the member's part of it (API 14)."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = CONSUMER_PROTOCOL_TYPE
    protocol_name: str | None = None
    assignments: tuple[tuple[str, tuple[TopicPartition, ...]], ...] = ()
    """Leader only: member id and its partitions."""

    user_data: tuple[tuple[str, bytes], ...] = ()
    """Leader only: member id and the bytes for its assignor; most assignors send none."""

    version: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None
    """From the leader's assignor, for that of the member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """Keep the session of a member alive (API 12)."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    error: ErrorCode = ErrorCode.NONE


class LeavingMember(NamedTuple):
    """One entry of a LeaveGroup request."""

    member_id: str
    group_instance_id: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest:
    """Remove members from a group (API 13)."""

    group_id: str
    members: tuple[LeavingMember, ...]
    version: int = 5


class LeftMember(NamedTuple):
    """The response to one entry of a LeaveGroup request."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


JOIN_EPOCH = 0
"""The member epoch of a member that joins, or joins again."""

LEAVE_EPOCH = -1
"""The member epoch of a member that leaves for good."""

TEMPORARY_LEAVE_EPOCH = -2
"""The member epoch of a static member that leaves temporarily."""


class TopicPartitions(NamedTuple):
    """Partitions of one topic, by its id."""

    topic_id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatRequest:
    """Join, stay in, or leave a group of the consumer protocol (API 68).

    None (and -1 for the timeout) means "unchanged", never "nothing".
    """

    group_id: str
    member_id: str = UNKNOWN_MEMBER_ID
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    """In the broker's syntax (RE2J); an empty one removes the pattern."""

    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None
    """The partitions that the member owns; sent when they changed."""

    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse:
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: tuple[TopicPartitions, ...] | None = None
    """All partitions that the member may own now; None: unchanged.

    A partition of its target that another member has not released yet comes later.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    """Delete empty groups with all their offsets (API 42)."""

    group_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    results: tuple[tuple[str, ErrorCode], ...]


class DescribedMember(NamedTuple):
    """One member as an administrator sees it."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: Subscription | None
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupRequest:
    """Request the state of one group (API 15)."""

    group_id: str
    version: int = 6
    """From version 6, a group that does not exist is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupResponse:
    group_id: str
    state: str
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeRequest:
    """Request the state of one group of the consumer protocol (API 69)."""

    group_id: str


class DescribedConsumer(NamedTuple):
    """One member of a consumer group as an administrator sees it."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    assignment: tuple[TopicPartitions, ...]
    target: tuple[TopicPartitions, ...]
    is_classic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeResponse:
    group_id: str
    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()


class OffsetToCommit(NamedTuple):
    """The next offset to read of one partition."""

    partition: TopicPartition
    offset: int
    leader_epoch: int = UNKNOWN_EPOCH
    metadata: str = ""


def pairs_of(offsets: tuple[OffsetToCommit, ...]) -> tuple[tuple[TopicPartition, int], ...]:
    """Return the partitions and offsets of a commit."""
    return tuple([(entry.partition, entry.offset) for entry in offsets])


TopicIds = tuple[tuple[str, str], ...]
"""From version 10 on: topics and their ids in the client's metadata; a topic that is left out has the
broker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """Commit the offsets of a group (API 8)."""

    group_id: str
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    """Versions 2 to 4 only; -1: the broker's setting."""

    offsets: tuple[OffsetToCommit, ...]
    """In the order of the client's hash map."""

    version: int = 9
    topic_ids: TopicIds = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    errors: tuple[tuple[TopicPartition, ErrorCode], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest:
    """Request committed offsets (API 9)."""

    group_id: str
    partitions: tuple[TopicPartition, ...] | None = None
    """None: all of the group."""

    require_stable: bool = True
    member_id: str | None = None
    member_epoch: int = -1
    """Of a member of the consumer protocol; -1: the client is not such a member."""

    version: int = 9
    topic_ids: TopicIds = ()


class FetchedOffset(NamedTuple):
    """One committed offset; -1 if there is none."""

    partition: TopicPartition
    offset: int = UNKNOWN_OFFSET
    leader_epoch: int = UNKNOWN_EPOCH
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    error: ErrorCode = ErrorCode.NONE
    offsets: tuple[FetchedOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    """Delete committed offsets of topics without subscribers (API 47)."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    error: ErrorCode = ErrorCode.NONE
    errors: tuple[tuple[TopicPartition, ErrorCode], ...] = ()
