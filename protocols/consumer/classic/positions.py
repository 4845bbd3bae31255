"""Committed offsets of new partitions, fetched by the application thread in poll.

Source: ``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded``.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer import offset_fetcher, validation
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.classic.membership import RETRY, ask, forget_coordinator
from protocols.consumer.classic.state import (
    Api,
    ClientState,
    Consumer,
    OffsetsFailure,
    PendingOffsetFetch,
)
from protocols.consumer.lookup import LOSES_COORDINATOR, Known
from protocols.consumer.positions import Phase
from protocols.consumer.reader import MS, Reads, backoff_us
from protocols.consumer.requests import on_reads
from protocols.machine import Return, SetTimer, Step
from protocols.messages import OffsetFetchRequest, OffsetFetchResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace


def begin_poll(state: ClientState) -> ClientState:
    """Let a poll that begins now send OffsetFetch at once: a back-off ends with its poll.

    Source: ``ConsumerCoordinator.fetchCommittedOffsets``.
    """
    if not state.offsets_attempt:
        return state
    return replace(state, offsets_attempt=0, offsets_retry_us=0)


def update_positions(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Request the validations, committed offsets and resets that positions need.

    A leader without a connection is asked in the pass after that which opens it
    (``OffsetFetcher.validatePositionsAsync``).
    """
    connects_first = not consumer.profile.in_background
    step = on_reads(
        state,
        lambda r: validation.validate_positions(r, consumer, now, connects_first=connects_first),
    )
    thrown = any(isinstance(effect, Return) for effect in step.effects)
    if thrown or consumer.positions.all_reading():
        return step
    return step.then(lambda s: _initialise(s, consumer, now))


def _initialise(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Request committed offsets first, then resets."""
    initializing = consumer.positions.in_phase(Phase.INITIALIZING)
    failure = state.offsets_failure
    if failure is not None:
        state = replace(state, offsets_failure=None)
        if failure[1:] == (state.generation, initializing):
            return Step(state, (Return(failure.failed),))
    step = Step(state)
    if initializing:
        step = _fetch_committed(state, consumer, now)
    step = step.then(
        lambda s: on_reads(s, lambda reads: offset_fetcher.list_offsets(reads, consumer, now))
    )
    again = _next_try_us(step.state, consumer, now)
    step = step.then(lambda s: on_reads(s, _end_of_turn))
    return step if again is None else step.also(SetTimer(RETRY, again))


def _end_of_turn(reads: Reads) -> Step[Reads]:
    """Let the next turn validate the committed offsets that became positions in this one."""
    return Step(reads if reads.taken_us is None else replace(reads, taken_us=None))


def _next_try_us(state: ClientState, consumer: Consumer, now: int) -> int | None:
    """Return when (us) the next request about positions may be sent, if one has to wait.

    The next turn follows at once behind the one that took committed offsets: their response has woken
    the network client, whose next wait therefore ends as it begins
    (``ConsumerNetworkClient.firePendingCompletedRequests``). An opened connection also ends a wait. Its
    set-up takes no time here, but as long as a validation that was sent beside it.
    """
    waits = [consumer.positions.next_due_us(now)]
    if waiting_for_committed(consumer):
        waits.append(state.offsets_retry_us)
    if consumer.positions.due(Phase.VALIDATING, now):
        if state.reads.taken_us == now or validation.may_ask(state.reads, consumer, now):
            return now
        waits.append(now + consumer.settings.retry_backoff_ms * MS)
    return min((wait for wait in waits if wait is not None and wait > now), default=None)


def waiting_for_committed(consumer: Consumer) -> bool:
    """Return whether poll has to wait for committed offsets before it may return."""
    return bool(consumer.positions.in_phase(Phase.INITIALIZING))


def _fetch_committed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send OffsetFetch, unless the same request is in flight in this generation."""
    if now < state.offsets_retry_us or not isinstance(state.coordinator, Known):
        return Step(state)
    partitions = consumer.positions.in_phase(Phase.INITIALIZING)
    asking = PendingOffsetFetch(state.reads.next_correlation_id, state.generation, partitions)
    known = state.pending_offset_fetch
    if known is not None and known[1:] == asking[1:]:
        return Step(state)
    request = OffsetFetchRequest(group_id=consumer.group_id, partitions=partitions)
    return ask(replace(state, pending_offset_fetch=asking), consumer, Api.OFFSETS, request, now)


_RETRIED_PARTITION_ERRORS = frozenset({ErrorCode.UNSTABLE_OFFSET_COMMIT})
"""Errors of a partition for which the request is retried (``OffsetFetchResponseHandler``)."""


def on_fetch_response(
    state: ClientState, consumer: Consumer, response: OffsetFetchResponse, now: int
) -> Step[ClientState]:
    """Set positions to committed offsets; reset the positions that have none.

    A leader epoch newer than in the metadata shows that the metadata are out of date.
    """
    error = offset_fetcher.fetch_error(response, _RETRIED_PARTITION_ERRORS)
    if error is not ErrorCode.NONE:
        return on_fetch_failed(state, consumer, error, now)
    response = offset_fetcher.as_read(consumer.profile, response)
    state = replace(state, pending_offset_fetch=None, offsets_attempt=0, offsets_retry_us=0)
    step = on_reads(
        state, lambda reads: offset_fetcher.take_committed(reads, consumer, response, now)
    )
    missing = offset_fetcher.partitions_without_offset(consumer, response)
    return step.then(lambda s: _without_offset(s, consumer, missing, now))


def on_fetch_failed(
    state: ClientState, consumer: Consumer, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Retry the OffsetFetch after the back-off; if the error is not retriable, poll throws it."""
    pending = state.pending_offset_fetch
    assert pending is not None, "no OffsetFetch is in flight"
    if not error.retriable:
        failure = OffsetsFailure(
            Failed(ExceptionName.KAFKA, error), pending.generation, pending.partitions
        )
        return Step(replace(state, pending_offset_fetch=None, offsets_failure=failure))
    retry = now + backoff_us(consumer, "offsets", state.offsets_attempt, now)
    state = replace(
        state,
        pending_offset_fetch=None,
        offsets_attempt=state.offsets_attempt + 1,
        offsets_retry_us=retry,
    )
    if error in LOSES_COORDINATOR and isinstance(state.coordinator, Known):
        return forget_coordinator(state, consumer, f"OffsetFetch answered {error.name}", now)
    return Step(state)


def _without_offset(
    state: ClientState, consumer: Consumer, missing: list[TopicPartition], now: int
) -> Step[ClientState]:
    if not missing:
        return Step(state)
    if consumer.settings.auto_offset_reset == "none":
        failed = Failed(ExceptionName.NO_OFFSET_FOR_PARTITION)
        without = consumer.positions.in_phase(Phase.INITIALIZING)
        failure = OffsetsFailure(failed, state.generation, without)
        return Step(replace(state, offsets_failure=failure))
    return on_reads(
        state, lambda reads: offset_fetcher.reset_positions(reads, consumer, missing, now)
    )
