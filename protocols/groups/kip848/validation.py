"""Validate heartbeats before the group is read; validate commits and fetches by member epoch.

Source: ``GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid``,
``ConsumerGroup.validateOffsetCommit``, ``validateOffsetFetch`` of Kafka 4.4.0 (KIP-1251).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from protocols.groups.kip848.group import Group, Member
from protocols.groups.offsets import is_too_long
from protocols.groups.shard import Moment
from protocols.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    TEMPORARY_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.settings import BrokerSettings


def validate_heartbeat(
    request: ConsumerGroupHeartbeatRequest, settings: BrokerSettings
) -> ConsumerGroupHeartbeatResponse | None:
    """Return the error response to an invalid heartbeat, else None."""
    wrong = _invalid(request)
    if wrong is not None:
        return _error_response(ErrorCode.INVALID_REQUEST, wrong)
    wanted, offered = request.server_assignor, settings.group_consumer_assignors
    if wanted is not None and wanted not in offered:
        names = ", ".join(offered)
        return _error_response(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"There is no assignor {wanted!r}; group.consumer.assignors has: {names}.",
        )
    return None


_MESSAGES: Final = MappingProxyType(
    {
        ErrorCode.UNKNOWN_MEMBER_ID: "Member {member_id!r} is not in group {group_id!r}.",
        ErrorCode.FENCED_MEMBER_EPOCH: (
            "Member {member_id!r} sent epoch {member_epoch}, which is not its current epoch; "
            "it must abandon its partitions and rejoin with epoch 0."
        ),
        ErrorCode.UNRELEASED_INSTANCE_ID: (
            "Instance {instance_id!r} belongs to a member that has not left; it is free when that "
            "member leaves with epoch -2 or its session expires."
        ),
        ErrorCode.FENCED_INSTANCE_ID: "Instance {instance_id!r} now belongs to another member.",
        ErrorCode.GROUP_MAX_SIZE_REACHED: (
            "Group {group_id!r} has as many members as group.consumer.max.size allows."
        ),
        ErrorCode.INVALID_REGULAR_EXPRESSION: (
            "Pattern {subscribed_topic_regex!r} is not a valid RE2 regular expression."
        ),
        ErrorCode.GROUP_ID_NOT_FOUND: ("There is no group {group_id!r} of the consumer protocol."),
    }
)


def heartbeat_error_response(
    error: ErrorCode, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """Return the error response to a heartbeat, with its message.

    UNKNOWN_SERVER_ERROR has none (``CoordinatorOperationExceptionHelper``).
    """
    if error is ErrorCode.UNKNOWN_SERVER_ERROR:
        return _error_response(error, None)
    values = {name: getattr(request, name) for name in _FIELDS_OF_MESSAGES}
    return _error_response(error, _MESSAGES[error].format(**values))


_FIELDS_OF_MESSAGES: Final = (
    "group_id",
    "member_id",
    "member_epoch",
    "instance_id",
    "subscribed_topic_regex",
)


def _error_response(error: ErrorCode, message: str | None) -> ConsumerGroupHeartbeatResponse:
    """Return a heartbeat response that contains only an error."""
    return ConsumerGroupHeartbeatResponse(error=error, error_message=message)


def _invalid(request: ConsumerGroupHeartbeatRequest) -> str | None:
    for name, text in (("InstanceId", request.instance_id), ("RackId", request.rack_id)):
        if text is not None and _is_blank(text):
            return f"{name} is empty; omit it instead."
    if _is_blank(request.group_id):
        return "GroupId is empty."
    epoch = request.member_epoch
    if _is_blank(request.member_id) and (request.version >= 1 or epoch > 0 or epoch == LEAVE_EPOCH):
        return "MemberId is empty; only a member that joins with version 0 may omit it."
    if epoch == JOIN_EPOCH:
        return _invalid_join(request)
    if epoch == TEMPORARY_LEAVE_EPOCH and request.instance_id is None:
        return "MemberEpoch is -2, which only a static member may send: InstanceId is missing."
    if epoch < TEMPORARY_LEAVE_EPOCH:
        return f"MemberEpoch is {epoch}; below 0 only -1 (leave) and -2 (leave temporarily) exist."
    return None


def _is_blank(text: str) -> bool:
    """Return whether ``String.trim``, which strips characters up to the space, leaves nothing."""
    return all(char <= " " for char in text)


def _invalid_join(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs is missing in a request to join."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty in a request to join."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return "A request to join needs SubscribedTopicNames or SubscribedTopicRegex."
    return None


_FIRST_WITH_EPOCHS = 9
"""The first OffsetCommit version with member epochs."""


def validate_commit(group: Group, request: OffsetCommitRequest, at: Moment) -> ErrorCode | None:
    """Return the error if a commit is rejected as a whole, else None.

    At the member's epoch any partition may be committed. At an older epoch the member must have
    owned each partition by then and still own it; any other partition fails the whole request,
    unless that partition is rejected for its metadata.
    """
    epoch = request.generation_id
    if epoch < 0 and not group.members:
        return None
    member = group.member(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if request.version < _FIRST_WITH_EPOCHS and not member.uses_classic:
        return ErrorCode.UNSUPPORTED_VERSION
    stale = _stale(member)
    if epoch == member.current.epoch:
        return None
    if epoch > member.current.epoch:
        return stale
    image = at.broker.image
    fits = all(
        _had_by(member, image.id_of(entry.partition.topic), entry.partition.partition, epoch)
        for entry in request.offsets
        if not is_too_long(entry, at)
    )
    return None if fits else stale


def validate_fetch(group: Group, request: OffsetFetchRequest) -> ErrorCode | None:
    """Return the error of a fetch or None; a fetch without a member id is always allowed."""
    if request.member_id is None and request.member_epoch < 0:
        return None
    member = group.member(request.member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return None if request.member_epoch == member.current.epoch else _stale(member)


def _stale(member: Member) -> ErrorCode:
    if member.uses_classic:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH


def _had_by(member: Member, topic: str | None, number: int, epoch: int) -> bool:
    """Return whether the member owns a partition and already owned it at an epoch."""
    if topic is None:
        return False
    for grants in (member.current.assigned, member.current.revoking):
        given = grants.get(topic, {}).get(number)
        if given is not None:
            return given <= epoch
    return False
