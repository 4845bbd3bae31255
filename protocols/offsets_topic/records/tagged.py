"""Tagged fields, which end every struct of a flexible version (KIP-482).

On the wire: a count, then for each field its tag, its size in bytes and its content. A field
that has its default is left out. What 4.4 does not know is kept as (tag, content) and written
again in the order of tags.

Read, but not written again in the same bytes: a present field that has its default, tags out of
order, a duplicate known tag (the last one counts), a varint longer than necessary.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from protocols.offsets_topic.records.errors import MalformedRecordError, UnwritableRecordError, cut
from protocols.offsets_topic.records.schema import UnknownTags
from protocols.offsets_topic.records.wire import Reader, Writer, read_varint, varint

_COUNT = "tagged fields"

REMEMBERED = 4_096
_LONGEST_REMEMBERED = 64
"""Bytes; longer ones would fill the memory."""


class Tagged(NamedTuple):
    """A known tagged field."""

    tag: int
    name: str
    default: Any
    code: Callable[..., Any]
    """Its reader, or its writer."""


def tags_reader(known: Sequence[Tagged]) -> Callable[[bytes, int], tuple[Any, ...]]:
    """Return a reader of the known fields in their order, then the unknown ones, then the end."""
    places = {field.tag: place for place, field in enumerate(known)}
    defaults = [field.default for field in known]

    def read(data: bytes, at: int) -> tuple[Any, ...]:
        count, at = read_varint(data, at, _COUNT)
        if not count:
            return (*defaults, (), at)
        found = defaults.copy()
        unknown: list[tuple[int, bytes]] = []
        for _ in range(count):
            tag, start = read_varint(data, at, _COUNT)
            size, start = read_varint(data, start, _COUNT)
            at = start + size
            if at > len(data):
                raise cut(data, start, f"tag {tag}", size)
            place = places.get(tag)
            if place is None:
                unknown.append((tag, data[start:at]))
            else:
                found[place], end = known[place].code(data, start)
                if end != at:
                    raise _of_another_size(start, known[place].name, size, end - start)
        return (*found, tuple(unknown), at)

    return read


def remembered_end(
    read: Callable[[bytes, int], tuple[Any, ...]],
) -> Callable[[bytes, int], tuple[Any, ...]]:
    """Return a reader of the known fields, the unknown ones, and the bytes that follow them.

    For fields with few distinct values, such as topic ids: each value is read once.
    """

    def read_end(data: bytes, at: int) -> tuple[Any, ...]:
        *found, end = read(data, at)
        return (*found, data[end:])

    remembered = functools.lru_cache(maxsize=REMEMBERED)(lambda rest: read_end(rest, 0))

    def read_known_end(data: bytes, at: int) -> tuple[Any, ...]:
        rest = data[at:]
        if len(rest) <= _LONGEST_REMEMBERED:
            try:
                return remembered(rest)
            except MalformedRecordError as error:
                raise error.moved(at) from None
        return read_end(data, at)

    return read_known_end


def _of_another_size(start: int, name: str, given: int, taken: int) -> MalformedRecordError:
    problem = f"its size is given as {given} bytes, but it has {taken}"
    return MalformedRecordError(start, name, problem)


def tags_writer(known: Sequence[Tagged]) -> Callable[..., bytes]:
    """Return a writer of the unknown fields and of the known ones, given in their order."""

    def write(unknown: UnknownTags, *values: Any) -> bytes:
        fields = [
            (field.tag, field.code(value))
            for field, value in zip(known, values, strict=True)
            if value != field.default
        ]
        if unknown:
            fields = sorted([*fields, *unknown], key=_tag_of)
        parts = [varint(len(fields))]
        for tag, content in fields:
            parts += (varint(tag), varint(len(content)), content)
        return b"".join(parts)

    return write


def _tag_of(field: tuple[int, bytes]) -> int:
    return field[0]


# -- a struct that may be null ---------------------------------------------------------------


def presence_reader(read: Reader, name: str, *, tagged: bool) -> Reader:
    """Return a reader of a struct that may be null, which a byte before it indicates.

    It is an int8 below 0 before an ordinary field; 0, as a varint, inside a tagged one.
    """

    def read_present(data: bytes, at: int) -> tuple[Any, int]:
        if at >= len(data):
            raise cut(data, at, name, 1)
        if data[at] == 0 if tagged else data[at] >= 0x80:
            return None, at + 1
        try:
            return read(data, at + 1)
        except MalformedRecordError as error:
            raise error.within(name) from None

    return read_present


def presence_writer(write: Writer, name: str, *, tagged: bool) -> Writer:
    """Return a writer of a struct or null."""
    null, present = (b"\x00", b"\x01") if tagged else (b"\xff", b"\x01")

    def write_present(value: Any) -> bytes:
        try:
            return null if value is None else present + write(value)
        except UnwritableRecordError as error:
            raise error.within(name) from None

    return write_present
