"""Heartbeats of a stable group, which are most of all there is: nothing changes but a session.

What is answered here is what :mod:`protocols.groups.kip848.heartbeat` would answer, without its work;
a test compares the two.
"""

from __future__ import annotations

from protocols.groups.kip848 import patterns
from protocols.groups.kip848.group import Group, Member, MemberState
from protocols.groups.kip848.soft import Soft, is_stale
from protocols.groups.turn import Moment
from protocols.machine import Send, SetTimer
from protocols.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    Header,
)


def quiet(
    group: Group, soft: Soft, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Member | None:
    """Return the member whose heartbeat changes nothing but its session, else None.

    It says nothing new, is where it shall be, and nothing waits for a heartbeat to be done.
    """
    member = group.member(request.member_id)
    if member is None or request.member_epoch == JOIN_EPOCH:
        return None
    told = member.metadata
    silent = (
        request.topic_partitions is None
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.server_assignor is None
        and request.rack_id is None
        and request.rebalance_timeout_ms == -1
        and request.instance_id == told.instance_id
        and header.client_id == told.client_id
        and header.client_host == told.client_host
        and _is_settled(group, soft, member, request.member_epoch)
    )
    if not silent or patterns.look_up_is_due(group, group.pattern_users, soft, at):
        return None
    return member


def _is_settled(group: Group, soft: Soft, member: Member, epoch: int) -> bool:
    """Say whether nothing is to be done for a member at that epoch, nor for its group."""
    current = member.current
    return (
        epoch == current.epoch == group.target_epoch == group.epoch
        and current.state is MemberState.STABLE
        and not is_stale(group, soft)
        and not member.speaks_classic
    )


def is_quiet(group: Group, soft: Soft, member_id: str, epoch: int, *, heartbeat: bool) -> bool:
    """Say whether a member's next heartbeat (or its next commit) would be nothing but accepted.

    A group that reads by pattern is never quiet: some heartbeat begins the next look-up.
    """
    member = group.member(member_id)
    if member is None or not heartbeat:
        return member is not None and epoch == member.current.epoch
    return not group.pattern_users and _is_settled(group, soft, member, epoch)


def quiet_answer(group: Group, member: Member, header: Header, at: Moment) -> tuple[SetTimer, Send]:
    """Answer a heartbeat that is :func:`quiet`: the session goes on, nothing is new."""
    times = at.broker.times_of(group.group_id)
    answer = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.current.epoch,
        heartbeat_interval_ms=times.heartbeat_interval_ms,
    )
    session = SetTimer(member.session_timer, at.after(times.session_timeout_ms))
    return session, Send(header, answer)
