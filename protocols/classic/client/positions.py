"""Where reading starts: committed offsets, and resets where there are none (spec 5).

Source: ``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded``, ``OffsetFetcher``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from assignors.types import TopicPartition
from protocols.classic.client import metadata
from protocols.classic.client.calls import Failed
from protocols.classic.client.rejoin import RETRY
from protocols.classic.client.requests import MS, ask, backoff_us, forget_coordinator, take_number
from protocols.classic.client.values import Asked, ClientState, Consumer, Known
from protocols.errors import ErrorCode
from protocols.facts import PositionSet
from protocols.fetching import NO_LEADER, Phase
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    FetchedRecords,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocols.step import Effect, Return, Send, SetTimer, Step, Tell

_DURATION = re.compile(
    r"by_duration:P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$"
)


def advance(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask for what positions still need (step 3): committed offsets first, then resets."""
    fetcher = consumer.fetcher
    if fetcher.all_reading():
        return Step(state)
    step = Step(state)
    if fetcher.in_phase(Phase.INITIALIZING):
        step = _fetch_committed(state, consumer, now)
    return step.then(lambda s: _list_offsets(s, consumer, now))


def waiting_for_committed(consumer: Consumer) -> bool:
    """Say whether poll has to wait for committed offsets before it may return."""
    return bool(consumer.fetcher.in_phase(Phase.INITIALIZING))


def _fetch_committed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    if state.offsets_wanted is not None or not isinstance(state.coordinator, Known):
        return Step(state)
    if now < state.offsets_retry_us:
        return Step(state, (SetTimer(RETRY, state.offsets_retry_us),))
    partitions = consumer.fetcher.in_phase(Phase.INITIALIZING)
    request = OffsetFetchRequest(group_id=consumer.group_id, partitions=partitions)
    wanted = replace(state, offsets_wanted=state.next_correlation_id)
    return ask(wanted, consumer, Asked.OFFSETS, request, now)


def offsets_answered(
    state: ClientState, consumer: Consumer, response: OffsetFetchResponse, now: int
) -> Step[ClientState]:
    """Take committed offsets as positions; where there is none the reset policy decides."""
    state = replace(state, offsets_wanted=None)
    errors = [entry.error for entry in response.offsets if entry.error is not ErrorCode.NONE]
    error = response.error or (errors[0] if errors else ErrorCode.NONE)
    if error is not ErrorCode.NONE:
        return offsets_failed(state, consumer, error, now)
    state = replace(state, offsets_attempt=0, offsets_retry_us=0)
    told: list[Effect] = []
    missing = []
    for entry in response.offsets:
        if not consumer.fetcher.holds(entry.partition, Phase.INITIALIZING):
            continue
        if entry.offset >= 0:
            consumer.fetcher.seek(entry.partition, entry.offset)
            fact = PositionSet(partition=entry.partition, offset=entry.offset, source="committed")
            told.append(Tell(fact))
        else:
            missing.append(entry.partition)
    return Step(state, tuple(told)).then(lambda s: _without_offset(s, consumer, missing, now))


def offsets_failed(
    state: ClientState, consumer: Consumer, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Try the OffsetFetch again after the back-off."""
    retry = now + backoff_us(consumer, "offsets", state.offsets_attempt, now)
    state = replace(
        state,
        offsets_wanted=None,
        offsets_attempt=state.offsets_attempt + 1,
        offsets_retry_us=retry,
    )
    gone = error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if gone and isinstance(state.coordinator, Known):
        return forget_coordinator(state, consumer, f"OffsetFetch answered {error.name}", now)
    return Step(state, (SetTimer(RETRY, retry),))


def _without_offset(
    state: ClientState, consumer: Consumer, missing: list[TopicPartition], now: int
) -> Step[ClientState]:
    if not missing:
        return Step(state)
    if consumer.settings.auto_offset_reset == "none":
        return Step(state, (Return(Failed("NoOffsetForPartitionException")),))
    for tp in missing:
        consumer.fetcher.reset(tp)
    return _list_offsets(state, consumer, now)


# -- resets --------------------------------------------------------------------------------------


def duration_us(policy: str) -> int:
    """Return the length of a ``by_duration:<ISO-8601 duration>`` policy, in microseconds."""
    match = _DURATION.match(policy)
    assert match is not None, f"not a by_duration policy: {policy}"
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000)


def _timestamp(consumer: Consumer, now: int) -> int:
    policy = consumer.settings.auto_offset_reset
    if policy == "earliest":
        return EARLIEST_TIMESTAMP
    if policy == "latest":
        return LATEST_TIMESTAMP
    return consumer.epoch_ms + (now - duration_us(policy)) // MS


def _list_offsets(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask the leaders for the reset positions that nobody has asked for yet."""
    resetting = consumer.fetcher.in_phase(Phase.RESETTING)
    asked = {tp for partitions in state.listing.values() for tp in partitions}
    wanted = [tp for tp in resetting if tp not in asked]
    if not wanted:
        return Step(state)
    if now < state.listing_retry_us:
        return Step(state, (SetTimer(RETRY, state.listing_retry_us),))
    step = Step(state)
    timestamp = _timestamp(consumer, now)
    for leader, partitions in _by_leader(wanted, consumer).items():
        if leader == NO_LEADER:
            step = step.then(lambda s: metadata.want(s, consumer, now))
            continue
        number, after = take_number(step.state)
        listing = {**after.listing, number: partitions}
        request = ListOffsetsRequest(partitions=tuple((tp, timestamp) for tp in partitions))
        sent = Send(leader, request, number)
        step = Step(replace(after, listing=listing), (*step.effects, sent))
    return step


def _by_leader(
    partitions: Iterable[TopicPartition], consumer: Consumer
) -> dict[int, tuple[TopicPartition, ...]]:
    found: dict[int, tuple[TopicPartition, ...]] = {}
    for tp in partitions:
        leader = consumer.fetcher.leader(tp)
        found[leader] = (*found.get(leader, ()), tp)
    return found


def listed(
    state: ClientState, consumer: Consumer, number: int, response: ListOffsetsResponse, now: int
) -> Step[ClientState]:
    """Take the answers; an error, or no record that young, means another try later."""
    listing = {n: partitions for n, partitions in state.listing.items() if n != number}
    state = replace(state, listing=listing)
    told: list[Effect] = []
    retry_ms = 0
    stale = False
    for entry in response.offsets:
        if not consumer.fetcher.holds(entry.partition, Phase.RESETTING):
            continue
        if entry.error is ErrorCode.NONE and entry.offset >= 0:
            consumer.fetcher.seek(entry.partition, entry.offset)
            told.append(Tell(_reset_fact(consumer, entry.partition, entry.offset)))
        elif entry.error is ErrorCode.NONE:
            retry_ms = max(retry_ms, consumer.settings.request_timeout_ms)
        else:
            stale = True
            retry_ms = max(retry_ms, consumer.settings.retry_backoff_ms)
    if retry_ms:
        retry = now + retry_ms * MS
        state = replace(state, listing_retry_us=retry)
        told.append(SetTimer(RETRY, retry))
    step = Step(state, tuple(told))
    return step.then(lambda s: metadata.want(s, consumer, now)) if stale else step


def _reset_fact(consumer: Consumer, partition: TopicPartition, offset: int) -> PositionSet:
    source = consumer.settings.auto_offset_reset.partition(":")[0]
    why = consumer.fetcher.reset_reason(partition)
    return PositionSet(partition=partition, offset=offset, source=source, why=why)


def listing_failed(
    state: ClientState, consumer: Consumer, number: int, now: int
) -> Step[ClientState]:
    """A ListOffsets got no answer: its partitions are asked for again after rho."""
    listing = {n: partitions for n, partitions in state.listing.items() if n != number}
    retry = now + consumer.settings.retry_backoff_ms * MS
    return Step(replace(state, listing=listing, listing_retry_us=retry), (SetTimer(RETRY, retry),))


# -- fetch errors ---------------------------------------------------------------------------------


def fetch_failed(
    state: ClientState, consumer: Consumer, failed: list[FetchedRecords], now: int
) -> Step[ClientState]:
    """React to errors of a fetch (F9, 5.1): refresh metadata, or reset the position."""
    step = Step(state)
    for part in failed:
        if not consumer.fetcher.holds(part.partition, Phase.READING):
            continue
        if part.error is not ErrorCode.OFFSET_OUT_OF_RANGE:
            consumer.fetcher.stale(part.partition)
            step = step.then(lambda s: metadata.want(s, consumer, now))
        elif consumer.settings.auto_offset_reset == "none":
            return step.also(Return(Failed("OffsetOutOfRangeException", part.error)))
        else:
            consumer.fetcher.reset(part.partition, "out of range")
    return step
