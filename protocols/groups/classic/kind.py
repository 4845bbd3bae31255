"""The operations that the coordinator needs of the classic group type.

They validate commits and deletions, delete and describe a group, and decide when offsets expire.

Source: ``ClassicGroup.validateOffsetCommit``, ``validateDeleteGroup``,
``offsetExpirationCondition``; ``GroupMetadataManager.describeGroups``.
"""

from __future__ import annotations

from typing import Final

from assignors.types import TopicPartition
from protocols.groups.classic import lifecycle
from protocols.groups.classic.group import (
    Group,
    Shard,
    in_order,
    is_subscribed,
    metadata_of,
    state_of,
)
from protocols.groups.classic.membership import sender_of_commit
from protocols.groups.classic.states import (
    DELETE_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    Act,
    Sender,
    State,
)
from protocols.groups.shard import Durable, GroupKind, Moment, Turn
from protocols.machine import Effect, SetTimer
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    DescribedMember,
    DescribeGroupRequest,
    DescribeGroupResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataKey, OffsetCommitValue, Record


def _anyone_may_fetch(_: Durable, __: OffsetFetchRequest) -> ErrorCode | None:
    """Accept every OffsetFetch: membership is not checked."""
    return None


# -- deleting ---------------------------------------------------------------------------------


def validate_delete(shard: Shard, group_id: str) -> ErrorCode | None:
    """Return the error if a group cannot be deleted, else None."""
    verdict = DELETE_GROUPS[Sender.ANYONE][state_of(shard.groups.get(group_id))]
    return verdict if isinstance(verdict, ErrorCode) else None


def delete(shard: Shard, group_id: str) -> Turn[Shard]:
    """Delete a group without members; its offsets are already deleted."""
    group_gone = Record(GroupMetadataKey(group_id), None)
    return Turn(shard.without_group(group_id), (), (group_gone,))


def validate_offset_delete(shard: Shard, group_id: str) -> ErrorCode | None:
    """Return the error if offsets of a group cannot be deleted, else None."""
    group = shard.groups.get(group_id)
    verdict = OFFSET_DELETE[_kind_of(group)][state_of(group)]
    return verdict if isinstance(verdict, ErrorCode) else None


def is_subscribed_in(shard: Shard, group_id: str, topic: str) -> bool:
    """Return whether a subscription to a topic protects its offsets."""
    return is_subscribed(shard.groups[group_id], topic)


def _kind_of(group: Group | None) -> Sender:
    foreign = group is not None and group.protocol_type != CONSUMER_PROTOCOL_TYPE
    return Sender.OTHER_GROUP if foreign else Sender.ANYONE


# -- describing -------------------------------------------------------------------------------


def describe_group(group: Group | None, request: DescribeGroupRequest) -> DescribeGroupResponse:
    """Describe a group; protocol name and metadata are shown only while the group is stable."""
    if group is None:
        missing = request.version >= _FIRST_TO_MISS_A_GROUP
        return DescribeGroupResponse(
            group_id=request.group_id,
            state=State.DEAD.label,
            error=ErrorCode.GROUP_ID_NOT_FOUND if missing else ErrorCode.NONE,
        )
    stable = group.state is State.STABLE
    return DescribeGroupResponse(
        group_id=group.group_id,
        state=group.state.label,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=tuple(
            DescribedMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                metadata_of(member, group.protocol_name) if stable else None,
                group.assignments.get(member.member_id, ()),
            )
            for member in in_order(group)
        ),
    )


def validate_commit(
    shard: Shard, request: OffsetCommitRequest, at: Moment
) -> ErrorCode | tuple[Effect, ...]:
    """Return the error of a rejected commit, or the effects of one beside storing offsets."""
    group = shard.groups.get(request.group_id)
    verdict = OFFSET_COMMIT[sender_of_commit(group, request)][state_of(group)]
    if isinstance(verdict, Act):
        return _kept(group, request, at) if verdict is Act.STORE_AND_KEEP else ()
    assert verdict is not None
    return _spoken(verdict, request)


def create_for_commit(shard: Shard, group_id: str, at: Moment) -> Shard:
    """Create the group of a first commit."""
    return shard.with_group(group_id, Group(group_id, state_since_ms=at.now_ms))


def _spoken(error: ErrorCode, request: OffsetCommitRequest) -> ErrorCode:
    """Return the error as the request version knows it: GROUP_ID_NOT_FOUND exists since v9."""
    old = error is ErrorCode.GROUP_ID_NOT_FOUND and request.version <= 8
    return ErrorCode.ILLEGAL_GENERATION if old else error


def _kept(group: Group | None, request: OffsetCommitRequest, at: Moment) -> tuple[Effect, ...]:
    """Renew the session of a committing member, even if each of its partitions is rejected."""
    assert group is not None
    member = group.members[request.member_id]
    return (SetTimer(member.timer, at.now_us + member.session_timeout_ms * 1000),)


def expires_from_ms(
    shard: Shard, group_id: str, partition: TopicPartition, value: OffsetCommitValue
) -> int | None:
    """Return the time from which the retention of an offset counts, or None while it is in use.

    For an empty group, that is the time at which it became empty.
    """
    group = shard.groups[group_id]
    if group.protocol_type is None:
        return value.commit_timestamp
    if group.state is State.EMPTY:
        return value.commit_timestamp if group.state_since_ms is None else group.state_since_ms
    quiet = group.state is State.STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE
    if not quiet or group.subscribed_topics is None or is_subscribed(group, partition.topic):
        return None
    return value.commit_timestamp


def may_be_removed(shard: Shard, group_id: str) -> bool:
    """Return whether a group may be removed once it has no offsets."""
    return shard.groups[group_id].state is State.EMPTY


CLASSIC: Final = GroupKind(
    validate_commit=validate_commit,
    create_for_commit=create_for_commit,
    validate_fetch=_anyone_may_fetch,
    validate_delete=validate_delete,
    delete=delete,
    validate_offset_delete=validate_offset_delete,
    is_subscribed=is_subscribed_in,
    expires_from_ms=expires_from_ms,
    may_be_removed=may_be_removed,
    on_loaded=lifecycle.on_loaded,
    on_unloaded=lifecycle.on_unloaded,
)
"""Also serves groups that do not exist, and those that have offsets only."""


_FIRST_TO_MISS_A_GROUP = 6
"""The first DescribeGroups version that answers GROUP_ID_NOT_FOUND for an absent group."""
