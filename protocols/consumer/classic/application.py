"""The calls of the application that may wait: commitSync, commitAsync, close, unsubscribe.

Source: ``ConsumerCoordinator.commitOffsetsSync``, ``commitOffsetsAsync``, ``close``.
"""

from __future__ import annotations

from protocols.consumer import metadata
from protocols.consumer.calls import (
    Closed,
    CloseOperation,
    CommitResult,
    ExceptionName,
    IllegalCallError,
)
from protocols.consumer.classic.async_commits import (
    end_pending,
    is_asynchronous,
    keep_pending,
    run_callbacks,
    send_async,
    send_pending,
)
from protocols.consumer.classic.commits import (
    NONE,
    exception_for,
    is_behind_others,
    is_illegal,
    local_error,
    local_refusal,
    report_refused_commit,
    send_commit,
    waits_for_commit,
    waits_for_join,
)
from protocols.consumer.classic.membership import (
    LEFT_BY_ITSELF,
    last_call,
    leave_after_unsubscribe,
    reset,
    send_leave,
)
from protocols.consumer.classic.phases import (
    Calling,
    CloseStage,
    Closing,
    CommittingSync,
    Outside,
    Resume,
)
from protocols.consumer.classic.state import Api, ClientState, Consumer, InFlight, Membership
from protocols.consumer.committing import automatic_offsets, retried
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.reader import MS, backoff_us
from protocols.consumer.requests import look_up, on_reads
from protocols.facts import CommitKind
from protocols.machine import Return, Send, SetTimer, Step
from protocols.messages import OffsetToCommit
from protocols.messages.errors import ErrorCode
from protocols.values import replace

COMMIT_SYNC = "commit-sync"
"""Timer: commitSync retries, or ends with a TimeoutException."""


def commit_sync(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Enter commitSync for *offsets* of the application; its profile says how long it may take."""
    if is_illegal(state, consumer, offsets):
        error = local_error(ExceptionName.ILLEGAL_STATE)
        step = report_refused_commit(state, offsets, CommitKind.SYNC, error)
        return step.also(Return(CommitResult(offsets, ExceptionName.ILLEGAL_STATE, error)))
    deadline = now + consumer.profile.commit_timeout_ms(consumer.settings) * MS
    return _begin_commit(state, consumer, offsets, now).then(
        lambda s: begin_commit_sync(s, consumer, offsets, CommitKind.SYNC, deadline, now)
    )


def commit_async(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Send *offsets* of the application without waiting."""
    return _begin_commit(state, consumer, offsets, now).then(
        lambda s: _send_or_keep(s, consumer, offsets, now)
    )


def _begin_commit(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Begin a commit of the application: run earlier callbacks, record its leader epochs."""
    epochs = [(entry.partition, entry.leader_epoch) for entry in offsets]

    def noted(state: ClientState) -> Step[ClientState]:
        return on_reads(state, lambda reads: metadata.note_epochs(reads, consumer, epochs, now))

    return run_callbacks(state, consumer, now).then(noted) if state.callbacks else noted(state)


def begin_commit_sync(
    state: ClientState,
    consumer: Consumer,
    offsets: tuple[OffsetToCommit, ...],
    kind: CommitKind,
    deadline_us: int,
    now: int,
) -> Step[ClientState]:
    """Enter commitSync for *offsets*.

    Without offsets nothing is sent, but the call still waits for asynchronous commits in flight,
    so that their callbacks have run when it returns.
    """
    outer = state.app
    if not isinstance(outer, (Outside, Calling, Closing)):
        raise IllegalCallError(f"commitSync from {outer}")
    app = CommittingSync(offsets, kind, deadline_us, outer)
    state = replace(state, app=app)
    if state.commit_fenced is not None:
        refusal = CommitResult(offsets, state.commit_fenced.exception, state.commit_fenced.error)
        return _return_from(state, app, refusal)
    return advance_commit_sync(state, consumer, now)


def advance_commit_sync(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look the coordinator up, send the commit, wait for the response, or end the call."""
    app = state.app
    assert isinstance(app, CommittingSync)
    if not app.offsets:
        return _await_asynchronous(state, consumer, app, now)
    if now >= app.deadline_us:
        return _return_from(state, app, CommitResult(app.offsets, ExceptionName.TIMEOUT))
    if app.correlation_id is not None:
        return Step(state)
    if now < app.retry_us:
        return Step(state, (SetTimer(COMMIT_SYNC, min(app.retry_us, app.deadline_us)),))
    if isinstance(state.coordinator, Unknown):
        return look_up(state, consumer, now).also(SetTimer(COMMIT_SYNC, app.deadline_us))
    if waits_for_join(state, consumer) or is_behind_others(state, consumer):
        return Step(state, (SetTimer(COMMIT_SYNC, app.deadline_us),))
    exception = local_refusal(state, consumer)
    if exception is not None:
        error = local_error(exception)
        step = report_refused_commit(state, app.offsets, app.kind, error)
        return step.then(
            lambda s: _return_from(s, app, CommitResult(app.offsets, exception, error))
        )
    sent = replace(app, correlation_id=state.reads.next_correlation_id)
    step = send_commit(state, consumer, app.offsets, app.kind, now)
    after = replace(step.state, app=sent)
    return Step(after, (*step.effects, SetTimer(COMMIT_SYNC, app.deadline_us)))


def _await_asynchronous(
    state: ClientState, consumer: Consumer, app: CommittingSync, now: int
) -> Step[ClientState]:
    """End the call when no asynchronous commit is in flight, or at its deadline.

    If such a commit was fenced, the call throws. Source:
    ``ConsumerCoordinator.invokePendingAsyncCommits``.
    """
    step = run_callbacks(state, consumer, now)
    if state.commit_fenced is not None:
        result = CommitResult((), state.commit_fenced.exception, state.commit_fenced.error)
    elif not any(map(is_asynchronous, state.in_flight.values())):
        result = CommitResult(())
    elif now >= app.deadline_us:
        result = CommitResult((), ExceptionName.TIMEOUT)
    else:
        return step.also(SetTimer(COMMIT_SYNC, app.deadline_us))
    return step.then(lambda s: _return_from(s, app, result))


def on_commit_sync_response(
    state: ClientState,
    consumer: Consumer,
    number: int,
    flight: InFlight,
    error: ErrorCode,
    now: int,
) -> Step[ClientState]:
    """Handle the end of the commit that commitSync waits for.

    Callbacks of earlier asynchronous commits run first, so that callbacks keep the commit order.
    """
    app = state.app
    if not isinstance(app, CommittingSync) or app.correlation_id != number:
        return Step(state)
    if not state.callbacks:
        return _react(state, consumer, app, flight, error, now)
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
    if error is NONE:
        return _return_from(state, app, CommitResult(app.offsets))
    if error not in retried(consumer):
        exception = exception_for(state, flight, error)
        return _return_from(state, app, CommitResult(app.offsets, exception, error))
    retry = now + backoff_us(consumer, "commit", app.attempt, now)
    waiting = replace(app, correlation_id=None, attempt=app.attempt + 1, retry_us=retry)
    return advance_commit_sync(replace(state, app=waiting), consumer, now)


def _return_from(
    state: ClientState, app: CommittingSync, result: CommitResult
) -> Step[ClientState]:
    """Return from commitSync; inside close() there is no caller to return to."""
    after = replace(state, app=app.outer)
    if isinstance(app.outer, Closing):
        return Step(after)
    return Step(after, (Return(result),))


def _send_or_keep(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Send a commit without waiting; its callback runs at a later poll or commit.

    If the coordinator is unknown, the commit is sent after the lookup, or fails with it. A client that
    holds commits while it joins sends it then (franz-go ``waitJoinSyncMu``), one that sends them in turn
    sends it behind those in front of it.
    """
    if state.commit_fenced is not None:
        return Step(state, (Return(state.commit_fenced),))
    if not offsets:
        return Step(state)
    if not isinstance(state.coordinator, Known):
        return keep_pending(state, consumer, offsets, CommitKind.ASYNC, now)
    if waits_for_join(state, consumer) or waits_for_commit(state, consumer):
        held = (*state.pending_commits, (offsets, CommitKind.ASYNC))
        return Step(replace(state, pending_commits=held))
    return send_async(state, consumer, offsets, now)


CLOSE = "close"
"""Timer: the timeout of close() has run out."""


def begin_close(
    state: ClientState, consumer: Consumer, timeout_us: int, operation: CloseOperation, now: int
) -> Step[ClientState]:
    """Enter close(): the final automatic commit comes first, within the timeout.

    In librdkafka it comes behind the listener call (:func:`commit_and_leave`).
    """
    budget = min(timeout_us, consumer.settings.request_timeout_ms * MS)
    app = Closing(CloseStage.COMMIT, now + budget, operation, now + timeout_us)
    state = replace(state, app=app)
    step = Step(state, (SetTimer(CLOSE, app.deadline_us),))
    if not consumer.commits_revoked or consumer.profile.listener_first:
        return step.then(lambda s: advance_close(s, consumer, now))
    offsets = automatic_offsets(consumer)
    step = step.then(
        lambda s: begin_commit_sync(s, consumer, offsets, CommitKind.CLOSE, app.deadline_us, now)
    )
    return step.then(lambda s: advance_close(s, consumer, now))


def advance_close(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Run the steps of close() that are not blocked; no step waits longer than the timeout."""
    match state.app:
        case Closing(CloseStage.COMMIT) as app:
            looking = replace(state, app=replace(app, stage=CloseStage.LOOKUP))
            return advance_close(looking, consumer, now)
        case Closing(CloseStage.LOOKUP, deadline):
            if not state.pending_commits or now >= deadline:
                ended = end_pending(state, now)
                return ended.then(lambda s: _call_listener(s, consumer, now))
            if isinstance(state.coordinator, Unknown):
                return look_up(state, consumer, now)
            return _close_pending(state, consumer, now)
        case Closing(CloseStage.REMOVED):
            return leave_group_and_wait(state, consumer, state.app, now)
        case Closing(CloseStage.LEAVE, deadline):
            if _awaited(state, consumer) and now < deadline:
                return Step(state)
            return _close_sessions(state, consumer, state.app, now)
        case Closing(CloseStage.FETCHES, deadline):
            if consumer.fetcher.in_flight & state.app.sessions and now < deadline:
                return Step(state)
            return Step(replace(state, app=Closed()), (Return(Closed()),))
        case _:
            return Step(state)


def _close_sessions(
    state: ClientState, consumer: Consumer, app: Closing, now: int
) -> Step[ClientState]:
    """Close the fetch sessions, and wait for the answers (``Fetcher.maybeCloseFetchSessions``)."""
    deadline = min(app.ends_us, now + consumer.settings.request_timeout_ms * MS)
    if not consumer.profile.awaits_fetches_at_close or now >= deadline:
        return Step(replace(state, app=Closed()), (Return(Closed()),))
    requests = consumer.fetcher.close_sessions(state.metadata.brokers, now)
    sessions = frozenset(broker for broker, _ in requests)
    closing = replace(app, stage=CloseStage.FETCHES, deadline_us=deadline, sessions=sessions)
    sends = [Send(*each) for each in requests]
    step = Step(replace(state, app=closing), (*sends, SetTimer(CLOSE, deadline)))
    return step.then(lambda s: advance_close(s, consumer, now))


def _close_pending(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the commits that were kept; one behind another waits, one behind a join ends in an error."""
    step = send_pending(state, consumer, now)
    if step.state.pending_commits and waits_for_commit(step.state, consumer):
        return step
    ended = step.then(lambda s: end_pending(s, now))
    return ended.then(lambda s: _call_listener(s, consumer, now))


def _awaited(state: ClientState, consumer: Consumer) -> bool:
    """Return whether close() waits for a response of the known coordinator.

    Source: ``awaitPendingRequests``.

    A static member's JoinGroup or SyncGroup may stay in purgatory until the rebalance continues. A
    dynamic member's LeaveGroup completes it; the SyncGroup of a member that left gets no response.
    """
    known = state.coordinator
    if not isinstance(known, Known):
        return False
    flights = [flight for flight in state.in_flight.values() if flight.broker == known.broker]
    if consumer.settings.group_instance_id is None:
        return any(flight.api in (Api.LEAVE, Api.COMMIT) for flight in flights)
    return bool(flights)


def _call_listener(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Stop the heartbeat thread and make the last listener call."""
    app = state.app
    assert isinstance(app, Closing)
    state = replace(state, beat=None)
    call = last_call(state, consumer)
    if call is None:
        return commit_and_leave(state, consumer, app, now)
    calling = Calling(Resume.CLOSE, None, closing=app)
    return Step(replace(state, app=calling), (call,))


def commit_and_leave(
    state: ClientState, consumer: Consumer, app: Closing, now: int
) -> Step[ClientState]:
    """Continue behind the last listener call; librdkafka first commits what it gives away.

    It does so though the offsets are committed already. Source: ``rd_kafka_assignment_serve_removals``.
    """
    member = state.membership is Membership.USER_ASSIGNED or not state.generation.lost
    commits = consumer.settings.enable_auto_commit and consumer.profile.listener_first and member
    offsets = automatic_offsets(consumer, frozenset(state.assignment)) if commits else ()
    if not offsets:
        return leave_group_and_wait(state, consumer, app, now)
    deadline_us = app.deadline_us  # a listener that outlasts it does not cost the commit
    if now >= deadline_us:
        deadline_us = now + consumer.settings.request_timeout_ms * MS
    closing = replace(app, stage=CloseStage.REMOVED, deadline_us=deadline_us)
    step = Step(replace(state, app=closing), (SetTimer(CLOSE, deadline_us),))
    step = step.then(
        lambda s: begin_commit_sync(s, consumer, offsets, CommitKind.CLOSE, deadline_us, now)
    )
    return step.then(lambda s: advance_close(s, consumer, now))


def leave_group_and_wait(
    state: ClientState, consumer: Consumer, app: Closing, now: int
) -> Step[ClientState]:
    """Leave the group and wait for requests in flight, at most until the timeout.

    The state is always reset, so that no later response makes it a member again. The reset is not
    reported as a loss of membership, because the member left on purpose.
    """
    state = replace(state, app=replace(app, stage=CloseStage.LEAVE), assignment=())
    reason = "the consumer is being closed"
    step = send_leave(state, consumer, reason, now, operation=app.operation)
    gone = reset(step.state, LEFT_BY_ITSELF, keep_member_id=False).state
    return Step(gone, step.effects).then(lambda s: advance_close(s, consumer, now))


# -- unsubscribe ----------------------------------------------------------------------------------


def unsubscribe(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Drop the subscription: listener call, LeaveGroup, no automatic commit."""
    call = last_call(state, consumer)
    if call is None:
        return leave_after_unsubscribe(state, consumer, now)
    return Step(replace(state, app=Calling(Resume.UNSUBSCRIBE, None)), (call,))
