"""Where reading starts: committed offsets, and resets where there are none (spec 5).

Source: ``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded``, ``OffsetFetcher``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assignors.types import TopicPartition
from protocols.classic.client import metadata, validation
from protocols.classic.client.calls import Failed
from protocols.classic.client.rejoin import RETRY
from protocols.classic.client.requests import (
    LOSES_COORDINATOR,
    MS,
    ask,
    backoff_us,
    forget_coordinator,
    take_number,
)
from protocols.classic.client.values import (
    Asked,
    ClientState,
    Consumer,
    Known,
    OffsetsAsked,
    OffsetsFailure,
)
from protocols.errors import ErrorCode
from protocols.facts import PositionSet
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_LEADER,
    FetchedRecords,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocols.reading import Phase
from protocols.settings import by_duration_ms
from protocols.step import Effect, Return, Send, SetTimer, Step, Tell


def advance(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask for what positions still need (step 3): validation, committed offsets, resets."""
    step = validation.advance(state, consumer, now)
    thrown = any(isinstance(effect, Return) for effect in step.effects)
    if thrown or consumer.positions.all_reading():
        return step
    return step.then(lambda s: _initialise(s, consumer, now))


def _initialise(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask for committed offsets first, then for resets."""
    initializing = consumer.positions.in_phase(Phase.INITIALIZING)
    failure = state.offsets_failure
    if failure is not None:
        state = replace(state, offsets_failure=None)
        if failure[1:] == (state.generation, initializing):
            return Step(state, (Return(failure.failed),))
    step = Step(state)
    if initializing:
        step = _fetch_committed(state, consumer, now)
    step = step.then(lambda s: _list_offsets(s, consumer, now))
    again = _next_try_us(step.state, consumer, now)
    return step if again is None else step.also(SetTimer(RETRY, again))


def _next_try_us(state: ClientState, consumer: Consumer, now: int) -> int | None:
    """Return when the next question about positions may be asked, if one has to wait.

    One that became due in this turn waits for the network no longer than rho.
    """
    waits = [consumer.positions.next_due_us(now)]
    if waiting_for_committed(consumer):
        waits.append(state.offsets_retry_us)
    if consumer.positions.due(Phase.VALIDATING, now):
        waits.append(now + consumer.settings.retry_backoff_ms * MS)
    return min((wait for wait in waits if wait is not None and wait > now), default=None)


def waiting_for_committed(consumer: Consumer) -> bool:
    """Say whether poll has to wait for committed offsets before it may return."""
    return bool(consumer.positions.in_phase(Phase.INITIALIZING))


def _fetch_committed(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask the coordinator, unless the same is asked already in this generation."""
    if now < state.offsets_retry_us or not isinstance(state.coordinator, Known):
        return Step(state)
    partitions = consumer.positions.in_phase(Phase.INITIALIZING)
    asking = OffsetsAsked(state.next_correlation_id, state.generation, partitions)
    known = state.offsets_asked
    if known is not None and known[1:] == asking[1:]:
        return Step(state)
    request = OffsetFetchRequest(group_id=consumer.group_id, partitions=partitions)
    return ask(replace(state, offsets_asked=asking), consumer, Asked.OFFSETS, request, now)


def offsets_answered(
    state: ClientState, consumer: Consumer, response: OffsetFetchResponse, now: int
) -> Step[ClientState]:
    """Take committed offsets as positions; where there is none the reset policy decides.

    A leader epoch newer than the metadata's says that they are out of date.
    """
    errors = [entry.error for entry in response.offsets if entry.error is not ErrorCode.NONE]
    error = response.error or (errors[0] if errors else ErrorCode.NONE)
    if error is not ErrorCode.NONE:
        return offsets_failed(state, consumer, error, now)
    state = replace(
        state, offsets_asked=None, offsets_attempt=0, offsets_retry_us=0, offsets_taken_us=now
    )
    heard = ((entry.partition, entry.leader_epoch) for entry in response.offsets)
    step = metadata.heard_epochs(state, consumer, heard, now)
    told: list[Effect] = []
    missing = []
    for entry in response.offsets:
        if not consumer.positions.holds(entry.partition, Phase.INITIALIZING):
            continue
        if entry.offset >= 0:
            consumer.positions.seek(entry.partition, entry.offset, entry.leader_epoch)
            fact = PositionSet(partition=entry.partition, offset=entry.offset, source="committed")
            told.append(Tell(fact))
        else:
            missing.append(entry.partition)
    return step.also(*told).then(lambda s: _without_offset(s, consumer, missing, now))


def offsets_failed(
    state: ClientState, consumer: Consumer, error: ErrorCode, now: int
) -> Step[ClientState]:
    """Try the OffsetFetch again after the back-off, or let poll throw what no try would mend."""
    asked = state.offsets_asked
    assert asked is not None, "an OffsetFetch that nobody waits for fails nobody"
    if not error.retriable:
        failure = OffsetsFailure(
            Failed("KafkaException", error), asked.generation, asked.partitions
        )
        return Step(replace(state, offsets_asked=None, offsets_failure=failure))
    retry = now + backoff_us(consumer, "offsets", state.offsets_attempt, now)
    state = replace(
        state,
        offsets_asked=None,
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
        failed = Failed("NoOffsetForPartitionException")
        without = consumer.positions.in_phase(Phase.INITIALIZING)
        failure = OffsetsFailure(failed, state.generation, without)
        return Step(replace(state, offsets_failure=failure))
    for tp in missing:
        consumer.positions.reset(tp)
    return _list_offsets(state, consumer, now)


# -- resets --------------------------------------------------------------------------------------


def _timestamp(consumer: Consumer, now: int) -> int:
    policy = consumer.settings.auto_offset_reset
    if policy == "earliest":
        return EARLIEST_TIMESTAMP
    if policy == "latest":
        return LATEST_TIMESTAMP
    back = by_duration_ms(policy)
    assert back is not None, f"no reset policy: {policy}"
    return consumer.epoch_ms + now // MS - back


def _list_offsets(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask the leaders for the reset positions, each partition once in request.timeout.ms."""
    wanted = consumer.positions.due(Phase.RESETTING, now)
    if not wanted:
        return Step(state)
    step = Step(state)
    gate = now + consumer.settings.request_timeout_ms * MS
    timestamp = _timestamp(consumer, now)
    for leader, partitions in _by_leader(wanted, consumer).items():
        if leader == NO_LEADER:
            step = step.then(lambda s: metadata.want(s, consumer, now))
            continue
        consumer.positions.ask_again(Phase.RESETTING, partitions, gate)
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
        leader = consumer.positions.leader(tp).leader
        found[leader] = (*found.get(leader, ()), tp)
    return found


def listed(
    state: ClientState, consumer: Consumer, number: int, response: ListOffsetsResponse, now: int
) -> Step[ClientState]:
    """Take the answers; after an error, or if no record is that young, another try comes later."""
    listing = {n: partitions for n, partitions in state.listing.items() if n != number}
    state = replace(state, listing=listing)
    told: list[Effect] = []
    failed = []
    for entry in response.offsets:
        if not consumer.positions.holds(entry.partition, Phase.RESETTING):
            continue
        if entry.error is ErrorCode.NONE and entry.offset >= 0:
            consumer.positions.seek(entry.partition, entry.offset)
            told.append(Tell(_reset_fact(consumer, entry.partition, entry.offset)))
        elif entry.error is not ErrorCode.NONE:
            failed.append(entry.partition)
    step = Step(state, tuple(told))
    if not failed:
        return step
    retry = now + consumer.settings.retry_backoff_ms * MS
    consumer.positions.ask_again(Phase.RESETTING, failed, retry)
    return step.then(lambda s: metadata.want(s, consumer, now))


def _reset_fact(consumer: Consumer, partition: TopicPartition, offset: int) -> PositionSet:
    source = consumer.settings.auto_offset_reset.partition(":")[0]
    why = consumer.positions.reset_reason(partition)
    return PositionSet(partition=partition, offset=offset, source=source, why=why)


def listing_failed(
    state: ClientState, consumer: Consumer, number: int, now: int
) -> Step[ClientState]:
    """A ListOffsets got no answer: its partitions are asked for again after rho."""
    listing = {n: partitions for n, partitions in state.listing.items() if n != number}
    retry = now + consumer.settings.retry_backoff_ms * MS
    consumer.positions.ask_again(Phase.RESETTING, state.listing[number], retry)
    return Step(replace(state, listing=listing))


# -- fetch errors ---------------------------------------------------------------------------------


def fetch_failed(
    state: ClientState, consumer: Consumer, failed: list[FetchedRecords], now: int
) -> Step[ClientState]:
    """React to errors of a fetch (F9, 5.1): refresh metadata, or reset the position.

    A partition whose new leader came with the error may await validation by now: nothing more
    is to be done. A broker that has not heard of its own leader epoch is just asked again.
    """
    step = Step(state)
    for part in failed:
        if not _is_news(consumer, part) or part.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            continue
        if part.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            step = Step(_out_of_range(step.state, consumer, part.partition), step.effects)
            continue
        if part.current_leader != consumer.positions.fetch_position(part.partition).current:
            consumer.positions.stale(part.partition)
        step = step.then(lambda s: metadata.want(s, consumer, now))
    return step


def _is_news(consumer: Consumer, part: FetchedRecords) -> bool:
    """Say whether an error is about where its partition is read now."""
    if not consumer.positions.holds(part.partition, Phase.READING):
        return False
    return part.first < 0 or consumer.positions.reads_at(part.partition, part.first)


def _out_of_range(state: ClientState, consumer: Consumer, partition: TopicPartition) -> ClientState:
    """Let the reset policy decide where to go on; without one a poll has to throw."""
    if consumer.settings.auto_offset_reset != "none":
        consumer.positions.reset(partition, "out of range")
        return state
    offset = consumer.positions.fetch_position(partition).offset
    return replace(state, out_of_range={**state.out_of_range, partition: offset})


def throw_out_of_range(state: ClientState, consumer: Consumer) -> Step[ClientState]:
    """Throw for the first position that is off its log, unless it has moved since."""
    left = dict(state.out_of_range)
    while left:
        tp, offset = next(iter(left.items()))
        del left[tp]
        if consumer.positions.reads_at(tp, offset):
            message = f"{tp} is read at {offset}, which its log does not hold"
            error = ErrorCode.OFFSET_OUT_OF_RANGE
            failed = Failed("OffsetOutOfRangeException", error, message)
            return Step(replace(state, out_of_range=left), (Return(failed),))
    return Step(replace(state, out_of_range={}))
