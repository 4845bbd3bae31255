"""What arrived from the network, handled by whoever pumps it (spec 0.3).

:func:`pump` empties the inbox; handling one response may put losses of others into it.
"""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer import fetch_errors, metadata, starts, validation
from protocols.consumer.asking import lose, on_reads, settled
from protocols.consumer.backoff import reconnect_backoff_us
from protocols.consumer.classic import commits, heartbeat, joining, lookup, positions, sync_commit
from protocols.consumer.classic.rebalancing import AwaitingMetadata, JoinFailed, Joining, Reaction
from protocols.consumer.classic.requests import mark_unknown
from protocols.consumer.classic.values import Asked, ClientState, Consumer, InFlight
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.offsets import first_error
from protocols.consumer.reading_answers import answered
from protocols.machine import Step
from protocols.messages import (
    Disconnected,
    Envelope,
    FetchResponse,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    OffsetsForLeaderEpochResponse,
    SyncGroupResponse,
    broker_of,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode


def pump(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Handle everything that has arrived, in order of arrival."""
    step = Step(state)
    while step.state.inbox:
        first, *rest = step.state.inbox
        waiting = replace(step.state, inbox=tuple(rest))
        handled = respond(waiting, consumer, first, now)
        step = Step(handled.state, step.effects + handled.effects)
    return step


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
            step = on_reads(state, lambda reads: answered(reads, consumer, number, body, now))
            has_news = step.state.metadata.version != state.metadata.version
            return step.then(lambda s: _leader_goes_on(s, consumer, now)) if has_news else step
        case FindCoordinatorResponse():
            return lookup.found(state, consumer, body, now)
        case FetchResponse():
            failed = consumer.fetcher.arrived(body)
            return on_reads(state, lambda r: fetch_errors.fetch_failed(r, consumer, failed, now))
        case _:
            return _from_coordinator(state, consumer, envelope, now)


def _leader_goes_on(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    if isinstance(state.future, AwaitingMetadata) and metadata.covers_all(state.metadata):
        return joining.elected(state, consumer, state.future.response, now)
    return Step(state)


def _from_coordinator(
    state: ClientState, consumer: Consumer, envelope: Envelope, now: int
) -> Step[ClientState]:
    number = envelope.header.correlation_id
    flight = state.in_flight.get(number)
    if flight is None:
        return Step(state)
    state = _connected(settled(state, number), flight.broker)
    match envelope.body:
        case HeartbeatResponse() as body:
            return heartbeat.heartbeat_answered(state, consumer, flight, body, now)
        case OffsetCommitResponse() as body:
            return _commit_answered(state, consumer, number, flight, body, now)
        case JoinGroupResponse() as body:
            return joining.join_answered(state, consumer, flight, body, now)
        case SyncGroupResponse() as body:
            return joining.sync_answered(state, consumer, flight, body, now)
        case OffsetFetchResponse() as body:
            if not _awaits_offsets(state, number):
                return Step(state)
            return positions.offsets_answered(state, consumer, body, now)
        case _:
            return Step(state)


def _connected(state: ClientState, broker: int) -> ClientState:
    """Count failures to connect anew: the broker has answered."""
    if not state.reconnect.failures or state.reconnect.broker != broker:
        return state
    return replace(state, reconnect=state.reconnect._replace(failures=0))


def _awaits_offsets(state: ClientState, number: int) -> bool:
    return state.offsets_asked is not None and state.offsets_asked.number == number


def _commit_answered(
    state: ClientState,
    consumer: Consumer,
    number: int,
    flight: InFlight,
    body: OffsetCommitResponse,
    now: int,
) -> Step[ClientState]:
    """Handle an OffsetCommit response: its first error decides (4.5)."""
    error = first_error(body)
    step = commits.commit_answered(state, consumer, number, flight, error, now)
    return step.then(lambda s: sync_commit.answered(s, consumer, number, flight, error, now))


# -- lost connections -----------------------------------------------------------------------------


def disconnected(state: ClientState, consumer: Consumer, node: int, now: int) -> Step[ClientState]:
    """Handle a broken connection: what was in flight on it has failed retriably (N8)."""
    broker = broker_of(node)
    if node == coordinator_node(broker):
        known = state.coordinator
        if isinstance(known, Known) and known.broker == broker:
            step = mark_unknown(state, consumer, "connection lost", now)
        else:
            step = Step(state)
        return step.then(lambda s: _lose(s, consumer, broker, now))
    failures = consumer.fetcher.failures(broker)
    consumer.fetcher.disconnected(broker, now + reconnect_backoff_us(consumer, failures, now))
    step = on_reads(state, lambda reads: validation.lost(reads, consumer, broker, now))
    return step.then(lambda s: _other_node_lost(s, consumer, now))


def _other_node_lost(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """A data connection broke: lookups, listings and metadata in flight are tried again."""
    step = Step(state)
    if isinstance(state.coordinator, Unknown) and state.coordinator.lookup is not None:
        step = step.then(lambda s: lookup.failed(s, consumer, now))
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
    match flight.asked:
        case Asked.JOIN | Asked.SYNC if isinstance(state.future, Joining):
            failed = JoinFailed("DisconnectException", Reaction.LATER)
            return Step(replace(state, future=failed))
        case Asked.COMMIT:
            error = ErrorCode.NETWORK_EXCEPTION
            step = commits.commit_ended(state, number, flight, error)
            return step.then(
                lambda s: sync_commit.answered(s, consumer, number, flight, error, now)
            )
        case Asked.HEARTBEAT:
            return heartbeat.heartbeat_lost(state, consumer, now)
        case Asked.OFFSETS if _awaits_offsets(state, number):
            return positions.offsets_failed(state, consumer, ErrorCode.NETWORK_EXCEPTION, now)
        case _:
            return Step(state)
