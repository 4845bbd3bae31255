"""Heartbeats of the consumer protocol (KIP-848): when they are sent, their fields, their responses.

Source: ``ConsumerHeartbeatRequestManager``, ``AbstractHeartbeatRequestManager``.
"""

from __future__ import annotations

from protocols.consumer.kip848 import membership
from protocols.consumer.kip848.member import TRANSITIONS, MemberState, ReleaseStage
from protocols.consumer.kip848.membership import release_assignment
from protocols.consumer.kip848.requests import ask, mark_unknown
from protocols.consumer.kip848.state import (
    NOTHING_SENT,
    Api,
    Beat,
    ClientState,
    Consumer,
    SentFields,
)
from protocols.consumer.lookup import LOSES_COORDINATOR, Known
from protocols.consumer.reader import MS, backoff_us
from protocols.machine import SetTimer, Step
from protocols.messages import (
    LEAVE_EPOCH,
    TEMPORARY_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

HEARTBEAT = "heartbeat"
"""Timer: a heartbeat is due; a client in the background also notices the end of the poll interval."""

_LONGEST_ROUND_US = 5_000 * MS
"""Maximum wait of the background thread (``ConsumerNetworkThread.MAX_POLL_TIMEOUT_MS``)."""

_AT_ONCE = frozenset({MemberState.JOINING, MemberState.ACKNOWLEDGING})
_FENCED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})
_LEFT = _FENCED | {
    ErrorCode.NONE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
"""Responses to a leaving heartbeat that complete the leave."""


def advance(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the heartbeat that is due, or the leaving heartbeat of a member that leaves."""
    member = state.member
    if not isinstance(state.coordinator, Known) or not member.state.in_group:
        return membership.on_heartbeat_skipped(state)
    if now >= state.poll_due_us and not member.state.leaving:
        step = membership.on_poll_expired(state, consumer)
        step = step.then(lambda s: _leave(s, consumer, MemberState.STALE, now))
        return step.then(lambda s: release_assignment(s, consumer, ReleaseStage.RUNNING))
    if member.state is MemberState.LEAVING:
        return _leave(state, consumer, MemberState.UNSUBSCRIBED, now)
    if state.beat.number is None and (
        member.state in _AT_ONCE or now >= max(state.beat.due_us, state.beat.retry_us)
    ):
        step = _send(state, consumer, Api.HEARTBEAT, now)
        return step.then(membership.on_heartbeat_generated).then(lambda s: _arm(s, consumer, now))
    return _arm(state, consumer, now)


def _arm(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Set the timer for the next round that sends a heartbeat or notices the end of the poll interval."""
    beat = state.beat
    when = _next_round_us(state, consumer, now)
    if when is None or (beat.armed_us is not None and now < beat.armed_us <= when):
        return Step(state)
    armed = replace(state, beat=beat._replace(armed_us=when))
    return Step(armed, (SetTimer(HEARTBEAT, when),))


def _next_round_us(state: ClientState, consumer: Consumer, now: int) -> int | None:
    """Return when (us) the background thread looks at its heartbeat again; None: at a response.

    No timer ends the wait of the Java client at the end of the poll interval
    (``AbstractHeartbeatRequestManager.poll``): it is noticed when the next heartbeat is due, at an
    event or response, or after the longest wait. While a heartbeat that is due again is in flight,
    the thread does not wait at all.
    """
    beat, leaving = state.beat, state.member.state.leaving
    due_us = max(beat.due_us, beat.retry_us)
    if consumer.profile.in_background:
        moments = [] if leaving else [state.poll_due_us]
        return min([*moments, due_us] if beat.number is None else moments, default=None)
    round_us = min(due_us, now + _LONGEST_ROUND_US)
    if beat.number is None:
        return round_us
    return None if leaving else max(round_us, state.poll_due_us)


def _leave(
    state: ClientState, consumer: Consumer, after: MemberState, now: int
) -> Step[ClientState]:
    """Send the leaving heartbeat, even if another one is in flight; it is never retried."""
    if state.member.epoch in (LEAVE_EPOCH, TEMPORARY_LEAVE_EPOCH):
        api = Api.LEAVE_UNANSWERED if after is MemberState.STALE else Api.LEAVE
        step = _send(state, consumer, api, now)
    else:
        step = Step(state)
    return step.then(lambda s: membership.on_left(forgotten(s), after))


def forgotten(state: ClientState) -> ClientState:
    """Return the state with no heartbeat in flight; the next one sends all fields."""
    fresh = Beat(interval_us=state.beat.interval_us)
    return replace(state, beat=fresh)


# -- requests --------------------------------------------------------------------------------------


def _send(state: ClientState, consumer: Consumer, api: Api, now: int) -> Step[ClientState]:
    """Send a heartbeat without the fields that have not changed since the last one."""
    number = state.reads.next_correlation_id
    request, fields = _request(state, consumer)
    beat = state.beat._replace(sent=fields, number=number, due_us=now + state.beat.interval_us)
    return ask(replace(state, beat=beat), consumer, api, request, now)


def _request(
    state: ClientState, consumer: Consumer
) -> tuple[ConsumerGroupHeartbeatRequest, SentFields]:
    member, settings = state.member, consumer.settings
    sends_all = member.state is MemberState.JOINING
    before = NOTHING_SENT if sends_all else state.beat.sent
    taken_back = "" if consumer.regex is None and before.regex else None
    timeout_ms = consumer.profile.rebalance_timeout_ms or settings.max_poll_interval_ms
    fields = SentFields(
        rebalance_timeout_ms=timeout_ms,
        names=() if consumer.regex is not None else state.subscribed or (),
        regex=consumer.regex or taken_back,
        assignor=consumer.server_assignor,
        local=member.current,
    )
    request = ConsumerGroupHeartbeatRequest(
        group_id=consumer.group_id,
        member_id=state.member_id,
        member_epoch=member.epoch,
        instance_id=settings.group_instance_id,
        rack_id=(settings.client_rack or None) if sends_all else None,
        rebalance_timeout_ms=-1
        if before.rebalance_timeout_ms != -1
        else fields.rebalance_timeout_ms,
        subscribed_topic_names=None if before.names == fields.names else fields.names,
        subscribed_topic_regex=None if before.regex == fields.regex else fields.regex,
        server_assignor=None if before.assignor == fields.assignor else fields.assignor,
        topic_partitions=None if before.local == fields.local else member.current.partitions,
    )
    return request, fields


# -- responses -------------------------------------------------------------------------------------


def on_response(
    state: ClientState, consumer: Consumer, response: ConsumerGroupHeartbeatResponse, now: int
) -> Step[ClientState]:
    """Handle the response to a heartbeat, also to one that was in flight when the poll interval ended.

    If the member joins again meanwhile, it takes the epoch of that response and sends a second
    heartbeat, without waiting for the response to its join (``RequestState.reset``).
    """
    if response.error is not ErrorCode.NONE:
        return _refused(state, consumer, response, now)
    beat = state.beat._replace(number=None, attempt=0, retry_us=0)
    interval = response.heartbeat_interval_ms * MS
    if interval != beat.interval_us:
        beat = beat._replace(interval_us=interval, due_us=now + interval)
    return membership.on_heartbeat_success(replace(state, beat=beat), response)


def on_leave_response(
    state: ClientState, consumer: Consumer, response: ConsumerGroupHeartbeatResponse, now: int
) -> Step[ClientState]:
    """Handle the response to a leaving heartbeat: the member has left, unless the error is fatal.

    GROUP_ID_NOT_FOUND shows that there is nothing to leave.
    """
    error = response.error
    if error in _LEFT or MemberState.FATAL not in TRANSITIONS[state.member.state]:
        return Step(state)
    if error in LOSES_COORDINATOR:
        return mark_unknown(state, f"heartbeat answered {error.name}", now)
    if error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return Step(membership.throw_once(state, error))
    return membership.on_fatal(state, consumer, error, response.error_message or "")


def on_failure(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Handle a heartbeat without a response: the next one sends all fields, after the back-off."""
    return Step(_backed_off(state, consumer, now))


def _backed_off(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    before = state.beat
    retry = now + backoff_us(consumer, "heartbeat", before.attempt, now)
    beat = Beat(before.interval_us, now, None, before.attempt + 1, retry)
    return replace(state, beat=beat)


def _refused(
    state: ClientState, consumer: Consumer, response: ConsumerGroupHeartbeatResponse, now: int
) -> Step[ClientState]:
    """Handle an error response (``AbstractHeartbeatRequestManager.onErrorResponse``).

    A stale member stays stale: no error ends its membership once more, but poll throws the error. A
    heartbeat that was in flight when the member left can still end in the fatal state.
    """
    error, stale = response.error, state.member.state is MemberState.STALE
    if error in LOSES_COORDINATOR:
        return mark_unknown(forgotten(state), f"heartbeat answered {error.name}", now)
    if error in _FENCED and not stale:
        return membership.on_fenced(forgotten(state), consumer, error)
    state = _backed_off(state, consumer, now)
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS or error in _FENCED:
        return Step(state)
    if stale or error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return Step(membership.throw_once(state, error))
    left = state.member.state is MemberState.UNSUBSCRIBED
    if MemberState.FATAL not in TRANSITIONS[state.member.state] or (
        left and error is ErrorCode.GROUP_ID_NOT_FOUND
    ):
        return Step(state)
    return membership.on_fatal(state, consumer, error, response.error_message or "")
