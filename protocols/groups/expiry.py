"""Offsets and groups that nobody uses any more (KIP-211).

Source: ``GroupCoordinatorShard.cleanupGroupMetadata``, ``OffsetMetadataManager
.cleanupExpiredOffsets`` (spec classic-coordinator 5.7).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from assignors.types import TopicPartition
from protocols.groups.kinds import AnyShard, GroupKind
from protocols.groups.offsets import dropped, tombstones
from protocols.groups.timers import EXPIRE_OFFSETS
from protocols.groups.turn import Moment, Turn
from protocols.machine import SetTimer
from protocols.offsets_topic.records import OffsetCommitValue

_NEVER = -1

KindOf = Callable[[AnyShard, str], GroupKind]
"""Picks the type of a group."""


def next_run(at: Moment) -> SetTimer:
    """Return the timer of the next look for what has expired."""
    return SetTimer(EXPIRE_OFFSETS, at.after(at.settings.offsets_retention_check_interval_ms))


def expire(shard: AnyShard, kind_of: KindOf, at: Moment) -> Turn[AnyShard]:
    """Drop what has expired in every group, in the order of the coordinator's table of groups."""
    turn: Turn[AnyShard] = Turn(shard)
    for group_id in shard.durable.groups:
        kind = kind_of(shard, group_id)
        turn = turn.then(functools.partial(_expired, group_id=group_id, kind=kind, at=at))
    return turn.also(next_run(at))


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
        if _is_over(kind.expires_from_ms(shard, group_id, partition, value), value, at)
    )
    told = dropped(group_id, gone, "expired")
    turn: Turn[AnyShard] = Turn(shard, (), tombstones(group_id, gone), told)
    if len(gone) < len(stored) or not kind.is_over(shard, group_id):
        return turn
    return turn.then(functools.partial(kind.deleted, group_id=group_id))


def _is_over(base_ms: int | None, value: OffsetCommitValue, at: Moment) -> bool:
    if base_ms is None:
        return False
    if value.expire_timestamp != _NEVER:
        return at.now_ms >= value.expire_timestamp
    return at.now_ms - base_ms >= at.settings.offsets_retention_minutes * 60_000
