"""Requests and responses between consumers and brokers, complete at birth.

Field names follow Kafka's message schemas (``*Request.json``, ``*Response.json``, 4.4.0),
in Python spelling. A message travels with a :class:`Header`; a response goes back to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from protocols.messages.constants import (
    CONSUMER_PROTOCOL_TYPE,
    NO_LEADER,
    UNKNOWN_EPOCH,
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_OFFSET,
)
from protocols.messages.consumer_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumer,
)
from protocols.messages.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    TEMPORARY_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocols.messages.epochs import (
    EpochEndOffset,
    EpochStart,
    EpochToCheck,
    LeaderAndEpoch,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from protocols.messages.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedMember,
    DescribeGroupRequest,
    DescribeGroupResponse,
)
from protocols.messages.membership import (
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
    Protocol,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocols.messages.offsets import (
    FetchedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocols.messages.records import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    FetchedRecords,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
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
]


_MAX_NODE = 2**31 - 1


def coordinator_node(broker: int) -> int:
    """Return the node id of the connection kept for ``broker`` as coordinator.

    It is a connection of its own, so group requests do not queue behind fetches
    (``AbstractCoordinator``: ``Integer.MAX_VALUE - nodeId``).
    """
    return _MAX_NODE - broker


def broker_of(node: int) -> int:
    """Return the broker behind a node id of either kind."""
    return node if node < _MAX_NODE // 2 else _MAX_NODE - node


class Header(NamedTuple):
    """Who asked, and which of its requests this is; a response goes back to it."""

    client: str
    """Name of the process that asked; unique in a run, unlike the client id."""

    correlation_id: int
    client_id: str = "consumer"
    client_host: str = "/127.0.0.1"


class Envelope(NamedTuple):
    """A message on its way, either direction."""

    header: Header
    body: Message


@dataclass(frozen=True, slots=True)
class Disconnected:
    """Not a message: the connection to ``node`` broke; all its requests in flight failed."""

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
"""What a group coordinator answers."""

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
