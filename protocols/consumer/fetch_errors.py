"""What a client does about errors of a fetch (F9, 5.1)."""

from __future__ import annotations

from dataclasses import replace

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.calls import Failed
from protocols.consumer.reader import Reader, Reads
from protocols.consumer.reading import Phase
from protocols.machine import Return, Step
from protocols.messages import FetchedRecords
from protocols.messages.errors import ErrorCode


def fetch_failed(
    reads: Reads, reader: Reader, failed: list[FetchedRecords], now: int
) -> Step[Reads]:
    """React to errors of a fetch: refresh metadata, or reset the position.

    A partition whose new leader came with the error may await validation by now: nothing more
    is to be done. A broker that has not heard of its own leader epoch is just asked again.
    """
    step = Step(reads)
    for part in failed:
        if not _is_news(reader, part) or part.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            continue
        if part.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            step = Step(_out_of_range(step.state, reader, part.partition), step.effects)
            continue
        if part.current_leader != reader.positions.fetch_position(part.partition).current:
            reader.positions.stale(part.partition)
        step = step.then(lambda r: metadata.want(r, reader, now))
    return step


def _is_news(reader: Reader, part: FetchedRecords) -> bool:
    """Say whether an error is about where its partition is read now."""
    if not reader.positions.holds(part.partition, Phase.READING):
        return False
    return part.first < 0 or reader.positions.reads_at(part.partition, part.first)


def _out_of_range(reads: Reads, reader: Reader, partition: TopicPartition) -> Reads:
    """Let the reset policy decide where to go on; without one a poll has to throw."""
    if reader.settings.auto_offset_reset != "none":
        reader.positions.reset(partition, "out of range")
        return reads
    offset = reader.positions.fetch_position(partition).offset
    return replace(reads, out_of_range={**reads.out_of_range, partition: offset})


def throw_out_of_range(reads: Reads, reader: Reader) -> Step[Reads]:
    """Throw for the first position that is off its log, unless it has moved since."""
    left = dict(reads.out_of_range)
    while left:
        tp, offset = next(iter(left.items()))
        del left[tp]
        if reader.positions.reads_at(tp, offset):
            message = f"{tp} is read at {offset}, which its log does not hold"
            error = ErrorCode.OFFSET_OUT_OF_RANGE
            failed = Failed("OffsetOutOfRangeException", error, message)
            return Step(replace(reads, out_of_range=left), (Return(failed),))
    return Step(replace(reads, out_of_range={}))
