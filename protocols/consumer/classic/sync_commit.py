"""commitSync: send, wait, try again, give up (``commitOffsetsSync``, spec 4.3)."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import look_up
from protocols.consumer.backoff import backoff_us
from protocols.consumer.calls import CommitResult, IllegalCallError
from protocols.consumer.classic.calls import Calling, Closing, CommittingSync, Outside
from protocols.consumer.classic.commits import (
    exception_for,
    is_asynchronous,
    local_error,
    refuse,
    refused_locally,
    run_callbacks,
    send_commit,
)
from protocols.consumer.classic.values import ClientState, Consumer, InFlight
from protocols.consumer.lookup import Unknown
from protocols.consumer.offsets import RETRIED
from protocols.machine import Return, SetTimer, Step
from protocols.messages import OffsetToCommit
from protocols.messages.errors import ErrorCode

COMMIT_SYNC = "commit-sync"
"""Timer: commitSync tries again, or gives up."""


def begin(
    state: ClientState,
    consumer: Consumer,
    offsets: tuple[OffsetToCommit, ...],
    kind: str,
    deadline_us: int,
    now: int,
) -> Step[ClientState]:
    """Enter commitSync for *offsets*.

    Without offsets nothing is sent, but the call still waits for asynchronous commits in flight,
    so that their callbacks have run when it returns.
    """
    outer = state.app
    if not isinstance(outer, Outside | Calling | Closing):
        raise IllegalCallError(f"commitSync from {outer}")
    app = CommittingSync(offsets, kind, deadline_us, outer)
    state = replace(state, app=app)
    if state.poisoned is not None:
        refusal = CommitResult(offsets, state.poisoned.exception, state.poisoned.error)
        return _end(state, app, refusal)
    step = advance(state, consumer, now)
    if not offsets and isinstance(step.state.app, CommittingSync):
        return step.also(SetTimer(COMMIT_SYNC, deadline_us))
    return step


def advance(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look the coordinator up, send the commit, wait for an answer, or end the call."""
    app = state.app
    assert isinstance(app, CommittingSync)
    if not app.offsets:
        return _await_asynchronous(state, consumer, app, now)
    if now >= app.deadline_us:
        return _end(state, app, CommitResult(app.offsets, "TimeoutException"))
    if app.correlation_id is not None:
        return Step(state)
    if now < app.retry_us:
        return Step(state, (SetTimer(COMMIT_SYNC, min(app.retry_us, app.deadline_us)),))
    if isinstance(state.coordinator, Unknown):
        return look_up(state, consumer, now).also(SetTimer(COMMIT_SYNC, app.deadline_us))
    exception = refused_locally(state)
    if exception is not None:
        error = local_error(exception)
        step = refuse(state, app.offsets, app.kind, error)
        return step.then(lambda s: _end(s, app, CommitResult(app.offsets, exception, error)))
    sent = replace(app, correlation_id=state.reads.next_correlation_id)
    step = send_commit(state, consumer, app.offsets, app.kind, now)
    after = replace(step.state, app=sent)
    return Step(after, (*step.effects, SetTimer(COMMIT_SYNC, app.deadline_us)))


def _await_asynchronous(
    state: ClientState, consumer: Consumer, app: CommittingSync, now: int
) -> Step[ClientState]:
    """End the call when no asynchronous commit is in flight, or at its deadline.

    One that was fenced is thrown. Source: ``ConsumerCoordinator.invokePendingAsyncCommits``.
    """
    step = run_callbacks(state, consumer, now)
    if state.poisoned is not None:
        result = CommitResult((), state.poisoned.exception, state.poisoned.error)
    elif not any(map(is_asynchronous, state.in_flight.values())):
        result = CommitResult(())
    elif now >= app.deadline_us:
        result = CommitResult((), "TimeoutException")
    else:
        return step
    return step.then(lambda s: _end(s, app, result))


def answered(
    state: ClientState,
    consumer: Consumer,
    number: int,
    flight: InFlight,
    error: ErrorCode,
    now: int,
) -> Step[ClientState]:
    """React to the fate of the commit that commitSync waits for.

    Callbacks of asynchronous commits before it run first, to tell of commits in their order.
    """
    app = state.app
    if not isinstance(app, CommittingSync) or app.correlation_id != number:
        return Step(state)
    step = run_callbacks(state, consumer, now)
    return step.then(lambda s: _react(s, consumer, app, flight, error, now))


def _react(
    state: ClientState,
    consumer: Consumer,
    app: CommittingSync,
    flight: InFlight,
    error: ErrorCode,
    now: int,
) -> Step[ClientState]:
    if error is ErrorCode.NONE:
        return _end(state, app, CommitResult(app.offsets))
    if error not in RETRIED:
        exception = exception_for(state, flight, error)
        return _end(state, app, CommitResult(app.offsets, exception, error))
    retry = now + backoff_us(consumer, "commit", app.attempt, now)
    waiting = replace(app, correlation_id=None, attempt=app.attempt + 1, retry_us=retry)
    return advance(replace(state, app=waiting), consumer, now)


def _end(state: ClientState, app: CommittingSync, result: CommitResult) -> Step[ClientState]:
    """Return to where commitSync was called; inside close() there is nobody to return to."""
    after = replace(state, app=app.outer)
    if isinstance(app.outer, Closing):
        return Step(after)
    return Step(after, (Return(result),))
