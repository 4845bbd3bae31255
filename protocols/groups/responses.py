"""Error responses to group requests, and the client's error after a failed append.

Source: ``GroupCoordinatorService.handleOperationException`` and ``getErrorResponse`` of each
request class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Final

from protocols.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupRequest,
    DescribeGroupResponse,
    FetchedOffset,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeftMember,
    Message,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode

_FAILED_WRITES: Final = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


def client_error(error: ErrorCode) -> ErrorCode:
    """Return the error a client gets when an append failed with *error*."""
    return _FAILED_WRITES.get(error, error)


def client_error_of_fetch(error: ErrorCode) -> ErrorCode:
    """Return the error of an OffsetFetch that waited for an append that failed with *error*."""
    seen = client_error(error)
    looked_up_again = seen is not error and seen is ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NOT_COORDINATOR if looked_up_again else seen


# -- whole requests --------------------------------------------------------------------------


def error_response(request: GroupRequest, error: ErrorCode) -> Message:
    """Return the response that rejects *request* as a whole.

    Hosts also use it for requests to a broker that does not lead the group's partition.
    """
    respond = _ERROR_RESPONSES[type(request)]
    return respond(request, error)


def join_error_response(error: ErrorCode, member_id: str, version: int) -> JoinGroupResponse:
    """Return a JoinGroup response with an error; the protocol is null from version 7."""
    name = None if version >= 7 else ""
    return JoinGroupResponse(error=error, member_id=member_id, protocol_name=name)


def leave_response(request: LeaveGroupRequest, errors: Sequence[ErrorCode]) -> LeaveGroupResponse:
    """Return the response of each entry; up to version 2, the error of the only entry."""
    if request.version < 3:
        return LeaveGroupResponse(error=errors[0] if errors else ErrorCode.NONE)
    return LeaveGroupResponse(
        members=tuple(
            LeftMember(entry.member_id, entry.group_instance_id, error)
            for entry, error in zip(request.members, errors, strict=True)
        )
    )


def _commit_error_response(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """Return a response with *error* for every partition of a commit."""
    return OffsetCommitResponse(errors=tuple((entry[0], error) for entry in request.offsets))


def _fetch_error_response(request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    if request.version > 1 or request.partitions is None:
        return OffsetFetchResponse(error=error)
    return OffsetFetchResponse(
        offsets=tuple(FetchedOffset(partition, error=error) for partition in request.partitions)
    )


def _delete_error_response(request: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    groups = dict.fromkeys(request.group_ids)
    return DeleteGroupsResponse(results=tuple((group, error) for group in groups))


def _describe_error_response(
    request: DescribeGroupRequest, error: ErrorCode
) -> DescribeGroupResponse:
    return DescribeGroupResponse(group_id=request.group_id, state="", error=error)


def _consumer_describe_error_response(
    request: ConsumerGroupDescribeRequest, error: ErrorCode
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(group_id=request.group_id, error=error)


_ERROR_RESPONSES: Final[MappingProxyType[type, Callable[[Any, ErrorCode], Message]]] = (
    MappingProxyType(
        {
            JoinGroupRequest: lambda request, error: join_error_response(
                error, "", request.version
            ),
            SyncGroupRequest: lambda _, error: SyncGroupResponse(error=error),
            HeartbeatRequest: lambda _, error: HeartbeatResponse(error=error),
            ConsumerGroupHeartbeatRequest: lambda _, error: ConsumerGroupHeartbeatResponse(
                error=error
            ),
            LeaveGroupRequest: lambda _, error: LeaveGroupResponse(error=error),
            OffsetCommitRequest: _commit_error_response,
            OffsetFetchRequest: _fetch_error_response,
            OffsetDeleteRequest: lambda _, error: OffsetDeleteResponse(error=error),
            DeleteGroupsRequest: _delete_error_response,
            DescribeGroupRequest: _describe_error_response,
            ConsumerGroupDescribeRequest: _consumer_describe_error_response,
        }
    )
)


# -- replies that waited for an append -------------------------------------------------------

_NEVER_FORWARDED: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
)
"""Errors that a broker answers for a partition without forwarding it to the coordinator."""


def append_failed_response(reply: Message, error: ErrorCode) -> Message:
    """Return the response sent instead of *reply*, whose append failed with *error*."""
    match reply:
        case JoinGroupResponse():
            return JoinGroupResponse(error=client_error(error))
        case SyncGroupResponse():
            return SyncGroupResponse(error=client_error(error))
        case HeartbeatResponse():
            return HeartbeatResponse(error=client_error(error))
        case ConsumerGroupHeartbeatResponse():
            return ConsumerGroupHeartbeatResponse(error=client_error(error))
        case LeaveGroupResponse():
            return LeaveGroupResponse(error=client_error(error))
        case OffsetCommitResponse():
            return _commit_failed(reply, client_error(error))
        case OffsetFetchResponse():
            return OffsetFetchResponse(error=client_error_of_fetch(error))
        case OffsetDeleteResponse():
            return OffsetDeleteResponse(error=client_error(error))
        case DeleteGroupsResponse():
            results = tuple((group, client_error(error)) for group, _ in reply.results)
            return DeleteGroupsResponse(results=results)
        case _:
            raise TypeError(f"a {type(reply).__name__} never waits for an append")


def _commit_failed(reply: OffsetCommitResponse, error: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        errors=tuple(
            (partition, own if own in _NEVER_FORWARDED else error)
            for partition, own in reply.errors
        )
    )
