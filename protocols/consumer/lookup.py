"""The lookup of the group's coordinator (FindCoordinator).

Source: ``CoordinatorRequestManager``, ``AbstractCoordinator.ensureCoordinatorReady``.
"""

from __future__ import annotations

from collections.abc import Callable

from assignors.values import dataclass
from protocols.consumer.clients import Asks
from protocols.consumer.reader import MS, Reader, backoff_us, interval_us, turn_interval_us
from protocols.machine import Send, SetTimer, Step
from protocols.messages import FindCoordinatorRequest
from protocols.messages.errors import ErrorCode
from protocols.values import replace

LOOKUP = "lookup"
"""Timer: look the coordinator up again."""

LOSES_COORDINATOR = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Errors of a broker that is not, or no longer, the coordinator."""


@dataclass(frozen=True, slots=True)
class Known:
    """The group's coordinator was found."""

    broker: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """The coordinator is being looked up, or will be at ``retry_us``."""

    attempt: int = 0
    lookup: int | None = None
    """Correlation id of the FindCoordinator in flight."""

    asked_broker: int | None = None
    """The broker that it was sent to."""

    sent_us: int = 0
    retry_us: int = 0
    pauses: int = 0
    """The number of back-offs in the call that waits for the coordinator: the next one is longer."""


NEVER_LOOKED_UP = Unknown()

WithoutBroker = Callable[[Unknown, Reader, int], Step[Unknown]]


def ask_for_coordinator(
    unknown: Unknown,
    reader: Reader,
    brokers: tuple[int, ...],
    number: int,
    without_broker: WithoutBroker,
    now: int,
) -> Step[Unknown]:
    """Look the coordinator up, unless a lookup is in flight or the back-off runs.

    *brokers*: those in the metadata, if any; *number*: the correlation id if a request is sent;
    *without_broker*: what the client does while the reconnect back-off of every broker runs.
    """
    if unknown.lookup is not None:
        return Step(unknown)
    if now < unknown.retry_us:
        return Step(unknown, (SetTimer(LOOKUP, unknown.retry_us),))
    node = least_loaded(brokers or reader.brokers, reader, unknown.attempt, now)
    if node is None:
        return without_broker(unknown, reader, now)
    if brokers:  # the connections to bootstrap servers are others
        reader.fetcher.connect(node, now)
    limit = now + reader.settings.request_timeout_ms * MS
    request = FindCoordinatorRequest(group_id=reader.group_id)
    sent = (Send(node, request, number), SetTimer(LOOKUP, limit))
    return Step(replace(unknown, lookup=number, asked_broker=node, sent_us=now), sent)


def least_loaded(known: tuple[int, ...], reader: Reader, attempt: int, now: int) -> int | None:
    """Return the broker to ask; None: the reconnect back-off of each one runs.

    What makes a broker the better choice depends on the client. Among equal brokers each attempt takes
    the next one, where Kafka draws (``NetworkClient.leastLoadedNode``). The first one counts as connected
    until a lookup fails or is dropped: a new client asks it.
    """
    fetcher, first = reader.fetcher, attempt % len(known)
    can_ask = [b for b in known[first:] + known[:first] if not fetcher.backs_off(b, now)]

    def load(broker: int) -> tuple[bool, ...]:
        is_first = broker == known[0] and not attempt
        contacted = is_first or fetcher.has_fetched(broker)
        connected = contacted and not fetcher.failures(broker)
        busy = broker in fetcher.in_flight
        match reader.profile.asks:
            case Asks.CONNECTED_FIRST:
                return not connected, busy
            case Asks.IDLE_FIRST:
                return busy, not connected
            case Asks.CONNECTED:
                return (not connected,)
            case Asks.ANY:
                return ()

    return min(can_ask, key=load, default=None)


def back_off_lookup(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Retry the lookup after the back-off, or at an interval (``rd_kafka_cgrp_serve``)."""
    every_ms = reader.profile.lookup_interval_ms
    if every_ms is None:
        retry = now + max(MS, backoff_us(reader, "lookup", unknown.pauses, now))
    else:
        retry = max(now + MS, unknown.sent_us + interval_us(reader, "lookup", every_ms, now))
    failed = Unknown(unknown.attempt + 1, retry_us=retry, pauses=unknown.pauses + 1)
    return Step(failed, (SetTimer(LOOKUP, retry),))


def look_in_the_next_turn(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Keep the request, and look for a broker every ``retry.backoff.ms``."""
    retry = now + turn_interval_us(reader.settings)
    return Step(replace(unknown, retry_us=retry), (SetTimer(LOOKUP, retry),))
