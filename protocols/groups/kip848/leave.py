"""Members of a consumer group that leave, leave temporarily, or are removed by a timeout.

Source: ``GroupMetadataManager.consumerGroupLeave``, ``consumerGroupStaticMemberGroupLeave``,
``classicGroupLeaveToConsumerGroup``, ``consumerGroupFenceMembers`` and the expiry of its timers.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocols.facts import Departure, GroupEmptied, GroupEpochRaised, MemberMoved, MemberRemoved
from protocols.groups.kip848 import patterns
from protocols.groups.kip848.group import (
    AWAY_EPOCH,
    CurrentAssignment,
    Group,
    Member,
    named,
    subscribed_topics,
)
from protocols.groups.kip848.membership import holder
from protocols.groups.kip848.records import (
    Draft,
    current_record,
    epoch_record,
    member_tombstones,
    target_epoch_record,
)
from protocols.groups.kip848.soft import (
    Soft,
    rebalance_timer,
    rejoin_timer,
    resync_timer,
    session_timer,
    timers_beside,
    without_rejoin,
)
from protocols.groups.kip848.validation import heartbeat_error_response
from protocols.groups.responses import leave_response
from protocols.groups.shard import Moment, Retry, Turn
from protocols.machine import CancelTimer, Effect, Report, Send
from protocols.messages import (
    TEMPORARY_LEAVE_EPOCH,
    UNKNOWN_MEMBER_ID,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    Header,
    LeaveGroupRequest,
    LeavingMember,
)
from protocols.messages.errors import ErrorCode


def leave(
    group: Group, soft: Soft, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
) -> Turn[Soft]:
    """Respond to a heartbeat with epoch -1 or -2."""
    member = _leaving(group, request)
    if isinstance(member, ErrorCode):
        return Turn(soft, (Send(header, heartbeat_error_response(member, request)),))
    if request.member_epoch == TEMPORARY_LEAVE_EPOCH:
        turn = _away(group, soft, member, at)
    else:
        turn = removed(group, soft, (member,), Departure.LEFT, at)
    response = ConsumerGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch
    )
    return turn.after_append(Send(header, response))


def _leaving(group: Group, request: ConsumerGroupHeartbeatRequest) -> Member | ErrorCode:
    if request.instance_id is None:
        return group.member(request.member_id) or ErrorCode.UNKNOWN_MEMBER_ID
    member = holder(group, request.instance_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if member.member_id == request.member_id else ErrorCode.FENCED_INSTANCE_ID


def _away(group: Group, soft: Soft, member: Member, at: Moment) -> Turn[Soft]:
    """Keep a static member with its partitions and session; release those it had to revoke."""
    current = member.current
    away = CurrentAssignment(
        AWAY_EPOCH,
        current.previous_epoch,
        current.state,
        {topic: dict.fromkeys(numbers, 0) for topic, numbers in current.assigned.items()},
    )
    moved = MemberMoved(
        group=group.group_id,
        member_id=member.member_id,
        epoch=away.epoch,
        previous_epoch=away.previous_epoch,
        state=away.state.name,
        assigned=named(away.assigned, at.broker.image),
        revoking=(),
    )
    record = current_record(group.group_id, member.member_id, away)
    return Turn(soft, (Report(moved),), (record,))


def removed(
    group: Group, soft: Soft, gone: Sequence[Member], why: Departure, at: Moment
) -> Turn[Soft]:
    """Remove members with one group epoch bump; the next heartbeat computes the target."""
    group_id = group.group_id
    draft = Draft(group).with_records(
        [record for member in gone for record in member_tombstones(group_id, member.member_id)]
    )
    dropped = [member.metadata.subscribed_topic_regex for member in gone]
    draft = draft.with_records(patterns.forgotten(group, dropped))
    epoch = group.epoch + 1
    topics_hash = at.broker.image.hash_of(subscribed_topics(draft.group))
    draft = draft.with_record(epoch_record(group_id, epoch, topics_hash))
    effects: list[Effect] = []
    for member in gone:
        effects += (
            CancelTimer(member.session_timer),
            *(CancelTimer(name) for name in timers_beside(group_id, member.member_id)),
            Report(MemberRemoved(group=group_id, member_id=member.member_id, why=why)),
        )
    raised = GroupEpochRaised(
        group=group_id, epoch=epoch, member_id=gone[0].member_id, reason=f"a member is gone: {why}"
    )
    effects.append(Report(raised))
    if not draft.group.members:
        draft = draft.with_record(target_epoch_record(group_id, epoch, 0))
        effects.append(Report(GroupEmptied(group=group_id, generation=epoch)))
    # a rebalance timer may be retried: revoking keeps its epoch
    for member in gone:
        soft = without_rejoin(soft, member.member_id)
    return Turn(soft, tuple(effects), draft.records)


def remove_members(
    group: Group, soft: Soft, header: Header, request: LeaveGroupRequest, at: Moment
) -> Turn[Soft]:
    """Remove the members of a LeaveGroup, sent by an administrator or by the members themselves.

    The group epoch is raised once for all of them; if none is known, it is not raised.
    """
    gone: dict[str, Member] = {}
    errors = list[ErrorCode]()
    for entry in request.members:
        member = _named(group, entry)
        if isinstance(member, Member):
            gone[member.member_id] = member
        errors.append(ErrorCode.NONE if isinstance(member, Member) else member)
    turn: Turn[Soft] = Turn(soft)
    if gone:
        why = _why(tuple(gone.values()))
        turn = removed(group, soft, tuple(gone.values()), why, at)
    return turn.after_append(Send(header, leave_response(request, errors)))


def _why(gone: Sequence[Member]) -> Departure:
    """Return LEFT for classic members, which leave by LeaveGroup themselves, else REMOVED."""
    return Departure.LEFT if all(each.uses_classic for each in gone) else Departure.REMOVED


def _named(group: Group, entry: LeavingMember) -> Member | ErrorCode:
    if entry.group_instance_id is None:
        return group.member(entry.member_id) or ErrorCode.UNKNOWN_MEMBER_ID
    member = holder(group, entry.group_instance_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    is_other = entry.member_id not in {UNKNOWN_MEMBER_ID, member.member_id}
    return ErrorCode.FENCED_INSTANCE_ID if is_other else member


# -- timers ------------------------------------------------------------------------------------


def on_session_timeout(group: Group, soft: Soft, member_id: str, at: Moment) -> Turn[Soft]:
    """Remove a member whose session timed out."""
    timer = session_timer(group.group_id, member_id)
    return _on_member_timer(group, soft, member_id, timer, Departure.EXPIRED, at)


def on_rejoin_timeout(group: Group, soft: Soft, member_id: str, at: Moment) -> Turn[Soft]:
    """Remove a classic member that did not rejoin in time."""
    timer = rejoin_timer(group.group_id, member_id)
    return _on_member_timer(group, soft, member_id, timer, Departure.DID_NOT_REJOIN, at)


def on_sync_timeout(group: Group, soft: Soft, member_id: str, at: Moment) -> Turn[Soft]:
    """Remove a classic member that joined and did not send SyncGroup in time."""
    timer = resync_timer(group.group_id, member_id)
    return _on_member_timer(group, soft, member_id, timer, Departure.DID_NOT_SYNC, at)


def _on_member_timer(
    group: Group, soft: Soft, member_id: str, timer: str, why: Departure, at: Moment
) -> Turn[Soft]:
    member = group.member(member_id)
    if member is None:
        return Turn(soft)
    return removed(group, soft, (member,), why, at).after_append(Retry(group.group_id, timer))


def on_rebalance_timeout(group: Group, soft: Soft, member_id: str, at: Moment) -> Turn[Soft]:
    """Remove a member that is still at the epoch at which it had to revoke partitions."""
    member, epoch = group.member(member_id), soft.revoking.get(member_id)
    if member is None or epoch != member.current.epoch:
        return Turn(soft)
    timer = rebalance_timer(group.group_id, member_id)
    return _on_member_timer(group, soft, member_id, timer, Departure.DID_NOT_REVOKE, at)
