"""Consumer groups in their shard: requests, timers, and the operations of :class:`GroupKind`.

Source: ``GroupMetadataManager.consumerGroupHeartbeat`` and the callbacks of its timers;
``ConsumerGroup.validateDeleteGroup``, ``validateOffsetDelete``, ``offsetExpirationCondition``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from assignors.types import TopicPartition
from protocols.groups.kip848 import leave, patterns, validation
from protocols.groups.kip848.group import Group, is_subscribed
from protocols.groups.kip848.heartbeat import heartbeat
from protocols.groups.kip848.records import group_tombstones
from protocols.groups.kip848.soft import (
    NOTHING_SOFT,
    PATTERNS,
    REBALANCE,
    REJOIN,
    RESYNC,
    SESSION,
    Soft,
    change_timers,
    invalidate_metadata,
    is_stale,
    on_loaded,
    outliving,
    timers_of,
    with_rejoin,
    without_rejoin,
)
from protocols.groups.kip848.validation import heartbeat_error_response
from protocols.groups.shard import (
    AnyShard,
    Durable,
    GroupKind,
    LateTimers,
    Moment,
    Retry,
    Shard,
    Turn,
    ids_in_timer,
)
from protocols.machine import Effect, Send
from protocols.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    Header,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import OffsetCommitValue
from protocols.values import replace


def group_of(durable: Durable, group_id: str) -> Group:
    """Return a group that must be a consumer group."""
    group = durable.groups.get(group_id)
    assert isinstance(group, Group), f"{group_id} is no consumer group"
    return group


def _validate_commit(
    shard: AnyShard, request: OffsetCommitRequest, at: Moment
) -> ErrorCode | tuple[Effect, ...]:
    """Validate a commit; it has no effects, as it sets no timer."""
    group = group_of(shard.durable, request.group_id)
    return validation.validate_commit(group, request, at) or ()


def _create_for_commit(shard: AnyShard, _: str, __: Moment) -> AnyShard:
    """Return the shard unchanged: a commit never creates a consumer group."""
    return shard


def _validate_fetch(view: Durable, request: OffsetFetchRequest) -> ErrorCode | None:
    return validation.validate_fetch(group_of(view, request.group_id), request)


def _validate_delete(shard: AnyShard, group_id: str) -> ErrorCode | None:
    has_members = bool(group_of(shard.durable, group_id).members)
    return ErrorCode.NON_EMPTY_GROUP if has_members else None


def _delete(shard: AnyShard, group_id: str) -> Turn[AnyShard]:
    group = group_of(shard.durable, group_id)
    return Turn(without_soft(shard, group_id), (), group_tombstones(group))


def without_soft(shard: Shard[Any], group_id: str) -> Shard[Any]:
    """Return the shard without the soft state of a group, except what outlives the group."""
    if group_id not in shard.soft:
        return shard
    left = outliving(soft_of(shard, group_id))
    if left != NOTHING_SOFT:
        return shard.with_soft(group_id, left)
    return Shard(shard.groups, shard.durable, shard.soft.delete(group_id))


def _validate_offset_delete(_: AnyShard, __: str) -> ErrorCode | None:
    return None


def _is_subscribed(shard: AnyShard, group_id: str, topic: str) -> bool:
    return is_subscribed(group_of(shard.durable, group_id), topic)


def _expires_from_ms(
    shard: AnyShard, group_id: str, partition: TopicPartition, value: OffsetCommitValue
) -> int | None:
    """Return the commit time if no member subscribes to the topic, else None."""
    if _is_subscribed(shard, group_id, partition.topic):
        return None
    return value.commit_timestamp


def _may_be_removed(shard: AnyShard, group_id: str) -> bool:
    return not group_of(shard.durable, group_id).members


def _on_loaded(shard: AnyShard, group_id: str, at: Moment) -> Turn[AnyShard]:
    turn = on_loaded(group_of(shard.durable, group_id), at)
    return Turn(shard.with_soft(group_id, turn.state), turn.effects)


def _on_unloaded(shard: AnyShard, group_id: str, _: Moment) -> Turn[AnyShard]:
    timers = timers_of(group_of(shard.durable, group_id))
    return Turn(without_soft(shard, group_id), timers)


R = TypeVar("R")

TimeoutHandler = Callable[[Group, Soft, str, Moment], Turn[Soft]]
"""A handler of a timer of one member."""


def group_in(shard: AnyShard, group_id: str) -> Group | None:
    """Return the consumer group with that id, or None if it is absent or of another type."""
    group = shard.durable.groups.get(group_id)
    return group if isinstance(group, Group) else None


def soft_of(shard: AnyShard, group_id: str) -> Soft:
    """Return the soft state of a group."""
    soft: Soft = shard.soft.get(group_id, NOTHING_SOFT)
    return soft


def consumer_heartbeat(
    shard: AnyShard, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[AnyShard]:
    """Respond to a heartbeat; one that joins creates its group if there is none."""
    group_id = request.group_id
    group, soft = group_in(shard, group_id), soft_of(shard, group_id)
    if group is None:
        if request.member_epoch != JOIN_EPOCH or group_id in shard.durable.groups:
            response = heartbeat_error_response(ErrorCode.GROUP_ID_NOT_FOUND, request)
            return Turn(shard, (Send(header, response),))
        group, soft = Group(group_id), outliving(soft)
    handle = heartbeat if request.member_epoch >= JOIN_EPOCH else leave.leave
    return _on_shard(shard, group_id, handle(group, soft, header, request, at))


def at_group(
    shard: AnyShard,
    group: Group,
    handle: Callable[[Group, Soft, Header, R, Moment], Turn[Soft]],
    header: Header,
    request: R,
    at: Moment,
) -> Turn[AnyShard]:
    """Respond to a request to a consumer group with the given handler."""
    turn = handle(group, soft_of(shard, group.group_id), header, request, at)
    return _on_shard(shard, group.group_id, turn)


def on_timer(shard: AnyShard, timer: str, at: Moment) -> Turn[AnyShard]:
    """Handle a timer of a consumer group."""
    if timer.startswith(PATTERNS):
        group_id = timer.removeprefix(PATTERNS)
        group, soft = group_in(shard, group_id), soft_of(shard, group_id)
        if group is None:
            return _on_shard(shard, group_id, Turn(replace(soft, looking_up=None)))
        return _on_shard(shard, group_id, patterns.looked_up(group, soft, at))
    prefix = next(prefix for prefix in _TIMEOUT_HANDLERS if timer.startswith(prefix))
    return _on_member_timer(shard, timer, prefix, at)


def with_fired(shard: AnyShard, timer: str) -> AnyShard:
    """Return the shard after a timer of a consumer group fired; its handler is still to run."""
    if timer.startswith(REJOIN):
        for group_id, member_id in ids_in_timer(timer, REJOIN):
            soft = soft_of(shard, group_id)
            if member_id in soft.rejoining:
                return shard.with_soft(group_id, without_rejoin(soft, member_id))
    return shard


def with_retried(shard: AnyShard, retry: Retry) -> AnyShard:
    """Return the shard after a timer of a consumer group was set again."""
    member_id = retry.timer.removeprefix(f"{REJOIN}{retry.group_id}-")
    if member_id == retry.timer:
        return shard
    return shard.with_soft(retry.group_id, with_rejoin(soft_of(shard, retry.group_id), member_id))


def on_durable(shard: AnyShard, waiting: LateTimers, at: Moment) -> Turn[AnyShard]:
    """Change the timers of a classic member, also if its group has become classic meanwhile."""
    turn = change_timers(soft_of(shard, waiting.group_id), waiting, at)
    return _on_shard(shard, waiting.group_id, turn)


def is_timer(timer: str) -> bool:
    """Return whether a timer belongs to a consumer group."""
    return timer.startswith((*_TIMEOUT_HANDLERS, PATTERNS))


_TIMEOUT_HANDLERS: Final[Mapping[str, TimeoutHandler]] = MappingProxyType(
    {
        SESSION: leave.on_session_timeout,
        REBALANCE: leave.on_rebalance_timeout,
        REJOIN: leave.on_rejoin_timeout,
        RESYNC: leave.on_sync_timeout,
    }
)


def _on_member_timer(shard: AnyShard, timer: str, prefix: str, at: Moment) -> Turn[AnyShard]:
    for group_id, member_id in ids_in_timer(timer, prefix):
        group = group_in(shard, group_id)
        if group is not None and group.member(member_id) is not None:
            turn = _TIMEOUT_HANDLERS[prefix](group, soft_of(shard, group_id), member_id, at)
            return _on_shard(shard, group_id, turn)
    return Turn(shard)


def _on_shard(shard: AnyShard, group_id: str, turn: Turn[Soft]) -> Turn[AnyShard]:
    """Return a group's turn as a turn of its shard."""
    known = turn.state is soft_of(shard, group_id)
    after = shard if known else shard.with_soft(group_id, turn.state)
    return Turn(after, turn.effects, turn.records, turn.waits)


def on_topics_changed(shard: AnyShard, changed: frozenset[str]) -> AnyShard:
    """Invalidate the metadata of every group that subscribes to one of the *changed* topics."""
    for group_id, group in shard.durable.groups.entries.items():
        if not isinstance(group, Group):
            continue
        soft = soft_of(shard, group_id)
        reads = not (
            changed.isdisjoint(group.name_readers) and changed.isdisjoint(group.pattern_topics)
        )
        if reads and not is_stale(group, soft):
            shard = shard.with_soft(group_id, invalidate_metadata(soft))
    return shard


def drop_orphaned_soft_state(shard: AnyShard) -> AnyShard:
    """Drop the soft state of groups that no longer exist because their append failed."""
    gone = [group_id for group_id in shard.soft if group_in(shard, group_id) is None]
    for group_id in sorted(gone):
        shard = without_soft(shard, group_id)
    return shard


CONSUMER: Final = GroupKind(
    validate_commit=_validate_commit,
    create_for_commit=_create_for_commit,
    validate_fetch=_validate_fetch,
    validate_delete=_validate_delete,
    delete=_delete,
    validate_offset_delete=_validate_offset_delete,
    is_subscribed=_is_subscribed,
    expires_from_ms=_expires_from_ms,
    may_be_removed=_may_be_removed,
    on_loaded=_on_loaded,
    on_unloaded=_on_unloaded,
)
