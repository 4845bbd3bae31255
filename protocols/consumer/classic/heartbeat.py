"""The heartbeat thread, the coordinator lookup, and leaving when the application stops polling.

Source: ``AbstractCoordinator.HeartbeatThread``, ``Heartbeat``. The thread runs at multiples of
``retry.backoff.ms`` after it was enabled or last sent a heartbeat; a poll wakes it when a heartbeat
is due.
"""

from __future__ import annotations

from assignors.types import RebalanceProtocol
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.classic import next_join
from protocols.consumer.classic.async_commits import end_pending, send_pending
from protocols.consumer.classic.membership import (
    ask,
    forget_coordinator,
    leave,
    request_rejoin,
    reset,
    reset_by,
)
from protocols.consumer.classic.next_join import looks_at_polls_us, poll_deadline_us
from protocols.consumer.classic.phases import Outside
from protocols.consumer.classic.state import (
    Api,
    Beat,
    ClientState,
    Consumer,
    InFlight,
    Membership,
)
from protocols.consumer.clients import FirstHeartbeat, PollsCheck, SessionEnd, Unanswered
from protocols.consumer.lookup import (
    LOOKUP,
    LOSES_COORDINATOR,
    Known,
    Unknown,
    back_off_lookup,
    drop_lookup,
)
from protocols.consumer.reader import MS, NEVER, backoff_us, turn_interval_us
from protocols.consumer.requests import look_up
from protocols.machine import CancelTimer, SetTimer, Step
from protocols.messages import (
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

HEARTBEAT = "heartbeat"
"""Timer: the next turn at which the heartbeat thread has work."""

POLL_EXPIRED = "consumer poll timeout has expired."


def on_joined(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread with all three timers reset, if its client does so after JoinGroup."""
    if consumer.profile.first_heartbeat is not FirstHeartbeat.JOINED:
        return Step(state)
    consumer.clock.polled_us = now
    return _start(state, consumer, now, now + consumer.settings.heartbeat_interval_ms * MS)


def on_synced(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread of a member that is stable now, if its client does so after SyncGroup.

    Members that give up partitions join again at once: in a cooperative generation some clients send
    an early heartbeat to learn of it.
    """
    profile = consumer.profile
    if state.membership is not Membership.STABLE:
        return Step(state)
    if profile.first_heartbeat is FirstHeartbeat.OWN_CLOCK:
        return _start_own_clock(state, consumer, now)
    if profile.first_heartbeat is not FirstHeartbeat.SYNCED:
        return Step(state)
    first_ms = consumer.settings.heartbeat_interval_ms
    if consumer.protocol is RebalanceProtocol.COOPERATIVE:
        first_ms = profile.first_heartbeat_ms or first_ms
    return _start(state, consumer, now, now + first_ms * MS)


def _start_own_clock(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread with a clock of heartbeats that no join has stopped (``rd_interval``)."""
    due_us, last_us = now, state.last_beat_us
    if last_us is not None:
        due_us = max(now, last_us + consumer.settings.heartbeat_interval_ms * MS)
    state = _start(state, consumer, now, due_us).state
    assert state.beat is not None
    phase_us = now - (now - due_us) % turn_interval_us(consumer.settings)
    return turn(replace(state, beat=replace(state.beat, phase_us=phase_us)), consumer, now)


def on_assigned(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread of a member whose listener has returned, if its client does so only then.

    A clock that looks at the polls starts then, too (``rd_kafka_cgrp_start_max_poll_interval_timer``).
    """
    if consumer.profile.polls_check is PollsCheck.HALF_SECONDS and state.beat is not None:
        state = replace(state, beat=replace(state.beat, assigned_us=now))
        return Step(state, (next_turn(state, consumer, now),))
    if consumer.profile.first_heartbeat is not FirstHeartbeat.ASSIGNED:
        return Step(state)
    if state.membership is not Membership.STABLE:
        return Step(state)
    return _start(state, consumer, now, now + consumer.settings.heartbeat_interval_ms * MS)


def _start(state: ClientState, consumer: Consumer, now: int, due_us: int) -> Step[ClientState]:
    """Start the thread, and the client's own copy of its session."""
    session_us = now + consumer.settings.session_timeout_ms * MS
    after = replace(state, beat=Beat(phase_us=now, due_us=due_us, session_us=session_us))
    return Step(after, (next_turn(after, consumer, now),))


def tick_at_or_after(beat: Beat, consumer: Consumer, instant_us: int) -> int:
    """Return the thread's first turn at or after ``instant_us``."""
    interval_us = turn_interval_us(consumer.settings)
    turns = max(0, -(-(instant_us - beat.phase_us) // interval_us))
    return beat.phase_us + turns * interval_us


def last_tick(beat: Beat, consumer: Consumer, now: int) -> int:
    """Return the thread's last turn at or before ``now``."""
    interval_us = turn_interval_us(consumer.settings)
    return beat.phase_us + (now - beat.phase_us) // interval_us * interval_us


def next_turn(state: ClientState, consumer: Consumer, now: int) -> SetTimer:
    """Return the timer for the next turn at which the thread has work."""
    beat = state.beat
    assert beat is not None
    session_us = beat.session_us if _looks_at_session(state, consumer) else NEVER
    soonest = min(beat.due_us, session_us, looks_at_polls_us(beat, consumer))
    if state.inbox or isinstance(state.coordinator, Unknown):
        soonest = now
    elif consumer.profile.polls_check is PollsCheck.HALF_SECONDS:
        return SetTimer(HEARTBEAT, max(soonest, now + 1))
    return SetTimer(HEARTBEAT, tick_at_or_after(beat, consumer, max(soonest, now + 1)))


def wake_for_responses(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Let the thread, if it runs, read what has arrived at its next turn."""
    return Step(state, () if state.beat is None else (next_turn(state, consumer, now),))


def turn(state: ClientState, consumer: Consumer, now: int, late_us: int = 0) -> Step[ClientState]:
    """Run one turn of the thread, after the responses that have arrived were handled.

    *late_us*: delay between wake-up and sending; the next sleep begins after it.
    """
    beat = state.beat
    if beat is None or (_waits(consumer) and _awaits_answer(state)):
        return Step(state)
    if isinstance(state.coordinator, Unknown):
        step = look_up_again(state, consumer, now)
    elif now >= beat.session_us and _looks_at_session(state, consumer):
        step = _on_session_timeout(state, beat, consumer, now)
    elif now >= looks_at_polls_us(beat, consumer):
        step = leave(state, consumer, POLL_EXPIRED, now)
    elif now >= beat.due_us:
        step = _send_heartbeat(state, beat, consumer, now, late_us)
    else:
        step = Step(state)
    if isinstance(step.state.coordinator, Unknown):
        step = step.then(lambda s: _restart_sleep(s, now))
    if step.state.beat is None:
        return step
    return step.also(next_turn(step.state, consumer, now))


def _looks_at_session(state: ClientState, consumer: Consumer) -> bool:
    """Return whether the client looks at its copy of the session; some do it in no rebalance."""
    if not consumer.profile.session_rests_in_rebalances:
        return True
    return state.rejoin is None and state.future is None and isinstance(state.app, Outside)


def beat_only(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState] | None:
    """Return the turn of the thread if all it does is to send a heartbeat; None: it does more."""
    beat = state.beat
    if beat is None or state.inbox or not isinstance(state.coordinator, Known):
        return None
    following = now + consumer.settings.heartbeat_interval_ms * MS
    if not beat.due_us <= now < beat.session_us or poll_deadline_us(consumer) <= following:
        return None
    return turn(state, consumer, now)


def _on_session_timeout(
    state: ClientState, beat: Beat, consumer: Consumer, now: int
) -> Step[ClientState]:
    """End the client's own copy of its session."""
    reason = "session timed out without receiving a heartbeat response"
    match consumer.profile.session_end:
        case SessionEnd.LOOK_UP:
            step = forget_coordinator(state, consumer, reason, now)
            return step.then(lambda s: look_up(s, consumer, now))
        case SessionEnd.DROP_OUT:
            return reset(state, reason, keep_member_id=False)
        case SessionEnd.NOTHING:
            return Step(replace(state, beat=replace(beat, session_us=NEVER)))


def _restart_sleep(state: ClientState, now: int) -> Step[ClientState]:
    """Restart the sleep of the thread, so that the lookup has ``retry.backoff.ms`` to complete."""
    beat = state.beat
    assert beat is not None, "no lookup stops the thread"
    return Step(replace(state, beat=replace(beat, phase_us=now)))


def _send_heartbeat(
    state: ClientState, beat: Beat, consumer: Consumer, now: int, late_us: int
) -> Step[ClientState]:
    """Send a heartbeat; the sleep begins now, so a late heartbeat delays the next one."""
    phase = now + late_us
    due = phase + consumer.settings.heartbeat_interval_ms * MS
    profile = consumer.profile
    if profile.first_heartbeat is FirstHeartbeat.OWN_CLOCK:
        state = replace(state, last_beat_us=now)
    if profile.unanswered_heartbeat is Unanswered.LEFT_OUT and _awaits_answer(state):
        return Step(replace(state, beat=replace(beat, phase_us=phase, due_us=due)))
    request = HeartbeatRequest(
        group_id=consumer.group_id,
        generation_id=state.generation.id,
        member_id=state.generation.member_id,
        group_instance_id=consumer.settings.group_instance_id if profile.names_instance else None,
    )
    waiting = replace(state, beat=replace(beat, phase_us=phase, due_us=due))
    return ask(waiting, consumer, Api.HEARTBEAT, request, now)


def beat_due_us(state: ClientState, consumer: Consumer) -> int:
    """Return when (us) the thread sends its next heartbeat; NEVER: it waits for an answer first."""
    assert state.beat is not None, "a stable client has a heartbeat thread"
    return NEVER if _waits(consumer) and _awaits_answer(state) else state.beat.due_us


def _awaits_answer(state: ClientState) -> bool:
    return any(flight.api is Api.HEARTBEAT for flight in state.in_flight.values())


def _waits(consumer: Consumer) -> bool:
    return consumer.profile.unanswered_heartbeat is Unanswered.WAITS


def go_on(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Let a thread go on that has waited for the answer to its heartbeat."""
    return turn(state, consumer, now) if _waits(consumer) else Step(state)


def on_response(
    state: ClientState,
    consumer: Consumer,
    flight: InFlight,
    response: HeartbeatResponse,
    now: int,
) -> Step[ClientState]:
    """Handle a Heartbeat response; errors for an older generation are ignored."""
    error = response.error
    match error:
        case ErrorCode.NONE:
            return Step(_session_reset(state, consumer, now))
        case ErrorCode.REBALANCE_IN_PROGRESS:
            state = _session_reset(state, consumer, now)
            if state.membership is Membership.STABLE:
                state = request_rejoin(state, "group is already rebalancing")
            return Step(state)
    if error in LOSES_COORDINATOR:
        return _lose_coordinator(state, consumer, f"heartbeat answered {error.name}", now)
    if flight.generation != state.generation:
        return Step(_session_reset(state, consumer, now))
    match error:
        case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
            return _on_removed(state, consumer, error, now)
        case ErrorCode.FENCED_INSTANCE_ID:
            return _on_fenced(state, consumer, error)
        case _:
            return on_failure(state, consumer, now)


def _on_removed(
    state: ClientState, consumer: Consumer, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Drop the generation, at once or when the client checks its ownership."""
    beat, interval_us = state.beat, consumer.profile.checks_ownership_us
    if beat is not None and interval_us is not None:
        notices_us = beat.notices_us or (now // interval_us + 1) * interval_us
        if now < notices_us:
            unnoticed = replace(state, beat=replace(beat, notices_us=notices_us))
            return Step(_session_reset(unnoticed, consumer, now))
    keep = error in consumer.profile.keeps_id_after
    step = reset_by(next_join.lost(state, consumer), error.name, "HEARTBEAT", keep_member_id=keep)
    return step.then(lambda s: on_failure(s, consumer, now))


def _session_reset(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    """Take a heartbeat as successful (``Heartbeat.receiveHeartbeat``)."""
    if state.failed_beats:
        state = replace(state, failed_beats=0)
    return _renew_session(state, consumer, now)


def _renew_session(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    """Restart the client's own copy of its session, if the thread runs."""
    if state.beat is None:
        return state
    session = now + consumer.settings.session_timeout_ms * MS
    return replace(state, beat=replace(state.beat, session_us=session))


def _lose_coordinator(
    state: ClientState, consumer: Consumer, reason: str, now: int
) -> Step[ClientState]:
    """Forget the coordinator and delay the next heartbeat by the back-off."""
    if isinstance(state.coordinator, Known):
        step = forget_coordinator(state, consumer, reason, now)
    else:
        step = Step(state)
    return step.then(lambda s: on_failure(s, consumer, now))


def on_failure(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Schedule the next heartbeat after a back-off instead of the interval, as this one failed.

    The count goes on while the thread rests and after the next join (``Heartbeat.failHeartbeat``).
    """
    beat, failed = state.beat, state.failed_beats
    state = replace(state, failed_beats=failed + 1)
    if beat is None:
        return Step(state)
    due = now + backoff_us(consumer, "heartbeat", failed, now)
    after = replace(state, beat=replace(beat, due_us=due))
    return Step(after, (next_turn(after, consumer, now),))


def _on_fenced(state: ClientState, consumer: Consumer, error: ErrorCode) -> Step[ClientState]:
    """Stop the thread; the next poll throws, because a newer process has the instance id.

    Some clients only stop the thread.
    """
    if not consumer.profile.throws_fenced:
        return Step(replace(state, beat=None))
    step = reset_by(state, error.name, "HEARTBEAT", keep_member_id=False)
    failed = Failed(ExceptionName.FENCED_INSTANCE_ID, error)
    return Step(replace(step.state, heartbeat_failure=failed), step.effects)


def look_up_again(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look the coordinator up from the heartbeat thread; first drop a lookup without a response.

    A lost lookup is therefore retried within two turns, not after a request timeout.
    """
    unknown = state.coordinator
    assert isinstance(unknown, Unknown)
    if unknown.lookup is None:
        return look_up(state, consumer, now)
    return Step(replace(state, coordinator=drop_lookup(unknown)))


def on_coordinator_found(
    state: ClientState,
    consumer: Consumer,
    number: int,
    response: FindCoordinatorResponse,
    now: int,
) -> Step[ClientState]:
    """Handle the response to a lookup; a dropped one counts if it finds the coordinator.

    A coordinator whose reconnect back-off has not ended remains unknown.
    """
    unknown = state.coordinator
    if not isinstance(unknown, Unknown):
        return Step(state)
    if number == unknown.lookup:
        consumer.fetcher.answered(unknown.asked_broker)
    broken = state.reconnect
    unavailable = broken.broker == response.node_id and now < broken.ready_us
    if response.error is not ErrorCode.NONE or unavailable:
        is_awaited = number == unknown.lookup
        return on_lookup_failed(state, consumer, now) if is_awaited else Step(state)
    known = replace(_renew_session(state, consumer, now), coordinator=Known(response.node_id))
    return send_pending(known, consumer, now).also(CancelTimer(LOOKUP))


def on_lookup_failed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Retry the lookup after the back-off; fail the commits that wait for it."""
    unknown = state.coordinator
    assert isinstance(unknown, Unknown)
    step = back_off_lookup(unknown, consumer, now)
    return end_pending(replace(state, coordinator=step.state), now).also(*step.effects)
