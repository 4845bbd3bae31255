"""Static members that restart: a new member id replaces the old one (KIP-345, KIP-814).

Source: ``GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin``,
``ClassicGroup.replaceStaticMember``.
"""

from __future__ import annotations

from protocols.facts import Departure, MemberAdded, MemberRemoved
from protocols.groups.classic.group import (
    Group,
    InstanceStored,
    JoinWaits,
    Member,
    select_protocol,
    session_timer,
    without,
)
from protocols.groups.classic.membership import renamed, with_protocols, with_request_parked
from protocols.groups.classic.rebalance import (
    client_reason,
    complete_join_if_last,
    everyone,
    prepare_rebalance,
    reject_join,
    reject_sync,
)
from protocols.groups.classic.records import group_record
from protocols.groups.classic.states import State
from protocols.groups.responses import client_error
from protocols.groups.shard import Fix, Moment, Turn
from protocols.machine import Effect, Report, Send, SetTimer
from protocols.messages import Header, JoinGroupRequest, JoinGroupResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace

_SKIPPING_VERSION = 9
"""The first JoinGroup version with the field SkipAssignment (KIP-814)."""


def rejoin(group: Group, header: Header, request: JoinGroupRequest, at: Moment) -> Turn[Group]:
    """Rejoin a stable group: without a rebalance, if the same assignor is still selected.

    Only the assignor's name is compared: a changed subscription has no effect.
    """
    old, new_id, turn = _restarted(group, header, request, at)
    if select_protocol(turn.state) != turn.state.protocol_name:
        instance = f"static member {new_id} with instance id {request.group_instance_id}"
        why = f"Group's selectedProtocol will change because {instance} joined with change of protocol"
        return _rebalancing(turn, why, new_id, header, request, at)
    assert group.leader_id is not None, "a stable group has a leader"
    waiting = InstanceStored(group.group_id, old, new_id, group.leader_id, header, request.version)
    if Fix.STATIC_REJOIN in at.broker.lacks:
        return turn.then(lambda group: on_instance_stored(group, waiting))
    record = group_record(turn.state, turn.state.assignments, turn.state.user_data)
    return Turn(turn.state, turn.effects, (record,), (waiting,))


def rejoin_and_rebalance(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[Group]:
    """Rejoin during the sync phase, which starts a new rebalance."""
    _, new_id, turn = _restarted(group, header, request, at)
    instance = f"static member {new_id} with instance id {request.group_instance_id}"
    return _rebalancing(turn, f"Updating metadata for {instance}", new_id, header, request, at)


def rejoin_and_park(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> Turn[Group]:
    """Rejoin during the join phase: the new id counts as joined."""
    _, new_id, turn = _restarted(group, header, request, at)
    return turn.then(lambda group: complete_join_if_last(group, at)).after_append(
        JoinWaits(group.group_id, new_id, header)
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
    return turn.then(lambda group: prepare_rebalance(group, at, reason, new_id)).after_append(
        JoinWaits(turn.state.group_id, new_id, header)
    )


def _restarted(
    group: Group, header: Header, request: JoinGroupRequest, at: Moment
) -> tuple[Member, str, Turn[Group]]:
    """Return the member before the restart, its new id, and the turn that parks its JoinGroup."""
    assert request.group_instance_id is not None
    old = group.members[group.static_members[request.group_instance_id]]
    new_id = at.broker.new_id(request.group_instance_id)
    turn = _replaced(group, old, new_id, header, at).then(
        lambda group: Turn(with_request_parked(group, new_id, header, request))
    )
    return old, new_id, turn


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
    """Respond to a restarted member, if it still waits, with the current generation.

    A rebalance that began meanwhile no longer counts it as joined. If the member is the leader,
    Kafka cannot send it the member list during that rebalance, and the request stays parked.
    """
    header = group.joining.get(waiting.new_id)
    leads = group.leader_id == waiting.new_id
    lacks_members = leads and group.state is State.PREPARING_REBALANCE
    if header is None or (lacks_members and waiting.version >= _SKIPPING_VERSION):
        return Turn(group)
    freed = replace(group, joining=group.joining.delete(waiting.new_id))
    return Turn(freed, (Send(header, _same_generation(group, waiting, leads=leads)),))


def _same_generation(group: Group, waiting: InstanceStored, *, leads: bool) -> JoinGroupResponse:
    """Return the response; an older client gets the old leader id and so acts as a follower."""
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
