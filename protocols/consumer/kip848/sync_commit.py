"""commitSync: queue it, wait for its end, and for that of asynchronous commits before it."""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer.asking import take_number
from protocols.consumer.backoff import MS
from protocols.consumer.calls import CommitResult, IllegalCallError
from protocols.consumer.kip848.calls import Calling, CommittingSync, CommitWanted, Outside
from protocols.consumer.kip848.events import queue
from protocols.consumer.kip848.losing import exception_of
from protocols.consumer.kip848.values import ClientState, Commit, Consumer
from protocols.consumer.offsets import RETRIED
from protocols.machine import Return, SetTimer, Step
from protocols.messages import OffsetToCommit
from protocols.messages.errors import ErrorCode

COMMIT_SYNC = "commit-sync"
"""Timer: commitSync gives up."""

_THROWN_AS_IT_IS = frozenset(
    {
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
)
"""Refusals that have an exception of their own."""


def begin(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Enter commitSync for *offsets*.

    Without offsets nothing is queued, but the call still waits for asynchronous commits made
    before it (``AsyncKafkaConsumer.awaitPendingAsyncCommitsAndExecuteCommitCallbacks``).
    """
    if not offsets and not asynchronous(state):
        return Step(state, (Return(CommitResult(offsets)),))
    outer = state.app
    if not isinstance(outer, Outside | Calling):
        raise IllegalCallError(f"commitSync from {outer}")
    deadline = now + consumer.settings.default_api_timeout_ms * MS
    key, state = take_number(state)
    timer = SetTimer(COMMIT_SYNC, deadline)
    if not offsets:
        app = CommittingSync(key, offsets, deadline, outer, CommitResult(offsets))
        return Step(replace(state, app=app), (timer,))
    state = replace(state, app=CommittingSync(key, offsets, deadline, outer))
    event = CommitWanted(key, "sync", offsets, deadline)
    return queue(state, consumer, event, now).also(timer)


def begin_async(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Queue a commit and go on; nothing to commit is not asked for."""
    if not offsets:
        return Step(state)
    key, state = take_number(state)
    return queue(state, consumer, CommitWanted(key, "async", offsets, None), now)


def ended(state: ClientState, commit: Commit, error: ErrorCode) -> Step[ClientState]:
    """Take the end of a commit that the application thread waits for."""
    app = state.app
    if not isinstance(app, CommittingSync) or app.key != commit.key:
        return Step(state)
    if error is ErrorCode.NONE:
        result = CommitResult(app.offsets)
    else:
        result = CommitResult(app.offsets, exception_for(error), error)
    return earlier_ended(replace(state, app=app._replace(result=result)))


def abandoned(state: ClientState, commit: Commit) -> Step[ClientState]:
    """Take the end of a commit that close() has no coordinator for, and looks for none."""
    app = state.app
    if isinstance(app, CommittingSync) and app.key == commit.key:
        result = CommitResult(app.offsets, "CommitFailedException")
        state = replace(state, app=app._replace(result=result))
    return earlier_ended(state)


def earlier_ended(state: ClientState) -> Step[ClientState]:
    """Return from commitSync if it and the asynchronous commits before it have ended."""
    app = state.app
    if not isinstance(app, CommittingSync) or app.result is None:
        return Step(state)
    if any(key < app.key for key in asynchronous(state)):
        return Step(state)
    return Step(replace(state, app=app.outer), (Return(app.result),))


def asynchronous(state: ClientState) -> list[int]:
    """Return the keys of the asynchronous commits that have not ended."""
    return [key for key, kind in under_way(state) if kind == "async"]


def under_way(state: ClientState) -> list[tuple[int, str]]:
    """Return key and kind of every commit that has not ended: queued, waiting, in flight."""
    queued = [(e.key, e.kind) for e in state.events if isinstance(e, CommitWanted)]
    return queued + [(commit.key, commit.kind) for commit in unanswered(state)]


def unanswered(state: ClientState) -> list[Commit]:
    """Return the commits that the background thread has: those that wait, those in flight."""
    sent = [flight.commit for flight in state.in_flight.values() if flight.commit is not None]
    return [*state.commits, *sent]


def late(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Give up waiting; the commit may be stored all the same."""
    del consumer
    app = state.app
    if not isinstance(app, CommittingSync) or now < app.deadline_us:
        return Step(state)
    result = CommitResult(app.offsets, "TimeoutException")
    return Step(replace(state, app=app.outer), (Return(result),))


def exception_for(error: ErrorCode) -> str:
    """Return the exception that ends a commitSync after a refusal that is not tried again."""
    match error:
        case ErrorCode.STALE_MEMBER_EPOCH | ErrorCode.UNKNOWN_MEMBER_ID:
            return "CommitFailedException"
        case ErrorCode.OFFSET_METADATA_TOO_LARGE:
            return "OffsetMetadataTooLarge"
        case _ if error in _THROWN_AS_IT_IS:
            return exception_of(error)
        case _ if error in RETRIED or error.retriable:
            return "TimeoutException"
        case _:
            return "KafkaException"
