"""Readers and writers of Kafka's wire types, and their errors for invalid bytes.

There are two families. In *plain* layouts a string begins with an int16 and everything else
with an int32; in *compact* ones (flexible versions) both begin with an unsigned varint of the
length plus one. A length of -1 (compact: 0) is null; any negative length is read as null and
written as -1.

A reader takes the bytes and a position and returns the value and the position after it, so no
object holds the position. Readers and writers are created once for each field, whose name they
keep for their errors.

Source: ``org.apache.kafka.common.protocol.ByteBufferAccessor``, ``ByteUtils`` (KIP-482).
"""

from __future__ import annotations

import base64
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from protocols.offsets_topic.records.errors import MalformedRecordError, UnwritableRecordError, cut
from protocols.offsets_topic.records.schema import UUID, Fixed

Reader = Callable[[bytes, int], tuple[Any, int]]
Writer = Callable[[Any], bytes]

LONGEST_STRING = 32_767
"""In UTF-8 bytes, in both families."""

_NULL = -1
_LONGEST_VARINT = 5
_MAX = 2**31 - 1
_NOT_NULL = "null, which it may not be"

# -- lengths ---------------------------------------------------------------------------------


_ONE_BYTE: Final = tuple(bytes((number,)) for number in range(0x80))


def read_varint(data: bytes, at: int, name: str) -> tuple[int, int]:
    """Read an unsigned varint: seven bits a byte, the low ones first."""
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    return _long_varint(data, at, name)


def _long_varint(data: bytes, at: int, name: str) -> tuple[int, int]:
    number = 0
    for place, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            if number > _MAX:
                raise MalformedRecordError(at, name, f"{number} is not a length, count or tag")
            return number, at + place + 1
    if len(data) - at < _LONGEST_VARINT:
        raise MalformedRecordError(at, name, "the bytes end inside a varint")
    raise MalformedRecordError(at, name, f"a varint of more than {_LONGEST_VARINT} bytes")


def varint(number: int) -> bytes:
    """Return an unsigned varint in its shortest form."""
    written = b""
    while number >= 0x80:
        written += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return written + _ONE_BYTE[number]


class Family(NamedTuple):
    """How lengths are read and written; -1 is null."""

    read_string_length: Callable[[bytes, int, str], tuple[int, int]]
    string_length: Callable[[int], bytes]
    read_length: Callable[[bytes, int, str], tuple[int, int]]
    length: Callable[[int], bytes]


def _plain(code: str) -> Callable[[bytes, int, str], tuple[int, int]]:
    layout = struct.Struct(code)

    def read(data: bytes, at: int, name: str) -> tuple[int, int]:
        try:
            (length,) = layout.unpack_from(data, at)
        except struct.error:
            raise cut(data, at, name, layout.size) from None
        return length, at + layout.size

    return read


def _read_compact(data: bytes, at: int, name: str) -> tuple[int, int]:
    if at < len(data) and data[at] < 0x80:
        return data[at] - 1, at + 1
    number, at = _long_varint(data, at, name)
    return number - 1, at


def _compact(length: int) -> bytes:
    return _ONE_BYTE[length + 1] if length < 0x7F else varint(length + 1)


PLAIN: Final = Family(
    _plain(">h"), struct.Struct(">h").pack, _plain(">i"), struct.Struct(">i").pack
)
COMPACT: Final = Family(_read_compact, _compact, _read_compact, _compact)


# -- fixed sizes -----------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def uuid_text(raw: bytes) -> str:
    """Return 16 bytes as Kafka prints them: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(raw)[:22].decode()


@functools.lru_cache(maxsize=4096)
def uuid_bytes(text: str) -> bytes:
    """Return the 16 bytes of an id; raise struct.error, as for a number, if it is not one."""
    try:
        raw = base64.b64decode(text.encode() + b"==", altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 16 or uuid_text(raw) != text:
        raise struct.error
    return raw


def fixed_reader(kind: Fixed, name: str) -> Reader:
    """Return a reader of one number or id."""
    if kind is UUID:
        return _uuid_reader(name)
    layout = struct.Struct(f">{kind.code}")

    def read(data: bytes, at: int) -> tuple[Any, int]:
        try:
            (value,) = layout.unpack_from(data, at)
        except struct.error:
            raise cut(data, at, name, layout.size) from None
        return value, at + layout.size

    return read


def _uuid_reader(name: str) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        end = at + UUID.size
        if end > len(data):
            raise cut(data, at, name, UUID.size)
        return uuid_text(data[at:end]), end

    return read


def fixed_writer(kind: Fixed, name: str) -> Writer:
    """Return a writer of one number or id."""
    pack: Writer = uuid_bytes if kind is UUID else struct.Struct(f">{kind.code}").pack

    def write(value: Any) -> bytes:
        try:
            return pack(value)
        except struct.error:
            raise UnwritableRecordError(name, f"{value!r} is no {kind.name}") from None

    return write


# -- strings and bytes -----------------------------------------------------------------------


def string_reader(name: str, family: Family, *, nullable: bool) -> Reader:
    """Return a reader of text; invalid UTF-8 is an error (Java would put question marks)."""
    read_length = family.read_string_length

    def read(data: bytes, at: int) -> tuple[str | None, int]:
        length, start = read_length(data, at, name)
        if not length:
            return "", start
        if length < 0:
            if not nullable:
                raise MalformedRecordError(at, name, _NOT_NULL)
            return None, start
        if length > LONGEST_STRING:
            problem = f"{length} bytes; a string has at most {LONGEST_STRING}"
            raise MalformedRecordError(at, name, problem)
        end = start + length
        if end > len(data):
            raise cut(data, start, name, length)
        try:
            return data[start:end].decode(), end
        except UnicodeDecodeError as error:
            raise MalformedRecordError(
                start + error.start, name, f"not UTF-8: byte {data[start + error.start]:#04x}"
            ) from None

    return read


def string_writer(name: str, family: Family, *, nullable: bool) -> Writer:
    """Return a writer of text of at most ``LONGEST_STRING`` bytes."""
    length, null = family.string_length, family.string_length(_NULL)

    def write(text: str | None) -> bytes:
        if text is None:
            if not nullable:
                raise UnwritableRecordError(name, _NOT_NULL)
            return null
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            raise UnwritableRecordError(name, "half of a surrogate pair is no text") from None
        if len(raw) > LONGEST_STRING:
            raise UnwritableRecordError(name, f"{len(raw)} bytes; at most {LONGEST_STRING} can be")
        return length(len(raw)) + raw

    return write


def bytes_reader(name: str, family: Family, *, nullable: bool) -> Reader:
    """Return a reader of bytes."""

    def read(data: bytes, at: int) -> tuple[bytes | None, int]:
        length, start = family.read_length(data, at, name)
        if length < 0:
            if not nullable:
                raise MalformedRecordError(at, name, _NOT_NULL)
            return None, start
        end = start + length
        if end > len(data):
            raise cut(data, start, name, length)
        return data[start:end], end

    return read


def bytes_writer(name: str, family: Family, *, nullable: bool) -> Writer:
    """Return a writer of bytes."""
    null = family.length(_NULL)

    def write(raw: bytes | None) -> bytes:
        if raw is None:
            if not nullable:
                raise UnwritableRecordError(name, _NOT_NULL)
            return null
        return family.length(len(raw)) + raw

    return write


# -- arrays ----------------------------------------------------------------------------------


def array_reader(element: Reader, name: str, family: Family, *, nullable: bool) -> Reader:
    """Return a reader of elements; each takes a byte at least, so a count can be too large."""

    def read(data: bytes, at: int) -> tuple[tuple[Any, ...] | None, int]:
        count, start = family.read_length(data, at, name)
        if count < 0:
            if not nullable:
                raise MalformedRecordError(at, name, _NOT_NULL)
            return None, start
        if count > len(data) - start:
            raise MalformedRecordError(at, name, _too_many(count, len(data) - start))
        items: list[Any] = []
        at = start
        try:
            for _ in range(count):
                item, at = element(data, at)
                items.append(item)
        except MalformedRecordError as error:
            raise error.within(f"{name}[{len(items)}]") from None
        return tuple(items), at

    return read


def array_writer(element: Writer, name: str, family: Family, *, nullable: bool) -> Writer:
    """Return a writer of elements."""
    null = family.length(_NULL)

    def write(items: Sequence[Any] | None) -> bytes:
        if items is None:
            if not nullable:
                raise UnwritableRecordError(name, _NOT_NULL)
            return null
        try:
            return family.length(len(items)) + b"".join(map(element, items))
        except UnwritableRecordError as error:
            raise error.within(f"{name}[]") from None

    return write


def numbers_reader(kind: Fixed, name: str, family: Family, *, nullable: bool) -> Reader:
    """Return a reader of an array of numbers, all taken at once."""

    def read(data: bytes, at: int) -> tuple[tuple[int, ...] | None, int]:
        count, start = family.read_length(data, at, name)
        if count < 0:
            if not nullable:
                raise MalformedRecordError(at, name, _NOT_NULL)
            return None, start
        end = start + count * kind.size
        if end > len(data):
            raise MalformedRecordError(at, name, _too_many(count, len(data) - start))
        return struct.unpack_from(f">{count}{kind.code}", data, start), end

    return read


def numbers_writer(kind: Fixed, name: str, family: Family, *, nullable: bool) -> Writer:
    """Return a writer of an array of numbers."""
    null = family.length(_NULL)

    def write(numbers: Sequence[int] | None) -> bytes:
        if numbers is None:
            if not nullable:
                raise UnwritableRecordError(name, _NOT_NULL)
            return null
        try:
            packed = struct.pack(f">{len(numbers)}{kind.code}", *numbers)
        except struct.error:
            raise UnwritableRecordError(name, f"not every one is an {kind.name}") from None
        return family.length(len(numbers)) + packed

    return write


def _too_many(count: int, left: int) -> str:
    return f"{count} elements cannot be in the {left} bytes that are left"
