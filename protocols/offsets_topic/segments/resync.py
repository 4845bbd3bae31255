"""The fault at a position where no batch can be read, and the position at which reading resumes.

A batch that cannot be used is skipped by its own length if it is followed by a plausible batch, by
zeros or by the end of the stream. Otherwise its length is wrong as well: then the next batch is at
the next position where format, signs, length and checksum are all valid. That search is linear in
the number of bytes: checksums of candidates are limited by an allowance that grows with each byte.

Kafka itself does not read past the first such batch: ``FileLogInputStream.nextBatch`` and
``DefaultRecordBatch.ensureValid`` raise, and recovery truncates the log there.
"""

from __future__ import annotations

import enum
import re
from typing import BinaryIO, Final, NamedTuple

from crc32c import crc32c

from assignors.values import dataclass
from protocols.offsets_topic.segments.batch import wrong_checksum
from protocols.offsets_topic.segments.header import (
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    SMALLEST_LENGTH,
    SUMMED_FROM,
    BatchHeader,
)
from protocols.offsets_topic.segments.record import MAX_RECORDS

FRONT_BYTES: Final = 17
"""Base offset, length, leader epoch and format: the fields common to all of Kafka's formats."""

_SMALLEST_OLD_LENGTH: Final = 14
_ZEROS_BEFORE_LENGTH: Final = 11
"""Base offset 0 and the high bytes of a length: zeros with which a batch may begin."""

_FAR_OFFSETS: Final = 2**40
_SUMMED_BYTES_A_BYTE: Final = 16
_SHAPE: Final = re.compile(
    rb"\x02(?<=[\x00-\x7f].{7}[\x00-\x7f].{7}\x02).{4}\x00.[\x00-\x7f].{33}[\x00-\x7f]", re.DOTALL
)
"""A header from its format byte on: format 2, and no negative number in signed fields."""

_FORMAT_AT: Final = 16


class GapKind(enum.StrEnum):
    """The reason why bytes of a stream are not a batch."""

    ZEROS = "zeros"
    """A preallocated tail, or a hole in the file."""

    TRUNCATED = "truncated"
    """The stream ends within a batch."""

    BAD_LENGTH = "bad length"
    """The length is invalid for a batch."""

    BAD_CHECKSUM = "bad checksum"
    OLD_FORMAT = "old format"
    """Message formats 0 and 1, which Kafka wrote before 0.11."""

    UNKNOWN_FORMAT = "unknown format"
    """From a newer Kafka version, or not a log."""

    BAD_RECORDS = "bad records"
    """The checksum is valid, but the records cannot be read."""


class Fault(NamedTuple):
    """The fault at a position."""

    kind: GapKind
    reason: str
    size: int | None = None
    """Bytes to skip if the batch's length is valid; None: it is invalid."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The memory limits of reading: larger batches are gaps."""

    batch_bytes: int = 16 * 2**20
    """Maximum size of a batch in the log; Kafka's default limit is 1 MiB."""

    inflated_bytes: int = 64 * 2**20
    """Maximum decompressed size of the records of a batch."""

    records: int = MAX_RECORDS
    """Maximum number of records of a batch; each takes much more memory than its bytes."""


LIMITS: Final = Limits()


def fault_at(window: Window, position: int, limits: Limits) -> Fault | None:
    """Return the fault at *position*; None for a readable batch or the end of the stream."""
    front = window.bytes_at(position, FRONT_BYTES)
    if not any(front):
        return Fault(GapKind.ZEROS, "zeros: space set aside and not written") if front else None
    if len(front) < FRONT_BYTES:
        reason = f"the log ends after {len(front)} bytes of a header of {HEADER_BYTES}"
        return Fault(GapKind.TRUNCATED, reason)
    length = int.from_bytes(front[8:12], signed=True)
    magic = front[_FORMAT_AT]
    smallest = SMALLEST_LENGTH if magic >= MAGIC else _SMALLEST_OLD_LENGTH
    if magic != MAGIC:
        kind = GapKind.OLD_FORMAT if magic < MAGIC else GapKind.UNKNOWN_FORMAT
        sound = smallest <= length <= limits.batch_bytes
        return Fault(kind, other_format(magic), LENGTH_END + length if sound else None)
    if not smallest <= length <= limits.batch_bytes:
        reason = f"a batch length of {length}; {smallest} to the limit `batch`, {limits.batch_bytes}, are possible"
        return Fault(GapKind.BAD_LENGTH, reason)
    data = window.bytes_at(position, LENGTH_END + length)
    header = BatchHeader.read(data) if len(data) >= HEADER_BYTES else None
    if header is None or len(data) < header.size:
        reason = f"the batch says it has {LENGTH_END + length} bytes; {len(data)} are left"
        return Fault(GapKind.TRUNCATED, reason)
    if crc32c(data[SUMMED_FROM:]) != header.crc:
        return Fault(GapKind.BAD_CHECKSUM, wrong_checksum(header, data), header.size)
    return None


def other_format(magic: int) -> str:
    """Return the fault of an unsupported message format."""
    return f"message format {magic}; only {MAGIC} is read"


def end_of_fault(window: Window, position: int, fault: Fault, limits: Limits) -> int:
    """Return the position at which reading resumes."""
    if fault.kind is GapKind.ZEROS:
        return _end_of_zeros(window, position, limits)
    if fault.size is not None and _something_follows(window, position, fault.size, limits):
        return position + fault.size
    return _next_batch(window, position + 1, limits)


def _end_of_zeros(window: Window, position: int, limits: Limits) -> int:
    """Return the end of zeros, or the start of a batch that begins with some of them."""
    end = window.end_of_zeros(position, _ZEROS_BEFORE_LENGTH)
    for start in range(max(position + 1, end - _ZEROS_BEFORE_LENGTH), end):
        if window.reach(start, 1) and fault_at(window, start, limits) is None:
            return start
    return end


def _something_follows(window: Window, position: int, size: int, limits: Limits) -> bool:
    """Return whether the end, zeros or a plausible header follows *size* bytes further.

    A plausible header has a higher offset, but not by as much as random bytes would have.
    """
    there = window.reach(position, size + FRONT_BYTES) - size
    at = position - window.start
    front = window.data[at + size : at + size + FRONT_BYTES]
    if not any(front):
        return there >= 0
    if there < FRONT_BYTES:
        return False
    magic = window.data[at + _FORMAT_AT]
    later = int.from_bytes(front[:8]) - int.from_bytes(window.data[at : at + 8])
    length = int.from_bytes(front[8:12], signed=True)
    known = front[_FORMAT_AT] in ({0, 1, MAGIC} if magic < MAGIC else {magic, MAGIC})
    sound = _SMALLEST_OLD_LENGTH <= length <= limits.batch_bytes
    return known and sound and 0 < later < _FAR_OFFSETS


def _next_batch(window: Window, position: int, limits: Limits) -> int:
    """Return the position of the next valid batch, or the end of the stream."""
    allowance = limits.batch_bytes
    while window.reach(position, HEADER_BYTES) == HEADER_BYTES:
        at = position - window.start
        found = _SHAPE.search(window.data, at + _FORMAT_AT)
        if found is None:
            passed = len(window.data) - HEADER_BYTES + 1 - at
        else:
            passed = found.start() - _FORMAT_AT - at
        allowance += passed * _SUMMED_BYTES_A_BYTE
        position += passed
        if found is not None:
            cost = _bytes_to_sum(window, position)
            if cost <= allowance:
                allowance -= cost
                if fault_at(window, position, limits) is None:
                    return position
            position += 1
            allowance += _SUMMED_BYTES_A_BYTE
    return window.end


def _bytes_to_sum(window: Window, position: int) -> int:
    """Return the length field of a candidate for a batch."""
    at = position - window.start
    return int.from_bytes(window.data[at + 8 : at + 12])


CHUNK_BYTES: Final = 2**18
"""Bytes per read, and roughly the size of the window for a log without faults."""

_ZEROS: Final = bytes(CHUNK_BYTES)


class Window:
    """A window on a stream of bytes, or on bytes in memory.

    Positions are those of the stream. Bytes before the last requested position are released, so
    the window has the bytes of one request and about one chunk.
    """

    __slots__ = ("_source", "data", "start")

    data: bytes
    start: int
    """Position of the first byte of ``data``."""

    def __init__(self, source: bytes | BinaryIO) -> None:
        self.start = 0
        self.data = source if isinstance(source, bytes) else b""
        self._source = None if isinstance(source, bytes) else source

    @property
    def end(self) -> int:
        """Position after the last byte in memory."""
        return self.start + len(self.data)

    def reach(self, position: int, size: int) -> int:
        """Load *size* bytes from *position* on into memory; return the number of bytes available.

        Fewer than *size* means that the stream ends there. Raise ValueError if *position* is before
        the last requested position or after the bytes in memory.
        """
        if not self.start <= position <= self.end:
            raise ValueError(f"position {position}; in memory are {self.start} to {self.end}")
        while self._source is not None and position + size > self.end:
            more = self._source.read(max(CHUNK_BYTES, position + size - self.end))
            if not more:
                self._source = None
                break
            self.data = self.data[position - self.start :] + more
            self.start = position
        return min(size, self.end - position)

    def bytes_at(self, position: int, size: int) -> bytes:
        """Return *size* bytes from *position* on, fewer at the end of the stream."""
        self.reach(position, size)
        at = position - self.start
        return self.data[at : at + size]

    def end_of_zeros(self, position: int, kept_bytes: int) -> int:
        """Return the position of the first nonzero byte from *position* on, or the end.

        The last *kept_bytes* of the zeros before it stay in memory.
        """
        probe = position
        while True:
            kept = max(position, probe - kept_bytes)
            self.reach(kept, probe - kept + CHUNK_BYTES)
            at = probe - self.start
            chunk = self.data[at : at + CHUNK_BYTES]
            if chunk != _ZEROS:
                return probe + len(chunk) - len(chunk.lstrip(b"\0"))
            probe += CHUNK_BYTES
