"""Record batches of format 2: 61 bytes of header, then the records.

The checksum covers everything from the attributes on, so a leader gives a batch its offset and
its own epoch without a new one. When compaction has set a delete horizon, the base timestamp
is the time at which the batch's tombstones may go, and its records count from there.

Source: ``DefaultRecordBatch`` and ``MemoryRecordsBuilder`` (spec records, section 2).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from crc32c import crc32c  # takes any buffer and is typed; google-crc32c, as fast, takes bytes only

from protocols.log.compression import MOST_INFLATED_BYTES, Compression, compress, decompress
from protocols.log.errors import BadBatch
from protocols.log.record import (
    LogRecord,
    RecordFields,
    add_records,
    decode_records,
    encode_records,
)

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
_MOST_OFFSETS: Final = 2**31

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_FRONT: Final = struct.Struct(">qiibI")
_SUMMED: Final = struct.Struct(">hiqqqhii")


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


class Batch(NamedTuple):
    """One batch whose checksum is right, as bytes."""

    position: int
    """Where in its stream it begins, in bytes."""

    header: BatchHeader
    data: bytes

    @classmethod
    def read(cls, data: bytes, position: int = 0) -> Self:
        """Return the batch that *data* is from its first to its last byte.

        Raises :class:`BadBatch` when it is not that, or its checksum is wrong.
        """
        if len(data) < HEADER_BYTES:
            raise BadBatch(f"{len(data)} bytes are no batch; its header alone has {HEADER_BYTES}")
        header = BatchHeader.read(data)
        if header.magic != MAGIC:
            raise BadBatch(f"message format {header.magic} is not read; {MAGIC} is")
        if header.size != len(data):
            raise BadBatch(f"the batch says it has {header.size} bytes and has {len(data)}")
        if header.crc != crc32c(data[SUMMED_FROM:]):
            raise BadBatch(wrong_checksum(header, data))
        return cls(position, header, data)

    def records(self, most_bytes: int = MOST_INFLATED_BYTES) -> list[LogRecord]:
        """Return the records, decompressed to at most *most_bytes*.

        Raises :class:`BadBatch` when the bytes are not the records that the header announces.
        """
        header = self.header
        data, at = self._plain(most_bytes)
        base_offset, base_timestamp = header.base_offset, header.base_timestamp
        records = decode_records(data, at, header.record_count, base_offset, base_timestamp)
        if header.attributes & LOG_APPEND_TIME:
            return [record._replace(timestamp=header.max_timestamp) for record in records]
        return records

    def add_to(self, fields: RecordFields, most_bytes: int = MOST_INFLATED_BYTES) -> None:
        """Add the records to others, field by field; raise as above, and then add none."""
        header, start = self.header, len(fields.offsets)
        data, at = self._plain(most_bytes)
        base_offset, base_timestamp = header.base_offset, header.base_timestamp
        add_records(fields, data, at, header.record_count, base_offset, base_timestamp)
        if header.attributes & LOG_APPEND_TIME:
            fields.timestamps[start:] = [header.max_timestamp] * header.record_count

    def _plain(self, most_bytes: int) -> tuple[bytes, int]:
        """Return bytes that hold the records uncompressed, and where the first one begins."""
        codec, count = self.header.attributes & COMPRESSION_BITS, self.header.record_count
        if count <= 0:
            if count < 0:
                raise BadBatch(f"a batch cannot have {count} records")
            return b"", 0
        if codec:
            return decompress(self.data[HEADER_BYTES:], codec, most_bytes), 0
        return self.data, HEADER_BYTES


class Producer(NamedTuple):
    """Who wrote a batch, as an idempotent or transactional producer."""

    id: int
    epoch: int
    base_sequence: int = 0


NO_PRODUCER: Final = Producer(id=-1, epoch=-1)
"""What a coordinator writes outside transactions: no producer, and yet base sequence 0."""


def wrong_checksum(header: BatchHeader, data: bytes) -> str:
    """Say which checksum was found and which was expected."""
    found = crc32c(data[SUMMED_FROM:])
    return f"checksum {found:08x} where the header of offset {header.base_offset} says {header.crc:08x}"


def encode_batch(
    records: Sequence[LogRecord],
    *,
    base_offset: int | None = None,
    last_offset: int | None = None,
    partition_leader_epoch: int = 0,
    attributes: int = 0,
    producer: Producer = NO_PRODUCER,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """Return one batch of at least one record.

    *base_offset*, *last_offset*: those of the first and the last record unless compaction took
    these away. *attributes*: compression, and the bits for transactional, control and append
    time; the one for *delete_horizon_ms* is set here.
    Raises ``ValueError`` for no records and for offsets further apart than a batch can say.
    """
    if not records:
        raise ValueError("a batch without records is made by encode_empty_batch")
    base_offset = records[0].offset if base_offset is None else base_offset
    last_delta = (records[-1].offset if last_offset is None else last_offset) - base_offset
    if not 0 <= last_delta < _MOST_OFFSETS:
        raise ValueError(f"a batch spans 1 to {_MOST_OFFSETS} offsets, not {last_delta + 1}")
    attributes &= ~DELETE_HORIZON
    base_timestamp = records[0].timestamp
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon_ms
    body = encode_records(records, base_offset, base_timestamp)
    if attributes & COMPRESSION_BITS:
        body = compress(body, Compression(attributes & COMPRESSION_BITS))
    most = max([record[1] for record in records])
    summed = _SUMMED.pack(attributes, last_delta, base_timestamp, most, *producer, len(records))
    return _sealed(base_offset, partition_leader_epoch, summed + body)


def encode_empty_batch(header: BatchHeader) -> bytes:
    """Return what compaction leaves of a batch whose records are all gone.

    Offsets, maximal timestamp and producer stay; base timestamp is -1, nothing is compressed.
    Source: ``DefaultRecordBatch.writeEmptyHeader``.
    """
    summed = _SUMMED.pack(
        header.attributes & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL),
        header.last_offset_delta,
        NO_TIMESTAMP,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        0,
    )
    return _sealed(header.base_offset, header.partition_leader_epoch, summed)


def _sealed(base_offset: int, partition_leader_epoch: int, summed: bytes) -> bytes:
    """Put offset, length, leader epoch, format and checksum before the bytes they describe."""
    length = SUMMED_FROM - LENGTH_END + len(summed)
    front = _FRONT.pack(base_offset, length, partition_leader_epoch, MAGIC, crc32c(summed))
    return front + summed
