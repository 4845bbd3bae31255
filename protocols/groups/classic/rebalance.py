"""The join phase of a classic group: its start, its end, and the responses it sends.

Source: ``GroupMetadataManager.prepareRebalance``, ``completeClassicGroupJoin``,
``tryCompleteInitialRebalanceElseSchedule`` (KIP-134).
"""

from __future__ import annotations

from collections.abc import Callable

from immutables import Map

from protocols.facts import Departure, GroupEmptied, JoinPhaseEnded, MemberRemoved, RebalanceStarted
from protocols.groups.classic.group import (
    ANSWERED,
    Group,
    Member,
    Window,
    all_joined,
    first_in_order,
    in_order,
    join_timer,
    metadata_of,
    rebalance_timeout_ms,
    select_protocol,
    sync_timer,
    topics_of,
    transition,
)
from protocols.groups.classic.membership import without_members
from protocols.groups.classic.records import group_record
from protocols.groups.classic.states import State
from protocols.groups.shard import Fix, Moment, Turn
from protocols.java_maps import NOTHING
from protocols.machine import CancelTimer, Effect, Report, Send, SetTimer
from protocols.messages import (
    Header,
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def client_reason(request: JoinGroupRequest) -> str:
    """Return the client's reason as it appears in logs (KIP-800)."""
    return request.reason or "not provided"


def prepare_or_complete(group: Group, at: Moment, reason: str, member_id: str) -> Turn[Group]:
    """Begin a join phase, or end the current one if this was the last missing JoinGroup."""
    if group.state is State.PREPARING_REBALANCE:
        return complete_join_if_last(group, at)
    return prepare_rebalance(group, at, reason, member_id)


def prepare_rebalance(group: Group, at: Moment, reason: str, member_id: str) -> Turn[Group]:
    """Begin the join phase; if all have joined and the group was not empty, end it at once.

    *reason*: as in the coordinator's log. *member_id*: the member that caused the rebalance.
    """
    began = Report(
        RebalanceStarted(
            group=group.group_id, generation=group.generation, reason=reason, member_id=member_id
        )
    )
    turn = Turn(group, (began,)).then(
        lambda group: cancel_sync_phase(group, at, ErrorCode.REBALANCE_IN_PROGRESS)
    )
    turn = turn.also(CancelTimer(sync_timer(group.group_id)))
    proceed = _begin_initial_delay if group.state is State.EMPTY else _complete_or_wait
    group = transition(turn.state, State.PREPARING_REBALANCE, at.now_ms)
    turn = Turn(replace(group, pending_syncs=NOTHING), turn.effects)
    return turn.then(lambda group: proceed(group, at))


def cancel_sync_phase(group: Group, at: Moment, error: ErrorCode) -> Turn[Group]:
    """Cancel the sync phase: clear assignments, respond to every pending SyncGroup with *error*.

    In any other state, nothing changes.
    """
    if group.state is not State.COMPLETING_REBALANCE:
        return Turn(group)
    response = SyncGroupResponse(error=error)
    return respond_to_syncs(
        replace(group, assignments=NOTHING, user_data=NOTHING), at, lambda _: response
    )


# -- waiting ---------------------------------------------------------------------------------


def _begin_initial_delay(group: Group, at: Moment) -> Turn[Group]:
    """Start the initial rebalance delay, which lets more members join."""
    delay_ms = at.settings.group_initial_rebalance_delay_ms
    remaining_ms = max(rebalance_timeout_ms(group) - delay_ms, 0)
    return _begin_window(group, at, Window(delay_ms, remaining_ms))


def _begin_window(group: Group, at: Moment, window: Window) -> Turn[Group]:
    return _wait(replace(group, window=window), at, window.length_ms)


def _complete_or_wait(group: Group, at: Moment) -> Turn[Group]:
    if all_joined(group):
        return complete_join(group, at)
    return _wait(group, at, rebalance_timeout_ms(group))


def _wait(group: Group, at: Moment, length_ms: int) -> Turn[Group]:
    """Wait for JoinGroups, at most *length_ms* milliseconds."""
    return Turn(group, (SetTimer(join_timer(group.group_id), at.after(length_ms)),))


def complete_join_if_last(group: Group, at: Moment) -> Turn[Group]:
    """End the join phase if all members have joined, but not during the initial delay."""
    waits = group.previous_state is State.EMPTY or not all_joined(group)
    return Turn(group) if waits else complete_join(group, at)


def complete_join_after_removal(group: Group, at: Moment) -> Turn[Group]:
    """End the join phase if the removed member was the last missing one, also during the delay."""
    return complete_join(group, at) if all_joined(group) else Turn(group)


def on_join_timeout(group: Group, at: Moment) -> Turn[Group]:
    """End the join phase, or extend the initial rebalance delay by one more window.

    If an upgrade ended the phase, its timer goes on. In a later, empty classic group Kafka raises the
    generation before it finds that an empty group cannot become empty.
    """
    if group.state is State.EMPTY:
        return Turn(replace(group, generation=group.generation + 1))
    if group.state is not State.PREPARING_REBALANCE:
        return Turn(group)
    window = group.window
    if window is None or not (group.new_member_added and window.remaining_ms):
        return complete_join(group, at)
    length_ms = min(at.settings.group_initial_rebalance_delay_ms, window.remaining_ms)
    remaining_ms = max(window.remaining_ms - window.length_ms, 0)
    later = replace(group, new_member_added=False)
    return _begin_window(later, at, Window(length_ms, remaining_ms))


# -- the end ---------------------------------------------------------------------------------


def complete_join(group: Group, at: Moment) -> Turn[Group]:
    """End the join phase: the joined members form a new generation (``completeClassicGroupJoin``).

    Dynamic members that have not joined are removed. If no member has joined but static members
    remain, the phase continues.
    """
    turn = _drop_absent(replace(group, window=None)).then(
        lambda group: Turn(replace(group, leader_id=_elected(group)))
    )
    group = turn.state
    if group.members and group.leader_id not in group.joining:
        # A request may contain a rebalance timeout of 0. The coordinator's own timers have a
        # resolution of 1 ms; with a delay of 0 the phase would end and begin in an endless loop.
        length_ms = max(rebalance_timeout_ms(group), 1)
        return turn.then(lambda group: _wait(group, at, length_ms))
    end = _next_generation if group.members else _become_empty
    return turn.then(lambda group: end(group, at))


def _drop_absent(group: Group) -> Turn[Group]:
    """End the phase's timer, and remove the dynamic members that have not joined."""
    phase_ended = CancelTimer(join_timer(group.group_id))
    if len(group.joining) == len(group.members):
        return Turn(group, (phase_ended,))
    absent = [
        member
        for member in in_order(group)
        if member.instance_id is None and member.member_id not in group.joining
    ]
    effects: list[Effect] = [phase_ended]
    for member in absent:
        removed = MemberRemoved(
            group=group.group_id, member_id=member.member_id, why=Departure.DID_NOT_REJOIN
        )
        effects += (Report(removed), CancelTimer(member.timer))
    return Turn(without_members(group, absent), tuple(effects))


def _elected(group: Group) -> str | None:
    """Return the leader: the current one if it, or no member, has joined, else the first joined."""
    if group.leader_id in group.joining or not group.joining:
        return group.leader_id
    joined = (group.members[member_id] for member_id in group.joining)
    heir = first_in_order(group, joined)
    return None if heir is None else heir.member_id


def _become_empty(group: Group, at: Moment) -> Turn[Group]:
    """Make the group empty because no member has joined."""
    group = replace(
        transition(group, State.EMPTY, at.now_ms),
        generation=group.generation + 1,
        protocol_name=None,
        pending_syncs=NOTHING,
        subscribed_topics=topics_of(group),
    )
    emptied = Report(GroupEmptied(group=group.group_id, generation=group.generation))
    return Turn(group, (emptied,), (group_record(group, NOTHING),))


def _next_generation(group: Group, at: Moment) -> Turn[Group]:
    group = replace(
        transition(group, State.COMPLETING_REBALANCE, at.now_ms),
        generation=group.generation + 1,
        protocol_name=select_protocol(group),
        pending_syncs=group.members,
        newcomers=NOTHING,
    )
    group = replace(group, subscribed_topics=topics_of(group))
    members = in_order(group)
    ended = JoinPhaseEnded(
        group=group.group_id,
        generation=group.generation,
        protocol=group.protocol_name or "",
        leader=group.leader_id or "",
        members=tuple(member.member_id for member in members),
    )
    effects: list[Effect] = [Report(ended)]
    effects += (SetTimer(member.timer, at.after(member.session_timeout_ms)) for member in members)
    if Fix.PENDING_SYNCS not in at.broker.lacks:
        sync_by_us = at.after(rebalance_timeout_ms(group))
        effects.append(SetTimer(sync_timer(group.group_id), sync_by_us))
    return Turn(group, tuple(effects)).then(
        lambda group: respond_to_joins(group, lambda member: joined(group, member))
    )


def joined(group: Group, member: Member) -> JoinGroupResponse:
    """Return the response to the JoinGroup of a *member* of the current generation.

    The leader receives all members, including static members that have not rejoined.
    """
    is_leader = member.member_id == group.leader_id
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=everyone(group) if is_leader else (),
    )


def everyone(group: Group) -> tuple[JoinGroupMember, ...]:
    """Return the members with their metadata for the group's protocol, as sent to the leader."""
    name = group.protocol_name
    return tuple(
        JoinGroupMember(member.member_id, member.instance_id, metadata_of(member, name))
        for member in in_order(group)
    )


def reject_join(group: Group, member_id: str, error: ErrorCode, named: str = "") -> Turn[Group]:
    """Respond to a member's parked JoinGroup, if any, with *error*.

    *named*: the member id in the response.
    """
    header = group.joining.get(member_id)
    if header is None:
        return Turn(group)
    response = JoinGroupResponse(error=error, member_id=named)
    joining = group.joining.delete(member_id)
    return Turn(replace(group, joining=joining), _sent(header, response))


def reject_sync(group: Group, member_id: str, error: ErrorCode) -> Turn[Group]:
    """Respond to a member's parked SyncGroup, if any, with *error*; its session is unchanged."""
    header = group.syncing.get(member_id)
    if header is None:
        return Turn(group)
    syncing = group.syncing.delete(member_id)
    return Turn(replace(group, syncing=syncing), _sent(header, SyncGroupResponse(error=error)))


def respond_to_syncs(
    group: Group, at: Moment, respond: Callable[[Member], SyncGroupResponse]
) -> Turn[Group]:
    """Respond to every parked SyncGroup and renew the session of each answered member."""
    effects = list[Effect]()
    syncing = group.syncing
    for member in in_order(group) if syncing else ():
        header = syncing.get(member.member_id)
        if header is not None:
            effects += _sent(header, respond(member))
            effects.append(SetTimer(member.timer, at.after(member.session_timeout_ms)))
    return Turn(replace(group, syncing=NOTHING), tuple(effects))


def respond_to_joins(group: Group, respond: Callable[[Member], JoinGroupResponse]) -> Turn[Group]:
    """Respond to every parked JoinGroup; sessions are unchanged."""
    effects = list[Effect]()
    joining = group.joining
    for member in in_order(group) if joining else ():
        header = joining.get(member.member_id)
        if header is not None:
            effects += _sent(header, respond(member))
    return Turn(replace(group, joining=NOTHING), tuple(effects))


def mark_answered(
    waiting: Map[str, Header], member_id: str, header: Header
) -> Map[str, Header] | None:
    """Return *waiting* with *header* marked as answered, or None if it is no longer parked.

    The member still waits for its phase to end, but no further response is sent.
    """
    if waiting.get(member_id) != header:
        return None
    return waiting.set(member_id, ANSWERED)


def _sent(header: Header, response: JoinGroupResponse | SyncGroupResponse) -> tuple[Send, ...]:
    return () if header == ANSWERED else (Send(header, response),)
