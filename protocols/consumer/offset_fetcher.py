"""Start positions: committed offsets, resets where there are none, and errors of fetches.

Source: ``OffsetFetcher``, ``OffsetsRequestManager``, ``ConsumerUtils.refreshCommittedOffsets``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from assignors.types import TopicPartition
from protocols.consumer import metadata, validation
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.positions import Phase
from protocols.consumer.reader import MS, Listing, Reader, Reads
from protocols.facts import EpochOpened
from protocols.machine import Effect, Report, Return, Send, Step
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_LEADER,
    FetchedRecords,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetFetchResponse,
    OffsetsForLeaderEpochResponse,
)
from protocols.messages.errors import UNKNOWN_OFFSET, ErrorCode
from protocols.settings import by_duration_ms
from protocols.values import replace

if TYPE_CHECKING:
    from protocols.consumer.clients import ClientProfile

LAST_READ = "time of the last record read"
"""The source of a position that was reset to it."""


def fetch_error(response: OffsetFetchResponse, retried: frozenset[ErrorCode]) -> ErrorCode:
    """Return the error of an OffsetFetch: its own, or the most severe of its partitions.

    *retried*: the errors of a partition for which the client retries the request. Any other error
    of a partition is fatal; a retriable one is returned as UNKNOWN_SERVER_ERROR, which is not.
    """
    if response.error is not ErrorCode.NONE:
        return response.error
    errors = [entry.error for entry in response.offsets if entry.error is not ErrorCode.NONE]
    for error in errors:
        if error not in retried:
            return ErrorCode.UNKNOWN_SERVER_ERROR if error.retriable else error
    return errors[0] if errors else ErrorCode.NONE


def as_read(profile: ClientProfile, response: OffsetFetchResponse) -> OffsetFetchResponse:
    """Return the response as a client reads it: some take no committed offset of any partition."""
    if not profile.resets_each_assignment:
        return response
    without = tuple(entry._replace(offset=UNKNOWN_OFFSET) for entry in response.offsets)
    return replace(response, offsets=without)


def take_committed(
    reads: Reads, reader: Reader, response: OffsetFetchResponse, now: int
) -> Step[Reads]:
    """Set positions without an offset to the committed offsets.

    A leader epoch newer than in the metadata shows that the metadata are out of date.
    """
    epochs = ((entry.partition, entry.leader_epoch) for entry in response.offsets)
    step = metadata.note_epochs(replace(reads, taken_us=now), reader, epochs, now)
    facts: list[Effect] = []
    for entry in response.offsets:
        if entry.offset >= 0 and reader.positions.holds(entry.partition, Phase.INITIALIZING):
            reader.positions.seek(entry.partition, entry.offset, entry.leader_epoch)
            fact = EpochOpened(partition=entry.partition, offset=entry.offset, source="committed")
            facts.append(Report(fact))
    return step.also(*facts)


def partitions_without_offset(
    reader: Reader, response: OffsetFetchResponse
) -> list[TopicPartition]:
    """Return the partitions that wait for a committed offset and have none."""
    return [
        entry.partition
        for entry in response.offsets
        if entry.offset < 0 and reader.positions.holds(entry.partition, Phase.INITIALIZING)
    ]


def _timestamp_of(reader: Reader, partition: TopicPartition, now: int) -> int:
    """Return the timestamp that a reset asks for."""
    given = reader.positions.readings[partition].last_ms
    return _timestamp(reader, now) if given is None else given


def _timestamp(reader: Reader, now: int) -> int:
    policy = reader.settings.auto_offset_reset
    if policy == "earliest":
        return EARLIEST_TIMESTAMP
    if policy == "latest":
        return LATEST_TIMESTAMP
    back = by_duration_ms(policy)
    if back is None:
        raise ValueError(f"not a reset policy with a position: {policy}")
    return reader.epoch_ms + now // MS - back


def list_offsets(reads: Reads, reader: Reader, now: int) -> Step[Reads]:
    """Send ListOffsets for positions to reset, each partition once in request.timeout.ms."""
    wanted = reader.positions.due(Phase.RESETTING, now)
    if not wanted:
        return Step(reads)
    step = Step(reads)
    gate = now + reader.settings.request_timeout_ms * MS
    for leader, partitions in _by_leader(wanted, reader).items():
        if leader == NO_LEADER:
            step = step.then(lambda r: metadata.request_update(r, reader, now))
            continue
        reader.fetcher.connect(leader, now)
        reader.positions.ask_again(Phase.RESETTING, partitions, gate)
        number, after = step.state.numbered()
        listing = {**after.listing, number: Listing(leader, partitions)}
        request = ListOffsetsRequest(
            partitions=tuple((tp, _timestamp_of(reader, tp, now)) for tp in partitions),
            isolation_level=reader.settings.isolation_level,
        )
        sent = Send(leader, request, number)
        step = Step(replace(after, listing=listing), (*step.effects, sent))
    return step


def reset_positions(
    reads: Reads, reader: Reader, partitions: Iterable[TopicPartition], now: int
) -> Step[Reads]:
    """Reset these positions by the reset policy, because they have no committed offset."""
    for tp in partitions:
        reader.positions.reset(tp)
    return list_offsets(reads, reader, now)


def assign(reader: Reader, partitions: Iterable[TopicPartition]) -> None:
    """Assign the application's partitions (``assign``); without a group id each position is reset."""
    assigned = tuple(partitions)
    reader.fetcher.assign(assigned)
    for tp in () if reader.group_id else assigned:
        reader.positions.reset(tp)


def _by_leader(
    partitions: Iterable[TopicPartition], reader: Reader
) -> dict[int, tuple[TopicPartition, ...]]:
    found: dict[int, tuple[TopicPartition, ...]] = {}
    for tp in partitions:
        leader = reader.positions.leader(tp).leader
        found[leader] = (*found.get(leader, ()), tp)
    return found


def on_list_offsets_response(
    reads: Reads, reader: Reader, number: int, response: ListOffsetsResponse, now: int
) -> Step[Reads]:
    """Set positions to the returned offsets; retry partitions with an error later."""
    reader.fetcher.answered(reads.listing[number].node)
    reads = _without_listing(reads, number)
    facts: list[Effect] = []
    failed, beyond = [], []
    for entry in response.offsets:
        if not reader.positions.holds(entry.partition, Phase.RESETTING):
            continue
        if entry.error is ErrorCode.NONE and entry.offset >= 0:
            facts.append(Report(_reset_fact(reader, entry.partition, entry.offset)))
            reader.positions.seek(entry.partition, entry.offset)
        elif entry.error is not ErrorCode.NONE:
            failed.append(entry.partition)
        elif reader.positions.readings[entry.partition].last_ms is not None:
            beyond.append(entry.partition)
    step = Step(reads, tuple(facts)).then(lambda r: _list_ends(r, reader, beyond, now))
    if not failed:
        return step
    retry = now + reader.settings.retry_backoff_ms * MS
    reader.positions.ask_again(Phase.RESETTING, failed, retry)
    return step.then(lambda r: metadata.request_update(r, reader, now))


def _list_ends(
    reads: Reads, reader: Reader, partitions: list[TopicPartition], now: int
) -> Step[Reads]:
    """Reset these positions to the end of the log: no record has the timestamp asked for, or a later one."""
    if not partitions:
        return Step(reads)
    for tp in partitions:
        reader.positions.readings[tp].last_ms = LATEST_TIMESTAMP
    reader.positions.ask_again(Phase.RESETTING, partitions, now)
    return list_offsets(reads, reader, now)


def _without_listing(reads: Reads, number: int) -> Reads:
    left = {n: listing for n, listing in reads.listing.items() if n != number}
    return replace(reads, listing=left)


def _reset_fact(reader: Reader, partition: TopicPartition, offset: int) -> EpochOpened:
    reading = reader.positions.readings[partition]
    policy = reader.settings.auto_offset_reset.partition(":")[0]
    source = policy if reading.last_ms is None else LAST_READ
    return EpochOpened(partition=partition, offset=offset, source=source, why=reading.why)


def on_list_offsets_failed(reads: Reads, reader: Reader, number: int, now: int) -> Step[Reads]:
    """Retry the partitions of a ListOffsets without a response after ``retry.backoff.ms``."""
    retry = now + reader.settings.retry_backoff_ms * MS
    reader.positions.ask_again(Phase.RESETTING, reads.listing[number].partitions, retry)
    return Step(_without_listing(reads, number))


def on_connection_lost(reads: Reads, reader: Reader, broker: int, now: int) -> Step[Reads]:
    """Retry the ListOffsets and metadata requests in flight to a broker; else request metadata.

    Those to other brokers go on (``NetworkClient.cancelInFlightRequests``).
    """
    step = Step(reads)
    for number in [n for n, listing in reads.listing.items() if listing.node == broker]:
        step = step.then(partial(on_list_offsets_failed, reader=reader, number=number, now=now))
    known = reads.metadata
    if known.in_flight is not None and known.asked_broker == broker:
        return step.then(lambda r: metadata.on_failure(r, reader, now))
    return step.then(lambda r: metadata.request_update(r, reader, now))


def on_fetch_failed(
    reads: Reads, reader: Reader, failed: list[FetchedRecords], now: int
) -> Step[Reads]:
    """Handle the errors of a fetch: refresh metadata, or reset the position.

    A partition whose new leader came with the error may already await validation. With
    UNKNOWN_LEADER_EPOCH the fetch is only retried. Clients that do not work in the background ask the
    same leader again at once, until the metadata or an error name another one. Source:
    ``FetchCollector.handleInitializeErrors``, ``AbstractFetch.maybeNodeForPosition``.
    """
    step = Step(reads)
    for part in failed:
        if not _is_current(reader, part) or part.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            continue
        if part.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            step = Step(_out_of_range(step.state, reader, part.partition), step.effects)
            continue
        if reader.profile.in_background:
            _wait_for_leader(reader, part)
        step = step.then(lambda r: metadata.request_update(r, reader, now))
    return step


def _wait_for_leader(reader: Reader, part: FetchedRecords) -> None:
    """Fetch a partition only after a metadata update, unless its new leader came with the error."""
    if part.current_leader != reader.positions.fetch_position(part.partition).current:
        reader.positions.forget_leader(part.partition)


def _is_current(reader: Reader, part: FetchedRecords) -> bool:
    """Return whether an error concerns the current position of its partition."""
    if not reader.positions.holds(part.partition, Phase.READING):
        return False
    return part.first < 0 or reader.positions.reads_at(part.partition, part.first)


def _out_of_range(reads: Reads, reader: Reader, partition: TopicPartition) -> Reads:
    """Reset the position by the reset policy; without a policy record an error for poll."""
    if reader.settings.auto_offset_reset != "none":
        remembers = reader.profile.resets_to_last_read
        last_ms = reader.positions.readings[partition].last_ms if remembers else None
        reader.positions.reset(partition, "out of range", last_ms)
        return reads
    offset = reader.positions.fetch_position(partition).offset
    return replace(reads, out_of_range={**reads.out_of_range, partition: offset})


def throw_out_of_range(reads: Reads, reader: Reader) -> Step[Reads]:
    """Throw for the first position that is out of range, unless it has moved since."""
    left = dict(reads.out_of_range)
    while left:
        tp, offset = next(iter(left.items()))
        del left[tp]
        if reader.positions.reads_at(tp, offset):
            message = f"{tp} is read at {offset}, which its log does not hold"
            error = ErrorCode.OFFSET_OUT_OF_RANGE
            failed = Failed(ExceptionName.OFFSET_OUT_OF_RANGE, error, message)
            return Step(replace(reads, out_of_range=left), (Return(failed),))
    return Step(replace(reads, out_of_range={}))


ReadingResponse = MetadataResponse | ListOffsetsResponse | OffsetsForLeaderEpochResponse


def on_response(
    reads: Reads, reader: Reader, number: int, response: ReadingResponse, now: int
) -> Step[Reads]:
    """Handle the response to request *number*, if the request is still in flight."""
    match response:
        case MetadataResponse() if reads.metadata.in_flight == number:
            return metadata.on_response(reads, reader, response, now)
        case ListOffsetsResponse() if number in reads.listing:
            return on_list_offsets_response(reads, reader, number, response, now)
        case OffsetsForLeaderEpochResponse() if number in reads.validating:
            return validation.on_epoch_response(reads, reader, number, response, now)
        case _:
            return Step(reads)
