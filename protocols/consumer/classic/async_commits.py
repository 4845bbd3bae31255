"""Commits that no call waits for: automatic ones, also at a revocation, and those of commitAsync.

Source: ``ConsumerCoordinator.maybeAutoCommitOffsetsAsync``, ``commitOffsetsAsync``,
``invokeCompletedOffsetCommitCallbacks``.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from assignors.types import TopicPartition
from protocols.consumer.calls import ExceptionName
from protocols.consumer.classic.commits import (
    is_illegal,
    is_turn_of_join,
    local_error,
    local_refusal,
    report_refused_commit,
    send_commit,
    waits_for_commit,
    waits_for_join,
)
from protocols.consumer.classic.membership import RETRY
from protocols.consumer.classic.phases import Outside, PrepareCommitted, PrepareCommitting
from protocols.consumer.classic.state import Api, ClientState, Consumer, InFlight, Membership
from protocols.consumer.clients import Repeats
from protocols.consumer.committing import RETRIED, automatic_offsets
from protocols.consumer.lookup import Known
from protocols.consumer.reader import MS
from protocols.consumer.requests import look_up
from protocols.facts import CommitKind
from protocols.machine import SetTimer, Step
from protocols.messages import OffsetToCommit
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def autocommit_due(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the periodic commit if it is due (``maybeAutoCommitOffsetsAsync``).

    With an interval of 0 Kafka's poll loop never waits and commits in every pass. Passes take no
    time here, so a waiting poll() commits once in each millisecond, the step of Kafka's clock.
    """
    settings = consumer.settings
    if not settings.enable_auto_commit or now < state.autocommit_us:
        return Step(state)
    following = now + max(settings.auto_commit_interval_ms, 1) * MS
    state = replace(state, autocommit_us=following)
    return commit_automatically(state, consumer, CommitKind.AUTO, now)


def due_at_poll(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    """Begin the interval with the first poll(); if it is 0, let each call of poll() commit.

    The interval begins with the consumer, and again when a join ends.
    """
    interval = consumer.settings.auto_commit_interval_ms * MS
    if not state.autocommit_us:
        return replace(state, autocommit_us=now + interval)
    if interval or state.autocommit_us > now + MS:
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

    *only*: the partitions that the commit covers; None: all. A consumer with partitions of its own
    looks an unknown coordinator up for it, as it does so for nothing else but committed offsets.
    """
    offsets = automatic_offsets(consumer, only)
    if not offsets:
        return Step(state)
    if not isinstance(state.coordinator, Known):
        user_assigned = state.membership is Membership.USER_ASSIGNED
        return keep_pending(state, consumer, offsets, kind, now) if user_assigned else Step(state)
    exception = local_refusal(state, consumer)
    if exception is not None:
        return report_refused_commit(state, offsets, kind, local_error(exception))
    return send_commit(state, consumer, offsets, kind, now)


# -- commitAsync --------------------------------------------------------------------------------


def send_async(
    state: ClientState,
    consumer: Consumer,
    offsets: tuple[OffsetToCommit, ...],
    now: int,
    kind: CommitKind = CommitKind.ASYNC,
) -> Step[ClientState]:
    """Send a commit without waiting; if the client rejects it, its callback gets the error."""
    exception = local_refusal(state, consumer)
    if is_illegal(state, consumer, offsets):
        exception = ExceptionName.ILLEGAL_STATE
    if exception is not None:
        return _unsent(state, offsets, kind, local_error(exception), now)
    return send_commit(state, consumer, offsets, kind, now)


def _unsent(
    state: ClientState,
    offsets: tuple[OffsetToCommit, ...],
    kind: CommitKind,
    error: ErrorCode,
    now: int,
) -> Step[ClientState]:
    flight = InFlight(Api.COMMIT, -1, now, state.generation, offsets, kind)
    callbacks = (*state.callbacks, (flight, state.reads.next_correlation_id, error))
    return report_refused_commit(replace(state, callbacks=callbacks), offsets, kind, error)


def keep_pending(
    state: ClientState,
    consumer: Consumer,
    offsets: tuple[OffsetToCommit, ...],
    kind: CommitKind,
    now: int,
) -> Step[ClientState]:
    """Keep a commit until the coordinator has been looked up (``commitOffsetsAsync``).

    If no broker can be asked, the lookup has failed at once, and so have the commits kept.
    """
    pending = (*state.pending_commits, (offsets, kind))
    step = look_up(replace(state, pending_commits=pending), consumer, now)
    unknown = step.state.coordinator
    if unknown is state.coordinator or isinstance(unknown, Known) or unknown.lookup is not None:
        return step
    return step.then(lambda s: end_pending(s, now))


def is_asynchronous(flight: InFlight) -> bool:
    """Return whether a request in flight is a commit that no call waits for.

    Automatic commits count, including the one before a rebalance
    (``ConsumerCoordinator.inFlightAsyncCommits``).
    """
    return flight.api is Api.COMMIT and flight.kind in (
        CommitKind.AUTO,
        CommitKind.PREPARE,
        CommitKind.ASYNC,
    )


def send_pending(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the commits that waited for a lookup, a join or another commit, in their order.

    The commit before a rebalance is sent by the join, if the application lets it go on.
    """
    step = Step(state)
    while step.state.pending_commits:
        if waits_for_join(step.state, consumer) or waits_for_commit(step.state, consumer):
            return step
        if is_turn_of_join(step.state) and isinstance(step.state.app, Outside):
            return step
        step = step.then(lambda s: _send_first_pending(s, consumer, now))
    return step


def _send_first_pending(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    (offsets, kind), *later = state.pending_commits
    state = replace(state, pending_commits=tuple(later))
    if offsets is not None:
        return send_async(state, consumer, offsets, now, kind)
    if kind is CommitKind.PREPARE:
        return Step(state)  # no join can send it now: it takes its turn again
    return commit_automatically(state, consumer, kind, now)


def end_pending(state: ClientState, now: int) -> Step[ClientState]:
    """End the commits that waited for a lookup that failed (``RetriableCommitFailedException``).

    A later lookup could send them after newer ones.
    """
    step = Step(replace(state, pending_commits=()))
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for offsets, kind in state.pending_commits:
        if offsets is None:
            continue
        step = step.then(partial(_unsent, offsets=offsets, kind=kind, error=error, now=now))
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


# -- at a revocation ----------------------------------------------------------------------------
# The Java client commits in onJoinPrepare alone (``rejoin.py``). Of those that work in the background, librdkafka
# commits after the revoke listener (``rd_kafka_assignment_serve_removals``), franz-go before it and before joining
# (``defaultRevoke``).


def commit_at_revocation(
    state: ClientState, consumer: Consumer, gone: frozenset[TopicPartition], now: int
) -> Step[ClientState]:
    """Commit before partitions are given away, and wait for the response; return no records.

    Source: librdkafka ``rd_kafka_assignment_serve_removals``, after the listener call, whose
    ``unassign()`` begins it; franz-go ``defaultRevoke``, before the call.
    """
    match state.prepare:
        case PrepareCommitted():
            return Step(state)
        case PrepareCommitting() as waiting:
            return _await_commit(state, consumer, waiting, now)
        case _:
            deadline = now + consumer.settings.session_timeout_ms * MS
            return _send_commit(state, consumer, PrepareCommitting(deadline, None, gone), now)


def _send_commit(
    state: ClientState, consumer: Consumer, waiting: PrepareCommitting, now: int
) -> Step[ClientState]:
    """Send the commit of a revocation, or wait for the coordinator; a lost member has none."""
    only = waiting.gone if consumer.profile.listener_first else None
    committing = consumer.commits_revoked and state.membership is Membership.STABLE
    if not committing or not automatic_offsets(consumer, only):
        ended = isinstance(state.prepare, PrepareCommitting)
        return Step(replace(state, prepare=PrepareCommitted(waiting.gone)) if ended else state)
    number = state.reads.next_correlation_id if isinstance(state.coordinator, Known) else None
    state = replace(state, prepare=replace(waiting, commit=number), revoking=True)
    return commit_automatically(state, consumer, CommitKind.PREPARE, now, only)


def _await_commit(
    state: ClientState, consumer: Consumer, waiting: PrepareCommitting, now: int
) -> Step[ClientState]:
    """Wait for the response; librdkafka repeats it (``rd_kafka_cgrp_defer_offset_commit``)."""
    if now < waiting.deadline_us and waiting.commit is not None:
        return Step(state)
    if now >= waiting.deadline_us or not consumer.profile.listener_first:
        return Step(replace(state, prepare=PrepareCommitted(waiting.gone)))
    retry = waiting.retry_us
    if retry is None:
        retry = now + consumer.settings.retry_backoff_ms * MS
        state = replace(state, prepare=replace(waiting, retry_us=retry))
    if now >= retry:
        return _send_commit(state, consumer, replace(waiting, retry_us=None), now)
    return Step(state, (SetTimer(RETRY, retry),))
