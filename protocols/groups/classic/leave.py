"""LeaveGroup: remove one or several members.

Source: ``GroupMetadataManager.classicGroupLeave`` (KIP-345, KIP-800).
"""

from __future__ import annotations

import functools

from protocols.facts import Departure, MemberRemoved
from protocols.groups.answers import leave_answer
from protocols.groups.classic.group import Group, Shard, on_group, session_timer
from protocols.groups.classic.membership import sender_of_leave, without_member
from protocols.groups.classic.rebalance import complete_join_if_last, prepare_rebalance, reject_join
from protocols.groups.classic.states import LEAVE_GROUP, Act, Sender, State
from protocols.groups.shard import Moment, Turn
from protocols.machine import CancelTimer, Report, Send
from protocols.messages import (
    Header,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def leave_group(
    shard: Shard, header: Header, request: LeaveGroupRequest, at: Moment
) -> Turn[Shard]:
    """Remove the named members, then rebalance once; the answer waits for the written records."""
    group = shard.groups.get(request.group_id)
    if group is None:
        refused = _refusal(Sender.UNKNOWN, State.ABSENT)
        return Turn(shard, (Send(header, leave_answer(request, [refused] * len(request.members))),))
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
        entry.member_id or group.static_members.get(entry.group_instance_id or "", "")
        for entry, error in zip(request.members, errors, strict=True)
        if error is ErrorCode.NONE
    ]
    turn = turn.then(lambda group: _rebalanced(group, left, at))
    return on_group(shard, turn.at_last(Send(header, leave_answer(request, errors))))


def _refusal(sender: Sender, state: State) -> ErrorCode:
    verdict = LEAVE_GROUP[sender][state]
    assert isinstance(verdict, ErrorCode)
    return verdict


def _left(group: Group, entry: LeavingMember, verdict: ErrorCode | Act | None) -> Turn[Group]:
    """Remove the member of one entry; its parked SyncGroup is never answered."""
    match verdict:
        case Act.REMOVE:
            member_id = entry.member_id or group.static_members[entry.group_instance_id or ""]
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


def _rebalanced(group: Group, left: list[str], at: Moment) -> Turn[Group]:
    """Rebalance if any member left; a pending member id counts, too."""
    if not left:
        return Turn(group)
    match group.state:
        case State.STABLE | State.COMPLETING_REBALANCE:
            reason = f"explicit `LeaveGroup` request for ({', '.join(left)}) members."
            return prepare_rebalance(group, at, reason, left[0])
        case State.PREPARING_REBALANCE:
            return complete_join_if_last(group, at)
        case _:
            return Turn(group)
