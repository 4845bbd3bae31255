"""What arrives from the network: the background thread handles it at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from protocols.consumer import fetch_errors, metadata, starts, validation
from protocols.consumer.asking import lose, on_reads, overdue, rearm, settled
from protocols.consumer.backoff import reconnect_backoff_us
from protocols.consumer.kip848 import commits, heartbeat, offsets
from protocols.consumer.kip848.requests import mark_unknown
from protocols.consumer.kip848.values import Asked, ClientState, Consumer, InFlight
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.lookup import failed as asked_in_vain
from protocols.consumer.offsets import first_error
from protocols.consumer.reading_answers import answered
from protocols.machine import Step
from protocols.messages import (
    ConsumerGroupHeartbeatResponse,
    Disconnected,
    Envelope,
    FetchedRecords,
    FindCoordinatorResponse,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    OffsetsForLeaderEpochResponse,
    broker_of,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode


def respond(
    state: ClientState, consumer: Consumer, envelope: Envelope, now: int
) -> Step[ClientState]:
    """Handle one response; one that nobody waits for any more is dropped."""
    number = envelope.header.correlation_id
    body = envelope.body
    match body:
        case Disconnected(node):
            return disconnected(state, consumer, node, now)
        case MetadataResponse() | ListOffsetsResponse() | OffsetsForLeaderEpochResponse():
            return on_reads(state, lambda reads: answered(reads, consumer, number, body, now))
        case FindCoordinatorResponse():
            return found(state, consumer, number, body, now)
        case _:
            return _from_coordinator(state, consumer, envelope, now)


def fetch_failed(
    state: ClientState, consumer: Consumer, failed: list[FetchedRecords], now: int
) -> Step[ClientState]:
    """React to errors of a fetch."""
    return on_reads(state, lambda r: fetch_errors.fetch_failed(r, consumer, failed, now))


def _from_coordinator(
    state: ClientState, consumer: Consumer, envelope: Envelope, now: int
) -> Step[ClientState]:
    number = envelope.header.correlation_id
    flight = state.in_flight.get(number)
    if flight is None:
        return Step(state)
    state = settled(state, number)
    match envelope.body:
        case ConsumerGroupHeartbeatResponse() as body if flight.asked is Asked.HEARTBEAT:
            return heartbeat.answered(state, consumer, number, body, now)
        case OffsetCommitResponse() as body if flight.commit is not None:
            error = first_error(body)
            return commits.answered(state, consumer, number, flight.commit, error, now)
        case OffsetFetchResponse() as body:
            return offsets.answered(state, consumer, number, body, now)
        case _:
            return Step(state)


# -- the coordinator ---------------------------------------------------------------------------------


def found(
    state: ClientState,
    consumer: Consumer,
    number: int,
    response: FindCoordinatorResponse,
    now: int,
) -> Step[ClientState]:
    """Take the answer to a lookup."""
    unknown = state.coordinator
    if not isinstance(unknown, Unknown) or unknown.lookup != number:
        return Step(state)
    if response.error is not ErrorCode.NONE:
        return lookup_failed(state, consumer, now)
    return Step(replace(state, coordinator=Known(response.node_id)))


def lookup_failed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look up again after the back-off."""
    assert isinstance(state.coordinator, Unknown)
    step = asked_in_vain(state.coordinator, consumer, now)
    return Step(replace(state, coordinator=step.state), step.effects)


# -- lost connections --------------------------------------------------------------------------------


def disconnected(state: ClientState, consumer: Consumer, node: int, now: int) -> Step[ClientState]:
    """Handle a broken connection: what was in flight on it has failed retriably."""
    broker = broker_of(node)
    if node == coordinator_node(broker):
        step = Step(state)
        if state.coordinator == Known(broker):
            step = mark_unknown(state, "connection lost", now)
        return step.then(lambda s: _lose(s, consumer, broker, now))
    failures = consumer.fetcher.failures(broker)
    consumer.fetcher.disconnected(broker, now + reconnect_backoff_us(consumer, failures, now))
    step = on_reads(state, lambda reads: validation.lost(reads, consumer, broker, now))
    if isinstance(state.coordinator, Unknown) and state.coordinator.lookup is not None:
        step = step.then(lambda s: lookup_failed(s, consumer, now))
    return step.then(
        lambda s: on_reads(s, lambda reads: starts.connection_lost(reads, consumer, now))
    )


def _lose(state: ClientState, consumer: Consumer, broker: int, now: int) -> Step[ClientState]:
    """Settle every request in flight to ``broker`` as failed."""
    flights = state.in_flight
    return lose(state, broker, lambda s, n: _lose_one(s, consumer, n, flights[n], now))


def _lose_one(
    state: ClientState, consumer: Consumer, number: int, flight: InFlight, now: int
) -> Step[ClientState]:
    error = ErrorCode.NETWORK_EXCEPTION
    match flight.asked:
        case Asked.HEARTBEAT:
            return heartbeat.failed(state, consumer, number, now)
        case Asked.COMMIT:
            assert flight.commit is not None, "a commit in flight is one"
            return commits.answered(state, consumer, number, flight.commit, error, now)
        case Asked.OFFSETS:
            return offsets.failed(state, consumer, number, error, now)
        case Asked.LEAVE:
            return Step(state)


def requests_late(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """A request timed out: its connection is closed."""
    step = Step(state)
    for broker in overdue(state, now):
        node = coordinator_node(broker)
        step = step.then(partial(disconnected, consumer=consumer, node=node, now=now))
    return step.then(rearm)


def lookup_late(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """A lookup got no answer, or its back-off has ended."""
    unknown = state.coordinator
    if isinstance(unknown, Unknown) and unknown.lookup is not None:
        return lookup_failed(state, consumer, now)
    return Step(state)


def metadata_late(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Metadata reached their age limit, or a request for them got no answer."""
    return on_reads(state, lambda reads: metadata.late(reads, consumer, now))
