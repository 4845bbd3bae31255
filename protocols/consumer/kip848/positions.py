"""Positions of new partitions: committed offsets first, then resets.

Source: ``OffsetsRequestManager.updateFetchPositions``, ``OffsetFetchRequestState``.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer import offset_fetcher, validation
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.kip848.requests import BY_TOPIC_ID, ask, mark_unknown
from protocols.consumer.kip848.state import Asked, ClientState, Consumer, OffsetsAsked
from protocols.consumer.positions import Phase
from protocols.consumer.reader import backoff_us
from protocols.consumer.requests import LOSES_COORDINATOR, Known, on_reads
from protocols.machine import SetTimer, Step
from protocols.messages import OffsetFetchRequest, OffsetFetchResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace

OFFSETS = "offsets"
"""Timer: committed offsets are requested again."""


def update_positions(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Request validations, committed offsets and resets for a poll event.

    The next poll throws failures.
    """
    step = on_reads(state, lambda reads: validation.validate_positions(reads, consumer, now))
    if consumer.positions.all_reading():
        return step
    missing = initializing(state, consumer)
    asked = state.offsets_asked
    if missing and (asked is None or asked.partitions != missing):
        step = Step(replace(step.state, offsets_asked=OffsetsAsked(missing)), step.effects)
        step = step.then(lambda s: send_due_fetch(s, consumer, now))
    return step.then(
        lambda s: on_reads(s, lambda reads: offset_fetcher.list_offsets(reads, consumer, now))
    )


def initializing(state: ClientState, consumer: Consumer) -> tuple[TopicPartition, ...]:
    """Return the partitions that wait for their committed offset and are not being revoked."""
    waiting = consumer.positions.in_phase(Phase.INITIALIZING)
    return tuple(tp for tp in waiting if tp not in state.pending)


def is_settled(state: ClientState) -> bool:
    """Return whether no OffsetFetch or ListOffsets is outstanding."""
    return state.offsets_asked is None and not state.reads.listing


def send_due_fetch(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Send the pending OffsetFetch with the current member epoch, if it may be sent now."""
    asked = state.offsets_asked
    if asked is None or asked.number is not None or not isinstance(state.coordinator, Known):
        return Step(state)
    if now < asked.retry_us:
        return Step(state, (SetTimer(OFFSETS, asked.retry_us),))
    member = state.member.epoch > 0
    request = OffsetFetchRequest(
        group_id=consumer.group_id,
        partitions=asked.partitions,
        member_id=state.member_id if member else None,
        member_epoch=state.member.epoch if member else -1,
        version=BY_TOPIC_ID,
    )
    sent = asked._replace(number=state.reads.next_correlation_id)
    return ask(replace(state, offsets_asked=sent), consumer, Asked.OFFSETS, request, now)


def on_fetch_response(
    state: ClientState, consumer: Consumer, number: int, response: OffsetFetchResponse, now: int
) -> Step[ClientState]:
    """Set positions to committed offsets; reset the positions that have none."""
    if state.offsets_asked is None or state.offsets_asked.number != number:
        return Step(state)
    error = offset_fetcher.fetch_error(response)
    if error is not ErrorCode.NONE:
        return on_fetch_failed(state, consumer, number, error, now)
    state = replace(state, offsets_asked=None)
    step = on_reads(
        state, lambda reads: offset_fetcher.take_committed(reads, consumer, response, now)
    )
    return step.then(lambda s: _without_offset(s, consumer, response, now))


def _without_offset(
    state: ClientState, consumer: Consumer, response: OffsetFetchResponse, now: int
) -> Step[ClientState]:
    missing = offset_fetcher.partitions_without_offset(consumer, response)
    if not missing:
        return Step(state)
    if consumer.settings.auto_offset_reset == "none":
        return Step(_fail(state, Failed(ExceptionName.NO_OFFSET_FOR_PARTITION)))
    return on_reads(
        state, lambda reads: offset_fetcher.reset_positions(reads, consumer, missing, now)
    )


def on_fetch_failed(
    state: ClientState, consumer: Consumer, number: int, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Retry after the back-off; if the error is not retriable, poll throws it.

    A member with a stale epoch retries with its current one.
    """
    asked = state.offsets_asked
    if asked is None or asked.number != number:
        return Step(state)
    stale = error is ErrorCode.STALE_MEMBER_EPOCH and state.member.epoch > 0
    if not stale and not error.retriable:
        ended = replace(state, offsets_asked=None)
        if not set(asked.partitions).intersection(initializing(state, consumer)):
            return Step(ended)
        return Step(_fail(ended, Failed(ExceptionName.KAFKA, error)))
    retry = now + backoff_us(consumer, "offsets", asked.attempt, now)
    again = OffsetsAsked(asked.partitions, None, asked.attempt + 1, retry)
    state = replace(state, offsets_asked=again)
    if error in LOSES_COORDINATOR:
        return mark_unknown(state, f"OffsetFetch answered {error.name}", now)
    return Step(state)


def _fail(state: ClientState, failure: Failed) -> ClientState:
    """End the poll event with an exception, unless the application has dropped the event."""
    if state.slot is None:
        return state
    return replace(state, slot=state.slot._replace(failed=failure))
