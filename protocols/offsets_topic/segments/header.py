"""The header of a record batch of format 2, on which all rules for batches depend; batch sizes.

This module reads headers of 61 bytes, and creates them for batches whose bytes are not needed yet;
checksums, codecs and records are in :mod:`protocols.offsets_topic.segments.batch`.

Source: ``DefaultRecordBatch``, ``DefaultRecord.sizeInBytes``, ``ByteUtils.sizeOfVarint``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

MAGIC: Final = 2
HEADER_BYTES: Final = 61
LENGTH_END: Final = 12
"""Position of the end of the batch length, which counts the bytes after it."""

SUMMED_FROM: Final = 21
"""Position of the first byte that the checksum covers."""

SMALLEST_LENGTH: Final = HEADER_BYTES - LENGTH_END

COMPRESSION_BITS: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
"""The bits of ``attributes``; a coordinator writes 0, 0x10 (transactional) or 0x30 (marker)."""

NO_TIMESTAMP: Final = -1
NO_SEQUENCE: Final = -1

HEADER: Final = struct.Struct(">qiibIhiqqqhii")


class BadBatch(ValueError):  # noqa: N818 - named for what was met, as in the reader's gaps
    """The bytes of a batch cannot be read; the message has the fault and its position."""


class InflatesTooFar(BadBatch):
    """The decompressed size of a batch exceeds its bound."""


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, in the order of the wire.

    A tuple rather than a dataclass: one is created for every batch that is read.
    """

    base_offset: int
    """Log offset of the first record when the batch was written."""

    batch_length: int
    """Bytes that follow this field."""

    partition_leader_epoch: int
    magic: int
    crc: int
    """CRC-32C from ``attributes`` to the end, unsigned."""

    attributes: int
    last_offset_delta: int
    """Compaction never changes it."""

    base_timestamp: int
    """Epoch ms: the base of the record timestamps; the delete horizon if that bit is set."""

    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @classmethod
    def read(cls, data: bytes, at: int = 0) -> Self:
        """Return the header at byte *at*; *data* must have its 61 bytes."""
        return cls._make(HEADER.unpack_from(data, at))

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LENGTH_END + self.batch_length

    @property
    def last_offset(self) -> int:
        """Log offset of the last record when the batch was written."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Log offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 if the batch has none; wraps at 2**31."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % 2**31

    @property
    def compression(self) -> int:
        """A :class:`Compression`, or the number of an unknown codec."""
        return self.attributes & COMPRESSION_BITS

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the batch has a marker instead of records of the application."""
        return bool(self.attributes & CONTROL)

    @property
    def has_append_time(self) -> bool:
        """Whether all records have the time of the append, ``max_timestamp``."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers of the batch may be removed; None: not set yet."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


class Producer(NamedTuple):
    """The idempotent or transactional producer of a batch."""

    id: int
    epoch: int
    base_sequence: int = 0


NO_PRODUCER: Final = Producer(id=-1, epoch=-1)
"""The producer of a coordinator outside transactions: no producer id, but base sequence 0."""


def header_to_be(
    base_offset: int, count: int, size: int, partition_leader_epoch: int, timestamp: int
) -> BatchHeader:
    """Return the header of an uncompressed batch before it is written, with checksum 0.

    *count*: of its records, all with one *timestamp*. *size*: in bytes, from
    :func:`batch_size`. Rolls and compaction depend on it.
    """
    fields = (base_offset, size - LENGTH_END, partition_leader_epoch, MAGIC, 0, 0, count - 1)
    return BatchHeader(*fields, timestamp, timestamp, *NO_PRODUCER, count)


NO_VALUE: Final = -1
"""The size of a tombstone's value."""

_FIXED: Final = 3
"""One byte each for attributes, for a timestamp delta of 0, and for a count of 0 headers."""


_MAX_SMALL: Final = 1_024


class _VarintSizes(dict[int, int]):
    """The number of bytes of each varint, a zig-zag number of seven bits per byte."""

    def __missing__(self, value: int) -> int:
        zigzag = value << 1 if value >= 0 else ~value << 1 | 1
        return (max(zigzag.bit_length(), 1) + 6) // 7


_VARINT_SIZES: Final = _VarintSizes()
_VARINT_SIZES.update((value, _VARINT_SIZES[value]) for value in range(NO_VALUE, _MAX_SMALL))


def batch_size(sizes: Iterable[tuple[int, int]]) -> int:
    """Return the size in bytes of an uncompressed batch whose records have one timestamp.

    *sizes*: the key and value size of each record, in bytes; ``NO_VALUE`` for a tombstone's value.

    >>> batch_size([(12, 24), (5, NO_VALUE)])
    116
    """
    return HEADER_BYTES + records_size(sizes)


def records_size(sizes: Iterable[tuple[int, int]], first_delta: int = 0) -> int:
    """Return the bytes that records add to a batch with their timestamp.

    *first_delta*: the number of records before them.
    """
    total, varint = 0, _VARINT_SIZES
    for delta, (key, value) in enumerate(sizes, first_delta):
        length = _FIXED + varint[delta] + varint[key] + key + varint[value]
        if value > 0:
            length += value
        total += varint[length] + length
    return total
