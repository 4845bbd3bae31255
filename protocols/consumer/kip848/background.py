"""The background thread: its events, its rounds, responses, lost connections, and its timers.

Source: ``ConsumerNetworkThread``, ``ApplicationEventProcessor``.
"""

from __future__ import annotations

from collections.abc import Callable

from protocols.consumer import metadata
from protocols.consumer.committing import first_error
from protocols.consumer.kip848 import commits, heartbeat, membership, positions, reconciliation
from protocols.consumer.kip848.member import MemberState, ReleaseStage
from protocols.consumer.kip848.membership import join, on_released
from protocols.consumer.kip848.requests import mark_unknown
from protocols.consumer.kip848.state import Api, ClientState, Consumer, InFlight, Progress
from protocols.consumer.kip848.threads import (
    ApplyAssignment,
    AwaitingCheck,
    CallbackCompleted,
    Commit,
    Event,
    FetchesWanted,
    Lag,
    LeaveWanted,
    Polled,
    Purpose,
    Unsubscribed,
    makes_last_calls,
)
from protocols.consumer.lookup import (
    LOOKUP,
    Known,
    Unknown,
    back_off_lookup,
    look_in_the_next_turn,
)
from protocols.consumer.offset_fetcher import on_response
from protocols.consumer.reader import MS, backoff_us
from protocols.consumer.requests import (
    REQUESTS,
    fail_requests,
    look_up,
    on_data_connection_lost,
    on_metadata_timer,
    on_reads,
    on_request_timeout,
    timed_out_brokers,
    without_request,
)
from protocols.machine import CancelTimer, Send, SetTimer, Step, in_turn
from protocols.messages import (
    ConsumerGroupHeartbeatResponse,
    Disconnected,
    Envelope,
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
from protocols.values import replace

WOKEN = "woken"
"""Timer: the application thread continues after a wait for records or for a check.

Timers of the same instant fire in the order of their names, so the background thread is first.
"""


def take_event(state: ClientState, consumer: Consumer, event: Event, now: int) -> Step[ClientState]:
    """Process one event of the queue."""
    match event:
        case Polled():
            return _polled(state, consumer, event, now)
        case FetchesWanted():
            return _fetch(state, consumer, now)
        case Commit():
            return commits.on_commit_event(state, consumer, event, now)
        case ApplyAssignment(needed):
            woken = SetTimer(WOKEN, now + consumer.lags(Lag.WAKE, now))
            return Step(reconciliation.apply_assignment(state, needed), (woken,))
        case CallbackCompleted():
            return _on_callback_completed(state, consumer, event, now)
        case Unsubscribed():
            return membership.leave_after_unsubscribe(state, consumer)
        case LeaveWanted(epoch):
            return membership.leave_at_close(state, epoch)


# -- events ----------------------------------------------------------------------------------------


def _polled(state: ClientState, consumer: Consumer, event: Polled, now: int) -> Step[ClientState]:
    """Handle a poll event (``ApplicationEventProcessor.process(AsyncPollEvent)``)."""
    step = reconciliation.advance(state, consumer, now, polled=True)
    if step.state.commits is not state.commits:
        step = step.then(lambda s: commits.send_due_commits(s, consumer, now))
    step = step.then(lambda s: commits.commit_if_due(s, consumer, event.at_us, now))
    if isinstance(step.state.app, AwaitingCheck):
        step = step.also(SetTimer(WOKEN, now + consumer.lags(Lag.WAKE, now)))
    step = step.then(lambda s: Step(membership.refresh_subscription(s, consumer)))
    step = step.then(lambda s: take_part(s, consumer))
    return step.then(lambda s: _update_positions(s, consumer, event, now))


def take_part(state: ClientState, consumer: Consumer) -> Step[ClientState]:
    """Join if the application has subscribed, or polls again; never with ``assign()``.

    A pattern that matches no topic yet joins too; topic names follow with the metadata.
    """
    member = state.member
    if member.state is MemberState.UNSUBSCRIBED:
        subscribes = state.subscribed is not None and consumer.assigned is None
        return join(state) if subscribes else Step(state)
    if member.state is not MemberState.STALE:
        return Step(state)
    if member.release is ReleaseStage.DONE:
        return join(state)
    return Step(state.becoming(member._replace(release=ReleaseStage.THEN_JOIN)))


def _update_positions(
    state: ClientState, consumer: Consumer, event: Polled, now: int
) -> Step[ClientState]:
    """Restart the poll interval; validate and initialise positions.

    Fetches follow later. An event that the application has dropped only restarts the interval.
    """
    poll_due_us = event.at_us + consumer.settings.max_poll_interval_ms * MS
    slot = state.slot
    if slot is None:
        return Step(replace(state, poll_due_us=poll_due_us))
    failure = state.reads.validation_failure
    if failure is not None:
        slot = slot._replace(failed=slot.failed or failure)
        state = replace(state, reads=replace(state.reads, validation_failure=None))
    slot = slot._replace(progress=Progress.TAKEN)
    return positions.update_positions(
        replace(state, slot=slot, poll_due_us=poll_due_us), consumer, now
    )


def _fetch(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send fetches to the brokers."""
    sends = [Send(broker, request) for broker, request in consumer.fetcher.requests(now)]
    return Step(state, tuple(sends))


def _on_callback_completed(
    state: ClientState, consumer: Consumer, event: CallbackCompleted, now: int
) -> Step[ClientState]:
    """Continue after a listener call."""
    match event.needed.purpose:
        case Purpose.REVOKE:
            return reconciliation.on_revoked(state, consumer, now, threw=event.threw)
        case Purpose.ASSIGN:
            return reconciliation.on_assigned(state, consumer, event, now)
        case Purpose.RELEASE:
            return on_released(state)
        case Purpose.LEAVE:
            return membership.on_leave_prepared(state, consumer)


# -- rounds ----------------------------------------------------------------------------------------


def run_round(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Run the request managers once (``ConsumerNetworkThread.runOnce``)."""
    step = in_turn(_MANAGERS, state, consumer, now)
    return Step(reconciliation.note_round(step.state, now), step.effects)


def _reconcile(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    return reconciliation.advance(state, consumer, now, polled=False)


def _acknowledge(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the heartbeat that acknowledges a reconciliation which has just ended."""
    if state.member.state is not MemberState.ACKNOWLEDGING:
        return Step(state)
    return heartbeat.advance(state, consumer, now)


def _look_up(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look the coordinator up, unless close() has finished its commit, or there is no group id.

    Without a broker to ask, the request is kept (``NetworkClientDelegate.doSend``).
    """
    if not isinstance(state.coordinator, Unknown) or makes_last_calls(state.app):
        return Step(state)
    if not consumer.group_id:
        return Step(state)
    return look_up(state, consumer, now, look_in_the_next_turn)


def _refresh(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    ask = metadata.request_update if consumer.positions.leaderless else metadata.refresh
    return on_reads(state, lambda reads: ask(reads, consumer, now))


def _request_first_metadata(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Request the first metadata before the coordinator is looked up (seen in all captures)."""
    return Step(state) if state.metadata.brokers else _refresh(state, consumer, now)


_MANAGERS = (
    _request_first_metadata,
    _look_up,
    commits.send_due_commits,
    heartbeat.advance,
    _reconcile,
    _acknowledge,
    positions.send_due_fetch,
    _refresh,
)


def complete_poll_event(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Complete the poll event once its positions are settled, and send its fetches."""
    slot = state.slot
    if slot is None or slot.progress is not Progress.TAKEN or not positions.is_settled(state):
        return Step(state)
    completed = replace(state, slot=slot._replace(progress=Progress.COMPLETE))
    if slot.failed is not None:
        return Step(completed)
    return _fetch(completed, consumer, now)


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
            return on_reads(state, lambda reads: on_response(reads, consumer, number, body, now))
        case FindCoordinatorResponse():
            return on_coordinator_found(state, consumer, number, body, now)
        case _:
            return _from_coordinator(state, consumer, envelope, now)


def _from_coordinator(
    state: ClientState, consumer: Consumer, envelope: Envelope, now: int
) -> Step[ClientState]:
    number = envelope.header.correlation_id
    flight = state.in_flight.get(number)
    if flight is None:
        return Step(state)
    state = without_request(state, number)
    match envelope.body:
        case ConsumerGroupHeartbeatResponse() as body if flight.api is Api.HEARTBEAT:
            return heartbeat.on_response(state, consumer, body, now)
        case ConsumerGroupHeartbeatResponse() as body if flight.api is Api.LEAVE:
            return heartbeat.on_leave_response(state, consumer, body, now)
        case OffsetCommitResponse() as body if flight.commit is not None:
            error = first_error(body)
            return commits.on_commit_response(state, consumer, number, flight.commit, error, now)
        case OffsetFetchResponse() as body:
            return positions.on_fetch_response(state, consumer, number, body, now)
        case _:
            return Step(state)


# -- the coordinator -------------------------------------------------------------------------------


def on_coordinator_found(
    state: ClientState,
    consumer: Consumer,
    number: int,
    response: FindCoordinatorResponse,
    now: int,
) -> Step[ClientState]:
    """Handle the response to a lookup."""
    unknown = state.coordinator
    if not isinstance(unknown, Unknown) or unknown.lookup != number:
        return Step(state)
    consumer.fetcher.answered(unknown.asked_broker)
    if response.error is not ErrorCode.NONE:
        return on_lookup_failed(state, consumer, now)
    again_us = (
        now if consumer.profile.in_background else now + backoff_us(consumer, "lookup", 0, now)
    )
    found = replace(state, coordinator=Known(response.node_id), lookup_again_us=again_us)
    return Step(found, (CancelTimer(LOOKUP),))


def on_lookup_failed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Retry the lookup after the back-off."""
    assert isinstance(state.coordinator, Unknown)
    step = back_off_lookup(state.coordinator, consumer, now)
    return Step(replace(state, coordinator=step.state), step.effects)


# -- lost connections ------------------------------------------------------------------------------


def on_disconnected(
    state: ClientState, consumer: Consumer, node: int, now: int
) -> Step[ClientState]:
    """Handle a broken connection: its requests in flight have failed with a retriable error."""
    broker = broker_of(node)
    if node == coordinator_node(broker):
        step = Step(state)
        if _notices_loss(state, consumer, broker):
            step = mark_unknown(state, "connection lost", now)
        return step.then(lambda s: _lose(s, consumer, broker, now))
    return on_data_connection_lost(
        state, consumer, broker, lambda s: on_lookup_failed(s, consumer, now), now
    )


def _notices_loss(state: ClientState, consumer: Consumer, broker: int) -> bool:
    """Return whether a broken connection makes the coordinator unknown.

    The Java client learns of it from a request that fails (``handleCoordinatorDisconnect``), to whichever
    broker; with none in flight, from the next one.
    """
    if not isinstance(state.coordinator, Known):
        return False
    if consumer.profile.in_background:
        return state.coordinator.broker == broker
    flights = state.in_flight.values()
    return any(each.broker == broker and each.api is not Api.LEAVE_UNANSWERED for each in flights)


def _lose(state: ClientState, consumer: Consumer, broker: int, now: int) -> Step[ClientState]:
    """Fail every request in flight to *broker*."""
    flights = state.in_flight
    return fail_requests(state, broker, lambda s, n: _lose_one(s, consumer, n, flights[n], now))


def _lose_one(
    state: ClientState, consumer: Consumer, number: int, flight: InFlight, now: int
) -> Step[ClientState]:
    error = ErrorCode.NETWORK_EXCEPTION
    match flight.api:
        case Api.HEARTBEAT:
            return heartbeat.on_failure(state, consumer, now)
        case Api.COMMIT:
            assert flight.commit is not None, "a commit in flight is one"
            return commits.on_commit_response(state, consumer, number, flight.commit, error, now)
        case Api.OFFSETS:
            return positions.on_fetch_failed(state, consumer, number, error, now)
        case Api.LEAVE | Api.LEAVE_UNANSWERED:
            return Step(state)


def _on_request_timeout(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    return on_request_timeout(state, lambda s, node: on_disconnected(s, consumer, node, now), now)


def on_lookup_timer(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Handle a lookup without a response; the next round looks up again."""
    unknown = state.coordinator
    if isinstance(unknown, Unknown) and unknown.lookup is not None:
        consumer.fetcher.drop_silent(unknown.asked_broker)
        return on_lookup_failed(state, consumer, now)
    return Step(state)


# -- timers ----------------------------------------------------------------------------------------


def is_awaited(state: ClientState, timer: str, now: int) -> bool:
    """Return whether a timer that fires now wakes the thread; that of requests does if one has timed out."""
    return timer != REQUESTS or bool(timed_out_brokers(state, now))


def _only_a_round(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Do nothing; a round follows every timer of the background thread."""
    del consumer, now
    return Step(state)


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    heartbeat.HEARTBEAT: _only_a_round,
    commits.COMMITS: _only_a_round,
    positions.OFFSETS: _only_a_round,
    REQUESTS: _on_request_timeout,
    LOOKUP: on_lookup_timer,
    metadata.METADATA: on_metadata_timer,
}
"""Timers of the background thread by name; each is followed by a round."""
