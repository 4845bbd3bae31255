"""Read a stream of bytes as batches and gaps, which cover every byte.

Batches and gaps are contiguous: their positions and sizes cover the stream exactly once. Invalid
bytes raise no exception; only reading the stream itself can. The module
:mod:`protocols.offsets_topic.segments.resync` finds where reading resumes after a fault.

Source: ``FileRecords``, ``FileLogInputStream``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import BinaryIO, NamedTuple

from crc32c import crc32c

from assignors.values import dataclass
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.header import (
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    SMALLEST_LENGTH,
    SUMMED_FROM,
    BadBatch,
    BatchHeader,
)
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.resync import (
    LIMITS,
    GapKind,
    Limits,
    Window,
    end_of_fault,
    fault_at,
)


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that could not be read as batches."""

    position: int
    """Position of the first byte in the stream."""

    size: int
    kind: GapKind
    reason: str
    """A description of the fault in one sentence; of the first one if there are several."""


class BatchRecords(NamedTuple):
    """A batch and its records."""

    batch: Batch
    records: list[LogRecord]


def read_batches(source: bytes | BinaryIO, limits: Limits = LIMITS) -> Iterator[Batch | Gap]:
    """Yield the batches of a stream with valid checksums, and gaps for the rest.

    *source*: the bytes, or a binary file at its beginning; at most about twice
    ``limits.batch_bytes`` of a file are in memory, and far less while it has no faults.
    """
    window = Window(source)
    position = 0
    while window.reach(position, 1):
        position = yield from _batches_in_memory(window, position, limits)
        # The run ended at the end of memory or of the stream, or at a fault.
        gap = _gap_at(window, position, limits)
        if gap is not None:
            yield gap
            position += gap.size


def read_log(source: bytes | BinaryIO, limits: Limits = LIMITS) -> Iterator[BatchRecords | Gap]:
    """Yield batches and gaps like :func:`read_batches`, each batch with its records.

    A batch whose records cannot be read is a gap too.
    """
    new, most, records = tuple.__new__, limits.inflated_bytes, limits.records
    for found in read_batches(source, limits):
        if isinstance(found, Gap):
            yield found
            continue
        try:
            yield new(BatchRecords, (found, found.records(most, records)))
        except BadBatch as error:
            yield gap_of(found, error)


def gap_of(batch: Batch, error: BadBatch) -> Gap:
    """Return the gap for a batch whose records cannot be read."""
    reason = f"offset {batch.header.base_offset}: {error}"
    return Gap(batch.position, len(batch.data), GapKind.BAD_RECORDS, reason)


def intact_batches(source: bytes | BinaryIO) -> Iterator[Batch]:
    """Yield the batches of a stream that must have no gaps, for compaction.

    Raises :class:`BadBatch` at the first gap. Kafka's cleaner marks such a log uncleanable.
    """
    for found in read_batches(source):
        if isinstance(found, Gap):
            raise BadBatch(f"at byte {found.position}: {found.reason}")
        yield found


def _batches_in_memory(
    window: Window, position: int, limits: Limits
) -> Generator[Batch, None, int]:
    """Yield valid batches that are completely in memory; return the position after the last.

    This is the fast loop for every batch; any exception to the usual case ends it.
    """
    data, start = window.data, window.start
    unpack, new = HEADER.unpack_from, tuple.__new__
    at = position - start
    last = len(data) - HEADER_BYTES
    most = limits.batch_bytes
    while at <= last:
        fields = unpack(data, at)
        length, magic, crc = fields[1], fields[3], fields[4]
        end = at + LENGTH_END + length
        if magic != MAGIC or not SMALLEST_LENGTH <= length <= most or end > len(data):
            break
        batch = data[at:end]
        if crc32c(batch[SUMMED_FROM:]) != crc:
            break
        yield new(Batch, (start + at, new(BatchHeader, fields), batch))
        at = end
    return start + at


def _gap_at(window: Window, position: int, limits: Limits) -> Gap | None:
    fault = fault_at(window, position, limits)
    if fault is None:
        return None
    end = end_of_fault(window, position, fault, limits)
    if fault.kind in (GapKind.OLD_FORMAT, GapKind.UNKNOWN_FORMAT):  # a whole log is one gap
        more = fault_at(window, end, limits)
        while more is not None and (more.kind, more.reason) == (fault.kind, fault.reason):
            end = end_of_fault(window, end, more, limits)
            more = fault_at(window, end, limits)
    return Gap(position, end - position, fault.kind, fault.reason)
