"""The header of a record batch of format 2: 61 bytes, of which all rules but the records' go.

Read and described here, and made up for batches of which nobody has asked for the bytes yet;
checksums, codecs and records are in :mod:`protocols.offsets_topic.segments.batch`.

Source: ``DefaultRecordBatch``.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple, Self

MAGIC: Final = 2
HEADER_BYTES: Final = 61
LENGTH_END: Final = 12
"""Where the batch length ends; it counts the bytes from here on."""

SUMMED_FROM: Final = 21
"""Where the bytes begin that the checksum covers."""

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
    """The bytes of a batch cannot be read; the message says what was met and where."""


class InflatesTooFar(BadBatch):
    """A compressed batch would grow past the bound it was given."""


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, in the order of the wire.

    A tuple rather than a dataclass: one is made for every batch that is read.
    """

    base_offset: int
    """Log offset of the first record the batch was written with."""

    batch_length: int
    """Bytes that follow this field."""

    partition_leader_epoch: int
    magic: int
    crc: int
    """CRC-32C from ``attributes`` to the end, unsigned."""

    attributes: int
    last_offset_delta: int
    """Compaction keeps it, whatever records are left."""

    base_timestamp: int
    """Epoch ms: what the records count from; the delete horizon where that bit is set."""

    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @classmethod
    def read(cls, data: bytes, at: int = 0) -> Self:
        """Return the header that begins at byte *at*; its 61 bytes must be there."""
        return cls._make(HEADER.unpack_from(data, at))

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LENGTH_END + self.batch_length

    @property
    def last_offset(self) -> int:
        """Log offset of the last record the batch was written with."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Log offset of what comes after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 where the batch has none; wraps at 2**31."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % 2**31

    @property
    def compression(self) -> int:
        """A :class:`Compression`, or a number that is none."""
        return self.attributes & COMPRESSION_BITS

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a marker instead of records of the application."""
        return bool(self.attributes & CONTROL)

    @property
    def has_append_time(self) -> bool:
        """Whether all records have the time of the append, ``max_timestamp``."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers of the batch may go; None: no cleaning has set it yet."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


class Producer(NamedTuple):
    """Who wrote a batch, as an idempotent or transactional producer."""

    id: int
    epoch: int
    base_sequence: int = 0


NO_PRODUCER: Final = Producer(id=-1, epoch=-1)
"""What a coordinator writes outside transactions: no producer, and yet base sequence 0."""


def header_to_be(
    base_offset: int, count: int, size: int, partition_leader_epoch: int, timestamp: int
) -> BatchHeader:
    """Return the header of a plain batch that is yet to be written, its checksum left 0.

    *count*: of its records, all of one *timestamp*. *size*: in bytes, as
    :func:`protocols.offsets_topic.segments.batch.batch_size` tells. What rolls and what is compacted goes by it.
    """
    fields = (base_offset, size - LENGTH_END, partition_leader_epoch, MAGIC, 0, 0, count - 1)
    return BatchHeader(*fields, timestamp, timestamp, *NO_PRODUCER, count)
