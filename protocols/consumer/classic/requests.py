"""Requests to the coordinator, how long they may take, and losing it (N7, N8)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import send
from protocols.consumer.backoff import MS, reconnect_backoff_us
from protocols.consumer.classic.values import Asked, ClientState, Consumer, InFlight, Reconnect
from protocols.consumer.lookup import Known, Unknown
from protocols.facts import CoordinatorLost
from protocols.machine import Step, Tell
from protocols.messages import (
    Disconnected,
    Envelope,
    Header,
    Message,
    OffsetToCommit,
    coordinator_node,
)

JOIN_GRACE_MS = 5_000
"""What a JoinGroup may take beyond the rebalance timeout (``JOIN_GROUP_TIMEOUT_LAPSE``)."""


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
    deadline = now + timeout_us(consumer, asked)
    broker = state.coordinator.broker
    return send(state, message, InFlight(asked, broker, deadline, state.generation, commit, kind))


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

    The connection may be opened again only after the reconnect back-off, which doubles for as
    long as the broker does not answer.
    """
    assert isinstance(state.coordinator, Known)
    broker = state.coordinator.broker
    failures = state.reconnect.failures if state.reconnect.broker == broker else 0
    ready = now + reconnect_backoff_us(consumer, failures, now)
    reconnect = Reconnect(broker, ready, failures + 1)
    after = replace(state, coordinator=Unknown(retry_us=now), reconnect=reconnect)
    return Step(after, (Tell(CoordinatorLost(reason=reason)),))
