"""Positions of new partitions: committed offsets first, then resets.

Source: ``OffsetsRequestManager.updateFetchPositions``, ``OffsetFetchRequestState``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from assignors.types import TopicPartition
from protocols.consumer import offset_fetcher, validation
from protocols.consumer.calls import ExceptionName, Failed, exception_name
from protocols.consumer.kip848.requests import ask, mark_unknown, naming
from protocols.consumer.kip848.state import Api, ClientState, Consumer, PendingOffsetFetch
from protocols.consumer.lookup import LOSES_COORDINATOR, Known
from protocols.consumer.positions import Phase
from protocols.consumer.reader import MS, backoff_us
from protocols.consumer.requests import on_reads
from protocols.machine import SetTimer, Step
from protocols.messages import OffsetFetchRequest, OffsetFetchResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace

OFFSETS = "offsets"
"""Timer: committed offsets are requested again."""


def update_positions(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Request validations, committed offsets and resets for a poll event.

    The next poll throws failures. A validation needs an open connection to the leader: without one
    the Java client only opens it (``sendOffsetsForLeaderEpochRequestsAndValidatePositions``).
    """
    connects_first = not consumer.profile.in_background
    step = on_reads(
        state,
        lambda r: validation.validate_positions(r, consumer, now, connects_first=connects_first),
    )
    if consumer.positions.all_reading():
        return step
    missing = initializing(state, consumer)
    if missing:
        step = step.then(lambda s: _request_committed(s, consumer, missing, now))
    if missing and not consumer.profile.in_background:
        return step
    return step.then(lambda s: _list_offsets(s, consumer, now, awaited=True))


def _list_offsets(
    state: ClientState, consumer: Consumer, now: int, *, awaited: bool
) -> Step[ClientState]:
    """Send ListOffsets for the positions to reset; *awaited*: the poll event waits for them.

    It waits for no ListOffsets of an earlier event (``sendListOffsetsRequestsAndResetPositions``).
    """
    step = on_reads(state, lambda reads: offset_fetcher.list_offsets(reads, consumer, now))
    sent = tuple(n for n in step.state.reads.listing if n not in state.reads.listing)
    if state.slot is None or not awaited or not sent:
        return step
    return Step(replace(step.state, slot=state.slot._replace(lists=sent)), step.effects)


def _request_committed(
    state: ClientState, consumer: Consumer, missing: tuple[TopicPartition, ...], now: int
) -> Step[ClientState]:
    """Let the poll event wait for the committed offsets of *missing*.

    An unanswered OffsetFetch for the same partitions is reused. One for other partitions goes on
    beside the new one: its offsets are applied to the partitions that still wait for one
    (``OffsetsRequestManager.initWithCommittedOffsetsIfNeeded``).
    """
    assert state.slot is not None, "a poll event requests committed offsets"
    deadline_us = max(state.slot.deadline_us, now + consumer.settings.default_api_timeout_ms * MS)
    reuses = any(fetch.partitions == missing for fetch in state.pending_offset_fetches)
    state = replace(state, slot=state.slot._replace(awaits=missing, reuses=reuses))
    if reuses:
        return Step(state)
    fetch = PendingOffsetFetch(missing, deadline_us)
    state = replace(state, pending_offset_fetches=(*state.pending_offset_fetches, fetch))
    return send_due_fetch(state, consumer, now)


def initializing(state: ClientState, consumer: Consumer) -> tuple[TopicPartition, ...]:
    """Return the partitions that wait for their committed offset and are not being revoked."""
    waiting = consumer.positions.in_phase(Phase.INITIALIZING)
    return tuple(tp for tp in waiting if tp not in state.pending)


def is_settled(state: ClientState) -> bool:
    """Return whether the poll event waits for no OffsetFetch and no ListOffsets."""
    slot = state.slot
    if slot is None:
        return True
    unanswered = any(fetch.partitions == slot.awaits for fetch in state.pending_offset_fetches)
    return not unanswered and not any(number in state.reads.listing for number in slot.lists)


def send_due_fetch(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send each pending OffsetFetch that may be sent now."""
    step = Step(state)
    if not isinstance(state.coordinator, Known):
        return step
    for fetch in state.pending_offset_fetches:
        if fetch.number is None:
            step = step.then(partial(_send_if_due, consumer=consumer, fetch=fetch, now=now))
    waiting = [fetch for fetch in step.state.pending_offset_fetches if fetch.number is None]
    if not waiting:
        return step
    return step.also(SetTimer(OFFSETS, min(fetch.retry_us for fetch in waiting)))


def _send_if_due(
    state: ClientState, consumer: Consumer, fetch: PendingOffsetFetch, now: int
) -> Step[ClientState]:
    """Send an OffsetFetch with the current member epoch, unless its back-off runs."""
    if now < fetch.retry_us:
        return Step(state)
    member = state.member.epoch > 0
    version, ids = naming(state, fetch.partitions)
    request = OffsetFetchRequest(
        group_id=consumer.group_id,
        partitions=fetch.partitions,
        member_id=state.member_id if member else None,
        member_epoch=state.member.epoch if member else -1,
        version=version,
        topic_ids=ids,
    )
    sent = fetch._replace(number=state.reads.next_correlation_id)
    return ask(_with_fetch(state, fetch, sent), consumer, Api.OFFSETS, request, now)


def _with_fetch(
    state: ClientState, fetch: PendingOffsetFetch, after: PendingOffsetFetch | None
) -> ClientState:
    """Return the state with one OffsetFetch changed; with None: without it."""
    kept = (after if each is fetch else each for each in state.pending_offset_fetches)
    return replace(state, pending_offset_fetches=tuple(each for each in kept if each is not None))


def _in_flight(state: ClientState, number: int) -> PendingOffsetFetch | None:
    """Return the OffsetFetch sent with correlation id *number*, if it is still wanted."""
    return next((fetch for fetch in state.pending_offset_fetches if fetch.number == number), None)


def on_fetch_response(
    state: ClientState, consumer: Consumer, number: int, response: OffsetFetchResponse, now: int
) -> Step[ClientState]:
    """Set positions to committed offsets; reset the positions that have none."""
    fetch = _in_flight(state, number)
    if fetch is None:
        return Step(state)
    error = offset_fetcher.fetch_error(response, _RETRIED_PARTITION_ERRORS)
    if error is not ErrorCode.NONE and not _is_partial(response, fetch, consumer, now):
        return on_fetch_failed(state, consumer, number, error, now)
    state = _with_fetch(state, fetch, None)
    response = offset_fetcher.as_read(consumer.profile, response)
    step = on_reads(
        state, lambda reads: offset_fetcher.take_committed(reads, consumer, response, now)
    )
    missing = offset_fetcher.partitions_without_offset(consumer, response)
    return step.then(lambda s: _reset(s, consumer, fetch, missing, now))


_RETRIED_PARTITION_ERRORS = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)
"""Errors of a partition for which the request is retried."""


def _is_partial(
    response: OffsetFetchResponse, fetch: PendingOffsetFetch, consumer: Consumer, now: int
) -> bool:
    """Return whether to apply a response in which the topics of some partitions are unknown.

    There is no time for another request: the unknown partitions then count as without an offset
    (``CommitRequestManager.handleRetriablePartitionErrors``).
    """
    errors = {response.error, *(entry.error for entry in response.offsets)} - {ErrorCode.NONE}
    if errors - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}:
        return False
    retry_us = now + backoff_us(consumer, "offsets", fetch.attempt, now)
    return response.error is ErrorCode.NONE and fetch.deadline_us <= retry_us


def _reset(
    state: ClientState,
    consumer: Consumer,
    fetch: PendingOffsetFetch,
    partitions: Iterable[TopicPartition],
    now: int,
) -> Step[ClientState]:
    """Reset positions without a committed offset after *fetch*, those that still wait for one.

    ListOffsets are sent for all positions to reset. The poll event that requested the committed
    offsets waits for them; one that only waited for these does not.
    """
    missing = [tp for tp in partitions if consumer.positions.holds(tp, Phase.INITIALIZING)]
    if missing and consumer.settings.auto_offset_reset == "none":
        return Step(_fail(state, Failed(ExceptionName.NO_OFFSET_FOR_PARTITION)))
    for tp in missing:
        consumer.positions.reset(tp)
    slot = state.slot
    requested = slot is not None and slot.awaits == fetch.partitions and not slot.reuses
    return _list_offsets(state, consumer, now, awaited=requested)


_THROWN_AS_IT_IS = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)
"""Errors of an OffsetFetch that have their own exception."""


def on_fetch_failed(
    state: ClientState, consumer: Consumer, number: int, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Retry after the back-off; if the error is not retriable, poll throws it.

    A member with a stale epoch retries with its current one. After the deadline of the request poll
    throws, and a later poll event has to make another one. Source:
    ``CommitRequestManager.handleGroupLevelError``, ``maybeCompleteAsyncPollEventExceptionally``.
    """
    fetch = _in_flight(state, number)
    if fetch is None:
        return Step(state)
    stale = error is ErrorCode.STALE_MEMBER_EPOCH and state.member.epoch > 0
    if stale and not consumer.profile.retries_refused_fetch:
        return _reset(_with_fetch(state, fetch, None), consumer, fetch, fetch.partitions, now)
    if not stale and not error.retriable:
        ended = _with_fetch(state, fetch, None)
        name = exception_name(error) if error in _THROWN_AS_IT_IS else ExceptionName.KAFKA
        return Step(_fail(ended, Failed(name, error)))
    retry = now + backoff_us(consumer, "offsets", fetch.attempt, now)
    again = PendingOffsetFetch(fetch.partitions, fetch.deadline_us, None, fetch.attempt + 1, retry)
    is_over = now >= fetch.deadline_us
    state = _with_fetch(state, fetch, None if is_over else again)
    if is_over and not consumer.profile.in_background:
        state = _fail(state, Failed(ExceptionName.TIMEOUT, error))
    if error in LOSES_COORDINATOR:
        return mark_unknown(state, f"OffsetFetch answered {error.name}", now)
    return Step(state)


def _fail(state: ClientState, failure: Failed) -> ClientState:
    """End the poll event with an exception, unless the application has dropped the event."""
    if state.slot is None:
        return state
    return replace(state, slot=state.slot._replace(failed=failure))
