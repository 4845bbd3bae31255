"""Commits of the consumer protocol: automatic ones, commitSync, commitAsync.

Source: ``CommitRequestManager``. Each is sent once the coordinator is known, with the member epoch
of that time; until then, and before a retry, it waits in ``commits``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from protocols.consumer import metadata
from protocols.consumer.calls import CommitResult, ExceptionName, IllegalCallError, exception_name
from protocols.consumer.committing import RETRIED, automatic_offsets
from protocols.consumer.kip848 import reconciliation
from protocols.consumer.kip848.requests import (
    ask,
    mark_unknown,
    naming,
    queue,
    queue_automatic_commit,
)
from protocols.consumer.kip848.state import Api, ClientState, Consumer
from protocols.consumer.kip848.threads import (
    Calling,
    Commit,
    CommittingSync,
    Outside,
    makes_last_calls,
)
from protocols.consumer.lookup import LOSES_COORDINATOR, Known
from protocols.consumer.reader import MS, backoff_us
from protocols.consumer.requests import on_reads, take_number
from protocols.facts import CommitAnswered, CommitKind, CommitSent
from protocols.machine import Report, Return, SetTimer, Step
from protocols.messages import OffsetCommitRequest, OffsetToCommit, pairs_of
from protocols.messages.errors import ErrorCode
from protocols.values import replace

_RETRIED = RETRIED | {ErrorCode.UNKNOWN_TOPIC_ID}
"""Errors after which a commit is sent again; any other ends it, even if it is retriable."""

_BY_THE_CLIENT = frozenset({CommitKind.AUTO, CommitKind.PREPARE, CommitKind.CLOSE})
"""Kinds of commits that the application did not ask for."""

COMMITS = "commits"
"""Timer: a commit is retried, or has reached its deadline."""

# -- new commits -------------------------------------------------------------------------


def commit_if_due(
    state: ClientState, consumer: Consumer, polled_us: int, now: int
) -> Step[ClientState]:
    """Commit all positions if the interval had passed when the application polled.

    Only one is in progress at a time, and none during the first attempt of the commit before a
    reconciliation; without positions only the interval restarts.
    """
    settings = consumer.settings
    if (
        not settings.enable_auto_commit
        or polled_us < state.autocommit_us
        or _automatic_in_flight(state)
    ):
        return Step(state)
    following = polled_us + settings.auto_commit_interval_ms * MS
    state = replace(state, autocommit_us=following)
    after = queue_automatic_commit(state, consumer, CommitKind.AUTO, None)
    return Step(state) if after is state else send_due_commits(after, consumer, now)


def _automatic_in_flight(state: ClientState) -> bool:
    """Return whether an automatic commit is in flight (``AutoCommitState.hasInflightCommit``).

    The commit before a reconciliation counts until its first attempt has failed; its retries do
    not count in Kafka's client.
    """
    return any(
        commit.kind is CommitKind.AUTO
        or (commit.kind is CommitKind.PREPARE and commit.attempt == 0)
        for commit in unanswered(state)
    )


def on_commit_event(
    state: ClientState, consumer: Consumer, commit: Commit, now: int
) -> Step[ClientState]:
    """Handle a commit of the application; a commitAsync that waited for that returns."""
    epochs = ((entry.partition, entry.leader_epoch) for entry in commit.offsets)
    step = on_reads(state, lambda reads: metadata.note_epochs(reads, consumer, epochs, now))
    taken = commit._replace(is_awaited=False)
    state = replace(step.state, commits=(*step.state.commits, taken))
    returned = (Return(CommitResult(commit.offsets)),) if commit.is_awaited else ()
    return Step(state, (*step.effects, *returned))


# -- sending ---------------------------------------------------------------------------------------


def send_due_commits(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the commits that may be sent now; end those that have reached their deadline."""
    if not state.commits:
        return Step(state)
    step = Step(replace(state, commits=()))
    for commit in state.commits:
        step = step.then(partial(_send_or_wait, consumer=consumer, commit=commit, now=now))
    moments = [when for commit in step.state.commits for when in _moments(commit, now)]
    return step.also(SetTimer(COMMITS, min(moments))) if moments else step


def _moments(commit: Commit, now: int) -> list[int]:
    """Return when a waiting commit has to be checked again."""
    moments = [] if commit.deadline_us is None else [commit.deadline_us]
    return [when for when in (*moments, commit.retry_us) if when > now]


def _send_or_wait(
    state: ClientState, consumer: Consumer, commit: Commit, now: int
) -> Step[ClientState]:
    if _expires(state, consumer, commit, now):
        return _end(state, consumer, commit, ErrorCode.REQUEST_TIMED_OUT, now)
    last = makes_last_calls(state.app)
    if not isinstance(state.coordinator, Known):
        if last:
            return on_commit_abandoned(state, commit)
    elif last or now >= commit.retry_us:
        return _send(state, consumer, commit, now)
    return Step(replace(state, commits=(*state.commits, commit)))


def _expires(state: ClientState, consumer: Consumer, commit: Commit, now: int) -> bool:
    """Return whether a commit that waits ends because of its deadline.

    In the Java client only one that has failed before does, once the coordinator is known: after
    commitSync has thrown, its first attempt is still sent (``RetriableRequestState.maybeExpire``).
    """
    if commit.deadline_us is None or now < commit.deadline_us:
        return False
    if consumer.profile.in_background:
        return True
    is_known = isinstance(state.coordinator, Known)
    return commit.attempt > 0 and is_known and not makes_last_calls(state.app)


def _send(state: ClientState, consumer: Consumer, commit: Commit, now: int) -> Step[ClientState]:
    generation = state.generation
    version, ids = naming(state, (entry.partition for entry in commit.offsets))
    request = OffsetCommitRequest(
        group_id=consumer.group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=consumer.settings.group_instance_id,
        offsets=commit.offsets,
        version=version,
        topic_ids=ids,
    )
    sent = CommitSent(
        correlation_id=state.reads.next_correlation_id,
        kind=commit.kind,
        generation=generation.id,
        offsets=pairs_of(commit.offsets),
    )
    step = ask(state, consumer, Api.COMMIT, request, now, commit=commit)
    return Step(step.state, (Report(sent), *step.effects))


# -- responses -------------------------------------------------------------------------------------


def on_commit_response(
    state: ClientState, consumer: Consumer, number: int, commit: Commit, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Handle the result of a sent commit; a lost connection is NETWORK_EXCEPTION."""
    if consumer.store is not None and error is ErrorCode.NONE:
        consumer.store.committed(commit.offsets)
    fact = CommitAnswered(
        correlation_id=number, kind=commit.kind, error=error.name, requested=commit.offsets
    )
    if error in LOSES_COORDINATOR or error is ErrorCode.REQUEST_TIMED_OUT:
        step = mark_unknown(state, f"commit answered {error.name}", now)
    else:
        step = Step(state)
    step = step.also(Report(fact))
    if _is_retried(state, consumer, commit, error, now):
        return step.then(lambda s: _retry(s, consumer, commit, now))
    return step.then(lambda s: _end(s, consumer, commit, error, now))


def _is_retried(
    state: ClientState, consumer: Consumer, commit: Commit, error: ErrorCode, now: int
) -> bool:
    """Return whether the client retries a commit (``RetriableRequestState``)."""
    if commit.deadline_us is None or now >= commit.deadline_us:
        return False
    if error is ErrorCode.STALE_MEMBER_EPOCH:
        return _follows_epoch(consumer, commit) and state.member.epoch > 0
    if commit.kind is CommitKind.PREPARE and error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return False
    return error in _RETRIED


def _follows_epoch(consumer: Consumer, commit: Commit) -> bool:
    """Return whether a commit with a stale epoch is sent again with a new one.

    The Java client does so before a reconciliation alone; its last commit is a ``commitSync``
    (``isStaleEpochErrorAndValidEpochAvailable``, ``commitSyncAllConsumed``).
    """
    if consumer.profile.in_background:
        return commit.kind in _BY_THE_CLIENT
    return commit.kind is CommitKind.PREPARE


def _retry(state: ClientState, consumer: Consumer, commit: Commit, now: int) -> Step[ClientState]:
    """Retry after the back-off with the same offsets; in a reconciliation, with new ones.

    If nothing is owned any more, since the member was fenced, a reconciliation commits nothing.
    """
    retry = now + backoff_us(consumer, "commit", commit.attempt, now)
    offsets = commit.offsets
    if commit.kind is CommitKind.PREPARE:
        only = frozenset(entry.partition for entry in offsets)
        removed = consumer.profile.listener_first
        latest = automatic_offsets(consumer, only if removed else None)
        if not latest and not removed:
            return _end(state, consumer, commit, ErrorCode.NONE, now)
        offsets = latest or offsets
    again = commit._replace(offsets=offsets, attempt=commit.attempt + 1, retry_us=retry)
    return send_due_commits(replace(state, commits=(*state.commits, again)), consumer, now)


def _end(
    state: ClientState, consumer: Consumer, commit: Commit, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Continue after the end of a commit with the reconciliation or call that waits for it.

    Nothing waits for an interval commit: after an error the next one is made when the interval has
    passed. ``CommitRequestManager.maybeResetTimerWithBackoff`` reacts to a
    ``RetriableCommitFailedException`` only, which ``requestAutoCommit`` never raises.
    """
    match commit.kind:
        case CommitKind.PREPARE:
            return reconciliation.on_committed(state, consumer, now)
        case CommitKind.ASYNC:
            return end_if_settled(state)
        case CommitKind.SYNC | CommitKind.CLOSE:
            return on_commit_ended(state, commit, error)
        case _:
            return Step(state)


COMMIT_SYNC = "commit-sync"
"""Timer: commitSync ends with a TimeoutException."""

_THROWN_AS_IT_IS = frozenset(
    {
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
)
"""Errors that have their own exception."""


def begin_commit_sync(
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
    deadline = now + consumer.profile.commit_timeout_ms(consumer.settings) * MS
    key, state = take_number(state)
    timer = SetTimer(COMMIT_SYNC, deadline)
    if not offsets:
        app = CommittingSync(key, offsets, deadline, outer, CommitResult(offsets))
        return Step(replace(state, app=app), (timer,))
    state = replace(state, app=CommittingSync(key, offsets, deadline, outer))
    commit = Commit(key, CommitKind.SYNC, offsets, deadline)
    return queue(state, consumer, commit, now).also(timer)


def begin_commit_async(
    state: ClientState,
    consumer: Consumer,
    offsets: tuple[OffsetToCommit, ...],
    now: int,
    *,
    waits: bool = False,
) -> Step[ClientState]:
    """Queue a commit; without offsets nothing is queued.

    *waits*: the call returns when the background thread has taken the commit, as
    ``AsyncKafkaConsumer.commit`` does; else at once, without a ``Return``.
    """
    if not offsets:
        return Step(state, (Return(CommitResult(offsets)),) if waits else ())
    key, state = take_number(state)
    commit = Commit(key, CommitKind.ASYNC, offsets, None, is_awaited=waits)
    return queue(state, consumer, commit, now)


def on_commit_ended(state: ClientState, commit: Commit, error: ErrorCode) -> Step[ClientState]:
    """Handle the end of a commit that the application thread waits for."""
    app = state.app
    if not isinstance(app, CommittingSync) or app.key != commit.key:
        return Step(state)
    if error is ErrorCode.NONE:
        result = CommitResult(app.offsets)
    else:
        result = CommitResult(app.offsets, exception_for(error), error)
    return end_if_settled(replace(state, app=app._replace(result=result)))


def on_commit_abandoned(state: ClientState, commit: Commit) -> Step[ClientState]:
    """Abandon a commit in close(), because the coordinator is unknown."""
    app = state.app
    if isinstance(app, CommittingSync) and app.key == commit.key:
        result = CommitResult(app.offsets, ExceptionName.COMMIT_FAILED)
        state = replace(state, app=app._replace(result=result))
    return end_if_settled(state)


def end_if_settled(state: ClientState) -> Step[ClientState]:
    """Return from commitSync if it and the asynchronous commits before it have ended."""
    app = state.app
    if not isinstance(app, CommittingSync) or app.result is None:
        return Step(state)
    if any(key < app.key for key in asynchronous(state)):
        return Step(state)
    return Step(replace(state, app=app.outer), (Return(app.result),))


def asynchronous(state: ClientState) -> list[int]:
    """Return the keys of the asynchronous commits that have not ended."""
    return [key for key, kind in unfinished(state) if kind is CommitKind.ASYNC]


def unfinished(state: ClientState) -> list[tuple[int, CommitKind]]:
    """Return key and kind of every commit that has not ended: queued, waiting, in flight."""
    queued = [(e.key, e.kind) for e in state.events if isinstance(e, Commit)]
    return queued + [(commit.key, commit.kind) for commit in unanswered(state)]


def unanswered(state: ClientState) -> list[Commit]:
    """Return the commits of the background thread: waiting or in flight."""
    sent = [flight.commit for flight in state.in_flight.values() if flight.commit is not None]
    return [*state.commits, *sent]


def on_commit_sync_timeout(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """End commitSync at its deadline; the commit may still be stored."""
    del consumer
    app = state.app
    if not isinstance(app, CommittingSync) or now < app.deadline_us:
        return Step(state)
    result = CommitResult(app.offsets, ExceptionName.TIMEOUT)
    return Step(replace(state, app=app.outer), (Return(result),))


def exception_for(error: ErrorCode) -> ExceptionName:
    """Return the exception that ends a commitSync: after an error of ``_RETRIED``, at its deadline."""
    match error:
        case ErrorCode.STALE_MEMBER_EPOCH | ErrorCode.UNKNOWN_MEMBER_ID:
            return ExceptionName.COMMIT_FAILED
        case ErrorCode.OFFSET_METADATA_TOO_LARGE:
            return ExceptionName.OFFSET_METADATA_TOO_LARGE
        case _ if error in _THROWN_AS_IT_IS:
            return exception_name(error)
        case _ if error in _RETRIED:
            return ExceptionName.TIMEOUT
        case _:
            return ExceptionName.KAFKA


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    COMMIT_SYNC: on_commit_sync_timeout,
}
"""The timer of the application thread in commitSync."""
