"""Validation of positions against the log of their leader (KIP-320).

A position with a known epoch is validated before records are read from it: when it is a committed
offset, and when metadata name another leader, or the same one in a later leader epoch. The leader
returns where the records of the position's epoch end in its log (OffsetsForLeaderEpoch). An end
below the position shows that the log was truncated: the records read beyond it no longer exist.

Source: ``OffsetFetcher.validatePositionsAsync``, ``SubscriptionState.maybeCompleteValidation``,
``OffsetsForLeaderEpochUtils``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.positions import FetchPosition, Phase
from protocols.consumer.reader import MS, Reader, Reads, Validation
from protocols.facts import EpochOpened
from protocols.machine import Report, Return, Send, Step
from protocols.messages import (
    NO_LEADER,
    UNKNOWN_EPOCH,
    UNKNOWN_OFFSET,
    EpochEndOffset,
    EpochToCheck,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

TRUNCATED = "truncated"
"""The reason of a new position: the log was truncated below the old one."""


def validate_positions(
    reads: Reads, reader: Reader, now: int, *, connects_first: bool = False
) -> Step[Reads]:
    """Throw the failure of earlier responses, or validate the positions that await it.

    Committed offsets that became positions in this turn are validated in the next one.
    *connects_first*: a leader without a connection is asked in the turn after that which opens it.
    """
    if reads.validation_failure is not None:
        failed = Return(reads.validation_failure)
        return Step(replace(reads, validation_failure=None), (failed,))
    if reader.positions.behind:
        reader.positions.follow_leaders()
    if reads.taken_us == now:
        return Step(reads)
    return _ask(reads, reader, now, connects_first=connects_first)


def _ask(reads: Reads, reader: Reader, now: int, *, connects_first: bool) -> Step[Reads]:
    """Send OffsetsForLeaderEpoch to each leader, each partition once in request.timeout.ms."""
    gate = now + reader.settings.request_timeout_ms * MS
    effects: tuple[Send, ...] = ()
    for leader, positions in _by_leader(reader, now).items():
        if not reader.fetcher.connect(leader, now) and connects_first:
            continue
        reader.positions.ask_again(Phase.VALIDATING, positions, gate)
        number, reads = reads.numbered()
        validating = {**reads.validating, number: Validation(leader, positions)}
        reads = replace(reads, validating=validating)
        effects += (Send(leader, _request(positions), number),)
    return Step(reads, effects)


def may_ask(reads: Reads, reader: Reader, now: int) -> bool:
    """Return whether all that a validation waited for is open connections, which this turn opened."""
    return not reads.validating and any(
        reader.fetcher.is_connected(leader) for leader in _by_leader(reader, now)
    )


def _by_leader(reader: Reader, now: int) -> dict[int, dict[TopicPartition, FetchPosition]]:
    """Return the positions to validate by leader; omit positions without a known leader."""
    found: dict[int, dict[TopicPartition, FetchPosition]] = {}
    for tp in reader.positions.due(Phase.VALIDATING, now):
        position = reader.positions.fetch_position(tp)
        if position.current.leader != NO_LEADER:
            found.setdefault(position.current.leader, {})[tp] = position
    return found


def _request(positions: dict[TopicPartition, FetchPosition]) -> OffsetsForLeaderEpochRequest:
    checks = (
        EpochToCheck(tp, position.epoch, position.current.epoch)
        for tp, position in positions.items()
    )
    return OffsetsForLeaderEpochRequest(partitions=tuple(checks))


def on_epoch_response(
    reads: Reads,
    reader: Reader,
    number: int,
    response: OffsetsForLeaderEpochResponse,
    now: int,
) -> Step[Reads]:
    """Handle a leader's response; retry partitions with an error after new metadata."""
    reader.fetcher.answered(reads.validating[number].node)
    reads, asked = _without_validation(reads, number)
    known = {end.partition: end for end in response.end_offsets if end.error is ErrorCode.NONE}
    step = _retry(reads, reader, [tp for tp in asked if tp not in known], now)
    truncated: list[str] = []
    for tp, position in asked.items():
        if tp not in known or not _awaited(reader, tp, position):
            continue
        found = _diverging(position, known[tp])
        if found is None:
            reader.positions.complete_validation(tp)
        elif reader.settings.auto_offset_reset == "none":
            truncated.append(f"{tp} was read up to {position.offset}, {found}")
        else:
            step = step.also(*_move_to_divergence(reader, tp, known[tp]))
    return step.then(lambda s: _record_failure(s, truncated))


def _without_validation(
    reads: Reads, number: int
) -> tuple[Reads, dict[TopicPartition, FetchPosition]]:
    left = {n: validation for n, validation in reads.validating.items() if n != number}
    return replace(reads, validating=left), reads.validating[number].positions


def _awaited(reader: Reader, partition: TopicPartition, position: FetchPosition) -> bool:
    """Return whether a response concerns the current position of the partition."""
    positions = reader.positions
    return (
        positions.holds(partition, Phase.VALIDATING)
        and positions.fetch_position(partition) == position
    )


def _diverging(position: FetchPosition, end: EpochEndOffset) -> str | None:
    """Return how the leader's log diverges from the records read; None: it does not."""
    if _is_unknown(end):
        return f"leader epoch {position.epoch} is unknown to its leader"
    if end.end_offset < position.offset:
        return f"its leader's log of epoch {end.leader_epoch} ends at {end.end_offset}"
    return None


def _is_unknown(end: EpochEndOffset) -> bool:
    return end.end_offset == UNKNOWN_OFFSET or end.leader_epoch == UNKNOWN_EPOCH


def _move_to_divergence(
    reader: Reader, partition: TopicPartition, end: EpochEndOffset
) -> tuple[Report, ...]:
    """Continue where the logs diverge, if the leader returned it; else use the reset policy."""
    if _is_unknown(end):
        reader.positions.reset(partition, TRUNCATED)
        return ()
    reader.positions.move_back(partition, end.end_offset, end.leader_epoch)
    return (Report(EpochOpened(partition=partition, offset=end.end_offset, source=TRUNCATED)),)


def _record_failure(reads: Reads, truncated: list[str]) -> Step[Reads]:
    """Record a truncation without a reset policy, for the next poll to throw."""
    if not truncated or reads.validation_failure is not None:
        return Step(reads)
    failed = Failed(ExceptionName.LOG_TRUNCATION, message="; ".join(truncated))
    return Step(replace(reads, validation_failure=failed))


def _retry(
    reads: Reads, reader: Reader, partitions: Iterable[TopicPartition], now: int
) -> Step[Reads]:
    """Retry these partitions after ``retry.backoff.ms``, and request metadata."""
    again = list(partitions)
    if not again:
        return Step(reads)
    retry = now + reader.settings.retry_backoff_ms * MS
    reader.positions.ask_again(Phase.VALIDATING, again, retry)
    return metadata.request_update(reads, reader, now)


def on_connection_lost(reads: Reads, reader: Reader, node: int, now: int) -> Step[Reads]:
    """Retry the validations that were in flight on a broken data connection."""
    step = Step(reads)
    for number, validation in reads.validating.items():
        if validation.node == node:
            after, asked = _without_validation(step.state, number)
            again = partial(_retry, reader=reader, partitions=asked, now=now)
            step = Step(after, step.effects).then(again)
    return step
