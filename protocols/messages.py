"""Requests and responses between consumers and brokers, complete at birth.

Field names follow Kafka's message schemas (``*Request.json``, ``*Response.json``, 4.4.0),
in Python spelling. A message travels with a :class:`Header`; a response goes back to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import Subscription, TopicPartition
from protocols.errors import ErrorCode

UNKNOWN_MEMBER_ID = ""
"""The member id of a first JoinGroup."""

UNKNOWN_GENERATION = -1
UNKNOWN_OFFSET = -1
UNKNOWN_EPOCH = -1

CONSUMER_PROTOCOL_TYPE = "consumer"

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


class Protocol(NamedTuple):
    """One assignor a member can run, with what it wants that assignor's leader to know."""

    name: str
    metadata: Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest:
    """Ask any broker which one coordinates a group."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    error: ErrorCode = ErrorCode.NONE
    node_id: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    """Ask to enter a classic group, or to enter its next generation (API 11)."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    """Set for a static member, which may restart without a rebalance (KIP-345)."""

    protocol_type: str = CONSUMER_PROTOCOL_TYPE
    protocols: tuple[Protocol, ...] = ()
    """The most wanted assignor first."""

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
    """Tell a restarted static leader to keep the assignment (KIP-814)."""

    member_id: str = ""
    members: tuple[JoinGroupMember, ...] = ()
    """For the leader only, in the order of the coordinator's member map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    """Bring the leader's assignment, or ask for one's own part of it (API 14)."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = CONSUMER_PROTOCOL_TYPE
    protocol_name: str | None = None
    assignments: tuple[tuple[str, tuple[TopicPartition, ...]], ...] = ()
    """Leader only: member id and its partitions."""

    version: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """Say that the member lives (API 12)."""

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
    """Take members out of a group (API 13)."""

    group_id: str
    members: tuple[LeavingMember, ...]
    version: int = 5


class LeftMember(NamedTuple):
    """The answer to one entry of a LeaveGroup request."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


class OffsetToCommit(NamedTuple):
    """The next offset to read of one partition."""

    partition: TopicPartition
    offset: int
    leader_epoch: int = UNKNOWN_EPOCH
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """Store where the group goes on (API 8)."""

    group_id: str
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    """Versions 2 to 4 only; -1: the broker's setting."""

    offsets: tuple[OffsetToCommit, ...]
    """In the order of the client's hash map (spec consumer-client 4.1, rule 8)."""

    version: int = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    errors: tuple[tuple[TopicPartition, ErrorCode], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest:
    """Ask for committed offsets (API 9)."""

    group_id: str
    partitions: tuple[TopicPartition, ...] | None = None
    """None: all of the group."""

    require_stable: bool = True
    member_id: str | None = None
    version: int = 9


class FetchedOffset(NamedTuple):
    """One committed offset; -1 where there is none."""

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
    """Drop committed offsets of topics nobody subscribes to (API 47)."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    error: ErrorCode = ErrorCode.NONE
    errors: tuple[tuple[TopicPartition, ErrorCode], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    """Drop empty groups with all their offsets (API 42)."""

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
    """Ask for the state of one group (API 15)."""

    group_id: str
    version: int = 6
    """From version 6 on a group that does not exist is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupResponse:
    group_id: str
    state: str
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()


class FetchPartition(NamedTuple):
    """Where to read one partition."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """Ask a broker for records of partitions it leads (API 1)."""

    partitions: tuple[FetchPartition, ...]
    """Everything the client wants from this broker now, in its request order."""


class FetchedRecords(NamedTuple):
    """The answer for one partition: the records ``first`` up to ``next_offset``, exclusive."""

    partition: TopicPartition
    first: int
    next_offset: int
    error: ErrorCode = ErrorCode.NONE


class FetchResponse(NamedTuple):
    """Records, in the broker's order (spec consumer-client 1.2, rule 4)."""

    node: int
    partitions: tuple[FetchedRecords, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest:
    """Ask a leader where reading can start (API 2)."""

    partitions: tuple[tuple[TopicPartition, int], ...]
    """With a timestamp each, in epoch ms; -1 latest, -2 earliest."""


LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2


class ListedOffset(NamedTuple):
    """The answer for one partition; offset -1: no record is that young."""

    partition: TopicPartition
    offset: int
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    offsets: tuple[ListedOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest:
    """Ask any broker for topics and their leaders (API 3)."""

    topics: tuple[str, ...] | None = None
    """None: all topics (pattern subscriptions)."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic as a broker's metadata cache shows it."""

    name: str
    topic_id: str
    leaders: tuple[int, ...]
    """Broker id by partition; -1 where there is none."""

    racks: tuple[tuple[str, ...], ...] = ()
    """Racks of the replicas by partition; empty where no rack is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    brokers: tuple[int, ...]
    topics: tuple[TopicDescription, ...]


@dataclass(frozen=True, slots=True)
class Disconnected:
    """Not a message: the connection to ``node`` broke; all its requests in flight failed."""

    node: int


GroupRequest = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | OffsetDeleteRequest
    | DeleteGroupsRequest
    | DescribeGroupRequest
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
    | OffsetCommitResponse
    | OffsetFetchResponse
    | OffsetDeleteResponse
    | DeleteGroupsResponse
    | DescribeGroupResponse
    | FetchRequest
    | FetchResponse
    | ListOffsetsRequest
    | ListOffsetsResponse
    | MetadataRequest
    | MetadataResponse
    | Disconnected
)
