"""JoinGroup: hand out member ids, add members, let members rejoin, or reject the request.

A static member that restarts gets a new member id, which replaces the old one (KIP-345, KIP-814).

Source: ``GroupMetadataManager.classicGroupJoin`` (KIP-394, KIP-389),
``updateStaticMemberThenRebalanceOrCompleteJoin``, ``ClassicGroup.replaceStaticMember``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from protocols.facts import Departure, MemberAdded, MemberRemoved
from protocols.groups.answers import client_error, join_error_response
from protocols.groups.classic.group import (
    Group,
    InstanceStored,
    JoinWaits,
    Member,
    Shard,
    on_group,
    select_protocol,
    session_timer,
    state_of,
    without,
)
from protocols.groups.classic.membership import (
    renamed,
    sender_of_join,
    with_member,
    with_protocols,
    without_member,
)
from protocols.groups.classic.rebalance import (
    client_reason,
    complete_join_if_last,
    everyone,
    joined,
    prepare_or_complete,
    prepare_rebalance,
    reject_join,
    reject_sync,
)
from protocols.groups.classic.records import group_record
from protocols.groups.classic.states import JOIN_GROUP, Act, Sender, State
from protocols.groups.shard import Fix, Moment, Turn
from protocols.java_maps import spread
from protocols.machine import CancelTimer, Effect, Report, Send, SetTimer
from protocols.messages import Header, JoinGroupRequest, JoinGroupResponse
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataKey, GroupMetadataValue, Record
from protocols.values import replace

NEW_MEMBER_TIMEOUT_MS: Final = 300_000
"""Session timeout of a new member until its first join phase ends."""


_SKIPPING_VERSION = 9
"""The first JoinGroup version with the field SkipAssignment (KIP-814)."""


def join_group(shard: Shard, header: Header, request: JoinGroupRequest, at: Moment) -> Turn[Shard]:
    """Answer or park a JoinGroup; one without a member id may create the group."""
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
    """Answer MEMBER_ID_REQUIRED with a new member id, which expires unless it is used to join."""
    member_id = at.broker.new_id(header.client_id)
    pending = replace(group, pending_joins=group.pending_joins.set(member_id, None))
    deadline_us = at.after(request.session_timeout_ms)
    answer = join_error_response(ErrorCode.MEMBER_ID_REQUIRED, member_id, request.version)
    timer = session_timer(group.group_id, member_id)
    return Turn(pending, (SetTimer(timer, deadline_us), Send(header, answer)))


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
    member = group.members[request.member_id]
    timeouts_ms = request.rebalance_timeout_ms, request.session_timeout_ms
    group = with_protocols(group, member, request.protocols, timeouts_ms)
    group = replace(group, joining=group.joining.set(member.member_id, header))
    return Turn(group, waits=(JoinWaits(group.group_id, member.member_id, header),))


def _repeat(group: Group, header: Header, request: JoinGroupRequest, _: Moment) -> Turn[Group]:
    """Answer with the current generation; the group does not change."""
    return Turn(group, (Send(header, joined(group, group.members[request.member_id])),))


def _evict(group: Group, header: Header, request: JoinGroupRequest, _: Moment) -> Turn[Group]:
    """Reject a member because of ``group.max.size``; the join phase is not re-evaluated."""
    member_id = request.member_id
    refused = Send(header, JoinGroupResponse(error=ErrorCode.GROUP_MAX_SIZE_REACHED))
    if member_id not in group.members:
        return Turn(without_member(group, member_id), (refused,))
    removed = MemberRemoved(group=group.group_id, member_id=member_id, why=Departure.GROUP_FULL)
    return Turn(without_member(group, member_id), (Report(removed), refused))


def rejoin_static(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[Group]:
    """Rejoin a stable group: without a rebalance, if the same assignor is still selected.

    Only the assignor's name is compared: a changed subscription has no effect.
    """
    old, new_id = _old_and_new(group, request, at)
    turn = _replaced(group, old, new_id, header, at).then(
        lambda group: _with_request_parked(group, new_id, header, request)
    )
    if select_protocol(turn.state) != turn.state.protocol_name:
        instance = f"static member {new_id} with instance id {request.group_instance_id}"
        why = f"Group's selectedProtocol will change because {instance} joined with change of protocol"
        return _rebalancing(turn, why, new_id, header, request, at)
    assert group.leader_id is not None, "a stable group has a leader"
    on_stored = InstanceStored(
        group.group_id, old, new_id, group.leader_id, header, request.version
    )
    if Fix.STATIC_REJOIN in at.broker.lacks:
        return turn.then(lambda group: on_instance_stored(group, on_stored))
    record = group_record(turn.state, turn.state.assignments, turn.state.user_data)
    return Turn(turn.state, turn.effects, (record,), (on_stored,))


def rejoin_static_and_rebalance(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[Group]:
    """Rejoin during the sync phase, which starts a new rebalance."""
    old, new_id = _old_and_new(group, request, at)
    turn = _replaced(group, old, new_id, header, at).then(
        lambda group: _with_request_parked(group, new_id, header, request)
    )
    instance = f"static member {new_id} with instance id {request.group_instance_id}"
    return _rebalancing(turn, f"Updating metadata for {instance}", new_id, header, request, at)


def rejoin_static_and_park(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[Group]:
    """Rejoin during the join phase: the new id counts as joined."""
    old, new_id = _old_and_new(group, request, at)
    return (
        _replaced(group, old, new_id, header, at)
        .then(lambda group: _with_request_parked(group, new_id, header, request))
        .then(lambda group: complete_join_if_last(group, at))
        .at_last(JoinWaits(group.group_id, new_id, header))
    )


def _rebalancing(
    turn: Turn[Group],
    why: str,
    new_id: str,
    header: Header,
    request: JoinGroupRequest,
    at: Moment,
) -> Turn[Group]:
    reason = f"{why}; client reason: {client_reason(request)}"
    return turn.then(lambda group: prepare_rebalance(group, at, reason, new_id)).at_last(
        JoinWaits(turn.state.group_id, new_id, header)
    )


def _old_and_new(group: Group, request: JoinGroupRequest, at: Moment) -> tuple[Member, str]:
    assert request.group_instance_id is not None
    old_id = group.static_members[request.group_instance_id]
    return group.members[old_id], at.broker.new_id(request.group_instance_id)


def _with_request_parked(
    group: Group, member_id: str, header: Header, request: JoinGroupRequest
) -> Turn[Group]:
    timeouts_ms = request.rebalance_timeout_ms, request.session_timeout_ms
    group = with_protocols(group, group.members[member_id], request.protocols, timeouts_ms)
    return Turn(replace(group, joining=group.joining.set(member_id, header)))


def _replaced(
    group: Group, old: Member, new_id: str, header: Header | None, at: Moment
) -> Turn[Group]:
    """Replace a static member's id; parked requests of the old one get FENCED_INSTANCE_ID.

    The old id's session timer is not cancelled; it fires without effect.
    """
    timer = session_timer(group.group_id, new_id)
    facts: tuple[Effect, ...] = (
        Report(
            MemberRemoved(group=group.group_id, member_id=old.member_id, why=Departure.REPLACED)
        ),
        Report(
            MemberAdded(
                group=group.group_id,
                member_id=new_id,
                instance_id=old.instance_id,
                client="" if header is None else header.client,
                protocol="classic",
                replaced=old.member_id,
            )
        ),
    )
    fenced = ErrorCode.FENCED_INSTANCE_ID
    return (
        Turn(group, facts)
        .then(lambda group: reject_join(group, old.member_id, fenced, old.member_id))
        .then(lambda group: reject_sync(group, old.member_id, fenced))
        .then(lambda group: Turn(renamed(group, old, new_id, timer)))
        .also(SetTimer(timer, at.after(old.session_timeout_ms)))
    )


# -- after the append of the new id ----------------------------------------------------------


def on_instance_stored(group: Group, waiting: InstanceStored) -> Turn[Group]:
    """Answer a restarted member, if it still waits, with the current generation.

    A rebalance that began meanwhile no longer counts it as joined. If the member is the leader,
    Kafka cannot send it the member list during that rebalance, and the request stays parked.
    """
    header = group.joining.get(waiting.new_id)
    leads = group.leader_id == waiting.new_id
    unspeakable = leads and group.state is State.PREPARING_REBALANCE
    if header is None or (unspeakable and waiting.version >= _SKIPPING_VERSION):
        return Turn(group)
    freed = replace(group, joining=group.joining.delete(waiting.new_id))
    return Turn(freed, (Send(header, _same_generation(group, waiting, leads=leads)),))


def _same_generation(group: Group, waiting: InstanceStored, *, leads: bool) -> JoinGroupResponse:
    """Return the answer; an older client gets the old leader id and so acts as a follower."""
    skips = waiting.version >= _SKIPPING_VERSION
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=(group.leader_id or "") if skips else waiting.old_leader_id,
        skip_assignment=skips and leads,
        member_id=waiting.new_id,
        members=everyone(group) if skips and leads else (),
    )


def on_instance_store_failed(
    group: Group, waiting: InstanceStored, error: ErrorCode, at: Moment
) -> Turn[Group]:
    """Restore the old id of a restarted member because the new one was never durable."""
    new = group.members.get(waiting.new_id)
    if new is None:
        return Turn(group)
    old = waiting.old
    waits = group.joining.get(waiting.new_id) == waiting.header
    timeouts_ms = old.rebalance_timeout_ms, old.session_timeout_ms
    group = replace(group, joining=without(group.joining, waiting.new_id))
    group = with_protocols(group, new, old.protocols, timeouts_ms)
    turn = _replaced(group, group.members[waiting.new_id], old.member_id, None, at)
    refused = JoinGroupResponse(
        error=client_error(error),
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=waiting.old_leader_id,
    )
    return turn.also(Send(waiting.header, refused)) if waits else turn


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
        Act.RETURN: rejoin_static,
        Act.RETURN_AND_REBALANCE: rejoin_static_and_rebalance,
        Act.RETURN_AND_PARK: rejoin_static_and_park,
    }
)
