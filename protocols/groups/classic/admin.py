"""What administrators ask of a classic group: describe it, delete it, drop offsets.

Source: ``GroupMetadataManager.describeGroups``, ``ClassicGroup.validateDeleteGroup`` (spec
classic-coordinator 3.8 to 3.10).
"""

from __future__ import annotations

from protocols.groups.classic.group import Group, in_order, metadata_of
from protocols.groups.classic.group import reads as group_reads
from protocols.groups.classic.shard import Shard, state_of
from protocols.groups.classic.states import DELETE_GROUPS, OFFSET_DELETE, State, Who
from protocols.groups.turn import Turn
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    DescribedMember,
    DescribeGroupRequest,
    DescribeGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataKey, Record

_FIRST_TO_MISS_A_GROUP = 6
"""The DescribeGroups version that calls a group that does not exist an error."""


# -- deleting ---------------------------------------------------------------------------------


def delete_error(shard: Shard, group_id: str) -> ErrorCode | None:
    """Say why a group cannot be deleted."""
    verdict = DELETE_GROUPS[Who.ANYONE][state_of(shard.groups.get(group_id))]
    return verdict if isinstance(verdict, ErrorCode) else None


def deleted(shard: Shard, group_id: str) -> Turn[Shard]:
    """Delete a group without members; its offsets are gone already."""
    group_gone = Record(GroupMetadataKey(group_id), None)
    return Turn(shard.without_group(group_id), (), (group_gone,))


def offset_delete_error(shard: Shard, group_id: str) -> ErrorCode | None:
    """Say why no offset of a group can be deleted."""
    group = shard.groups.get(group_id)
    verdict = OFFSET_DELETE[_kind_of(group)][state_of(group)]
    return verdict if isinstance(verdict, ErrorCode) else None


def reads(shard: Shard, group_id: str, topic: str) -> bool:
    """Say whether a subscription to a topic protects its offsets."""
    return group_reads(shard.groups[group_id], topic)


def _kind_of(group: Group | None) -> Who:
    foreign = group is not None and group.protocol_type != CONSUMER_PROTOCOL_TYPE
    return Who.OTHER_GROUP if foreign else Who.ANYONE


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
