"""Requests to the coordinator: sent, timed out, and lost with their connection."""

from __future__ import annotations

from dataclasses import replace

from protocols.client.backoff import MS
from protocols.client.lookup import Known, Unknown
from protocols.facts import CoordinatorLost
from protocols.kip848.client.values import Asked, ClientState, Commit, Consumer, InFlight
from protocols.messages import Message, coordinator_node
from protocols.step import Effect, Send, SetTimer, Step, Tell

REQUESTS = "requests"
"""Timer: the oldest request in flight has waited for request.timeout.ms."""

BY_TOPIC_ID = 10
"""The version of OffsetCommit and OffsetFetch in which members speak: topics go by their ids."""


def take_number(state: ClientState) -> tuple[int, ClientState]:
    """Return a fresh number: a correlation id, or the key of a commit."""
    number, reads = state.reads.numbered()
    return number, replace(state, reads=reads)


def ask(
    state: ClientState,
    consumer: Consumer,
    asked: Asked,
    message: Message,
    now: int,
    *,
    commit: Commit | None = None,
) -> Step[ClientState]:
    """Send a request to the coordinator, which must be known; remember that it is in flight."""
    known = state.coordinator
    assert isinstance(known, Known), "a group request needs a coordinator"
    number, state = take_number(state)
    deadline = now + consumer.settings.request_timeout_ms * MS
    flight = InFlight(asked, known.broker, deadline, commit)
    effects: tuple[Effect, ...] = (Send(coordinator_node(known.broker), message, number),)
    timer = state.request_timer_us
    if timer is None or deadline < timer:
        timer = deadline
        effects += (SetTimer(REQUESTS, deadline),)
    flights = {**state.in_flight, number: flight}
    return Step(replace(state, in_flight=flights, request_timer_us=timer), effects)


def settled(state: ClientState, number: int) -> ClientState:
    """Return the state without the request ``number`` in flight."""
    left = {n: flight for n, flight in state.in_flight.items() if n != number}
    return replace(state, in_flight=left)


def rearm(state: ClientState) -> Step[ClientState]:
    """Set the request timer for the oldest request still in flight."""
    if not state.in_flight:
        return Step(replace(state, request_timer_us=None))
    deadline = min(flight.deadline_us for flight in state.in_flight.values())
    return Step(replace(state, request_timer_us=deadline), (SetTimer(REQUESTS, deadline),))


def mark_unknown(state: ClientState, reason: str, now: int) -> Step[ClientState]:
    """Forget the coordinator, to look it up at once (``markCoordinatorUnknown``).

    Unlike the classic client's, its connection is kept: what is in flight there is still answered.
    """
    if isinstance(state.coordinator, Unknown):
        return Step(state)
    after = replace(state, coordinator=Unknown(retry_us=now))
    return Step(after, (Tell(CoordinatorLost(reason=reason)),))
