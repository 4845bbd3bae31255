"""What administrators ask: describe a group, delete groups, drop offsets.

Source: ``GroupMetadataManager.describeGroups``, ``GroupCoordinatorShard.deleteGroups``,
``OffsetMetadataManager.deleteOffsets`` (spec classic-coordinator 3.8 to 3.10).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from assignors.types import TopicPartition
from protocols.classic.group import Group, in_order, metadata_of, reads
from protocols.classic.shard import Broker, Moment, Shard, Turn, state_of
from protocols.classic.states import DELETE_GROUPS, OFFSET_DELETE, Act, State, Who
from protocols.errors import ErrorCode
from protocols.facts import OffsetsDropped
from protocols.messages import (
    CONSUMER_PROTOCOL_TYPE,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedMember,
    DescribeGroupRequest,
    DescribeGroupResponse,
    Header,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from protocols.records import ZERO_TOPIC_ID, GroupMetadataKey, OffsetCommitKey, Record
from protocols.step import Effect, Send, Tell

_FIRST_TO_MISS_A_GROUP = 6
"""The DescribeGroups version that calls a group that does not exist an error."""


# -- deleting ---------------------------------------------------------------------------------


def delete_groups(
    shard: Shard, header: Header, request: DeleteGroupsRequest, at: Moment
) -> Turn[Shard]:
    """Delete every empty group named, with its offsets, in one batch."""
    del at
    turn: Turn[Shard] = Turn(shard)
    results = list[tuple[str, ErrorCode]]()
    for group_id in dict.fromkeys(request.group_ids):
        verdict = DELETE_GROUPS[Who.ANYONE][state_of(shard.groups.get(group_id))]
        error = verdict if isinstance(verdict, ErrorCode) else ErrorCode.NONE
        results.append((group_id, error))
        if error is ErrorCode.NONE:
            turn = turn.then(functools.partial(deleted, group_id=group_id))
    answer = DeleteGroupsResponse(results=tuple(results))
    return turn.at_last(Send(header, answer))


def deleted(shard: Shard, group_id: str) -> Turn[Shard]:
    """Delete a group and all its offsets, in the order of the coordinator's tables."""
    partitions = committed(shard, group_id)
    group_gone = Record(GroupMetadataKey(group_id), None)
    return Turn(
        shard.without_group(group_id),
        dropped(group_id, partitions, "deleted"),
        (*tombstones(group_id, partitions), group_gone),
    )


def committed(shard: Shard, group_id: str) -> tuple[TopicPartition, ...]:
    """Return the partitions a group has offsets of, in the order of spec 10.3b."""
    return tuple(
        TopicPartition(topic, number)
        for topic, partitions in shard.durable.topics_of(group_id).items()
        for number in partitions
    )


def tombstones(group_id: str, partitions: Iterable[TopicPartition]) -> tuple[Record, ...]:
    """Return the records that delete committed offsets."""
    return tuple(
        Record(OffsetCommitKey(group_id, partition.topic, partition.partition), None)
        for partition in partitions
    )


def dropped(group_id: str, partitions: tuple[TopicPartition, ...], why: str) -> tuple[Effect, ...]:
    """Tell of offsets that vanish, if any do."""
    if not partitions:
        return ()
    return (Tell(OffsetsDropped(group=group_id, partitions=partitions, why=why)),)


def offset_delete(
    shard: Shard, header: Header, request: OffsetDeleteRequest, at: Moment
) -> Turn[Shard]:
    """Drop offsets of topics to which nobody in the group subscribes."""
    group = shard.groups.get(request.group_id)
    verdict = OFFSET_DELETE[_kind_of(group)][state_of(group)]
    if isinstance(verdict, ErrorCode):
        return Turn(shard, (Send(header, OffsetDeleteResponse(error=verdict)),))
    assert verdict is Act.DROP_OFFSETS
    assert group is not None
    errors = tuple(
        (partition, _may_drop(group, partition, at.broker)) for partition in request.partitions
    )
    gone = tuple(
        partition
        for partition in dict.fromkeys(name for name, said in errors if said is ErrorCode.NONE)
        if shard.durable.offset(group.group_id, *partition) is not None
    )
    return Turn(
        shard,
        dropped(group.group_id, gone, "deleted"),
        tombstones(group.group_id, gone),
        (Send(header, OffsetDeleteResponse(errors=errors)),),
    )


def _kind_of(group: Group | None) -> Who:
    foreign = group is not None and group.protocol_type != CONSUMER_PROTOCOL_TYPE
    return Who.OTHER_GROUP if foreign else Who.ANYONE


def _may_drop(group: Group, partition: TopicPartition, broker: Broker) -> ErrorCode:
    if broker.topics is not None:
        topic = broker.topics.get(partition.topic)
        if topic is None or partition.partition >= len(topic.leaders):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    subscribed = reads(group, partition.topic)
    return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE


def topic_deleted(shard: Shard, topic: str, topic_id: str) -> Turn[Shard]:
    """Drop every group's offsets of a deleted topic, also while the group reads it.

    Offsets of a later topic of the same name carry another id and stay.
    """
    turn: Turn[Shard] = Turn(shard)
    for group_id in shard.durable.groups:
        partitions = shard.durable.topics_of(group_id).get(topic)
        gone = tuple(
            TopicPartition(topic, number)
            for number, value in (partitions.items() if partitions else ())
            if value.topic_id in {topic_id, ZERO_TOPIC_ID}
        )
        told = dropped(group_id, gone, "topic deleted")
        turn = Turn(shard, turn.effects + told, turn.records + tombstones(group_id, gone))
    return turn


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
