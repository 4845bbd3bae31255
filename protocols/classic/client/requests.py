"""Requests to the coordinator: sent, timed out, and lost with their connection (N7, N8)."""

from __future__ import annotations

from dataclasses import replace

from protocols.classic.client.values import (
    Asked,
    ClientState,
    Consumer,
    InFlight,
    Known,
    Unknown,
)
from protocols.errors import ErrorCode
from protocols.facts import CoordinatorLost
from protocols.messages import (
    Disconnected,
    Envelope,
    Header,
    Message,
    OffsetToCommit,
    coordinator_node,
)
from protocols.step import Effect, Send, SetTimer, Step, Tell

MS = 1_000
REQUESTS = "requests"
"""Timer: the oldest request in flight has waited for request.timeout.ms."""

LOSES_COORDINATOR = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Errors by which a broker says that it is not the coordinator, or not any more."""

JOIN_GRACE_MS = 5_000
"""What a JoinGroup may take beyond the rebalance timeout (``JOIN_GROUP_TIMEOUT_LAPSE``)."""


def backoff_us(consumer: Consumer, what: str, attempt: int, now: int) -> int:
    """Return the exponential back-off before try number ``attempt`` + 2, in microseconds.

    ``min(max, uniform(0.8, 1.2) * base * 2^attempt)`` (``ExponentialBackoff``, KIP-580).
    """
    base = consumer.settings.retry_backoff_ms
    limit = consumer.settings.retry_backoff_max_ms
    if limit <= base:
        return limit * MS
    spread = 0.8 + 0.4 * consumer.jitter(what, now)
    return int(min(limit, spread * base * 2 ** min(attempt, 20)) * MS)


def timeout_us(consumer: Consumer, asked: Asked) -> int:
    """Return how long a request may stay unanswered (spec 2.6), in microseconds."""
    settings = consumer.settings
    if asked is Asked.JOIN:
        longest = settings.max_poll_interval_ms + JOIN_GRACE_MS
        return max(settings.request_timeout_ms, longest) * MS
    return settings.request_timeout_ms * MS


def ask(
    state: ClientState,
    consumer: Consumer,
    asked: Asked,
    message: Message,
    now: int,
    *,
    commit: tuple[OffsetToCommit, ...] = (),
    kind: str = "",
) -> Step[ClientState]:
    """Send a request to the coordinator, which must be known; remember that it is in flight."""
    assert isinstance(state.coordinator, Known), "a group request needs a coordinator"
    number = state.next_correlation_id
    deadline = now + timeout_us(consumer, asked)
    broker = state.coordinator.broker
    flight = InFlight(asked, broker, deadline, state.generation, commit, kind)
    effects: tuple[Effect, ...] = (Send(coordinator_node(broker), message, number),)
    timer = state.request_timer_us
    if timer is None or deadline < timer:
        timer = deadline
        effects += (SetTimer(REQUESTS, deadline),)
    after = replace(
        state,
        next_correlation_id=number + 1,
        in_flight={**state.in_flight, number: flight},
        request_timer_us=timer,
    )
    return Step(after, effects)


def take_number(state: ClientState) -> tuple[int, ClientState]:
    """Return a fresh correlation id."""
    number = state.next_correlation_id
    return number, replace(state, next_correlation_id=number + 1)


def settled(state: ClientState, number: int) -> ClientState:
    """Return the state without the request ``number`` in flight."""
    left = {n: flight for n, flight in state.in_flight.items() if n != number}
    return replace(state, in_flight=left)


def overdue(state: ClientState, now: int) -> bool:
    """Say whether some request in flight has waited too long."""
    return any(flight.deadline_us <= now for flight in state.in_flight.values())


def rearm(state: ClientState) -> Step[ClientState]:
    """Set the request timer for the oldest request still in flight."""
    if not state.in_flight:
        return Step(replace(state, request_timer_us=None))
    deadline = min(flight.deadline_us for flight in state.in_flight.values())
    return Step(replace(state, request_timer_us=deadline), (SetTimer(REQUESTS, deadline),))


def forget_coordinator(
    state: ClientState, consumer: Consumer, reason: str, now: int
) -> Step[ClientState]:
    """Mark the coordinator unknown and break its connection (``markCoordinatorUnknown``).

    What is in flight there fails at the next pump.
    """
    assert isinstance(state.coordinator, Known)
    node = coordinator_node(state.coordinator.broker)
    lost = Envelope(Header(consumer.name, -1), Disconnected(node))
    breaking = replace(state, inbox=(*state.inbox, lost))
    return mark_unknown(breaking, consumer, reason, now)


def mark_unknown(
    state: ClientState, consumer: Consumer, reason: str, now: int
) -> Step[ClientState]:
    """Mark the coordinator unknown, its connection being broken or about to be.

    The connection may be opened again only after the reconnect back-off.
    """
    assert isinstance(state.coordinator, Known)
    base = consumer.settings.reconnect_backoff_ms * MS
    ready = now + int(base * (0.8 + 0.4 * consumer.jitter("reconnect", now)))
    reconnect = (state.coordinator.broker, ready)
    after = replace(state, coordinator=Unknown(retry_us=now), reconnect=reconnect)
    return Step(after, (Tell(CoordinatorLost(reason=reason)),))
