"""ConsumerGroupHeartbeat of a member that joins or stays.

A heartbeat identifies and updates its member, advances the group (``steps.py``) and returns the
member's epoch and assignment; all its records form one batch. A heartbeat of a stable group that
only renews the session takes a short path (:func:`quiet_member`), which a test compares with the
full one.

Source: ``GroupMetadataManager.consumerGroupHeartbeat`` of Kafka 4.4.0.
"""

from __future__ import annotations

from protocols.facts import MemberAdded
from protocols.groups.kip848 import patterns
from protocols.groups.kip848.group import Group, Member, MemberState, are_votes_settled, as_message
from protocols.groups.kip848.membership import Arrival, arrival, entered, has_room
from protocols.groups.kip848.soft import Soft, is_stale
from protocols.groups.kip848.steps import HeartbeatContext, advanced
from protocols.groups.kip848.target import TargetAssignmentError
from protocols.groups.kip848.validation import heartbeat_error_response
from protocols.groups.shard import Moment, Turn
from protocols.machine import Report, Send, SetTimer
from protocols.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    Header,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def heartbeat(
    group: Group, soft: Soft, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[Soft]:
    """Respond to a heartbeat with epoch 0 or higher; *group* is a new one if there was none."""
    member_id = request.member_id
    if not has_room(group, request, at.settings.group_consumer_max_size):
        return _refused(soft, header, request, ErrorCode.GROUP_MAX_SIZE_REACHED)
    arrived = arrival(group, request)
    if isinstance(arrived, ErrorCode):
        return _refused(soft, header, request, arrived)
    pattern = request.subscribed_topic_regex
    if pattern and pattern not in group.pattern_users and not patterns.is_valid(pattern):
        return _refused(soft, header, request, ErrorCode.INVALID_REGULAR_EXPRESSION)
    context = _entered(group, soft, header, request, arrived, member_id or at.broker.new_id(""))
    try:
        moved = advanced(group, context, request.topic_partitions, at)
    except TargetAssignmentError as error:
        refused = _refused(soft, header, request, ErrorCode.UNKNOWN_SERVER_ERROR)
        return replace(refused, effects=(Report(error.fact), *refused.effects))
    if isinstance(moved, ErrorCode):
        return _refused(soft, header, request, moved)
    return _responded(moved, header, request, at)


def _refused(
    soft: Soft, header: Header, request: ConsumerGroupHeartbeatRequest, error: ErrorCode
) -> Turn[Soft]:
    return Turn(soft, (Send(header, heartbeat_error_response(error, request)),))


# -- the member --------------------------------------------------------------------------------


def _entered(
    group: Group,
    soft: Soft,
    header: Header,
    request: ConsumerGroupHeartbeatRequest,
    arrived: Arrival,
    member_id: str,
) -> HeartbeatContext:
    draft = entered(group, arrived, member_id, header, request)
    context = HeartbeatContext(draft, soft, member_id, arrived.member)
    if arrived.member is not None and not arrived.replaces:
        return context
    replaced = arrived.member.member_id if arrived.member else ""
    added = MemberAdded(
        group=group.group_id,
        member_id=member_id,
        instance_id=request.instance_id,
        client=header.client,
        protocol="consumer",
        replaced=replaced,
    )
    return context.with_effects(Report(added))


# -- the response ----------------------------------------------------------------------------------


def _responded(
    context: HeartbeatContext, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[Soft]:
    member, current = context.member, context.member.current
    had = None if context.before is None else context.before.current.assigned
    shows = (
        request.member_epoch == JOIN_EPOCH or is_full(request) or current.assigned != (had or {})
    )
    response = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=at.settings.group_consumer_heartbeat_interval_ms,
        assignment=as_message(current.assigned) if shows else None,
    )
    effects = (*context.effects, _renewed_session(member, at))
    return Turn(context.soft, effects, context.draft.records, (Send(header, response),))


def _renewed_session(member: Member, at: Moment) -> SetTimer:
    return SetTimer(member.session_timer, at.after(at.settings.group_consumer_session_timeout_ms))


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a request is full, as after an error; then its response is full as well."""
    subscribes = (
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    )
    return (
        subscribes and request.rebalance_timeout_ms != -1 and request.topic_partitions is not None
    )


def quiet_member(
    group: Group, soft: Soft, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Member | None:
    """Return the member if its heartbeat only renews the session, else None.

    The request has no new data, the member has reached its target, and no step of the group is due.
    """
    member = group.member(request.member_id)
    if member is None or request.member_epoch == JOIN_EPOCH:
        return None
    metadata = member.metadata
    silent = (
        request.topic_partitions is None
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.server_assignor is None
        and request.rack_id is None
        and request.rebalance_timeout_ms == -1
        and request.instance_id == metadata.instance_id
        and header.client_id == metadata.client_id
        and header.client_host == metadata.client_host
        and _is_settled(group, soft, member, request.member_epoch)
    )
    if not silent or patterns.look_up_is_due(group, group.pattern_users, soft, at):
        return None
    return member


def _is_settled(group: Group, soft: Soft, member: Member, epoch: int) -> bool:
    """Return whether no step is due for a member at that epoch or for its group."""
    current = member.current
    return (
        epoch == current.epoch == group.target_epoch == group.epoch
        and current.state is MemberState.STABLE
        and not is_stale(group, soft)
        and (len(group.votes) < 2 or are_votes_settled(group.votes))
        and not member.uses_classic
    )


def recurs(group: Group) -> bool:
    """Return whether the responses to heartbeats do not depend on the time.

    They do while a target assignment waits for its interval, with patterns, which are looked up
    again, and while the preferred assignor changes with each member that sends a heartbeat.
    """
    settled = group.epoch == group.target_epoch and are_votes_settled(group.votes)
    return settled and not group.pattern_users


def quiet_response(member: Member, header: Header, at: Moment) -> tuple[SetTimer, Send]:
    """Respond to a heartbeat of a :func:`quiet_member`: renew the session, change nothing else."""
    response = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.current.epoch,
        heartbeat_interval_ms=at.settings.group_consumer_heartbeat_interval_ms,
    )
    return _renewed_session(member, at), Send(header, response)
