"""SyncGroup: the leader sends the assignment; members receive theirs once it is durable.

Source: ``GroupMetadataManager.classicGroupSync``.
"""

from __future__ import annotations

from immutables import Map

from protocols.facts import Departure, GroupStabilised, MemberRemoved
from protocols.groups.classic.group import (
    AssignmentStored,
    Group,
    Shard,
    SyncWaits,
    in_order,
    on_group,
    sync_timer,
    transition,
    without,
)
from protocols.groups.classic.membership import sender_of_sync, without_member
from protocols.groups.classic.rebalance import (
    cancel_sync_phase,
    prepare_rebalance,
    respond_to_syncs,
)
from protocols.groups.classic.records import group_record
from protocols.groups.classic.states import SYNC_GROUP, Act, Sender, State
from protocols.groups.responses import client_error
from protocols.groups.shard import Moment, Turn
from protocols.machine import CancelTimer, Effect, Report, Send
from protocols.messages import Header, SyncGroupRequest, SyncGroupResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def sync_group(shard: Shard, header: Header, request: SyncGroupRequest, at: Moment) -> Turn[Shard]:
    """Respond to a SyncGroup or park it."""
    del at
    group = shard.groups.get(request.group_id)
    if group is None:
        return Turn(shard, _refused(header, SYNC_GROUP[Sender.UNKNOWN][State.ABSENT]))
    verdict = SYNC_GROUP[sender_of_sync(group, request)][group.state]
    match verdict:
        case Act.AWAIT_ASSIGNMENT:
            return on_group(shard, _parked(group, header, request.member_id))
        case Act.STORE_ASSIGNMENT:
            return on_group(shard, _stored(group, header, request))
        case Act.GIVE_ASSIGNMENT:
            return on_group(shard, _given(group, header, request.member_id))
        case _:
            return Turn(shard, _refused(header, verdict))


def _refused(header: Header, verdict: ErrorCode | Act | None) -> tuple[Send, ...]:
    assert isinstance(verdict, ErrorCode)
    return (Send(header, SyncGroupResponse(error=verdict)),)


def _parked(group: Group, header: Header, member_id: str) -> Turn[Group]:
    """Park a SyncGroup; an older one of the same member is never answered."""
    parked = replace(
        group,
        syncing=group.syncing.set(member_id, header),
        pending_syncs=without(group.pending_syncs, member_id),
    )
    waits = (SyncWaits(group.group_id, member_id, header),)
    return Turn(parked, _last_sync(group, parked), waits=waits)


def _stored(group: Group, header: Header, request: SyncGroupRequest) -> Turn[Group]:
    """Propose the leader's assignment; members that it omits get no partitions."""
    given = dict(request.assignments)
    assignments = Map((name, given[name]) for name in group.members if name in given)
    data = Map((name, bytes_) for name, bytes_ in request.user_data if name in assignments)
    turn = _parked(group, header, request.member_id)
    record = group_record(group, assignments, data)
    waiting = (group.group_id, group.generation, request.member_id)
    stored = AssignmentStored(*waiting, assignments, data)
    return Turn(turn.state, turn.effects, (record,), (stored, *turn.waits))


def _given(group: Group, header: Header, member_id: str) -> Turn[Group]:
    """Respond with the stored assignment; the session timer is not reset."""
    synced = group
    if member_id in group.pending_syncs:
        synced = replace(group, pending_syncs=group.pending_syncs.delete(member_id))
    response = Send(header, _response(group, member_id))
    return Turn(synced, (*_last_sync(group, synced), response))


def _last_sync(before: Group, after: Group) -> tuple[CancelTimer, ...]:
    if before.pending_syncs and not after.pending_syncs:
        return (CancelTimer(sync_timer(before.group_id)),)
    return ()


def _response(group: Group, member_id: str) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=group.assignments.get(member_id, ()),
        user_data=group.user_data.get(member_id),
    )


# -- after the append of the assignment ------------------------------------------------------


def on_assignment_stored(group: Group, waiting: AssignmentStored, at: Moment) -> Turn[Group]:
    """Respond to parked SyncGroups with the assignment, unless another rebalance has begun since."""
    if not _awaits_assignment(group, waiting):
        return Turn(group)
    group = replace(
        transition(group, State.STABLE, at.now_ms),
        assignments=waiting.assignments,
        user_data=waiting.user_data,
    )
    facts = GroupStabilised(
        group=group.group_id,
        generation=group.generation,
        assignment=tuple(
            (member.member_id, waiting.assignments.get(member.member_id, ()))
            for member in in_order(group)
        ),
    )
    return Turn(group, (Report(facts),)).then(
        lambda group: respond_to_syncs(group, at, lambda member: _response(group, member.member_id))
    )


def on_assignment_failed(
    group: Group, waiting: AssignmentStored, error: ErrorCode, at: Moment
) -> Turn[Group]:
    """Begin a new rebalance, unless one has begun since the append."""
    if not _awaits_assignment(group, waiting):
        return Turn(group)
    seen = client_error(error)
    reason = (
        f"Error {seen.name} when storing group assignment during SyncGroup "
        f"(member: {waiting.leader_id})."
    )
    return cancel_sync_phase(group, at, seen).then(
        lambda group: prepare_rebalance(group, at, reason, waiting.leader_id)
    )


def _awaits_assignment(group: Group, waiting: AssignmentStored) -> bool:
    return group.state is State.COMPLETING_REBALANCE and group.generation == waiting.generation


def on_sync_timeout(group: Group, at: Moment) -> Turn[Group]:
    """Remove members that have not sent SyncGroup in time, including static members.

    A member id that a restart replaced counts as well, although no member has it any more.
    """
    if group.state not in (State.COMPLETING_REBALANCE, State.STABLE) or not group.pending_syncs:
        return Turn(group)
    silent = sorted(group.pending_syncs)
    reason = f"Removing {silent} on pending sync request expiration".replace("'", "")
    effects = list[Effect]()
    for member in (group.members[member_id] for member_id in silent if member_id in group.members):
        removed = MemberRemoved(
            group=group.group_id, member_id=member.member_id, why=Departure.DID_NOT_SYNC
        )
        effects += (Report(removed), CancelTimer(member.timer))
        group = without_member(group, member.member_id)
    return Turn(group, tuple(effects)).then(
        lambda group: prepare_rebalance(group, at, reason, silent[0])
    )
