"""One compaction of a log: the records that are kept, their bytes and their segments.

There are two passes. The first maps each key of the dirty part to its newest offset
(:mod:`protocols.offsets_topic.segments.offset_map`). The second copies the log up to the end of
the mapped part without superseded records. Offsets never change, so gaps appear between them; the
log after the mapped part is copied unchanged.

A tombstone is removed in two compactions: the first one that keeps it writes the *delete horizon*
into its batch, a later one at or after that time removes the tombstone. Otherwise slow readers
would miss the deletion; they have ``delete.retention.ms`` to read it. The markers of transactions
without data are removed in the same way.

Source: ``Cleaner.doClean``, ``cleanInto``, ``shouldRetainRecord`` and ``groupSegmentsBySize``,
``MemoryRecords.filterTo``; KAFKA-20452 for the batch at the high watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from assignors.values import dataclass
from protocols.offsets_topic.segments.batch import Batch, encode_batch, encode_empty_batch
from protocols.offsets_topic.segments.header import DELETE_HORIZON, Producer
from protocols.offsets_topic.segments.offset_map import OffsetMap
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.segment import DELETE_RETENTION_MS, SEGMENT_BYTES, Segment
from protocols.offsets_topic.segments.transactions import (
    AbortedTransaction,
    LastRecord,
    TransactionsPassed,
)

_MAX_OFFSETS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The parameters of one compaction."""

    mapped: OffsetMap
    now_ms: int
    high_watermark: int
    delete_retention_ms: int = DELETE_RETENTION_MS
    aborted: Sequence[AbortedTransaction] = ()
    """The aborted transactions of the whole log."""

    last_records: Mapping[int, LastRecord] = field(default_factory=dict)
    """The last records of active producers, by producer id."""


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """The segment that replaces some adjacent segments."""

    base_offset: int
    replaces: tuple[Segment, ...]
    batches: Iterator[bytes]
    """To be consumed before the next segment is requested. No batches: the new segment is empty."""


def compact(
    segments: Sequence[Segment],
    read: Callable[[Segment], Iterable[Batch]],
    compaction: Compaction,
    segment_bytes: int = SEGMENT_BYTES,
) -> Iterator[CleanedSegment]:
    """Yield the segments that replace those below the end of the mapped part.

    *segments*: of the log, in order. *read*: returns the batches of a segment from its beginning.
    Afterwards the log is clean up to ``compaction.mapped.end_offset``.
    Raises :class:`BadBatch` if records cannot be read.
    """
    passed = TransactionsPassed(compaction.aborted)
    below = [each for each in segments if each.base_offset < compaction.mapped.end_offset]
    for group in group_segments(below, segment_bytes):
        batches = _copied(group, read, compaction, passed)
        yield CleanedSegment(group[0].base_offset, group, batches)
        for _ in batches:  # transactions continue in the next segment
            pass


def group_segments(segments: Sequence[Segment], segment_bytes: int) -> list[tuple[Segment, ...]]:
    """Return runs of adjacent segments whose current sizes together fit into one segment.

    Kafka also bounds the sizes of their indexes; with the defaults the log's bound is lower.
    """
    groups: list[list[Segment]] = []
    size = 0
    for segment in segments:
        size += segment.size_bytes
        near = groups and segment.next_offset - 1 - groups[-1][0].base_offset <= _MAX_OFFSETS
        if groups and size <= segment_bytes and (near or not segment.size_bytes):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size = segment.size_bytes
    return [tuple(group) for group in groups]


def clean_batch(batch: Batch, compaction: Compaction, passed: TransactionsPassed) -> bytes | None:
    """Return the bytes of one batch after compaction; None if nothing of it is kept."""
    header = batch.header
    can_go = passed.note(batch)
    horizon_ms = header.delete_horizon_ms
    gone = can_go
    if can_go and header.is_control:
        gone = horizon_ms is not None and horizon_ms <= compaction.now_ms
    survivors = None if header.is_control else compaction.mapped.survivors_of(header)
    all_survive = survivors == header.record_count > 0
    if all_survive and not compaction.mapped.has_tombstones_of(header):
        return batch.data
    kept = [] if gone or survivors == 0 else _kept_records(batch, compaction)
    if not kept:
        return encode_empty_batch(header) if _outlives_its_records(batch, compaction) else None
    ends_nothing = can_go and header.is_control
    sets_horizon = horizon_ms is None and (ends_nothing or any(each.value is None for each in kept))
    if len(kept) == header.record_count and not sets_horizon:
        return batch.data
    if sets_horizon:
        horizon_ms = compaction.now_ms + compaction.delete_retention_ms
    return _rewritten(batch, kept, horizon_ms)


def _copied(
    group: Sequence[Segment],
    read: Callable[[Segment], Iterable[Batch]],
    compaction: Compaction,
    passed: TransactionsPassed,
) -> Iterator[bytes]:
    for segment in group:
        for batch in read(segment):
            cleaned = clean_batch(batch, compaction, passed)
            if cleaned is not None:
                yield cleaned


def _kept_records(batch: Batch, compaction: Compaction) -> list[LogRecord]:
    """Return the records that are not superseded and not past the delete horizon.

    A record without a key is removed.
    """
    if batch.header.is_control:
        return batch.records()
    newest, end = compaction.mapped.newest, compaction.mapped.end_offset
    horizon_ms = batch.header.delete_horizon_ms
    tombstones_stay = horizon_ms is None or compaction.now_ms < horizon_ms
    return [
        record
        for record in batch.records()
        if record.offset >= end
        or (
            record.key is not None
            and record.offset >= newest.get(record.key, -1)
            and (record.value is not None or tombstones_stay)
        )
    ]


def _outlives_its_records(batch: Batch, compaction: Compaction) -> bool:
    """Return whether an empty batch is kept for the numbers in its header.

    These are the last sequence, or at least the epoch, of an active producer, and the log end
    offset if the batch is the last one: without it a restart would lose that offset.
    """
    header = batch.header
    if header.next_offset == compaction.high_watermark:
        return True
    last = compaction.last_records.get(header.producer_id) if header.producer_id >= 0 else None
    if last is None:
        return False
    if last.last_data_offset is None:
        return header.is_control and header.producer_epoch == last.producer_epoch
    return header.last_offset == last.last_data_offset


def _rewritten(batch: Batch, kept: Sequence[LogRecord], horizon_ms: int | None) -> bytes:
    """Return the batch with fewer records, another delete horizon, or both."""
    header = batch.header
    return encode_batch(
        kept,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & ~DELETE_HORIZON,
        producer=Producer(header.producer_id, header.producer_epoch, header.base_sequence),
        delete_horizon_ms=horizon_ms,
    )
