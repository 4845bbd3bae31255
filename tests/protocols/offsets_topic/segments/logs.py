"""Logs in memory: segments with their batches, compacted as often as a test likes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.cleaner import Compaction, compact
from protocols.offsets_topic.segments.offset_map import DEFAULT_ENTRIES, build_offset_map
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.segment import (
    SEGMENT_BYTES,
    LogSettings,
    LogToClean,
    Segment,
    log_to_clean,
)
from protocols.offsets_topic.segments.transactions import last_records

from .control import aborted_transactions


@dataclass(frozen=True)
class Log:
    """Segments in order, the last one active, and what is in them."""

    segments: tuple[Segment, ...]
    batches: dict[int, tuple[Batch, ...]]
    checkpoint: int | None = None

    @classmethod
    def of(cls, *segments: Sequence[Batch]) -> Log:
        """Put batches into segments; the active one is there and empty if the last is."""
        made: list[Segment] = []
        batches = {}
        end = 0
        for held in segments:
            segment = Segment(held[0].header.base_offset if held else end, end)
            for batch in held:
                segment = segment.appended(batch.header)
            end = segment.next_offset
            made.append(segment)
            batches[segment.base_offset] = tuple(held)
        return cls(tuple(made), batches)

    def read(self, segment: Segment) -> Iterator[Batch]:
        """Give the batches of a segment."""
        return iter(self.batches[segment.base_offset])

    def all_batches(self) -> list[Batch]:
        """Return the batches of the whole log."""
        return [batch for segment in self.segments for batch in self.read(segment)]

    def to_clean(self, stable: int | None = None, **settings) -> LogToClean:
        """Return what the cleaner would work on."""
        return log_to_clean(
            self.segments,
            LogSettings(**settings),
            checkpoint=self.checkpoint,
            last_stable_offset=self.segments[-1].next_offset if stable is None else stable,
            now_ms=10**9,
        )

    def compacted(
        self,
        now_ms: int = 10**9,
        *,
        stable: int | None = None,
        entries: int = DEFAULT_ENTRIES,
        segment_bytes: int = SEGMENT_BYTES,
        active: bool = False,
    ) -> Log:
        """Return the log after one pass; *active*: its producers are, and their last batches stay."""
        everything = self.all_batches()
        aborted = aborted_transactions(everything)
        mapped = build_offset_map(self.segments, self.read, self.to_clean(stable), aborted, entries)
        high_watermark = self.segments[-1].next_offset
        compaction = Compaction(
            mapped=mapped,
            now_ms=now_ms,
            high_watermark=high_watermark,
            aborted=aborted,
            last_records=last_records(everything, now_ms=0) if active else {},
        )
        made, batches, gone = [], {}, set()
        for cleaned in compact(self.segments, self.read, compaction, segment_bytes):
            held = tuple(map(Batch.read, cleaned.batches))
            segment = Segment(cleaned.base_offset, cleaned.replaces[-1].next_offset)
            for batch in held:
                segment = segment.appended(batch.header)
            made.append(replace(segment, next_offset=cleaned.replaces[-1].next_offset))
            batches[segment.base_offset] = held
            gone |= {each.base_offset for each in cleaned.replaces}
        rest = [each for each in self.segments if each.base_offset not in gone]
        batches |= {each.base_offset: self.batches[each.base_offset] for each in rest}
        return Log((*made, *rest), batches, mapped.end_offset)


def records_of(log: Log) -> list[LogRecord]:
    """Return all records of the log but the control records."""
    return [
        record
        for batch in log.all_batches()
        if not batch.header.is_control
        for record in batch.records()
    ]


def contents(log: Log) -> list[tuple[int, str]]:
    """Return offsets and keys, those of tombstones with a dash."""
    return [
        (record.offset, ("-" if record.value is None else "") + record.key.decode())
        for record in records_of(log)
    ]


def effective_records(log: Log) -> Iterator[LogRecord]:
    """Yield the records that count: those outside of aborted transactions."""
    aborted = aborted_transactions(log.all_batches())
    for batch in log.all_batches():
        header = batch.header
        is_aborted = header.is_transactional and any(
            each.producer_id == header.producer_id
            and each.first_offset <= header.base_offset <= each.last_offset
            for each in aborted
        )
        if not header.is_control and not is_aborted:
            yield from batch.records()


def state_of(log: Log) -> dict[bytes, bytes]:
    """Return what a reader of committed records ends with: the newest value of each key."""
    newest = {record.key: record.value for record in effective_records(log)}
    return {key: value for key, value in newest.items() if value is not None}
