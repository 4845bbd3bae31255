"""The words in which the layout tables of this package are written.

A table is a :class:`Struct`: a class, and its fields in the order of the wire, each with Kafka's
name, its type, the versions that have it, and for a tagged field its tag and default. Tables are
plain values: the codec compiles them, ``words`` prints by them, and whoever wants columns
instead of values can walk them.

Source: Kafka's message schemas (``group-coordinator/src/main/resources/common/message``).
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

UNKNOWN_TAGS = "unknown_tags"
"""Attribute for tagged fields that 4.4 does not know: (tag, content) in the order read."""

VALUE_VERSION = "value_version"
"""Attribute for the version that a value was read in and will be written in."""

TRAILING = "trailing"
"""Attribute for bytes that follow a value's last field."""

UnknownTags = tuple[tuple[int, bytes], ...]


class Fixed(NamedTuple):
    """A type whose values all take the same number of bytes."""

    name: str
    code: str
    """As ``struct`` writes it, big-endian."""

    size: int


INT8: Final = Fixed("int8", "b", 1)
INT16: Final = Fixed("int16", "h", 2)
UINT16: Final = Fixed("uint16", "H", 2)
INT32: Final = Fixed("int32", "i", 4)
INT64: Final = Fixed("int64", "q", 8)
UUID: Final = Fixed("uuid", "16s", 16)


class Sized(enum.Enum):
    """A type whose values begin with their length in bytes."""

    STRING = "string"
    BYTES = "bytes"


STRING: Final = Sized.STRING
BYTES: Final = Sized.BYTES


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of elements of one type; a tuple in Python."""

    of: FieldType


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """A class and its fields in the order of the wire; two tables are never the same one.

    The attributes of the class are the fields' names in snake case. Beside them it may have
    ``unknown_tags``, and if it is the whole of a value ``value_version`` and ``trailing``.
    """

    cls: type[Any]
    fields: tuple[Field, ...]

    def of_version(self, version: int) -> Iterator[Field]:
        """Yield the fields that a version has."""
        return (field for field in self.fields if field.since <= version <= field.until)

    def runs(self, version: int) -> Iterator[tuple[Field, ...]]:
        """Yield the ordinary fields of a version: neighbours of fixed size, or one other."""
        ordinary = (field for field in self.of_version(version) if field.tag is None)
        for of_fixed_size, group in itertools.groupby(ordinary, lambda field: field.is_run):
            run = tuple(group)
            yield from (run,) if of_fixed_size else ((field,) for field in run)

    def tagged(self, version: int) -> tuple[Field, ...]:
        """Return the tagged fields of a version, by tag."""
        found = [field for field in self.of_version(version) if field.tag is not None]
        return tuple(sorted(found, key=lambda field: field.tag or 0))

    def ends_with_ids(self, version: int) -> bool:
        """Say whether all tagged fields of a whole value are ids: few, so they can be remembered."""
        tagged = self.tagged(version)
        ids = all(field.type is UUID for field in tagged)
        return bool(tagged) and ids and TRAILING in self.attributes

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes of the class, in its own order."""
        if issubclass(self.cls, tuple):
            return tuple(self.cls._fields)  # type: ignore[attr-defined]
        return tuple(field.name for field in dataclasses.fields(self.cls))


FieldType = Fixed | Sized | Array | Struct


class Layout(NamedTuple):
    """Which of a table's layouts."""

    version: int
    flexible: bool
    """Lengths are compact, and every struct ends with tagged fields."""


_EVER = 32_767


class Default(enum.Enum):
    """Stands for the default of a field that has none."""

    NONE = enum.auto()


@functools.cache
def _in_python(name: str) -> str:
    """Return one of Kafka's names in Python's spelling; asked for with every field that is shown."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct."""

    name: str
    """Kafka's."""

    type: FieldType
    nullable: bool = False
    since: int = 0
    until: int = _EVER
    """First and last version that have it."""

    tag: int | None = None
    """None: an ordinary field, always there."""

    default: Any = Default.NONE
    """Of a tagged field, and of one that not every version has.

    A tagged field is left out of the bytes when it has its default, also when it may be null:
    then null is written, and the default is the empty thing.
    """

    @property
    def attribute(self) -> str:
        """Its name in Python."""
        return _in_python(self.name)

    @property
    def is_run(self) -> bool:
        """Say whether it is read and written together with neighbours of fixed size."""
        return self.tag is None and isinstance(self.type, Fixed)

    @property
    def fixed(self) -> Fixed:
        """Its type, if that is of fixed size."""
        assert isinstance(self.type, Fixed)
        return self.type


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordType:
    """One type of record: the layouts of its key and of all versions of its value."""

    number: int
    """What the key begins with."""

    key: Struct
    """A single layout, never flexible."""

    value: Struct
    last_version: int = 0
    """4.4 reads versions 0 to this one."""

    flexible_since: int = 0
    """From this version on lengths are compact and every struct ends with tagged fields."""

    written_version: int | None = 0
    """What 4.4 writes; None: nothing, or tombstones only."""

    @property
    def name(self) -> str:
        """Kafka's name, such as ``OffsetCommit``."""
        return self.key.cls.__name__.removesuffix("Key")

    @property
    def versions(self) -> range:
        """The value versions that 4.4 reads."""
        return range(self.last_version + 1)

    def layout(self, version: int) -> Layout:
        """Return the layout of a value version."""
        return Layout(version, flexible=version >= self.flexible_since)
