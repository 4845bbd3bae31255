"""A heartbeat of a member that joins or stays: all of the consumer protocol's work.

Who is it, and what does it say of itself; what follows from that (``steps.py``); what it is told.
All records of it form one batch.

Source: ``GroupMetadataManager.consumerGroupHeartbeat`` of 4.4.0 (spec kip848 1.4).
"""

from __future__ import annotations

from protocols.facts import MemberAdded
from protocols.groups.kip848 import patterns
from protocols.groups.kip848.door import in_words
from protocols.groups.kip848.group import Group, as_message
from protocols.groups.kip848.membership import Arrival, arrival, entered, has_room
from protocols.groups.kip848.soft import Soft
from protocols.groups.kip848.steps import Visit, advanced
from protocols.groups.turn import Moment, Turn
from protocols.machine import Send, SetTimer, Tell
from protocols.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    Header,
)
from protocols.messages.errors import ErrorCode


def heartbeat(
    group: Group, soft: Soft, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[Soft]:
    """Answer a heartbeat with epoch 0 or more; *group* is a new one if there was none."""
    member_id = request.member_id
    if not has_room(group, request, at.settings.group_consumer_max_size):
        return _refused(soft, header, request, ErrorCode.GROUP_MAX_SIZE_REACHED)
    arrived = arrival(group, request)
    if isinstance(arrived, ErrorCode):
        return _refused(soft, header, request, arrived)
    pattern = request.subscribed_topic_regex
    if pattern and pattern not in group.pattern_users and not patterns.is_valid(pattern):
        return _refused(soft, header, request, ErrorCode.INVALID_REGULAR_EXPRESSION)
    visit = _entered(group, soft, header, request, arrived, member_id or at.broker.new_id(""))
    moved = advanced(group, visit, request.topic_partitions, at)
    if isinstance(moved, ErrorCode):
        return _refused(soft, header, request, moved)
    return _answered(moved, header, request, at)


def _refused(
    soft: Soft, header: Header, request: ConsumerGroupHeartbeatRequest, error: ErrorCode
) -> Turn[Soft]:
    return Turn(soft, (Send(header, in_words(error, request)),))


# -- who is it ---------------------------------------------------------------------------------


def _entered(
    group: Group,
    soft: Soft,
    header: Header,
    request: ConsumerGroupHeartbeatRequest,
    arrived: Arrival,
    member_id: str,
) -> Visit:
    draft = entered(group, arrived, member_id, header, request)
    visit = Visit(draft, soft, member_id, arrived.member)
    if arrived.member is not None and not arrived.replaces:
        return visit
    replaced = arrived.member.member_id if arrived.member else None
    added = MemberAdded(
        group=group.group_id,
        member_id=member_id,
        instance_id=request.instance_id,
        client=header.client,
        protocol="consumer",
        replaced=replaced,
    )
    return visit.told(Tell(added))


# -- the answer --------------------------------------------------------------------------------


def _answered(
    visit: Visit, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[Soft]:
    member, times = visit.member, at.broker.times_of(visit.group.group_id)
    current = member.current
    had = None if visit.before is None else visit.before.current.assigned
    shows = (
        request.member_epoch == JOIN_EPOCH or is_full(request) or current.assigned != (had or {})
    )
    answer = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=times.heartbeat_interval_ms,
        assignment=as_message(current.assigned) if shows else None,
    )
    session = SetTimer(member.session_timer, at.after(times.session_timeout_ms))
    return Turn(visit.soft, (*visit.effects, session), visit.draft.records, (Send(header, answer),))


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Say whether a request tells everything, as one does after an error; so does its answer."""
    subscribes = (
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    )
    return (
        subscribes and request.rebalance_timeout_ms != -1 and request.topic_partitions is not None
    )
