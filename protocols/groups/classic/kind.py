"""The operations that the coordinator needs of the classic group type.

They validate commits and deletions, delete and describe a group, and say when its offsets expire.

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
    """Nobody's membership is looked at."""
    return None


# -- deleting ---------------------------------------------------------------------------------


def validate_delete(shard: Shard, group_id: str) -> ErrorCode | None:
    """Say why a group cannot be deleted."""
    verdict = DELETE_GROUPS[Sender.ANYONE][state_of(shard.groups.get(group_id))]
    return verdict if isinstance(verdict, ErrorCode) else None


def delete(shard: Shard, group_id: str) -> Turn[Shard]:
    """Delete a group without members; its offsets are gone already."""
    group_gone = Record(GroupMetadataKey(group_id), None)
    return Turn(shard.without_group(group_id), (), (group_gone,))


def validate_offset_delete(shard: Shard, group_id: str) -> ErrorCode | None:
    """Say why no offset of a group can be deleted."""
    group = shard.groups.get(group_id)
    verdict = OFFSET_DELETE[_kind_of(group)][state_of(group)]
    return verdict if isinstance(verdict, ErrorCode) else None


def is_subscribed_in(shard: Shard, group_id: str, topic: str) -> bool:
    """Say whether a subscription to a topic protects its offsets."""
    return is_subscribed(shard.groups[group_id], topic)


def _kind_of(group: Group | None) -> Sender:
    foreign = group is not None and group.protocol_type != CONSUMER_PROTOCOL_TYPE
    return Sender.OTHER_GROUP if foreign else Sender.ANYONE


# -- describing -------------------------------------------------------------------------------


def describe_group(group: Group | None, request: DescribeGroupRequest) -> DescribeGroupResponse:
    """Describe a group; assignors' data is shown only while the group is stable."""
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
    """Say why a commit is refused as a whole, or what it does beside storing offsets."""
    group = shard.groups.get(request.group_id)
    verdict = OFFSET_COMMIT[sender_of_commit(group, request)][state_of(group)]
    if isinstance(verdict, Act):
        return _kept(group, request, at) if verdict is Act.STORE_AND_KEEP else ()
    assert verdict is not None
    return _spoken(verdict, request)


def create_for_commit(shard: Shard, group_id: str, at: Moment) -> Shard:
    """Make the group that a first commit brings into being."""
    return shard.with_group(group_id, Group(group_id, state_since_ms=at.now_ms))


def _spoken(error: ErrorCode, request: OffsetCommitRequest) -> ErrorCode:
    """Old clients do not know that a group can be missing."""
    old = error is ErrorCode.GROUP_ID_NOT_FOUND and request.version <= 8
    return ErrorCode.ILLEGAL_GENERATION if old else error


def _kept(group: Group | None, request: OffsetCommitRequest, at: Moment) -> tuple[Effect, ...]:
    """A member's commit is a sign of life, even if each of its partitions is refused."""
    assert group is not None
    member = group.members[request.member_id]
    return (SetTimer(member.timer, at.now_us + member.session_timeout_ms * 1000),)


def expires_from_ms(
    shard: Shard, group_id: str, partition: TopicPartition, value: OffsetCommitValue
) -> int | None:
    """Return from when the retention of an offset counts, or None while it is in use.

    An offset committed to a group that is empty counts from when it became so.
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
    """Say whether a group may go once it has no offsets."""
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
"""Also for groups that do not exist, and those known by their offsets alone."""


_FIRST_TO_MISS_A_GROUP = 6
"""The DescribeGroups version that calls a group that does not exist an error."""
