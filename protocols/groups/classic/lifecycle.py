"""Load and unload classic groups, and act when a turn's records are durable or have failed.

The group may change while its records are replicated, so each case depends on the group's
current state.

Source: ``GroupMetadataManager.onLoaded``, ``onUnloaded``; the append futures of
``GroupMetadataManager`` and the rollback of ``CoordinatorRuntime``.
"""

from __future__ import annotations

from immutables import Map

from protocols.facts import GroupLoaded
from protocols.groups.answers import client_error
from protocols.groups.classic import static, sync
from protocols.groups.classic.group import (
    ANSWERED,
    AssignmentStored,
    Group,
    InstanceStored,
    JoinWaits,
    Shard,
    SyncWaits,
    Waiting,
    in_order,
    join_timer,
    on_group,
    rebalance_timeout_ms,
    session_timer,
    sync_timer,
    transition,
)
from protocols.groups.classic.rebalance import (
    answer_joins,
    answer_syncs,
    mark_answered,
    prepare_rebalance,
)
from protocols.groups.classic.records import restored
from protocols.groups.classic.states import State
from protocols.groups.shard import Moment, Turn
from protocols.machine import CancelTimer, Effect, Report, Send, SetTimer
from protocols.messages import JoinGroupResponse, SyncGroupResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def on_loaded(shard: Shard, group_id: str, at: Moment) -> Turn[Shard]:
    """Restore a group after the log has been loaded.

    Every member starts a full session. A group over ``group.max.size`` rebalances.
    """
    group = restored(group_id, shard.durable.groups.get(group_id), at.now_ms)
    return _started(shard.with_group(group_id, group), group_id, at)


def _started(shard: Shard, group_id: str, at: Moment) -> Turn[Shard]:
    group = shard.groups[group_id]
    members = in_order(group)
    loaded = GroupLoaded(
        group=group_id,
        generation=group.generation,
        members=tuple(member.member_id for member in members),
    )
    effects: list[Effect] = [Report(loaded)]
    effects += (SetTimer(member.timer, at.after(member.session_timeout_ms)) for member in members)
    size_max = at.settings.group_max_size
    if len(members) <= size_max:
        return Turn(shard, tuple(effects))
    reason = (
        f"Freshly-loaded group {group_id} (size {len(members)}) is over capacity {size_max}. "
        "Rebalancing in order to give a chance for consumers to commit offsets"
    )
    turn = Turn(group, tuple(effects)).then(
        lambda group: prepare_rebalance(group, at, reason, members[0].member_id)
    )
    return on_group(shard, turn)


def on_unloaded(shard: Shard, group_id: str, at: Moment) -> Turn[Shard]:
    """Unload a group: its state becomes DEAD, and parked requests get NOT_COORDINATOR."""
    group = shard.groups[group_id]
    gone = ErrorCode.NOT_COORDINATOR
    turn = answer_joins(
        group, lambda member: JoinGroupResponse(error=gone, member_id=member.member_id)
    ).then(lambda group: answer_syncs(group, at, lambda _: SyncGroupResponse(error=gone)))
    dead = transition(turn.state, State.DEAD, at.now_ms)
    return on_group(shard, Turn(dead, turn.effects).also(*timers_of(group)))


def restore(shard: Shard, group: Group, at: Moment) -> Turn[Shard]:
    """Restore a group whose removal could not be appended; every session restarts.

    Its parked requests were already answered and are not answered again.
    """
    back = replace(
        group,
        joining=Map(dict.fromkeys(group.joining, ANSWERED)),
        syncing=Map(dict.fromkeys(group.syncing, ANSWERED)),
    )
    sessions = [
        SetTimer(member.timer, at.after(member.session_timeout_ms)) for member in in_order(group)
    ]
    if group.state is State.PREPARING_REBALANCE:
        deadline_us = at.after(rebalance_timeout_ms(group))
        sessions.append(SetTimer(join_timer(group.group_id), deadline_us))
    return on_group(shard, Turn(back, tuple(sessions)))


def discard(shard: Shard, group_id: str, error: ErrorCode, at: Moment) -> Turn[Shard]:
    """Discard a group whose first record could not be appended, and answer its parked requests."""
    group = shard.groups[group_id]
    seen = client_error(error)
    turn = answer_joins(group, lambda _: JoinGroupResponse(error=seen)).then(
        lambda group: answer_syncs(group, at, lambda _: SyncGroupResponse(error=seen))
    )
    answers = (effect for effect in turn.effects if isinstance(effect, Send))
    return Turn(shard.without_group(group_id), (*answers, *timers_of(group)))


def timers_of(group: Group) -> tuple[CancelTimer, ...]:
    """Return the effects that cancel every timer of a group."""
    pending = (
        session_timer(group.group_id, member_id) for member_id in sorted(group.pending_joins)
    )
    return (
        *(CancelTimer(member.timer) for member in in_order(group)),
        *(CancelTimer(name) for name in pending),
        CancelTimer(join_timer(group.group_id)),
        CancelTimer(sync_timer(group.group_id)),
    )


def on_durable(shard: Shard, waiting: Waiting, at: Moment) -> Turn[Shard]:
    """Continue the step that waited for records that are now durable."""
    group = shard.groups.get(waiting.group_id)
    if group is None:
        return Turn(shard)
    match waiting:
        case AssignmentStored():
            return on_group(shard, sync.on_assignment_stored(group, waiting, at))
        case InstanceStored():
            return on_group(shard, static.on_stored(group, waiting))
        case _:
            return Turn(shard)


def on_append_failed(shard: Shard, waiting: Waiting, error: ErrorCode, at: Moment) -> Turn[Shard]:
    """Answer the requests that waited for an append that failed with *error* or timed out."""
    group = shard.groups.get(waiting.group_id)
    if group is None:
        return Turn(shard)
    match waiting:
        case AssignmentStored():
            return on_group(shard, sync.on_assignment_failed(group, waiting, error, at))
        case InstanceStored():
            return on_group(shard, static.on_store_failed(group, waiting, error, at))
        case JoinWaits():
            return on_group(shard, _join_failed(group, waiting, error))
        case SyncWaits():
            return on_group(shard, _sync_failed(group, waiting, error))


def _join_failed(group: Group, waiting: JoinWaits, error: ErrorCode) -> Turn[Group]:
    """Answer the client with an error; the member stays and counts as joined."""
    joining = mark_answered(group.joining, waiting.member_id, waiting.header)
    if joining is None:
        return Turn(group)
    answer = JoinGroupResponse(error=client_error(error))
    return Turn(replace(group, joining=joining), (Send(waiting.header, answer),))


def _sync_failed(group: Group, waiting: SyncWaits, error: ErrorCode) -> Turn[Group]:
    syncing = mark_answered(group.syncing, waiting.member_id, waiting.header)
    if syncing is None:
        return Turn(group)
    answer = SyncGroupResponse(error=client_error(error))
    return Turn(replace(group, syncing=syncing), (Send(waiting.header, answer),))
