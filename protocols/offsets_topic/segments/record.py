"""One record of a batch, and the loops that read and write the records of a batch.

Numbers are varints: zig-zag, seven bits per byte, low bits first. A record has its log offset and
timestamp as deltas to those of its batch. Its attributes are an unused byte: not kept, written
as 0.

Source: ``DefaultRecord.readFrom`` and ``writeTo``, ``ByteUtils.readVarint`` and ``writeVarint``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Final, NamedTuple

from protocols.offsets_topic.segments.header import BadBatch

MAX_RECORDS: Final = 1_000_000
"""Default maximum number of records that are read from one batch.

Kafka's largest batches have about a tenth; the count in a damaged header may be far larger.
"""

INT_BITS: Final = 32
LONG_BITS: Final = 64

_MORE: Final = 0x80
_SEVEN_BITS: Final = 0x7F


def read_varint(data: bytes, at: int, bits: int = INT_BITS) -> tuple[int, int]:
    """Read the number at byte *at*; return it and the position after it.

    Raises ``IndexError`` if the data ends first, ``ValueError`` if the number does not fit into
    *bits*.

    >>> read_varint(bytes([0x54]), 0), read_varint(bytes([0x01]), 0)
    ((42, 1), (-1, 1))
    """
    zigzag = shift = 0
    while True:
        byte = data[at]
        at += 1
        zigzag |= (byte & _SEVEN_BITS) << shift
        if byte < _MORE:
            break
        shift += 7
        if shift >= bits:
            raise ValueError(f"has a number of {bits} bits that goes on after {shift // 7} bytes")
    if zigzag >> bits:
        raise ValueError(f"has a number that does not fit into {bits} bits")
    return zigzag >> 1 ^ -(zigzag & 1), at


def encode_varint(value: int) -> bytes:
    """Return the bytes of a number of up to 64 bits.

    >>> encode_varint(42).hex(), encode_varint(-1).hex(), encode_varint(64).hex()
    ('54', '01', '8001')
    """
    zigzag = value << 1 if value >= 0 else ~value << 1 | 1
    encoded = bytearray()
    while zigzag > _SEVEN_BITS:
        encoded.append(zigzag & _SEVEN_BITS | _MORE)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)


class Varints(dict[int, bytes]):
    """A cache of the bytes of numbers; small numbers are encoded beforehand."""

    def __missing__(self, value: int) -> bytes:
        return encode_varint(value)


VARINTS: Final = Varints((value, encode_varint(value)) for value in range(-64, 1024))


Headers = tuple[tuple[bytes, bytes | None], ...]
"""Names and values as bytes; the offsets log has no headers."""

_NULL: Final = VARINTS[-1]
_NO_ATTRIBUTES: Final = b"\x00"
_NO_HEADERS: Final = b"\x00"
_NULL_SIZE: Final = 1
_MAX_LENGTH: Final = 2**13
"""The limit of a zig-zag varint of two bytes."""

_MAX_LAYOUTS: Final = 2**12


class LogRecord(NamedTuple):
    """One record of the log; ``value`` None is a tombstone.

    A tuple rather than a dataclass: segments hold millions of them.
    """

    offset: int
    """The log offset."""

    timestamp: int
    """Epoch ms."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class RecordFields(NamedTuple):
    """Records as parallel lists, one for each field.

    For code that reads millions of records field by field (compaction needs keys, columns need
    everything), this saves a tuple for each record, a third of the time.
    """

    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: dict[int, Headers]
    """The headers of records that have any, by index in the lists."""

    @classmethod
    def empty(cls) -> RecordFields:
        """Return new lists without records."""
        return cls([], [], [], [], {})

    def records(self) -> list[LogRecord]:
        """Return the records one by one."""
        rows = zip(*self[:4], repeat(()))
        records = list(map(tuple.__new__, repeat(LogRecord), rows))
        for place, headers in self.headers.items():
            records[place] = records[place]._replace(headers=headers)
        return records

    def forget_from(self, place: int) -> None:
        """Remove all records from an index on."""
        for field in (self.offsets, self.timestamps, self.keys, self.values):
            del field[place:]
        for each in [each for each in self.headers if each >= place]:
            del self.headers[each]


def add_records(
    fields: RecordFields,
    data: bytes,
    at: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    most: int = MAX_RECORDS,
) -> None:
    """Add the *count* records that fill *data* from byte *at* to its end.

    Raises :class:`BadBatch` with the number of the record that cannot be read, and then adds none.
    """
    if count > most:
        raise BadBatch(f"{count:,} records in one batch; the limit `records` is {most:,}")
    start = len(fields.offsets)
    try:
        end = _add(fields, data, at, count, base_offset, base_timestamp)
    except (IndexError, ValueError, struct.error) as error:
        number = len(fields.offsets) - start + 1
        fields.forget_from(start)
        raise _bad_record(number, count, error) from None
    if end != len(data):
        fields.forget_from(start)
        raise BadBatch(f"{len(data) - end} bytes are left over after {count} records")


def _bad_record(number: int, count: int, error: Exception) -> BadBatch:
    ended = isinstance(error, IndexError | struct.error)
    return BadBatch(f"record {number} of {count} {'runs past the end' if ended else error}")


def _add(
    fields: RecordFields, data: bytes, at: int, count: int, offset: int, timestamp: int
) -> int:
    """Add records, relative to the batch's offset and timestamp; return their end position.

    A usual record is read by one struct, which makes this loop fast.
    """
    offsets, timestamps, keys, values, all_headers = fields
    layouts = _LAYOUTS
    for _ in range(count):
        start = at
        size = data[at]
        at += 1
        if size > 0x7F:
            size |= data[at] << 8
            at += 1
        key_size = data[at + 3]
        if key_size > 0x7F:
            key_size |= data[at + 4] << 8
        layout = layouts[size, key_size]
        if layout is not None:
            unpack, length, value_size = layout
            later, delta, key, written, value, headers = unpack(data, at)
            if not value and written == _NULL_SIZE:
                value, written = None, value_size
            if written == value_size and not headers and not (later | delta) & 0x81:
                at += length
                offsets.append(offset + (delta >> 1))
                timestamps.append(timestamp + (later >> 1))
                keys.append(key)
                values.append(value)
                continue
        record, at = _read_record(data, start, offset, timestamp)
        if record.headers:
            all_headers[len(offsets)] = record.headers
        offsets.append(record.offset)
        timestamps.append(record.timestamp)
        keys.append(record.key)
        values.append(record.value)
    return at


_Layout = tuple[Callable[[bytes, int], tuple[Any, ...]], int, int]
"""The function that unpacks a record, the record's length, and the size of a value that is not null.

The function returns timestamp delta, offset delta, key, size of the value, value, count of headers.
Sizes are as written, lengths in bytes.
"""


class _Layouts(dict[tuple[int, int], _Layout | None]):
    """The layouts of usual records, by record size and key size, both as written."""

    def __missing__(self, sizes: tuple[int, int]) -> _Layout | None:
        if len(self) >= _MAX_LAYOUTS:
            self.clear()
        layout = self[sizes] = _layout(*sizes)
        return layout


_LAYOUTS: Final = _Layouts()


def _layout(size: int, key_size: int) -> _Layout | None:
    """Return the layout of a record with small deltas, a key and no headers.

    None if there is no such layout: a number is negative, longer than two bytes, or written in
    more bytes than necessary.
    """
    length, key_length = _length(size), _length(key_size)
    if length is None or key_length is None:
        return None
    key_size_bytes = 1 if key_size <= 0x7F else 2
    rest = length - 4 - key_size_bytes - key_length  # for the value's size and the value
    value_size_bytes = 1 if rest <= 64 else 2
    value_length = rest - value_size_bytes
    value_size = _as_written(value_length)
    if value_length < 0 or (value_size > 0x7F) != (value_size_bytes == 2):
        return None
    value = f"{' BH'[value_size_bytes]}{value_length}s"
    fields = struct.Struct(f"<xBB{key_size_bytes}x{key_length}s{value}B")
    return fields.unpack_from, length, value_size


def _length(written: int) -> int | None:
    """Return the length in one or two bytes, low byte first."""
    length = (written >> 8 << 7 | written & 0x7F) >> 1
    return length if length < _MAX_LENGTH and _as_written(length) == written else None


def _as_written(length: int) -> int:
    zigzag = length << 1
    return zigzag if zigzag <= 0x7F else zigzag & 0x7F | 0x80 | zigzag >> 7 << 8


def _read_record(data: bytes, at: int, offset: int, timestamp: int) -> tuple[LogRecord, int]:
    """Read any record; return it and the position of the next one."""
    length, at = read_varint(data, at)
    end = at + length
    later, at = read_varint(data, at + 1, LONG_BITS)
    delta, at = read_varint(data, at)
    key, at = _read_bytes(data, at)
    value, at = _read_bytes(data, at)
    headers, at = _read_headers(data, at)
    if at != end:
        raise ValueError(f"has {end - at} bytes more than its fields take")
    return LogRecord(offset + delta, timestamp + later, key, value, headers), at


def _read_headers(data: bytes, at: int) -> tuple[Headers, int]:
    count, at = read_varint(data, at)
    if not 0 <= count <= len(data) - at:
        raise ValueError(f"cannot have {count} headers")
    headers = []
    for _ in range(count):
        name, at = _read_bytes(data, at)
        value, at = _read_bytes(data, at)
        if name is None:
            raise ValueError("has a header without a name")
        headers.append((name, value))
    return tuple(headers), at


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise IndexError
    return data[at : at + length], at + length


def encode_records(records: Iterable[LogRecord], base_offset: int, base_timestamp: int) -> bytes:
    """Return the concatenated bytes of records, as in an uncompressed batch."""
    parts: list[bytes] = []
    written = VARINTS
    for offset, timestamp, key, value, headers in records:
        body = b"".join(
            (
                _NO_ATTRIBUTES,
                written[timestamp - base_timestamp],
                written[offset - base_offset],
                _NULL if key is None else written[len(key)] + key,
                _NULL if value is None else written[len(value)] + value,
                _headers(headers) if headers else _NO_HEADERS,
            )
        )
        parts += (written[len(body)], body)
    return b"".join(parts)


def _headers(headers: Headers) -> bytes:
    parts = [VARINTS[len(headers)]]
    for name, value in headers:
        parts += (VARINTS[len(name)], name)
        parts.append(_NULL if value is None else VARINTS[len(value)] + value)
    return b"".join(parts)
