"""The application thread in close() and unsubscribe().

Source: ``AsyncKafkaConsumer.close``, ``unsubscribe``.
"""

from __future__ import annotations

from collections.abc import Callable

from protocols.consumer.calls import Closed, CloseOperation
from protocols.consumer.committing import automatic_offsets
from protocols.consumer.kip848 import commits, membership
from protocols.consumer.kip848.application import call_needed
from protocols.consumer.kip848.requests import pass_over, queue
from protocols.consumer.kip848.state import ClientState, Consumer
from protocols.consumer.kip848.threads import (
    OUTSIDE,
    CallbackNeeded,
    Calling,
    CloseStage,
    Closing,
    Commit,
    Event,
    LeaveWanted,
    Purpose,
    Unsubscribed,
    Unsubscribing,
)
from protocols.consumer.lookup import Unknown
from protocols.consumer.reader import MS
from protocols.consumer.requests import are_in_flight, take_number
from protocols.facts import CommitKind
from protocols.machine import Call, Return, Send, SetTimer, Step
from protocols.messages import UNKNOWN_GENERATION, OffsetToCommit
from protocols.messages.errors import ErrorCode
from protocols.values import replace

CLOSE = "close"
"""Timer: the timeout of close() or unsubscribe() has run out."""


def begin_close(
    state: ClientState, consumer: Consumer, timeout_us: int, operation: CloseOperation, now: int
) -> Step[ClientState]:
    """Enter close(): the final automatic commit comes first, within the timeout."""
    budget = min(timeout_us, consumer.settings.request_timeout_ms * MS)
    deadline = now + budget
    state = replace(state, app=Closing(CloseStage.COMMIT, deadline, operation), needed=())
    step = Step(state, (SetTimer(CLOSE, deadline),))
    if consumer.profile.listener_first:
        return step.then(lambda s: advance_close(s, consumer, now))
    offsets = automatic_offsets(consumer)
    return step.then(lambda s: _commit(s, consumer, offsets, deadline, now))


def _commit(
    state: ClientState,
    consumer: Consumer,
    offsets: tuple[OffsetToCommit, ...],
    deadline_us: int,
    now: int,
) -> Step[ClientState]:
    """Send the final automatic commit; without one, go on."""
    if not consumer.settings.enable_auto_commit or not offsets:
        return advance_close(state, consumer, now)
    key, state = take_number(state)
    return queue(state, consumer, Commit(key, CommitKind.CLOSE, offsets, deadline_us), now)


def advance_close(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Run the steps that are not blocked.

    After the timeout no answer is waited for, but the background thread still takes the commit and the
    leave, and sends both (``CommitEvent.offsetsReady``, ``ApplicationEventHandler.addAndGet``).
    """
    app = state.app
    if isinstance(app, Unsubscribing):
        return _unsubscribing(state, consumer, app, now)
    if not isinstance(app, Closing):
        return Step(state)
    late = now >= app.deadline_us
    match app.stage:
        case CloseStage.COMMIT if _is_committed(state, consumer, late=late):
            return _callbacks(_close_at(state, app, CloseStage.CALLBACKS), consumer, now)
        case CloseStage.REMOVED if _is_committed(state, consumer, late=late):
            return _leave_group(state, consumer, app, now)
        case CloseStage.LEAVE if _has_left(state) or (late and not _is_queued(state, LeaveWanted)):
            return advance_close(_close_at(state, app, CloseStage.COMMITS), consumer, now)
        case CloseStage.COMMITS if late or not commits.asynchronous(state):
            return _close_sessions(state, consumer, app, now)
        case CloseStage.REQUESTS if late or not _awaits_answers(state, consumer):
            return Step(replace(state, app=Closed()), (Return(Closed()),))
        case _:
            return Step(state)


def _close_at(state: ClientState, app: Closing, stage: CloseStage) -> ClientState:
    return replace(state, app=app._replace(stage=stage))


def _is_committed(state: ClientState, consumer: Consumer, *, late: bool) -> bool:
    """Return whether the final commit, and asynchronous commits before it, have ended.

    *late*: whether the background thread has taken them.
    """
    if not consumer.settings.enable_auto_commit:
        return True
    if late:
        return not _is_queued(state, Commit)
    kinds = [kind for _, kind in commits.unfinished(state)]
    return CommitKind.CLOSE not in kinds and CommitKind.ASYNC not in kinds


def _is_queued(state: ClientState, kind: type[Event]) -> bool:
    """Return whether an event of this kind waits for the background thread."""
    return any(isinstance(event, kind) for event in state.events)


def _has_left(state: ClientState) -> bool:
    """Return whether the background thread has left the group and has the response."""
    waiting = _is_queued(state, LeaveWanted) or _is_queued(state, Unsubscribed)
    return not waiting and membership.has_left(state)


def _callbacks(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Make the last listener call: revoked, also if the member was removed and has not polled since.

    The Java client asks its ``groupMetadata`` for the epoch (``runRebalanceCallbacksOnClose``).
    """
    closing = state.app
    assert isinstance(closing, Closing), "only close() makes the last call"
    if not state.assignment or consumer.assigned is not None:
        return _commit_and_leave(state, consumer, closing, now)
    epoch = state.member.epoch if consumer.profile.in_background else state.shown_generation
    listener = "revoked" if epoch > 0 else "lost"
    if not consumer.listener:
        passed = pass_over(state, listener, state.assignment)
        return passed.then(lambda s: _commit_and_leave(s, consumer, closing, now))
    needed = CallbackNeeded(listener, tuple(sorted(state.assignment)), Purpose.LEAVE)
    calling = Calling(needed, (), closing)
    return Step(replace(state, app=calling), (Call(listener, needed.partitions),))


def on_last_call(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Continue after the last listener call, even if it threw."""
    calling = state.app
    assert isinstance(calling, Calling), "no listener call is running"
    assert isinstance(calling.outer, Closing), "the last call is that of close()"
    return _commit_and_leave(replace(state, app=calling.outer), consumer, calling.outer, now)


def _commit_and_leave(
    state: ClientState, consumer: Consumer, closing: Closing, now: int
) -> Step[ClientState]:
    """Continue behind the last listener call; librdkafka first commits what it gives away.

    It does so though the offsets are committed already. Source: ``rd_kafka_assignment_serve_removals``.
    """
    member = consumer.assigned is not None or state.member.epoch > 0
    if not consumer.profile.listener_first or not member:
        return _leave_group(state, consumer, closing, now)
    offsets = automatic_offsets(consumer, frozenset(state.assignment))
    deadline_us = closing.deadline_us  # a listener that outlasts it does not cost the commit
    if now >= deadline_us:
        deadline_us = now + consumer.settings.request_timeout_ms * MS
    removed = closing._replace(stage=CloseStage.REMOVED, deadline_us=deadline_us)
    step = Step(replace(state, app=removed), (SetTimer(CLOSE, deadline_us),))
    return step.then(lambda s: _commit(s, consumer, offsets, deadline_us, now))


def _leave_group(
    state: ClientState, consumer: Consumer, closing: Closing, now: int
) -> Step[ClientState]:
    epoch = membership.leave_epoch(consumer, closing.operation)
    state = _close_at(state, closing, CloseStage.LEAVE)
    return queue(state, consumer, LeaveWanted(epoch), now)


def _close_sessions(
    state: ClientState, consumer: Consumer, closing: Closing, now: int
) -> Step[ClientState]:
    """Close the fetch sessions, and wait for all answers, those to fetches in flight among them.

    The background thread sends its last requests even if no time is left to wait for their answers
    (``ConsumerNetworkThread.sendUnsentRequests``).
    """
    if not consumer.profile.awaits_fetches_at_close:
        return Step(replace(state, app=Closed()), (Return(Closed()),))
    requests = consumer.fetcher.close_sessions(state.metadata.brokers, now)
    sends = [Send(*each) for each in requests]
    ending = _close_at(state, closing, CloseStage.REQUESTS)
    return Step(ending, tuple(sends)).then(lambda s: advance_close(s, consumer, now))


def _awaits_answers(state: ClientState, consumer: Consumer) -> bool:
    """Return whether any request is in flight (``hasAnyPendingRequests``)."""
    coordinator = state.coordinator
    looks_up = isinstance(coordinator, Unknown) and coordinator.lookup is not None
    return bool(are_in_flight(state) or consumer.fetcher.in_flight or looks_up)


# -- unsubscribe -----------------------------------------------------------------------------------


_LOOK_US = 100 * MS
"""How long unsubscribe() waits before it looks for listener calls again."""


def unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Drop the subscription: listener call, leaving heartbeat, no automatic commit."""
    deadline = now + consumer.settings.default_api_timeout_ms * MS
    app = Unsubscribing(deadline, now)
    return queue(replace(state, app=app), consumer, Unsubscribed(), now)


def _unsubscribing(
    state: ClientState, consumer: Consumer, app: Unsubscribing, now: int
) -> Step[ClientState]:
    """Wait for the response to the leaving heartbeat; first throw a listener's exception.

    The background thread wakes nobody for a listener call (``processBackgroundEvents``).
    """
    if now >= app.look_us:
        if state.needed:
            return call_needed(state, consumer, now)
        failed, state = state.thrown, replace(state, thrown=None)
        if failed is not None and failed.error is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return Step(replace(state, app=OUTSIDE), (Return(failed),))
        if not consumer.profile.in_background:
            app = app._replace(look_us=now + _LOOK_US)
    if now < app.deadline_us and not _has_left(state):
        until = app.look_us if now < app.look_us < app.deadline_us else app.deadline_us
        return Step(replace(state, app=app), (SetTimer(CLOSE, until),))
    left = replace(state, app=OUTSIDE, shown_generation=UNKNOWN_GENERATION)
    return Step(left, (Return(OUTSIDE),))


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    CLOSE: advance_close,
}
"""The timers of the application thread in close() and unsubscribe()."""
