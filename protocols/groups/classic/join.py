"""JoinGroup: hand out member ids, add members, let members rejoin, or reject the request.

The restart of a static member is in ``static_members.py``.

Source: ``GroupMetadataManager.classicGroupJoin`` (KIP-394, KIP-389).
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from protocols.facts import Departure, MemberAdded, MemberRemoved
from protocols.groups.classic import static_members
from protocols.groups.classic.group import (
    Group,
    JoinWaits,
    Member,
    Shard,
    on_group,
    session_timer,
    state_of,
)
from protocols.groups.classic.membership import (
    sender_of_join,
    with_member,
    with_request_parked,
    without_member,
)
from protocols.groups.classic.rebalance import (
    client_reason,
    complete_join_if_last,
    joined,
    prepare_or_complete,
    prepare_rebalance,
)
from protocols.groups.classic.states import JOIN_GROUP, Act, Sender, State
from protocols.groups.responses import join_error_response
from protocols.groups.shard import Fix, Moment, Turn
from protocols.java_maps import spread
from protocols.machine import CancelTimer, Effect, Report, Send, SetTimer
from protocols.messages import Header, JoinGroupRequest, JoinGroupResponse
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataKey, GroupMetadataValue, Record
from protocols.values import replace

NEW_MEMBER_TIMEOUT_MS: Final = 300_000
"""Session timeout of a new member until its first join phase ends."""


def join_group(shard: Shard, header: Header, request: JoinGroupRequest, at: Moment) -> Turn[Shard]:
    """Respond to a JoinGroup or park it; one without a member id may create the group."""
    known = shard.groups.get(request.group_id)
    if known is not None:
        return on_group(shard, _joined(known, header, request, at))
    if request.member_id:
        refused = join_error_response(
            _refusal(Sender.UNKNOWN, State.ABSENT), request.member_id, request.version
        )
        return Turn(shard, (Send(header, refused),))
    newborn = Group(request.group_id, state_since_ms=at.now_ms)
    turn = _joined(newborn, header, request, at, State.ABSENT)
    records = turn.records or (_empty_group_record(newborn, at.now_ms),)
    return on_group(shard, Turn(turn.state, turn.effects, records, turn.waits))


def _empty_group_record(group: Group, now_ms: int) -> Record:
    """Return the record of a group that has just been created and has never had a member.

    Source: ``GroupCoordinatorRecordHelpers.newEmptyGroupMetadataRecord``.
    """
    value = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=now_ms
    )
    return Record(GroupMetadataKey(group.group_id), value)


def _joined(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment, state: State | None = None
) -> Turn[Group]:
    sender = sender_of_join(group, request, at)
    verdict = JOIN_GROUP[sender][state_of(group) if state is None else state]
    assert verdict is not None, f"{sender} in {group.state.label}"
    if isinstance(verdict, Act):
        return _ACTS[verdict](group, header, request, at)
    named = "" if sender is Sender.PENDING_INSTANCE else request.member_id
    return Turn(group, (Send(header, join_error_response(verdict, named, request.version)),))


def _refusal(sender: Sender, state: State) -> ErrorCode:
    verdict = JOIN_GROUP[sender][state]
    assert isinstance(verdict, ErrorCode)
    return verdict


def _hand_out_id(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[Group]:
    """Respond with MEMBER_ID_REQUIRED and a new member id, which expires unless it is used to join."""
    member_id = at.broker.new_id(header.client_id)
    pending = replace(group, pending_joins=group.pending_joins.set(member_id, None))
    deadline_us = at.after(request.session_timeout_ms)
    response = join_error_response(ErrorCode.MEMBER_ID_REQUIRED, member_id, request.version)
    timer = session_timer(group.group_id, member_id)
    return Turn(pending, (SetTimer(timer, deadline_us), Send(header, response)))


def _admit(group: Group, header: Header, request: JoinGroupRequest, at: Moment) -> Turn[Group]:
    """Add a member and park its JoinGroup; the first of an empty group starts the initial delay."""
    prefix = request.group_instance_id or header.client_id
    member_id = request.member_id or at.broker.new_id(prefix)
    member = Member(
        member_id=member_id,
        instance_id=request.group_instance_id,
        client_id=header.client_id,
        client_host=header.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=request.protocols,
        timer=session_timer(group.group_id, member_id),
        spread=spread(member_id),
        arrived=group.insertions,
    )
    added = Report(
        MemberAdded(
            group=group.group_id,
            member_id=member_id,
            instance_id=member.instance_id,
            client=header.client,
            protocol="classic",
        )
    )
    if group.state is State.PREPARING_REBALANCE and group.previous_state is State.EMPTY:
        group = replace(group, new_member_added=True)
    turn = Turn(
        with_member(group, member, request.protocol_type, header),
        (added, _session_of_new(member, at)),
        waits=(JoinWaits(group.group_id, member_id, header),),
    )
    reason = (
        f"Adding new member {member_id} with group instance id {member.instance_id or 'null'}; "
        f"client reason: {client_reason(request)}"
    )
    return turn.then(lambda group: prepare_or_complete(group, at, reason, member_id))


def _session_of_new(member: Member, at: Moment) -> Effect:
    """Return the timer of a new member; without it the one of its pending id ends, and none begins."""
    if Fix.NEW_MEMBERS in at.broker.lacks:
        return CancelTimer(member.timer)
    return SetTimer(member.timer, at.after(NEW_MEMBER_TIMEOUT_MS))


def _park(group: Group, header: Header, request: JoinGroupRequest, at: Moment) -> Turn[Group]:
    return _parked(group, header, request).then(lambda group: complete_join_if_last(group, at))


def _rebalance(group: Group, header: Header, request: JoinGroupRequest, at: Moment) -> Turn[Group]:
    member_id, state = request.member_id, group.state
    if state is State.STABLE and member_id == group.leader_id:
        waiting = f"Leader {member_id} re-joining group during {state.label}"
    else:
        waiting = f"Updating metadata for member {member_id} during {state.label}"
    reason = f"{waiting}; client reason: {client_reason(request)}"
    return _parked(group, header, request).then(
        lambda group: prepare_rebalance(group, at, reason, member_id)
    )


def _parked(group: Group, header: Header, request: JoinGroupRequest) -> Turn[Group]:
    """Update a known member and park its JoinGroup; the session timer is not reset."""
    member_id = request.member_id
    group = with_request_parked(group, member_id, header, request)
    return Turn(group, waits=(JoinWaits(group.group_id, member_id, header),))


def _repeat(group: Group, header: Header, request: JoinGroupRequest, _: Moment) -> Turn[Group]:
    """Respond with the current generation; the group does not change."""
    return Turn(group, (Send(header, joined(group, group.members[request.member_id])),))


def _evict(group: Group, header: Header, request: JoinGroupRequest, _: Moment) -> Turn[Group]:
    """Reject a member because of ``group.max.size``; the join phase is not re-evaluated."""
    member_id = request.member_id
    refused = Send(header, JoinGroupResponse(error=ErrorCode.GROUP_MAX_SIZE_REACHED))
    if member_id not in group.members:
        return Turn(without_member(group, member_id), (refused,))
    removed = MemberRemoved(group=group.group_id, member_id=member_id, why=Departure.GROUP_FULL)
    return Turn(without_member(group, member_id), (Report(removed), refused))


_ACTS: Final[
    MappingProxyType[Act, Callable[[Group, Header, JoinGroupRequest, Moment], Turn[Group]]]
] = MappingProxyType(
    {
        Act.HAND_OUT_ID: _hand_out_id,
        Act.ADMIT: _admit,
        Act.PARK: _park,
        Act.REBALANCE: _rebalance,
        Act.REPEAT: _repeat,
        Act.EVICT: _evict,
        Act.RETURN: static_members.rejoin,
        Act.RETURN_AND_REBALANCE: static_members.rejoin_and_rebalance,
        Act.RETURN_AND_PARK: static_members.rejoin_and_park,
    }
)
