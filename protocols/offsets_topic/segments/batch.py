"""Record batches of format 2: 61 bytes of header, then the records.

The checksum covers all bytes from the attributes on, so a leader sets the base offset and leader
epoch without a new checksum. When compaction has set a delete horizon, the base timestamp is the
time from which the tombstones of the batch can be removed, and the record timestamps are relative
to it.

Source: ``DefaultRecordBatch``, ``MemoryRecordsBuilder``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from crc32c import crc32c  # takes any buffer and is typed; google-crc32c, as fast, takes bytes only

from protocols.offsets_topic.segments.compression import (
    MAX_INFLATED_BYTES,
    Compression,
    compress,
    decompress,
)
from protocols.offsets_topic.segments.header import (
    COMPRESSION_BITS,
    CONTROL,
    DELETE_HORIZON,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER,
    NO_TIMESTAMP,
    SUMMED_FROM,
    TRANSACTIONAL,
    BadBatch,
    BatchHeader,
    Producer,
)
from protocols.offsets_topic.segments.record import (
    MAX_RECORDS,
    LogRecord,
    RecordFields,
    add_records,
    encode_records,
)

_MAX_OFFSETS: Final = 2**31
_FRONT: Final = struct.Struct(">qiibI")
_SUMMED: Final = struct.Struct(">hiqqqhii")


class Batch(NamedTuple):
    """The bytes of one batch with a valid checksum."""

    position: int
    """Position of its first byte in the stream."""

    header: BatchHeader
    data: bytes

    @classmethod
    def read(cls, data: bytes, position: int = 0) -> Self:
        """Return the batch that consists of exactly the bytes *data*.

        Raises :class:`BadBatch` if *data* is not one batch, or its checksum is wrong.
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

    def records(
        self, max_bytes: int = MAX_INFLATED_BYTES, most: int = MAX_RECORDS
    ) -> list[LogRecord]:
        """Return the records, at most *most*, decompressed to at most *max_bytes*.

        Raises :class:`BadBatch` if the bytes do not match the record count of the header.
        """
        fields = RecordFields.empty()
        self.add_to(fields, max_bytes, most)
        return fields.records()

    def add_to(
        self,
        fields: RecordFields,
        max_bytes: int = MAX_INFLATED_BYTES,
        most: int = MAX_RECORDS,
    ) -> int:
        """Add the records to *fields*; raise like :meth:`records`, and then add none.

        Return their uncompressed size in bytes.
        """
        header, start = self.header, len(fields.offsets)
        data, at = self._plain(max_bytes)
        base_offset, base_timestamp = header.base_offset, header.base_timestamp
        add_records(fields, data, at, header.record_count, base_offset, base_timestamp, most)
        if header.attributes & LOG_APPEND_TIME:
            fields.timestamps[start:] = [header.max_timestamp] * header.record_count
        return len(data) - at

    def _plain(self, max_bytes: int) -> tuple[bytes, int]:
        """Return bytes with the uncompressed records, and the position of the first record."""
        codec, count = self.header.attributes & COMPRESSION_BITS, self.header.record_count
        if count <= 0:
            if count < 0:
                raise BadBatch(f"a batch cannot have {count} records")
            return b"", 0
        if codec:
            return decompress(self.data[HEADER_BYTES:], codec, max_bytes), 0
        return self.data, HEADER_BYTES


def wrong_checksum(header: BatchHeader, data: bytes) -> str:
    """Return a message with the found and the expected checksum."""
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

    *base_offset*, *last_offset*: by default the offsets of the first and the last record; given if
    compaction removed those records.
    *attributes*: compression, and the bits for transactional, control and append time; the bit for
    *delete_horizon_ms* is set here.
    Raises ``ValueError`` for no records and for an offset range too large for a batch.
    """
    if not records:
        raise ValueError("a batch without records is made by encode_empty_batch")
    base_offset = records[0].offset if base_offset is None else base_offset
    last_delta = (records[-1].offset if last_offset is None else last_offset) - base_offset
    if not 0 <= last_delta < _MAX_OFFSETS:
        raise ValueError(f"a batch spans 1 to {_MAX_OFFSETS} offsets, not {last_delta + 1}")
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
    """Return the empty batch that compaction keeps when all records are removed.

    Offsets, maximum timestamp and producer stay; the base timestamp is -1, without compression.
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
    """Return a batch: offset, length, leader epoch, format and checksum, then the given bytes."""
    length = SUMMED_FROM - LENGTH_END + len(summed)
    front = _FRONT.pack(base_offset, length, partition_leader_epoch, MAGIC, crc32c(summed))
    return front + summed
