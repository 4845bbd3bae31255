"""Offsets and groups that nobody uses any more (KIP-211).

Source: ``GroupCoordinatorShard.cleanupGroupMetadata``, ``OffsetMetadataManager
.cleanupExpiredOffsets``, ``ClassicGroup.offsetExpirationCondition`` (spec classic-coordinator
5.7).
"""

from __future__ import annotations

import functools

from assignors.types import TopicPartition
from protocols.classic.admin import dropped, tombstones
from protocols.classic.group import Group, reads
from protocols.classic.shard import Moment, Shard, Turn
from protocols.classic.states import State
from protocols.classic.timers import EXPIRE_OFFSETS
from protocols.messages import CONSUMER_PROTOCOL_TYPE
from protocols.records import GroupMetadataKey, OffsetCommitValue, Record
from protocols.step import SetTimer

_NEVER = -1


def next_run(at: Moment) -> SetTimer:
    """Return the timer of the next look for what has expired."""
    return SetTimer(EXPIRE_OFFSETS, at.after(at.settings.offsets_retention_check_interval_ms))


def expire(shard: Shard, at: Moment) -> Turn[Shard]:
    """Drop what has expired in every group, in the order of the coordinator's table of groups."""
    turn: Turn[Shard] = Turn(shard)
    for group_id in shard.durable.groups:
        turn = turn.then(functools.partial(_expired, group_id=group_id, at=at))
    return turn.also(next_run(at))


def _expired(shard: Shard, group_id: str, at: Moment) -> Turn[Shard]:
    group = shard.groups[group_id]
    topics = shard.durable.topics_of(group_id)
    stored = [
        (TopicPartition(topic, number), value)
        for topic, partitions in topics.items()
        for number, value in partitions.items()
    ]
    gone = tuple(partition for partition, value in stored if _is_over(group, partition, value, at))
    effects, records = dropped(group_id, gone, "expired"), tombstones(group_id, gone)
    if len(gone) < len(stored) or group.state is not State.EMPTY:
        return Turn(shard, effects, records)
    group_gone = Record(GroupMetadataKey(group_id), None)
    return Turn(shard.without_group(group_id), effects, (*records, group_gone))


def _is_over(group: Group, partition: TopicPartition, value: OffsetCommitValue, at: Moment) -> bool:
    base_ms = _base_ms(group, partition, value)
    if base_ms is None:
        return False
    if value.expire_timestamp != _NEVER:
        return at.now_ms >= value.expire_timestamp
    return at.now_ms - base_ms >= at.settings.offsets_retention_minutes * 60_000


def _base_ms(group: Group, partition: TopicPartition, value: OffsetCommitValue) -> int | None:
    """Return from when the retention counts, or None while the offset is in use.

    An offset committed to a group that is empty counts from when it became so [Q21].
    """
    if group.protocol_type is None:
        return value.commit_timestamp
    if group.state is State.EMPTY:
        return value.commit_timestamp if group.state_since_ms is None else group.state_since_ms
    quiet = group.state is State.STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE
    if not quiet or group.subscribed_topics is None or reads(group, partition.topic):
        return None
    return value.commit_timestamp
