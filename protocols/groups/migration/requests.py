"""Requests and timers of groups of either type, dispatched by the type of the group.

Source: ``GroupMetadataManager.consumerGroupHeartbeat``, ``classicGroupJoin`` and similar methods
of 4.4.0.
"""

from __future__ import annotations

from protocols.facts import GroupConverted
from protocols.groups.classic import join, kind
from protocols.groups.classic.group import on_group
from protocols.groups.classic.states import State
from protocols.groups.kip848 import classic_members
from protocols.groups.kip848 import leave as consumer_leave
from protocols.groups.kip848.group import Group
from protocols.groups.kip848.shard import CONSUMER, at_group, consumer_heartbeat, with_fired
from protocols.groups.kip848.shard import on_timer as consumer_on_timer
from protocols.groups.kip848.validation import heartbeat_error_response
from protocols.groups.migration import downgrade, upgrade
from protocols.groups.shard import AnyShard, Moment, Turn
from protocols.machine import Report, Send
from protocols.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    Header,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from protocols.values import replace


def heartbeat_at_any_group(
    shard: AnyShard, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[AnyShard]:
    """Respond to a heartbeat of the consumer protocol."""
    group = shard.groups.get(request.group_id)
    if group is None or request.member_epoch != JOIN_EPOCH:
        turn = consumer_heartbeat(shard, header, request, at)
        return downgrade.downgrade_if_due(shard, request.group_id, turn, at)
    if group.state is State.EMPTY:
        deleted = kind.delete(shard, request.group_id)
        ready = _delete_empty_group(deleted, "consumer", group.generation, header, request)
        return _either(shard, ready, consumer_heartbeat(ready.state, header, request, at))
    if not upgrade.may_upgrade(group, at):
        return consumer_heartbeat(shard, header, request, at)
    answered = on_group(shard, upgrade.reject_waiting(group))
    error = upgrade.validate_upgrade(shard, group)
    if error is not None:
        return answered.also(Send(header, heartbeat_error_response(error, request)))
    return answered.then(lambda shard: _upgrade(shard, header, request, at))


def _upgrade(
    shard: AnyShard, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[AnyShard]:
    ready = upgrade.convert(shard, shard.groups[request.group_id], header, request, at)
    return _either(shard, ready, consumer_heartbeat(ready.state, header, request, at))


def join_consumer_group(
    shard: AnyShard, group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[AnyShard]:
    """Respond to a JoinGroup to a consumer group."""
    if (last := downgrade.last_replaced(group, request, at)) is not None:
        return downgrade.convert_with_replaced_member(shard, group, last, header, request, at)
    if group.members:
        return at_group(shard, group, classic_members.join, header, request, at)
    return _join_empty_group(shard, group, header, request, at)


def _join_empty_group(
    shard: AnyShard, group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[AnyShard]:
    """Delete an empty consumer group, and respond to a JoinGroup that creates a classic one.

    A JoinGroup with a member id creates no group and is refused. Kafka has removed the consumer group
    from memory by then, and writes nothing: a new coordinator finds it in the log.
    """
    deleted = CONSUMER.delete(shard, request.group_id)
    ready = _delete_empty_group(deleted, "classic", group.epoch, header, request)
    turn = join.join_group(ready.state, header, request, at)
    records = ready.records + turn.records if turn.records else ()
    return Turn(turn.state, ready.effects + turn.effects, records, turn.waits)


def sync_in_consumer_group(
    shard: AnyShard, group: Group, header: Header, request: SyncGroupRequest, at: Moment
) -> Turn[AnyShard]:
    """Respond to a SyncGroup to a consumer group."""
    return at_group(shard, group, classic_members.sync, header, request, at)


def heartbeat_in_consumer_group(
    shard: AnyShard, group: Group, header: Header, request: HeartbeatRequest, at: Moment
) -> Turn[AnyShard]:
    """Respond to a heartbeat of the classic protocol to a consumer group."""
    return at_group(shard, group, classic_members.heartbeat, header, request, at)


def leave_consumer_group(
    shard: AnyShard, group: Group, header: Header, request: LeaveGroupRequest, at: Moment
) -> Turn[AnyShard]:
    """Respond to a LeaveGroup to a consumer group."""
    turn = at_group(shard, group, consumer_leave.remove_members, header, request, at)
    return downgrade.downgrade_if_due(shard, request.group_id, turn, at)


def on_timer(shard: AnyShard, timer: str, at: Moment) -> Turn[AnyShard]:
    """Handle a timer of a consumer group."""
    shard = with_fired(shard, timer)
    turn = consumer_on_timer(shard, timer, at)
    if not turn.records:
        return turn
    return downgrade.downgrade_if_due(shard, str(turn.records[0].key[0]), turn, at)


def _either(shard: AnyShard, ready: Turn[AnyShard], turn: Turn[AnyShard]) -> Turn[AnyShard]:
    """Return both turns as one; if the second writes no records, the first is dropped."""
    if not turn.records:
        return Turn(shard, turn.effects, (), turn.waits)
    effects, records = ready.effects + turn.effects, ready.records + turn.records
    return Turn(turn.state, effects, records, turn.waits)


def _delete_empty_group(
    deleted: Turn[AnyShard],
    protocol: str,
    generation: int,
    header: Header,
    request: ConsumerGroupHeartbeatRequest | JoinGroupRequest,
) -> Turn[AnyShard]:
    """Return the shard after replay of the records that delete an empty group."""
    shard, group_id = deleted.state, request.group_id
    groups = shard.durable.groups.without(group_id)
    converted = GroupConverted(
        group=group_id,
        protocol=protocol,
        generation=generation,
        member_id=request.member_id,
        client=header.client,
    )
    unlogged = replace(shard, durable=replace(shard.durable, groups=groups))
    return replace(deleted, state=unlogged).also(Report(converted))
