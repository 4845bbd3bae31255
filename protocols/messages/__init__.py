"""Requests and responses between consumers and brokers, as immutable values.

Field names follow Kafka's message schemas (``*Request.json``, ``*Response.json``, 4.4.0),
in Python spelling. A message is sent with a :class:`Header`; its response carries the same header.
"""

from __future__ import annotations

from typing import NamedTuple

from assignors.values import dataclass
from protocols.messages.errors import (
    CONSUMER_PROTOCOL_TYPE,
    NO_LEADER,
    UNKNOWN_EPOCH,
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_OFFSET,
)
from protocols.messages.groups import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    TEMPORARY_LEAVE_EPOCH,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedConsumer,
    DescribedMember,
    DescribeGroupRequest,
    DescribeGroupResponse,
    FetchedOffset,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
    Protocol,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartitions,
    pairs_of,
)
from protocols.messages.records import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    EpochEndOffset,
    EpochStart,
    EpochToCheck,
    FetchedRecords,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderAndEpoch,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    TopicDescription,
)

__all__ = [
    "CONSUMER_PROTOCOL_TYPE",
    "EARLIEST_TIMESTAMP",
    "JOIN_EPOCH",
    "LATEST_TIMESTAMP",
    "LEAVE_EPOCH",
    "NO_LEADER",
    "TEMPORARY_LEAVE_EPOCH",
    "UNKNOWN_EPOCH",
    "UNKNOWN_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "UNKNOWN_OFFSET",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "DescribeGroupRequest",
    "DescribeGroupResponse",
    "DescribedConsumer",
    "DescribedMember",
    "Disconnected",
    "Envelope",
    "EpochEndOffset",
    "EpochStart",
    "EpochToCheck",
    "FetchPartition",
    "FetchRequest",
    "FetchResponse",
    "FetchedOffset",
    "FetchedRecords",
    "FindCoordinatorRequest",
    "FindCoordinatorResponse",
    "GroupRequest",
    "Header",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "JoinGroupMember",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "LeaderAndEpoch",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "LeavingMember",
    "LeftMember",
    "ListOffsetsRequest",
    "ListOffsetsResponse",
    "ListedOffset",
    "Message",
    "MetadataRequest",
    "MetadataResponse",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetDeleteRequest",
    "OffsetDeleteResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "OffsetToCommit",
    "OffsetsForLeaderEpochRequest",
    "OffsetsForLeaderEpochResponse",
    "Protocol",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "TopicDescription",
    "TopicPartitions",
    "broker_of",
    "coordinator_node",
    "pairs_of",
]


_MAX_NODE = 2**31 - 1


def coordinator_node(broker: int) -> int:
    """Return the node id of the connection to *broker* as coordinator.

    It is a separate connection, so that group requests do not queue behind fetches
    (``AbstractCoordinator``: ``Integer.MAX_VALUE - nodeId``).
    """
    return _MAX_NODE - broker


def broker_of(node: int) -> int:
    """Return the broker behind a node id of either kind."""
    return node if node < _MAX_NODE // 2 else _MAX_NODE - node


class Header(NamedTuple):
    """The sender of a request and its correlation id; the response carries the same header."""

    client: str
    """Name of the client process; unique in a run, unlike the client id."""

    correlation_id: int
    client_id: str = "consumer"
    client_host: str = "/127.0.0.1"


class Envelope(NamedTuple):
    """A message in flight, in either direction."""

    header: Header
    body: Message


@dataclass(frozen=True, slots=True)
class Disconnected:
    """Not a message: the connection to ``node`` was lost; all its requests in flight failed."""

    node: int


GroupRequest = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | ConsumerGroupHeartbeatRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | OffsetDeleteRequest
    | DeleteGroupsRequest
    | DescribeGroupRequest
    | ConsumerGroupDescribeRequest
)
"""The requests that a group coordinator handles."""

Message = (
    GroupRequest
    | FindCoordinatorRequest
    | FindCoordinatorResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | ConsumerGroupHeartbeatResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | OffsetDeleteResponse
    | DeleteGroupsResponse
    | DescribeGroupResponse
    | ConsumerGroupDescribeResponse
    | FetchRequest
    | FetchResponse
    | ListOffsetsRequest
    | ListOffsetsResponse
    | OffsetsForLeaderEpochRequest
    | OffsetsForLeaderEpochResponse
    | MetadataRequest
    | MetadataResponse
    | Disconnected
)
