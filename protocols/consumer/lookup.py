"""The lookup of the group's coordinator (FindCoordinator), and the broker that such requests go to.

Source: ``CoordinatorRequestManager``, ``AbstractCoordinator.ensureCoordinatorReady``; for the broker
``NetworkClient.leastLoadedNode``, ``rd_kafka_broker_any_usable``, ``get_random_node`` (aiokafka),
``least_loaded_node`` (kafka-python), ``Client.broker`` (kgo).
"""

from __future__ import annotations

from collections.abc import Callable

from assignors.values import dataclass
from protocols.consumer.clients import Asks
from protocols.consumer.fetching import Connection
from protocols.consumer.reader import (
    MS,
    Reader,
    Reads,
    backoff_us,
    interval_us,
    turn_interval_us,
)
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

    dropped: tuple[int, ...] = ()
    """The brokers of earlier requests that the client no longer waits for; their connections are open."""

    sent_us: int = 0
    retry_us: int = 0
    pauses: int = 0
    """The number of back-offs in the call that waits for the coordinator: the next one is longer."""


NEVER_LOOKED_UP = Unknown()

WithoutBroker = Callable[[Unknown, Reader, int], Step[Unknown]]


def ask_for_coordinator(
    unknown: Unknown,
    reader: Reader,
    reads: Reads,
    number: int,
    without_broker: WithoutBroker,
    now: int,
) -> Step[Unknown]:
    """Look the coordinator up, unless a lookup is in flight or the back-off runs.

    *number*: the correlation id if a request is sent; *without_broker*: what the client does while the
    reconnect back-off of every broker runs.
    """
    if unknown.lookup is not None:
        return Step(unknown)
    if now < unknown.retry_us:
        return Step(unknown, (SetTimer(LOOKUP, unknown.retry_us),))
    node = least_loaded(reader, reads, now, attempt=unknown.attempt, dropped=unknown.dropped)
    if node is None:
        return without_broker(unknown, reader, now)
    if reads.metadata.brokers:  # the connections to bootstrap servers are others
        reader.fetcher.connect(node, now)
    limit = now + reader.settings.request_timeout_ms * MS
    request = FindCoordinatorRequest(group_id=reader.group_id)
    sent = (Send(node, request, number), SetTimer(LOOKUP, limit))
    return Step(replace(unknown, lookup=number, asked_broker=node, sent_us=now), sent)


def back_off_lookup(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Retry the lookup after the back-off, or at an interval (``rd_kafka_cgrp_serve``)."""
    every_ms = reader.profile.lookup_interval_ms
    if every_ms is None:
        retry = now + max(MS, backoff_us(reader, "lookup", unknown.pauses, now))
    else:
        retry = max(now + MS, unknown.sent_us + interval_us(reader, "lookup", every_ms, now))
    failed = Unknown(
        unknown.attempt + 1, dropped=unknown.dropped, retry_us=retry, pauses=unknown.pauses + 1
    )
    return Step(failed, (SetTimer(LOOKUP, retry),))


def drop_lookup(unknown: Unknown) -> Unknown:
    """Wait no longer for the response to a lookup, which remains in flight."""
    asked = () if unknown.asked_broker is None else (unknown.asked_broker,)
    dropped = unknown.dropped + asked
    attempt = unknown.attempt + 1
    return replace(unknown, attempt=attempt, lookup=None, asked_broker=None, dropped=dropped)


def without_dropped(unknown: Unknown, broker: int) -> Unknown:
    """Forget the requests to a broker that the client no longer waits for: its connection broke."""
    if broker not in unknown.dropped:
        return unknown
    return replace(unknown, dropped=tuple([each for each in unknown.dropped if each != broker]))


def look_in_the_next_turn(unknown: Unknown, reader: Reader, now: int) -> Step[Unknown]:
    """Keep the request, and look for a broker every ``retry.backoff.ms``."""
    retry = now + turn_interval_us(reader.settings)
    return Step(replace(unknown, retry_us=retry), (SetTimer(LOOKUP, retry),))


# -- the broker to ask ----------------------------------------------------------------------------


def least_loaded(
    reader: Reader, reads: Reads, now: int, *, attempt: int = 0, dropped: tuple[int, ...] = ()
) -> int | None:
    """Return the broker to ask; None: the reconnect back-off of each one runs.

    What makes a broker the better choice depends on the client; among equal ones, the next one from a
    drawn place on. *attempt*: how often it has asked; before the first metadata each attempt takes
    another bootstrap server. *dropped*: the brokers of lookups that the client no longer waits for.
    """
    known = reads.metadata.brokers
    if not known:
        return _bootstrap_server(reader, attempt, now)
    first = int(reader.jitter("broker", now) * len(known))
    in_turn = known[first:] + known[:first]
    can_ask = [each for each in in_turn if not reader.fetcher.backs_off(each, now)]
    return min(can_ask, key=lambda each: _load(reader, reads, each, dropped), default=None)


def _bootstrap_server(reader: Reader, attempt: int, now: int) -> int | None:
    """Return a bootstrap server. The connections to them are others."""
    servers = reader.brokers
    first = (int(reader.jitter("broker", 0) * len(servers)) + attempt) % len(servers)
    in_turn = servers[first:] + servers[:first]
    return next((each for each in in_turn if not reader.fetcher.backs_off(each, now)), None)


def _load(reader: Reader, reads: Reads, broker: int, dropped: tuple[int, ...]) -> tuple[int, ...]:
    """Return a broker's load: the least of all is the best choice."""
    connection = reader.fetcher.connection(broker)
    requests = _in_flight(reader, reads, broker) + dropped.count(broker)
    match reader.profile.asks:
        case Asks.CONNECTED_FIRST if connection is Connection.NONE:
            return connection, reader.fetcher.opened_ms(broker)
        case Asks.CONNECTED_FIRST:
            return connection, requests
        case Asks.IDLE_FIRST:
            return connection is not Connection.READY or requests > 0, requests
        case Asks.CONNECTED:
            return (connection is not Connection.READY,)
        case Asks.ANY:
            return ()


def _in_flight(reader: Reader, reads: Reads, broker: int) -> int:
    """Return how many requests to a broker have no response yet, group requests left out."""
    nodes: list[int | None] = [listing.node for listing in reads.listing.values()]
    nodes += [validation.node for validation in reads.validating.values()]
    if reads.metadata.in_flight is not None:
        nodes.append(reads.metadata.asked_broker)
    return nodes.count(broker) + (broker in reader.fetcher.in_flight)


def candidates(reader: Reader, reads: Reads) -> tuple[int, ...]:
    """Return the brokers of which :func:`least_loaded` returns one, whatever is in flight."""
    known, fetcher = reads.metadata.brokers, reader.fetcher
    if reader.profile.asks in (Asks.IDLE_FIRST, Asks.ANY):
        return known
    ready = tuple([each for each in known if fetcher.connection(each) is Connection.READY])
    return ready or known
