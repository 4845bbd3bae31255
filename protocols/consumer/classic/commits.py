"""Commits of the classic client: sending them, their responses, their callbacks.

Source: ``ConsumerCoordinator.sendOffsetCommitRequest``, ``OffsetCommitResponseHandler``.
"""

from __future__ import annotations

from typing import Final

from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.classic import next_join
from protocols.consumer.classic.membership import ask, forget_coordinator, request_rejoin, reset_by
from protocols.consumer.classic.phases import (
    CommittingSync,
    Prepare,
    PrepareCommitted,
    PrepareCommitting,
)
from protocols.consumer.classic.state import Api, ClientState, Consumer, InFlight, Membership
from protocols.consumer.clients import InRebalance
from protocols.consumer.committing import retried
from protocols.consumer.lookup import LOSES_COORDINATOR, Known
from protocols.consumer.requests import take_number
from protocols.facts import CommitAnswered, CommitKind, CommitRefused, CommitSent
from protocols.machine import Report, Step
from protocols.messages import OffsetCommitRequest, OffsetToCommit, pairs_of
from protocols.messages.errors import ErrorCode
from protocols.values import replace

NONE: Final = ErrorCode.NONE


def local_refusal(state: ClientState, consumer: Consumer) -> ExceptionName | None:
    """Return the exception that rejects a commit before it is sent; None: it may be sent."""
    if state.membership is Membership.UNJOINED:
        return None if consumer.profile.commits_removed else ExceptionName.COMMIT_FAILED
    refuses = consumer.profile.in_rebalance is InRebalance.REFUSED
    return ExceptionName.REBALANCE_IN_PROGRESS if refuses and _joins(state) else None


def waits_for_join(state: ClientState, consumer: Consumer) -> bool:
    """Return whether a commit of the application is held until the member has joined."""
    return consumer.profile.in_rebalance is InRebalance.WAITS and _joins(state)


def waits_for_commit(state: ClientState, consumer: Consumer) -> bool:
    """Return whether the next commit is held until the one in flight is answered.

    Source: aiokafka ``GroupCoordinator._commit_lock``.
    """
    if not consumer.profile.commits_in_turn:
        return False
    return any(flight.api is Api.COMMIT for flight in state.in_flight.values())


def is_behind_others(state: ClientState, consumer: Consumer) -> bool:
    """Return whether the next commit is held until those requested before it are answered."""
    held = consumer.profile.commits_in_turn and bool(state.pending_commits)
    return held or waits_for_commit(state, consumer)


def queue_automatic(state: ClientState, kind: CommitKind) -> ClientState:
    """Let an automatic commit wait for those before it."""
    return replace(state, pending_commits=(*state.pending_commits, (None, kind)))


def holds_automatic(state: ClientState, consumer: Consumer) -> bool:
    """Return whether no automatic commit becomes due: one is not answered, or commitSync waits.

    The task that commits awaits the response; commitSync, if it waits already, comes first.
    """
    if not consumer.profile.commits_in_turn:
        return False
    app = state.app
    return _sends_automatic(state) or (
        isinstance(app, CommittingSync) and app.correlation_id is None
    )


def _sends_automatic(state: ClientState) -> bool:
    in_flight = any(flight.kind is CommitKind.AUTO for flight in state.in_flight.values())
    return in_flight or any(offsets is None for offsets, _ in state.pending_commits)


def holds_join(state: ClientState, consumer: Consumer) -> bool:
    """Return whether the commit before a rebalance is held until those before it are answered."""
    if is_turn_of_join(state):
        return waits_for_commit(state, consumer)
    return is_behind_others(state, consumer)


def queue_join(state: ClientState) -> ClientState:
    """Let the commit before a rebalance wait; the task that joins first ends its automatic commit."""
    return state if _sends_automatic(state) else queue_automatic(state, CommitKind.PREPARE)


def is_turn_of_join(state: ClientState) -> bool:
    """Return whether the first commit that waits is the one before a rebalance."""
    if state.rejoin is None or not state.pending_commits:
        return False
    return state.pending_commits[0][1] is CommitKind.PREPARE


def without_turn_of_join(state: ClientState) -> ClientState:
    """End the wait of the commit before a rebalance, which the join sends now."""
    if not is_turn_of_join(state):
        return state
    return replace(state, pending_commits=state.pending_commits[1:])


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
    """Send one OffsetCommit; the state must allow it and the coordinator must be known.

    A consumer with partitions of its own names neither a member nor an instance.
    """
    generation = state.generation
    request = OffsetCommitRequest(
        group_id=consumer.group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=_instance_of(state, consumer),
        offsets=offsets,
    )
    sent = _sent(state, state.reads.next_correlation_id, kind, offsets)
    step = ask(state, consumer, Api.COMMIT, request, now, commit=offsets, kind=kind)
    return Step(step.state, (Report(sent), *step.effects))


def _instance_of(state: ClientState, consumer: Consumer) -> str | None:
    if state.membership is Membership.USER_ASSIGNED or not consumer.profile.names_instance:
        return None
    return consumer.settings.group_instance_id


def _sent(
    state: ClientState, number: int, kind: CommitKind, offsets: tuple[OffsetToCommit, ...]
) -> CommitSent:
    return CommitSent(
        correlation_id=number,
        kind=kind,
        generation=state.generation.id,
        offsets=pairs_of(offsets),
    )


def report_refused_commit(
    state: ClientState, offsets: tuple[OffsetToCommit, ...], kind: CommitKind, error: ErrorCode
) -> Step[ClientState]:
    """Report a commit that the client rejected without sending it."""
    number, after = take_number(state)
    sent = _sent(state, number, kind, offsets)
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


# -- responses -------------------------------------------------------------------------------------


def on_commit_response(
    state: ClientState,
    consumer: Consumer,
    number: int,
    flight: InFlight,
    error: ErrorCode,
    now: int,
) -> Step[ClientState]:
    """Handle the response to a commit, and record its end for the call that waits."""
    if error is NONE:
        if consumer.store is not None:
            consumer.store.committed(flight.commit)
        return on_commit_ended(state, consumer, number, flight, error)
    return _side_effects(state, consumer, flight, error, now).then(
        lambda s: on_commit_ended(s, consumer, number, flight, error)
    )


def _side_effects(
    state: ClientState, consumer: Consumer, flight: InFlight, error: ErrorCode, now: int
) -> Step[ClientState]:
    gone = error in LOSES_COORDINATOR or error is ErrorCode.REQUEST_TIMED_OUT
    gone = gone and consumer.profile.looks_up_again
    if gone and isinstance(state.coordinator, Known):
        return forget_coordinator(state, consumer, f"commit answered {error.name}", now)
    if error is ErrorCode.REBALANCE_IN_PROGRESS:
        if not consumer.profile.joins_after_refusal:
            return Step(state)
        return Step(
            request_rejoin(state, "offset commit failed since group is already rebalancing")
        )
    if error is ErrorCode.FENCED_INSTANCE_ID:
        return Step(_fenced(state, flight))
    if not consumer.profile.commits_cost_membership:
        return Step(state)
    if _moved_on(state, flight) or flight.generation.lost:
        return Step(state)
    if error in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID):
        keep = error in consumer.profile.keeps_id_after
        lost = next_join.lost(state, consumer)
        return reset_by(lost, error.name, "OFFSET_COMMIT", keep_member_id=keep)
    return Step(state)


def _moved_on(state: ClientState, flight: InFlight) -> bool:
    """Return whether a newer join is in progress, so that errors of the old one are ignored."""
    preparing = state.membership is Membership.PREPARING_REBALANCE
    return preparing and flight.generation != state.generation


def _fenced(state: ClientState, flight: InFlight) -> ClientState:
    """Record that a newer process has the instance id, so that every later call throws.

    A fenced commitSync throws by itself (``ConsumerCoordinator.asyncCommitFenced``).
    """
    if flight.kind in (CommitKind.SYNC, CommitKind.CLOSE) or flight.generation != state.generation:
        return state
    return replace(
        state, commit_fenced=Failed(ExceptionName.FENCED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID)
    )


def on_commit_ended(
    state: ClientState, consumer: Consumer, number: int, flight: InFlight, error: ErrorCode
) -> Step[ClientState]:
    """Record the end of a commit for the call or the callback that waits for it."""
    ended = Report(
        CommitAnswered(
            correlation_id=number, kind=flight.kind, error=error.name, requested=flight.commit
        )
    )
    match flight.kind:
        case CommitKind.PREPARE:
            prepare = _prepared(state, consumer, number, error)
            return Step(replace(state, prepare=prepare), (ended,))
        case CommitKind.AUTO | CommitKind.ASYNC:
            return Step(
                replace(state, callbacks=(*state.callbacks, (flight, number, error))), (ended,)
            )
        case _:
            return Step(state, (ended,))


def _prepared(state: ClientState, consumer: Consumer, number: int, error: ErrorCode) -> Prepare:
    prepare = state.prepare
    if not isinstance(prepare, PrepareCommitting) or prepare.commit != number:
        return prepare
    if error in retried(consumer):
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
