"""The bytes of a stored log: batches as written, and compaction.

Imported when it is first needed: most runs end before a segment is full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from emulator.world.cluster.offsets_log.stored_segment import StoredSegment
from protocols.offsets_topic.records import Record, encode
from protocols.offsets_topic.segments.batch import Batch, encode_batch
from protocols.offsets_topic.segments.cleaner import Compaction, compact
from protocols.offsets_topic.segments.header import BatchHeader
from protocols.offsets_topic.segments.offset_map import build_offset_map
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.segment import LogSettings, LogToClean, Segment
from protocols.values import replace


def bytes_of(entries: Iterable[tuple[int, Record]], header: BatchHeader) -> bytes:
    """Return the bytes of a batch with these records of the batch with *header*, by log offset."""
    records = [LogRecord(at, header.max_timestamp, *encode(record)) for at, record in entries]
    return encode_batch(
        records,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        partition_leader_epoch=header.partition_leader_epoch,
    )


def compacted(
    segments: Sequence[StoredSegment],
    what: LogToClean,
    settings: LogSettings,
    high_watermark: int,
    now_ms: int,
    entries: int,
) -> tuple[list[StoredSegment], int]:
    """Return the segments that replace those below an end, and that end.

    *entries*: the capacity of the offset map in keys; records behind the last that fits stay.
    """
    abouts = [segment.about for segment in segments]
    by_base = {segment.about.base_offset: segment for segment in segments}

    def read(about: Segment) -> Iterable[Batch]:
        return _batches(by_base[about.base_offset])

    compaction = Compaction(
        mapped=build_offset_map(abouts, read, what, entries=entries),
        now_ms=now_ms,
        high_watermark=high_watermark,
        delete_retention_ms=settings.delete_retention_ms,
    )
    made = [
        _cleaned(each.base_offset, each.replaces, tuple(map(Batch.read, each.batches)))
        for each in compact(abouts, read, compaction, settings.segment_bytes)
    ]
    return made, compaction.mapped.end_offset


def _batches(segment: StoredSegment) -> Iterable[Batch]:
    """Return a segment's batches, each with at least the records that will be retained."""
    return _held(segment) if segment.cleaned is None else segment.cleaned


def _held(segment: StoredSegment) -> Iterator[Batch]:
    in_order = sorted(segment.newest.values(), key=itemgetter(0))
    for header, held in groupby(in_order, key=lambda each: each.header):
        yield Batch.read(bytes_of([(each.log_offset, each.record) for each in held], header))


def _cleaned(
    base_offset: int, replaced: Sequence[Segment], batches: tuple[Batch, ...]
) -> StoredSegment:
    """Return the segment that replaces some neighbours."""
    about = Segment(base_offset, base_offset, created_ms=replaced[0].created_ms)
    for batch in batches:
        about = about.appended(batch.header)
    last = replaced[-1]
    newest_ms = about.largest_timestamp_ms if batches else last.largest_timestamp_ms
    about = replace(about, next_offset=last.next_offset, largest_timestamp_ms=newest_ms)
    made = StoredSegment(about)
    made.cleaned = batches
    made.records = sum(batch.header.record_count for batch in batches)
    return made
