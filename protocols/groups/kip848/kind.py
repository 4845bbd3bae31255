"""The consumer group type, as the shared parts of a coordinator ask about it.

Source: ``ConsumerGroup.validateDeleteGroup``, ``validateOffsetDelete``,
``offsetExpirationCondition`` of 4.4.0.
"""

from __future__ import annotations

from typing import Any, Final

from assignors.types import TopicPartition
from protocols.groups.kinds import AnyShard, GroupKind
from protocols.groups.kip848 import commits, lifecycle
from protocols.groups.kip848.group import Group
from protocols.groups.kip848.group import reads as group_reads
from protocols.groups.kip848.writing import group_tombstones
from protocols.groups.shard import Durable, Shard
from protocols.groups.turn import Moment, Turn
from protocols.machine import Effect
from protocols.messages import OffsetCommitRequest, OffsetFetchRequest
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import OffsetCommitValue


def group_of(durable: Durable, group_id: str) -> Group:
    """Return a group that is known to be a consumer group."""
    group = durable.groups.get(group_id)
    assert isinstance(group, Group), f"{group_id} is no consumer group"
    return group


def _commit(
    shard: AnyShard, request: OffsetCommitRequest, at: Moment
) -> ErrorCode | tuple[Effect, ...]:
    """A commit touches no timer."""
    group = group_of(shard.durable, request.group_id)
    return commits.commit_error(group, request, at) or ()


def _made_by_commit(shard: AnyShard, _: str, __: Moment) -> AnyShard:
    """A commit never makes a consumer group."""
    return shard


def _fetch_error(view: Durable, request: OffsetFetchRequest) -> ErrorCode | None:
    return commits.fetch_error(group_of(view, request.group_id), request)


def _delete_error(shard: AnyShard, group_id: str) -> ErrorCode | None:
    has_members = bool(group_of(shard.durable, group_id).members)
    return ErrorCode.NON_EMPTY_GROUP if has_members else None


def _deleted(shard: AnyShard, group_id: str) -> Turn[AnyShard]:
    group = group_of(shard.durable, group_id)
    return Turn(without_soft(shard, group_id), (), group_tombstones(group))


def without_soft(shard: Shard[Any], group_id: str) -> Shard[Any]:
    """Return the shard that has forgotten what it knew of a group beside the log."""
    if group_id not in shard.soft:
        return shard
    return Shard(shard.groups, shard.durable, shard.soft.delete(group_id))


def _offset_delete_error(_: AnyShard, __: str) -> ErrorCode | None:
    return None


def _reads(shard: AnyShard, group_id: str, topic: str) -> bool:
    return group_reads(group_of(shard.durable, group_id), topic)


def _expires_from_ms(
    shard: AnyShard, group_id: str, partition: TopicPartition, value: OffsetCommitValue
) -> int | None:
    """An offset counts from its commit, also while the group has members, if nobody reads it."""
    if _reads(shard, group_id, partition.topic):
        return None
    return value.commit_timestamp


def _is_over(shard: AnyShard, group_id: str) -> bool:
    return not group_of(shard.durable, group_id).members


def _taken_over(shard: AnyShard, group_id: str, at: Moment) -> Turn[AnyShard]:
    turn = lifecycle.taken_over(group_of(shard.durable, group_id), at)
    return Turn(shard.with_soft(group_id, turn.state), turn.effects)


def _given_away(shard: AnyShard, group_id: str, _: Moment) -> Turn[AnyShard]:
    timers = lifecycle.timers_of(group_of(shard.durable, group_id))
    return Turn(without_soft(shard, group_id), timers)


CONSUMER: Final = GroupKind(
    commit=_commit,
    made_by_commit=_made_by_commit,
    fetch_error=_fetch_error,
    delete_error=_delete_error,
    deleted=_deleted,
    offset_delete_error=_offset_delete_error,
    reads=_reads,
    expires_from_ms=_expires_from_ms,
    is_over=_is_over,
    taken_over=_taken_over,
    given_away=_given_away,
)
