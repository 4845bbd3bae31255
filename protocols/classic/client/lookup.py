"""Finding the coordinator (``AbstractCoordinator.ensureCoordinatorReady``, spec 2.3, 3.2)."""

from __future__ import annotations

from dataclasses import replace

from protocols.classic.client.commits import end_pending, send_pending
from protocols.classic.client.requests import backoff_us, take_number
from protocols.classic.client.values import ClientState, Consumer, Known, Unknown
from protocols.errors import ErrorCode
from protocols.messages import FindCoordinatorRequest, FindCoordinatorResponse
from protocols.step import Send, SetTimer, Step

LOOKUP = "lookup"
"""Timer: look the coordinator up again."""


def look_up(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask some broker for the coordinator, unless an answer is due or the back-off runs."""
    unknown = state.coordinator
    assert isinstance(unknown, Unknown)
    if unknown.lookup is not None:
        return Step(state)
    if now < unknown.retry_us:
        return Step(state, (SetTimer(LOOKUP, unknown.retry_us),))
    brokers = state.metadata.brokers or consumer.brokers
    node = brokers[unknown.attempt % len(brokers)]
    number, state = take_number(state)
    limit = now + consumer.settings.request_timeout_ms * 1_000
    after = replace(state, coordinator=replace(unknown, lookup=number))
    request = FindCoordinatorRequest(group_id=consumer.group_id)
    return Step(after, (Send(node, request, number), SetTimer(LOOKUP, limit)))


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
    broker, ready_us = state.reconnect
    unavailable = broker == response.node_id and now < ready_us
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
    retry = now + backoff_us(consumer, "lookup", unknown.attempt, now)
    after = replace(state, coordinator=Unknown(unknown.attempt + 1, None, retry))
    return end_pending(after, now).also(SetTimer(LOOKUP, retry))
