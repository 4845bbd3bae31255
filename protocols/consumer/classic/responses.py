"""Responses to a client of the classic protocol, and lost connections.

:func:`pump` empties the inbox for the thread that polls the network (application or heartbeat thread);
handling a response may add lost connections to the inbox.

Source: ``ConsumerNetworkClient``.
"""

from __future__ import annotations

from protocols.consumer import metadata
from protocols.consumer.calls import ExceptionName
from protocols.consumer.classic import (
    application,
    commits,
    heartbeat,
    joining,
    positions,
)
from protocols.consumer.classic.membership import mark_unknown
from protocols.consumer.classic.phases import AwaitingMetadata, JoinFailed, Joining, Reaction
from protocols.consumer.classic.state import Api, ClientState, Consumer, InFlight
from protocols.consumer.committing import first_error
from protocols.consumer.lookup import Known
from protocols.consumer.offset_fetcher import on_response
from protocols.consumer.requests import (
    fail_requests,
    on_data_connection_lost,
    on_fetch_failed,
    on_reads,
    without_request,
)
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
from protocols.values import replace


def pump(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Handle all responses that have arrived, in order of arrival."""
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
    """Handle one response; drop it if its request is no longer in flight."""
    number = envelope.header.correlation_id
    body = envelope.body
    match body:
        case Disconnected(node):
            return on_disconnected(state, consumer, node, now)
        case MetadataResponse() | ListOffsetsResponse() | OffsetsForLeaderEpochResponse():
            step = on_reads(state, lambda reads: on_response(reads, consumer, number, body, now))
            has_news = step.state.metadata.version != state.metadata.version
            return step.then(lambda s: _resume_election(s, consumer, now)) if has_news else step
        case FindCoordinatorResponse():
            return heartbeat.on_coordinator_found(state, consumer, number, body, now)
        case FetchResponse():
            return on_fetch_failed(state, consumer, consumer.fetcher.arrived(body), now)
        case _:
            return _from_coordinator(state, consumer, envelope, now)


def _resume_election(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    if isinstance(state.future, AwaitingMetadata) and metadata.covers_all(state.metadata):
        return joining.on_leader_elected(state, consumer, state.future.response, now)
    return Step(state)


def _from_coordinator(
    state: ClientState, consumer: Consumer, envelope: Envelope, now: int
) -> Step[ClientState]:
    number = envelope.header.correlation_id
    flight = state.in_flight.get(number)
    if flight is None:
        return Step(state)
    state = _connected(without_request(state, number), flight.broker)
    match envelope.body:
        case HeartbeatResponse() as body:
            step = heartbeat.on_response(state, consumer, flight, body, now)
            return step.then(lambda s: heartbeat.go_on(s, consumer, now))
        case OffsetCommitResponse() as body:
            return _commit_answered(state, consumer, number, flight, body, now)
        case JoinGroupResponse() as body:
            return joining.on_join_response(state, consumer, flight, body, now)
        case SyncGroupResponse() as body:
            return joining.on_sync_response(state, consumer, flight, body, now)
        case OffsetFetchResponse() as body:
            if not _awaits_offsets(state, number):
                return Step(state)
            return positions.on_fetch_response(state, consumer, body, now)
        case _:
            return Step(state)


def _connected(state: ClientState, broker: int) -> ClientState:
    """Reset the count of failed connections of a broker, because it has responded."""
    if not state.reconnect.failures or state.reconnect.broker != broker:
        return state
    return replace(state, reconnect=state.reconnect._replace(failures=0))


def _awaits_offsets(state: ClientState, number: int) -> bool:
    return state.pending_offset_fetch is not None and state.pending_offset_fetch.number == number


def _commit_answered(
    state: ClientState,
    consumer: Consumer,
    number: int,
    flight: InFlight,
    body: OffsetCommitResponse,
    now: int,
) -> Step[ClientState]:
    """Handle an OffsetCommit response; its first error decides."""
    error = first_error(body)
    step = commits.on_commit_response(state, consumer, number, flight, error, now)
    return step.then(
        lambda s: application.on_commit_sync_response(s, consumer, number, flight, error, now)
    )


# -- lost connections -----------------------------------------------------------------------------


def on_disconnected(
    state: ClientState, consumer: Consumer, node: int, now: int
) -> Step[ClientState]:
    """Handle a broken connection: its requests in flight have failed with a retriable error."""
    broker = broker_of(node)
    if node == coordinator_node(broker):
        known = state.coordinator
        if isinstance(known, Known) and known.broker == broker:
            step = mark_unknown(state, consumer, "connection lost", now)
        else:
            step = Step(state)
        return step.then(lambda s: _lose(s, consumer, broker, now))
    return on_data_connection_lost(
        state, consumer, broker, lambda s: heartbeat.on_lookup_failed(s, consumer, now), now
    )


def _lose(state: ClientState, consumer: Consumer, broker: int, now: int) -> Step[ClientState]:
    """Fail every request in flight to *broker*."""
    flights = state.in_flight
    return fail_requests(state, broker, lambda s, n: _lose_one(s, consumer, n, flights[n], now))


def _lose_one(
    state: ClientState, consumer: Consumer, number: int, flight: InFlight, now: int
) -> Step[ClientState]:
    match flight.api:
        case Api.JOIN | Api.SYNC if isinstance(state.future, Joining):
            failed = JoinFailed(ExceptionName.DISCONNECT, Reaction.LATER)
            return Step(replace(state, future=failed))
        case Api.COMMIT:
            error = ErrorCode.NETWORK_EXCEPTION
            step = commits.on_commit_ended(state, consumer, number, flight, error)
            return step.then(
                lambda s: application.on_commit_sync_response(
                    s, consumer, number, flight, error, now
                )
            )
        case Api.HEARTBEAT:
            return heartbeat.on_failure(state, consumer, now)
        case Api.OFFSETS if _awaits_offsets(state, number):
            return positions.on_fetch_failed(state, consumer, ErrorCode.NETWORK_EXCEPTION, now)
        case _:
            return Step(state)
