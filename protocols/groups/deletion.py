"""Delete groups and committed offsets: on request, with their topic, or when they expire (KIP-211).

Source: ``GroupCoordinatorShard.deleteGroups``, ``cleanupGroupMetadata``,
``OffsetMetadataManager.deleteOffsets``, ``cleanupExpiredOffsets``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from assignors.types import TopicPartition
from protocols.groups.offsets import committed, dropped, tombstones
from protocols.groups.shard import AnyShard, Broker, GroupKind, Moment, Turn
from protocols.machine import Send, SetTimer
from protocols.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    Header,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import ZERO_TOPIC_ID, OffsetCommitValue


def delete_groups(
    shard: AnyShard, header: Header, request: DeleteGroupsRequest, kind_of: KindOf
) -> Turn[AnyShard]:
    """Delete every named group that is empty, with its offsets, in one batch."""
    turn: Turn[AnyShard] = Turn(shard)
    results = list[tuple[str, ErrorCode]]()
    for group_id in dict.fromkeys(request.group_ids):
        kind = kind_of(shard, group_id)
        error = kind.validate_delete(shard, group_id)
        results.append((group_id, error or ErrorCode.NONE))
        if error is None:
            turn = turn.then(functools.partial(_delete, group_id=group_id, kind=kind))
    response = DeleteGroupsResponse(results=tuple(results))
    return turn.after_append(Send(header, response))


def _delete(shard: AnyShard, group_id: str, kind: GroupKind) -> Turn[AnyShard]:
    """Delete a group and all its offsets, in the order of the coordinator's hash tables."""
    partitions = committed(shard.durable, group_id)
    facts = dropped(group_id, partitions, "deleted")
    turn: Turn[AnyShard] = Turn(shard, (), tombstones(group_id, partitions), facts)
    return turn.then(functools.partial(kind.delete, group_id=group_id))


def offset_delete(
    shard: AnyShard, header: Header, request: OffsetDeleteRequest, kind: GroupKind, at: Moment
) -> Turn[AnyShard]:
    """Delete offsets of topics to which no member subscribes."""
    group_id = request.group_id
    error = kind.validate_offset_delete(shard, group_id)
    if error is not None:
        return Turn(shard, (Send(header, OffsetDeleteResponse(error=error)),))
    errors = tuple(
        (partition, _error(shard, group_id, partition, kind, at.broker))
        for partition in request.partitions
    )
    gone = tuple(
        partition
        for partition in dict.fromkeys(name for name, code in errors if code is ErrorCode.NONE)
        if shard.durable.offset(group_id, *partition) is not None
    )
    facts = dropped(group_id, gone, "deleted")
    response = Send(header, OffsetDeleteResponse(errors=errors))
    return Turn(shard, (), tombstones(group_id, gone), (*facts, response))


def _error(
    shard: AnyShard, group_id: str, partition: TopicPartition, kind: GroupKind, broker: Broker
) -> ErrorCode:
    if broker.topics is not None:
        topic = broker.topics.get(partition.topic)
        if topic is None or partition.partition >= len(topic.leaders):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    subscribed = kind.is_subscribed(shard, group_id, partition.topic)
    return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE


def topic_deleted(shard: AnyShard, topic: str, topic_id: str) -> Turn[AnyShard]:
    """Delete every group's offsets of a deleted topic, also while members subscribe to it.

    Offsets of a later topic of the same name have another topic id and are kept.
    """
    turn: Turn[AnyShard] = Turn(shard)
    for group_id in shard.durable.groups:
        partitions = shard.durable.topics_of(group_id).get(topic)
        gone = tuple(
            TopicPartition(topic, number)
            for number, value in (partitions.items() if partitions else ())
            if value.topic_id in {topic_id, ZERO_TOPIC_ID}
        )
        facts = dropped(group_id, gone, "topic deleted")
        turn = Turn(shard, (), turn.records + tombstones(group_id, gone), turn.waits + facts)
    return turn


_NEVER = -1

EXPIRE_OFFSETS = "expire-group-metadata"
"""The timer of the periodic check for expired offsets, one for all groups of a coordinator."""

KindOf = Callable[[AnyShard, str], GroupKind]
"""Returns the type of a group."""


def next_run(at: Moment) -> SetTimer:
    """Return the timer of the next check for expired offsets."""
    return SetTimer(EXPIRE_OFFSETS, at.after(at.settings.offsets_retention_check_interval_ms))


def expire(shard: AnyShard, kind_of: KindOf, at: Moment) -> Turn[AnyShard]:
    """Delete expired offsets and empty groups, in the order of the coordinator's hash table."""
    turn: Turn[AnyShard] = Turn(shard)
    for group_id in shard.durable.groups:
        kind = kind_of(shard, group_id)
        turn = turn.then(functools.partial(_expired, group_id=group_id, kind=kind, at=at))
    return turn.also(next_run(at))


def expires_nothing(shard: AnyShard, kind_of: KindOf) -> bool:
    """Return whether all offsets are in use, and no group may be removed."""
    return all(_is_in_use(shard, group, kind_of(shard, group)) for group in shard.durable.groups)


def _is_in_use(shard: AnyShard, group_id: str, kind: GroupKind) -> bool:
    return not kind.may_be_removed(shard, group_id) and all(
        kind.expires_from_ms(shard, group_id, TopicPartition(topic, number), value) is None
        for topic, partitions in shard.durable.topics_of(group_id).items()
        for number, value in partitions.items()
    )


def _expired(shard: AnyShard, group_id: str, kind: GroupKind, at: Moment) -> Turn[AnyShard]:
    topics = shard.durable.topics_of(group_id)
    stored = [
        (TopicPartition(topic, number), value)
        for topic, partitions in topics.items()
        for number, value in partitions.items()
    ]
    gone = tuple(
        partition
        for partition, value in stored
        if _is_expired(kind.expires_from_ms(shard, group_id, partition, value), value, at)
    )
    facts = dropped(group_id, gone, "expired")
    turn: Turn[AnyShard] = Turn(shard, (), tombstones(group_id, gone), facts)
    if len(gone) < len(stored) or not kind.may_be_removed(shard, group_id):
        return turn
    return turn.then(functools.partial(kind.delete, group_id=group_id))


def _is_expired(base_ms: int | None, value: OffsetCommitValue, at: Moment) -> bool:
    if base_ms is None:
        return False
    if value.expire_timestamp != _NEVER:
        return at.now_ms >= value.expire_timestamp
    return at.now_ms - base_ms >= at.settings.offsets_retention_minutes * 60_000
