"""The sessions of classic members: Heartbeat renews one; a session timeout or LeaveGroup ends it.

A session is a timer that each heartbeat resets; the time of the last heartbeat is not stored.

Source: ``GroupMetadataManager.classicGroupHeartbeat``, ``expireClassicGroupMemberHeartbeat``,
``classicGroupLeave`` (KIP-345, KIP-800).
"""

from __future__ import annotations

import functools

from protocols.facts import Departure, MemberRemoved
from protocols.groups.classic.group import SESSION, Group, Shard, on_group, session_timer
from protocols.groups.classic.membership import (
    sender_in_generation,
    sender_of_leave,
    without_member,
)
from protocols.groups.classic.rebalance import (
    complete_join_after_removal,
    complete_join_if_last,
    prepare_rebalance,
    reject_join,
)
from protocols.groups.classic.states import HEARTBEAT, LEAVE_GROUP, Act, Sender, State
from protocols.groups.responses import leave_response
from protocols.groups.shard import Moment, Turn, ids_in_timer
from protocols.machine import CancelTimer, Report, Send, SetTimer
from protocols.messages import (
    Header,
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

_ALIVE = HeartbeatResponse()
_REJOIN = HeartbeatResponse(error=ErrorCode.REBALANCE_IN_PROGRESS)
_OF_MEMBER = HEARTBEAT[Sender.MEMBER]  # the hot row: saves one lookup for each heartbeat


def heartbeat(shard: Shard, header: Header, request: HeartbeatRequest, at: Moment) -> Turn[Shard]:
    """Respond to a heartbeat: renew the session and say whether to rejoin; nothing is copied."""
    group = shard.groups.get(request.group_id)
    if group is None:
        return _refused(shard, header, HEARTBEAT[Sender.UNKNOWN][State.ABSENT])
    member_id = request.member_id
    sender = sender_in_generation(
        group, member_id, request.group_instance_id, request.generation_id
    )
    verdict = (_OF_MEMBER if sender is Sender.MEMBER else HEARTBEAT[sender])[group.state]
    if verdict is not Act.KEEP and verdict is not Act.WARN:
        return _refused(shard, header, verdict)
    member = group.members[member_id]
    kept = SetTimer(member.timer, at.now_us + member.session_timeout_ms * 1000)
    response = _ALIVE if verdict is Act.KEEP else _REJOIN
    return Turn(shard, (kept,), (), (Send(header, response),))


def _refused(shard: Shard, header: Header, verdict: ErrorCode | Act | None) -> Turn[Shard]:
    assert isinstance(verdict, ErrorCode)
    return Turn(shard, (Send(header, HeartbeatResponse(error=verdict)),))


def on_session_timeout(shard: Shard, timer: str, at: Moment) -> Turn[Shard]:
    """Remove the member or pending id whose session timed out, unless its request is pending."""
    for group_id, member_id in ids_in_timer(timer, SESSION):
        group = shard.groups.get(group_id)
        if group is None:
            continue
        if member_id in group.pending_joins:
            return on_group(shard, _forgotten(group, member_id, at))
        if member_id in group.members:
            return on_group(shard, _expired(group, member_id, at))
    return Turn(shard)


def _forgotten(group: Group, member_id: str, at: Moment) -> Turn[Group]:
    """Remove a member id that was not used to join in time."""
    group = replace(group, pending_joins=group.pending_joins.delete(member_id))
    if group.state is State.PREPARING_REBALANCE:
        return complete_join_after_removal(group, at)
    return Turn(group)


def _expired(group: Group, member_id: str, at: Moment) -> Turn[Group]:
    if _has_parked_request(group, member_id):
        return Turn(group)
    removed = MemberRemoved(group=group.group_id, member_id=member_id, why=Departure.EXPIRED)
    turn = (
        Turn(group, (Report(removed),))
        .then(lambda group: reject_join(group, member_id, ErrorCode.UNKNOWN_MEMBER_ID))
        .then(lambda group: Turn(without_member(group, member_id)))
    )
    if group.state is State.PREPARING_REBALANCE:
        return turn.then(lambda group: complete_join_after_removal(group, at))
    reason = f"removing member {member_id} on heartbeat expiration."
    return turn.then(lambda group: prepare_rebalance(group, at, reason, member_id))


def _has_parked_request(group: Group, member_id: str) -> bool:
    """Return whether a member that has joined before has a parked request."""
    parked = member_id in group.joining or member_id in group.syncing
    return parked and member_id not in group.newcomers


def leave_group(
    shard: Shard, header: Header, request: LeaveGroupRequest, at: Moment
) -> Turn[Shard]:
    """Remove the named members, then rebalance once; the response waits for the written records."""
    group = shard.groups.get(request.group_id)
    if group is None:
        refused = _refusal(Sender.UNKNOWN, State.ABSENT)
        return Turn(
            shard, (Send(header, leave_response(request, [refused] * len(request.members))),)
        )
    if group.state is State.DEAD:
        gone = LeaveGroupResponse(error=_refusal(Sender.UNKNOWN, State.DEAD))
        return Turn(shard, (Send(header, gone),))
    turn: Turn[Group] = Turn(group)
    errors = list[ErrorCode]()
    for entry in request.members:
        verdict = LEAVE_GROUP[sender_of_leave(turn.state, entry)][group.state]
        errors.append(verdict if isinstance(verdict, ErrorCode) else ErrorCode.NONE)
        turn = turn.then(functools.partial(_left, entry=entry, verdict=verdict))
    left = [
        entry
        for entry, error in zip(request.members, errors, strict=True)
        if error is ErrorCode.NONE
    ]
    first = _member_of(group, left[0]) if left else ""
    turn = turn.then(lambda group: _rebalanced(group, left, first, at))
    return on_group(shard, turn.after_append(Send(header, leave_response(request, errors))))


def _refusal(sender: Sender, state: State) -> ErrorCode:
    verdict = LEAVE_GROUP[sender][state]
    assert isinstance(verdict, ErrorCode)
    return verdict


def _left(group: Group, entry: LeavingMember, verdict: ErrorCode | Act | None) -> Turn[Group]:
    """Remove the member of one entry; its parked SyncGroup is never answered."""
    match verdict:
        case Act.REMOVE:
            member_id = _member_of(group, entry)
            removed = MemberRemoved(group=group.group_id, member_id=member_id, why=Departure.LEFT)
            return (
                Turn(group, (Report(removed), CancelTimer(group.members[member_id].timer)))
                .then(lambda group: reject_join(group, member_id, ErrorCode.UNKNOWN_MEMBER_ID))
                .then(lambda group: Turn(without_member(group, member_id)))
            )
        case Act.FORGET:
            timer = session_timer(group.group_id, entry.member_id)
            forgotten = replace(group, pending_joins=group.pending_joins.delete(entry.member_id))
            return Turn(forgotten, (CancelTimer(timer),))
        case _:
            return Turn(group)


def _member_of(group: Group, entry: LeavingMember) -> str:
    """Return the member id of an entry, which may name only the instance."""
    return entry.member_id or group.static_members[entry.group_instance_id or ""]


def _rebalanced(group: Group, left: list[LeavingMember], first: str, at: Moment) -> Turn[Group]:
    """Rebalance if any member left, a pending one included; *first*: the member id of the first."""
    if not left:
        return Turn(group)
    match group.state:
        case State.STABLE | State.COMPLETING_REBALANCE:
            named = ", ".join(entry.member_id for entry in left)
            reason = f"explicit `LeaveGroup` request for ({named}) members."
            return prepare_rebalance(group, at, reason, first)
        case State.PREPARING_REBALANCE:
            return complete_join_if_last(group, at)
        case _:
            return Turn(group)
