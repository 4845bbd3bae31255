"""Finding the coordinator (``AbstractCoordinator.ensureCoordinatorReady``, spec 2.3, 3.2)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import look_up
from protocols.consumer.classic.commits import end_pending, send_pending
from protocols.consumer.classic.values import ClientState, Consumer
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.lookup import failed as asked_in_vain
from protocols.machine import Step
from protocols.messages import FindCoordinatorResponse
from protocols.messages.errors import ErrorCode


def look_up_again(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Let the heartbeat thread look up; what its last turn asked in vain it forgets first (2.3).

    So a lookup that got lost is followed by another within two turns, not one request timeout.
    """
    unknown = state.coordinator
    assert isinstance(unknown, Unknown)
    if unknown.lookup is None:
        return look_up(state, consumer, now)
    forgotten = Unknown(unknown.attempt + 1, None, unknown.retry_us)
    return Step(replace(state, coordinator=forgotten))


def found(
    state: ClientState,
    consumer: Consumer,
    response: FindCoordinatorResponse,
    now: int,
) -> Step[ClientState]:
    """Take an answer, of a forgotten lookup too.

    A coordinator whose connection still backs off is unknown again.
    """
    if not isinstance(state.coordinator, Unknown):
        return Step(state)
    broken = state.reconnect
    unavailable = broken.broker == response.node_id and now < broken.ready_us
    if response.error is not ErrorCode.NONE or unavailable:
        return failed(state, consumer, now)
    beat = state.beat
    if beat is not None:
        session = now + consumer.settings.session_timeout_ms * 1_000
        beat = replace(beat, session_us=session)
    known = replace(state, coordinator=Known(response.node_id), beat=beat)
    return send_pending(known, consumer, now)


def failed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Try again after the back-off; commits do not wait for that."""
    unknown = state.coordinator
    assert isinstance(unknown, Unknown)
    step = asked_in_vain(unknown, consumer, now)
    return end_pending(replace(state, coordinator=step.state), now).also(*step.effects)
