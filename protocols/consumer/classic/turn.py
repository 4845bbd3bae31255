"""One turn of the poll loop up to the records, and the handling of responses and timers.

A turn advances the coordinator lookup, the join and the positions, in this order. :func:`pump`
empties the inbox for the thread that polls the network (application or heartbeat thread); handling
a response may add lost connections to the inbox.

Source: ``ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded``, ``ConsumerCoordinator.poll``,
``ConsumerNetworkClient``.
"""

from __future__ import annotations

from collections.abc import Callable

from protocols.consumer import metadata, offset_fetcher
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.classic import (
    application,
    async_commits,
    commits,
    duties,
    heartbeat,
    joining,
    membership,
    positions,
    rejoin,
    session_in_join,
)
from protocols.consumer.classic.membership import mark_unknown
from protocols.consumer.classic.state import (
    Asked,
    AwaitingMetadata,
    Calling,
    ClientState,
    CommittingSync,
    Consumer,
    InFlight,
    JoinFailed,
    Joining,
    Membership,
    Outside,
    Reaction,
    Resume,
)
from protocols.consumer.committing import first_error
from protocols.consumer.lookup import LOOKUP, Known, Unknown
from protocols.consumer.offset_fetcher import on_response
from protocols.consumer.requests import (
    REQUESTS,
    fail_requests,
    look_up,
    on_data_connection_lost,
    on_fetch_failed,
    on_metadata_timer,
    on_reads,
    on_request_timeout,
    rearm_request_timer,
    timed_out_brokers,
    without_request,
)
from protocols.machine import Call, Return, Step, in_turn
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


def initial_state(consumer: Consumer) -> ClientState:
    """Return the state of a consumer that has subscribed and never polled."""
    state = membership.watch_topics(ClientState(), consumer, frozenset())
    if consumer.assigned is not None:
        offset_fetcher.assign(consumer, consumer.assigned)
        return replace(
            state, membership=Membership.BY_HAND, rejoin=None, assignment=consumer.assigned
        )
    return replace(state, subscribed=metadata.subscribed_topics(consumer, state.metadata))


def take_turn(
    state: ClientState, consumer: Consumer, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Run one turn; afterwards the application thread may be in a listener call."""
    if duties.without_subscription(state):
        failed = Failed(ExceptionName.ILLEGAL_STATE, message="nothing is subscribed")
        return Step(state, (Return(failed),))
    if state.poisoned is not None:
        return Step(state, (Return(state.poisoned),))
    if state.died is not None:
        return Step(replace(state, died=None), (Return(state.died),))
    state = membership.note_new_metadata(state, consumer)
    step = in_turn(_FIRST_DUTIES, state, consumer, now)
    if isinstance(step.state.coordinator, Unknown):
        step = step.then(lambda s: pump(s, consumer, now))
    if duties.needs_coordinator(step.state, consumer):
        step = step.then(lambda s: look_up(s, consumer, now))
        if step.state.membership is not Membership.BY_HAND:
            return step
    if rejoin.needed(step.state):
        step = step.then(lambda s: join(s, consumer, now, poll_until_us))
        if rejoin.needed(step.state) or interrupted(step):
            return step
    step = step.then(lambda s: in_turn(_LAST_DUTIES, s, consumer, now))
    if consumer.positions.leaderless:
        return step.then(lambda s: membership.request_metadata(s, consumer, now))
    return step


def interrupted(step: Step[ClientState]) -> bool:
    """Return whether the turn ended in a listener call or threw."""
    if isinstance(step.state.app, Calling):
        return True
    return any(isinstance(effect, Return) for effect in step.effects)


def wake_heartbeat(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Wake the heartbeat thread if a heartbeat is due; the thread may still be late."""
    if state.beat is None or now < state.beat.due_us:
        return Step(state)
    due = state.beat.due_us
    late_us = max(0, due + consumer.late(due) - now)
    return heartbeat.turn(state, consumer, now, late_us)


_FIRST_DUTIES = (membership.refresh_metadata, async_commits.run_callbacks, wake_heartbeat)
"""What a turn does before it looks the coordinator up, or joins."""

_LAST_DUTIES = (async_commits.autocommit_due, positions.update_positions)


def beat(
    state: ClientState, consumer: Consumer, now: int, answer: Envelope | None
) -> Step[ClientState] | None:
    """Let the heartbeat thread send a heartbeat, or take the *answer* to one; None: it does more."""
    if answer is not None:
        return respond(state, consumer, answer, now)
    return heartbeat.beat_only(state, consumer, now)


def join(state: ClientState, consumer: Consumer, now: int, poll_until_us: int) -> Step[ClientState]:
    """Advance the join; each network step handles the responses once and never waits.

    A pattern subscriber first requests fresh metadata, as often as the back-off allows, and waits
    for it, so that most members see a new topic in one rebalance (``ConsumerCoordinator.poll``).
    """
    step = Step(state)
    if consumer.topics is None:
        if now >= state.metadata.retry_us:
            step = membership.request_metadata(state, consumer, now)
        if step.state.metadata.in_flight is not None:
            return step
    step = step.then(lambda s: pump(membership.note_new_metadata(s, consumer), consumer, now))
    while True:
        before = step.state
        step = step.then(lambda s: rejoin.advance(s, consumer, now, poll_until_us))
        if interrupted(step) or not rejoin.needed(step.state) or rejoin.pauses(before):
            return step
        step = step.then(lambda s: pump(s, consumer, now))
        if step.state is before:
            return step


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
            return heartbeat.on_coordinator_found(state, consumer, body, now)
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
            return heartbeat.on_response(state, consumer, flight, body, now)
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
    """Reset the count of failed connections, because the broker has responded."""
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
    """Handle an OffsetCommit response; its first error decides."""
    error = first_error(body)
    step = commits.on_commit_response(state, consumer, number, flight, error, now)
    return step.then(
        lambda s: application.on_commit_sync_response(s, consumer, number, flight, error, now)
    )


# -- listener calls -------------------------------------------------------------------------------


def after_call(
    state: ClientState, consumer: Consumer, calling: Calling, call: Call, now: int
) -> Step[ClientState]:
    """Continue after a listener call returned."""
    match calling.resume:
        case Resume.JOIN:
            return rejoin.on_prepared(state, consumer, call.partitions, now)
        case Resume.REVOKED:
            return rejoin.on_revoked(state, consumer, calling, now)
        case Resume.ASSIGNED:
            return Step(replace(state, app=Outside()))
        case Resume.CLOSE:
            assert calling.closing is not None
            return application.leave_group_and_wait(state, consumer, calling.closing, now)
        case Resume.UNSUBSCRIBE:
            return application.leave_after_unsubscribe(state, consumer, now)


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
    match flight.asked:
        case Asked.JOIN | Asked.SYNC if isinstance(state.future, Joining):
            failed = JoinFailed(ExceptionName.DISCONNECT, Reaction.LATER)
            return Step(replace(state, future=failed))
        case Asked.COMMIT:
            error = ErrorCode.NETWORK_EXCEPTION
            step = commits.on_commit_ended(state, number, flight, error)
            return step.then(
                lambda s: application.on_commit_sync_response(
                    s, consumer, number, flight, error, now
                )
            )
        case Asked.HEARTBEAT:
            return heartbeat.on_failure(state, consumer, now)
        case Asked.OFFSETS if _awaits_offsets(state, number):
            return positions.on_fetch_failed(state, consumer, ErrorCode.NETWORK_EXCEPTION, now)
        case _:
            return Step(state)


def _on_request_timeout(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    return on_request_timeout(state, lambda s, node: on_disconnected(s, consumer, node, now), now)


def _on_lookup_timer(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look the coordinator up, because the back-off ended or the request timed out."""
    if not isinstance(state.coordinator, Unknown):
        return Step(state)
    if state.coordinator.lookup is not None:
        return heartbeat.on_lookup_failed(state, consumer, now)
    return look_up(state, consumer, now)


def _on_heartbeat_timer(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Run one turn of the heartbeat thread: pump, then check its deadlines."""
    if state.beat is None:
        return Step(state)
    step = pump(state, consumer, now)
    return step.then(lambda s: heartbeat.turn(s, consumer, now))


def is_awaited(state: ClientState, timer: str, now: int) -> bool:
    """Return whether a timer that fires now matters: what set it may have ended in time."""
    if timer == REQUESTS:
        return bool(timed_out_brokers(state, now))
    if timer == LOOKUP:
        return isinstance(state.coordinator, Unknown)
    return timer != application.COMMIT_SYNC or isinstance(state.app, CommittingSync)


def rearmed(state: ClientState, timer: str) -> Step[ClientState]:
    """Set a timer that nothing awaited again, if other requests are in flight."""
    if timer != REQUESTS:
        return Step(state)
    return rearm_request_timer(state)


def _no_action(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Do nothing; the waiting call continues after every timer."""
    del consumer, now
    return Step(state)


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    heartbeat.HEARTBEAT: _on_heartbeat_timer,
    session_in_join.JOIN_SESSION: session_in_join.on_timer,
    REQUESTS: _on_request_timeout,
    LOOKUP: _on_lookup_timer,
    metadata.METADATA: on_metadata_timer,
    application.COMMIT_SYNC: _no_action,
    application.CLOSE: _no_action,
}
"""Handlers by timer name; the machine handles the timers of a waiting poll itself."""
