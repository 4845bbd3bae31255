"""Commits of the classic client: sending them, their responses, their callbacks.

Source: ``ConsumerCoordinator.sendOffsetCommitRequest``, ``OffsetCommitResponseHandler``.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.classic.membership import ask, forget_coordinator, request_rejoin, reset_by
from protocols.consumer.classic.state import (
    Asked,
    ClientState,
    Consumer,
    InFlight,
    Membership,
    Prepare,
    PrepareCommitted,
    PrepareCommitting,
)
from protocols.consumer.clients import InRebalance, Repeats
from protocols.consumer.reader import MS
from protocols.consumer.requests import (
    LOSES_COORDINATOR,
    RETRIED,
    Known,
    automatic_offsets,
    on_reads,
    take_number,
)
from protocols.facts import CommitAnswered, CommitKind, CommitRefused, CommitSent, pairs_of
from protocols.machine import Report, Step
from protocols.messages import OffsetCommitRequest, OffsetToCommit
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def begin_commit(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Begin a commit of the application: run earlier callbacks, record its leader epochs."""
    epochs = ((entry.partition, entry.leader_epoch) for entry in offsets)
    step = run_callbacks(state, consumer, now)
    return step.then(
        lambda s: on_reads(s, lambda reads: metadata.note_epochs(reads, consumer, epochs, now))
    )


def local_refusal(state: ClientState, consumer: Consumer) -> ExceptionName | None:
    """Return the exception that rejects a commit before it is sent; None: it may be sent."""
    if state.membership is Membership.UNJOINED:
        return ExceptionName.COMMIT_FAILED
    refuses = consumer.profile.in_rebalance is InRebalance.REFUSED
    return ExceptionName.REBALANCE_IN_PROGRESS if refuses and _joins(state) else None


def waits_for_join(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a commit of the application is held until the member has joined."""
    return consumer.profile.in_rebalance is InRebalance.WAITS and _joins(state)


def _joins(state: ClientState) -> bool:
    return state.membership in (Membership.PREPARING_REBALANCE, Membership.COMPLETING_REBALANCE)


def is_illegal(state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...]) -> bool:
    """Return whether the client refuses these offsets, as a partition of them is not assigned.

    Only a member of a stable group is checked, by what it reads (aiokafka ``consumer.commit``).
    """
    if consumer.profile.commits_unassigned or state.membership is not Membership.STABLE:
        return False
    owned = consumer.positions.readings
    return state.future is None and any(entry.partition not in owned for entry in offsets)


def send_commit(
    state: ClientState,
    consumer: Consumer,
    offsets: tuple[OffsetToCommit, ...],
    kind: CommitKind,
    now: int,
) -> Step[ClientState]:
    """Send one OffsetCommit; the state must allow it and the coordinator must be known."""
    generation = state.generation
    request = OffsetCommitRequest(
        group_id=consumer.group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=consumer.settings.group_instance_id,
        offsets=offsets,
    )
    number = state.reads.next_correlation_id
    sent = CommitSent(
        correlation_id=number, kind=kind, generation=generation.id, offsets=pairs_of(offsets)
    )
    step = ask(state, consumer, Asked.COMMIT, request, now, commit=offsets, kind=kind)
    return Step(step.state, (Report(sent), *step.effects))


def report_refused_commit(
    state: ClientState, offsets: tuple[OffsetToCommit, ...], kind: CommitKind, error: ErrorCode
) -> Step[ClientState]:
    """Report a commit that the client rejected without sending it."""
    number, after = take_number(state)
    sent = CommitSent(
        correlation_id=number,
        kind=kind,
        generation=state.generation.id,
        offsets=pairs_of(offsets),
    )
    refused = CommitRefused(
        correlation_id=number,
        kind=kind,
        generation=state.generation.id,
        error=error.name,
        by="client",
        offsets=sent.offsets,
        requested=offsets,
    )
    return Step(after, (Report(sent), Report(refused)))


def local_error(exception: ExceptionName) -> ErrorCode:
    """Return the error code to report for a commit that the client rejected."""
    if exception == ExceptionName.REBALANCE_IN_PROGRESS:
        return ErrorCode.REBALANCE_IN_PROGRESS
    if exception == ExceptionName.ILLEGAL_STATE:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.UNKNOWN_MEMBER_ID


# -- automatic commits -------------------------------------------------------------------------


def autocommit_due(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the periodic commit if it is due (``maybeAutoCommitOffsetsAsync``).

    With an interval of 0 Kafka's poll loop never waits and commits in every pass. Passes take no
    time here, so a waiting poll() commits once in each millisecond, the step of Kafka's clock.
    """
    settings = consumer.settings
    if not settings.enable_auto_commit or now < state.autocommit_us:
        return Step(state)
    interval = settings.auto_commit_interval_ms * MS
    step = commit_automatically(
        replace(state, autocommit_us=now + interval), consumer, CommitKind.AUTO, now
    )
    if interval or not step.effects:
        return step
    return Step(replace(step.state, autocommit_us=now + MS), step.effects)


def due_at_poll(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    """Let each call of poll() commit if the interval is 0."""
    if consumer.settings.auto_commit_interval_ms or state.autocommit_us > now + MS:
        return state
    return replace(state, autocommit_us=now)


def commit_automatically(
    state: ClientState,
    consumer: Consumer,
    kind: CommitKind,
    now: int,
    only: frozenset[TopicPartition] | None = None,
) -> Step[ClientState]:
    """Commit asynchronously; send nothing if there is nothing to commit.

    *only*: the partitions that the commit covers; None: all.
    """
    offsets = automatic_offsets(consumer, only)
    if not offsets or not isinstance(state.coordinator, Known):
        return Step(state)
    exception = local_refusal(state, consumer)
    if exception is not None:
        return report_refused_commit(state, offsets, kind, local_error(exception))
    return send_commit(state, consumer, offsets, kind, now)


# -- commitAsync --------------------------------------------------------------------------------


def send_async(
    state: ClientState, consumer: Consumer, offsets: tuple[OffsetToCommit, ...], now: int
) -> Step[ClientState]:
    """Send a commit without waiting; if the client rejects it, its callback gets the error."""
    exception = local_refusal(state, consumer)
    if is_illegal(state, consumer, offsets):
        exception = ExceptionName.ILLEGAL_STATE
    if exception is not None:
        return _unsent(state, offsets, local_error(exception), now)
    return send_commit(state, consumer, offsets, CommitKind.ASYNC, now)


def _unsent(
    state: ClientState, offsets: tuple[OffsetToCommit, ...], error: ErrorCode, now: int
) -> Step[ClientState]:
    flight = InFlight(Asked.COMMIT, -1, now, state.generation, offsets, CommitKind.ASYNC)
    callbacks = (*state.callbacks, (flight, state.reads.next_correlation_id, error))
    return report_refused_commit(
        replace(state, callbacks=callbacks), offsets, CommitKind.ASYNC, error
    )


def is_asynchronous(flight: InFlight) -> bool:
    """Return whether a request in flight is a commit that no call waits for.

    Automatic commits count, including the one before a rebalance
    (``ConsumerCoordinator.inFlightAsyncCommits``).
    """
    return flight.asked is Asked.COMMIT and flight.kind in (
        CommitKind.AUTO,
        CommitKind.PREPARE,
        CommitKind.ASYNC,
    )


def send_pending(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the commits that waited for a lookup, in their order, after it succeeded."""
    step = Step(replace(state, pending_commits=()))
    for offsets in state.pending_commits:
        step = step.then(partial(send_async, consumer=consumer, offsets=offsets, now=now))
    return step


def end_pending(state: ClientState, now: int) -> Step[ClientState]:
    """End the commits that waited for a lookup that failed (``RetriableCommitFailedException``).

    A later lookup could send them after newer ones.
    """
    step = Step(replace(state, pending_commits=()))
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for offsets in state.pending_commits:
        step = step.then(partial(_unsent, offsets=offsets, error=error, now=now))
    return step


_REPEATED: Final = {
    Repeats.NONE: frozenset[ErrorCode](),
    Repeats.RETRIABLE: frozenset(RETRIED),
    Repeats.MEMBERSHIP_TOO: frozenset(RETRIED)
    | {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
    },
}
"""The errors after which an automatic commit follows again soon."""


def run_callbacks(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Run the callbacks of asynchronous commits that ended.

    After some failures, the next automatic commit follows after ``retry.backoff.ms``.
    Source: ``invokeCompletedOffsetCommitCallbacks``, aiokafka ``_maybe_do_autocommit``.
    """
    if not state.callbacks:
        return Step(state)
    repeated = _REPEATED[consumer.profile.repeats_commits]
    for flight, _, error in state.callbacks:
        if flight.kind is CommitKind.AUTO and error in repeated:
            retry = now + consumer.settings.retry_backoff_ms * MS
            state = replace(state, autocommit_us=retry)
    return Step(replace(state, callbacks=()))


# -- answers ------------------------------------------------------------------------------------


def on_commit_response(
    state: ClientState,
    consumer: Consumer,
    number: int,
    flight: InFlight,
    error: ErrorCode,
    now: int,
) -> Step[ClientState]:
    """Handle the response to a commit, and record its end for the call that waits."""
    if consumer.store is not None and error is ErrorCode.NONE:
        consumer.store.committed(flight.commit)
    return _side_effects(state, consumer, flight, error, now).then(
        lambda s: on_commit_ended(s, number, flight, error)
    )


def _side_effects(
    state: ClientState, consumer: Consumer, flight: InFlight, error: ErrorCode, now: int
) -> Step[ClientState]:
    gone = error in LOSES_COORDINATOR or error is ErrorCode.REQUEST_TIMED_OUT
    gone = gone and consumer.profile.looks_up_again
    if gone and isinstance(state.coordinator, Known):
        return forget_coordinator(state, consumer, f"commit answered {error.name}", now)
    if error is ErrorCode.REBALANCE_IN_PROGRESS:
        return Step(
            request_rejoin(state, "offset commit failed since group is already rebalancing")
        )
    if error is ErrorCode.FENCED_INSTANCE_ID:
        return Step(_poisoned(state, flight))
    if _moved_on(state, flight):
        return Step(state)
    if error is ErrorCode.ILLEGAL_GENERATION:
        return reset_by(state, error.name, "OFFSET_COMMIT", keep_member_id=True)
    if error is ErrorCode.UNKNOWN_MEMBER_ID:
        return reset_by(state, error.name, "OFFSET_COMMIT", keep_member_id=False)
    return Step(state)


def _moved_on(state: ClientState, flight: InFlight) -> bool:
    """Return whether a newer join is in progress, so that errors of the old one are ignored."""
    preparing = state.membership is Membership.PREPARING_REBALANCE
    return preparing and flight.generation != state.generation


def _poisoned(state: ClientState, flight: InFlight) -> ClientState:
    """Record that a newer process has the instance id, so that every later call throws.

    A fenced commitSync throws by itself (``ConsumerCoordinator.asyncCommitFenced``).
    """
    if flight.kind in (CommitKind.SYNC, CommitKind.CLOSE) or flight.generation != state.generation:
        return state
    return replace(
        state, poisoned=Failed(ExceptionName.FENCED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID)
    )


def on_commit_ended(
    state: ClientState, number: int, flight: InFlight, error: ErrorCode
) -> Step[ClientState]:
    """Record the end of a commit for the call or the callback that waits for it."""
    ended = Report(
        CommitAnswered(
            correlation_id=number, kind=flight.kind, error=error.name, requested=flight.commit
        )
    )
    match flight.kind:
        case CommitKind.PREPARE:
            return Step(replace(state, prepare=_prepared(state, number, error)), (ended,))
        case CommitKind.AUTO | CommitKind.ASYNC:
            return Step(
                replace(state, callbacks=(*state.callbacks, (flight, number, error))), (ended,)
            )
        case _:
            return Step(state, (ended,))


def _prepared(state: ClientState, number: int, error: ErrorCode) -> Prepare:
    prepare = state.prepare
    if not isinstance(prepare, PrepareCommitting) or prepare.commit != number:
        return prepare
    if error in RETRIED:
        return replace(prepare, commit=None)
    return PrepareCommitted(prepare.gone)


def exception_for(state: ClientState, flight: InFlight, error: ErrorCode) -> ExceptionName:
    """Return the exception that ends a commitSync after an error that is not retried."""
    match error:
        case ErrorCode.REBALANCE_IN_PROGRESS:
            return ExceptionName.REBALANCE_IN_PROGRESS
        case ErrorCode.FENCED_INSTANCE_ID if flight.generation == state.generation:
            return ExceptionName.FENCED_INSTANCE_ID
        case (
            ErrorCode.ILLEGAL_GENERATION
            | ErrorCode.UNKNOWN_MEMBER_ID
            | ErrorCode.FENCED_INSTANCE_ID
        ):
            return (
                ExceptionName.REBALANCE_IN_PROGRESS
                if _moved_on(state, flight)
                else ExceptionName.COMMIT_FAILED
            )
        case _:
            return ExceptionName.KAFKA
