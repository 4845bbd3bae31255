"""The schema language of this package: a record's fields, each declared once in its class.

A key, a value or a part of one is a class whose annotations carry Kafka's wire types::

    @dataclass(frozen=True, slots=True, kw_only=True)
    class ConsumerGroupMetadataValue(RecordValue):
        epoch: Int32
        metadata_hash: Annotated[Int64, Tag(0)] = 0

``str`` is a string, ``bytes`` are bytes, ``X | None`` is nullable, ``tuple[X, ...]`` is an array,
and a class of this kind is a struct. :func:`struct_of` derives the :class:`Struct` of a class, from
which the reader, the writer and the printed JSON come; Kafka's field names are the attributes in
camel case. Modules with such classes evaluate their annotations, so they have no
``from __future__ import annotations``.

Source: Kafka's message schemas (``group-coordinator/src/main/resources/common/message``).
"""

import dataclasses
import enum
import functools
import itertools
import types
from collections.abc import Iterator
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple, Protocol, Union, get_args, get_origin

from assignors.values import dataclass

UNKNOWN_TAGS = "unknown_tags"
"""Attribute for tagged fields that Kafka 4.4 does not know: (tag, content) in the order read."""

VALUE_VERSION = "value_version"
"""Attribute for the version in which a value was read and will be written."""

TRAILING = "trailing"
"""Attribute for the bytes after a value's last field."""

RECORD_TYPE = "record_type"
"""Attribute of a key for its number, so that keys of two types are never equal."""

_NOT_FIELDS = frozenset({UNKNOWN_TAGS, VALUE_VERSION, TRAILING, RECORD_TYPE})

UnknownTags = tuple[tuple[int, bytes], ...]


# -- types -----------------------------------------------------------------------------------


class Fixed(NamedTuple):
    """A type whose values all take the same number of bytes."""

    name: str
    code: str
    """The format character of the ``struct`` module, big-endian."""

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

Int8 = Annotated[int, INT8]
Int16 = Annotated[int, INT16]
Uint16 = Annotated[int, UINT16]
Int32 = Annotated[int, INT32]
Int64 = Annotated[int, INT64]
Uuid = Annotated[str, UUID]


class Since(NamedTuple):
    """The first version that has a field."""

    version: int


class Until(NamedTuple):
    """The last version that has a field."""

    version: int


class Tag(NamedTuple):
    """The number of a tagged field (KIP-482)."""

    number: int


class After(NamedTuple):
    """The attribute that a field follows in the bytes, if not the one before it in the class."""

    attribute: str


# -- bases -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A struct inside a value."""

    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordValue:
    """The value of a record, with what its fields do not hold."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


class Key(Protocol):
    """The key of a record: a named tuple whose first field is the group."""

    @property
    def record_type(self) -> int:
        """The number that the key begins with."""

    def __getitem__(self, index: Any, /) -> Any:
        """Return one of its fields."""

    def __hash__(self) -> int:
        """Return the hash of all fields and of the number."""


# -- structs ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of elements of one type; a tuple in Python."""

    of: "FieldType"


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """A class and its fields in the order of the bytes."""

    cls: type[Any]
    fields: "tuple[Field, ...]"

    def of_version(self, version: int) -> "Iterator[Field]":
        """Yield the fields that a version has."""
        return (field for field in self.fields if field.since <= version <= field.until)

    def runs(self, version: int) -> "Iterator[tuple[Field, ...]]":
        """Yield the ordinary fields of a version: neighbours of fixed size, or one other."""
        ordinary = (field for field in self.of_version(version) if field.tag is None)
        for of_fixed_size, group in itertools.groupby(ordinary, lambda field: field.is_run):
            run = tuple(group)
            yield from (run,) if of_fixed_size else ((field,) for field in run)

    def tagged(self, version: int) -> "tuple[Field, ...]":
        """Return the tagged fields of a version, by tag."""
        found = [field for field in self.of_version(version) if field.tag is not None]
        return tuple(sorted(found, key=attrgetter("tag")))

    def ends_with_ids(self, version: int) -> bool:
        """Return whether all tagged fields of a whole value are ids: few, so they can be cached."""
        tagged = self.tagged(version)
        ids = all(field.type is UUID for field in tagged)
        return bool(tagged) and ids and TRAILING in self.attributes

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes of the class, in the order of its constructor."""
        return tuple(_defaults(self.cls))


FieldType = Fixed | Sized | Array | Struct


class Layout(NamedTuple):
    """One version of a struct's bytes."""

    version: int
    flexible: bool
    """Whether lengths are compact and every struct ends with tagged fields."""


_LAST_VERSION = 32_767


class Default(enum.Enum):
    """The default of a field without one."""

    NONE = enum.auto()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct."""

    attribute: str
    """Its name in Python."""

    type: FieldType
    nullable: bool = False
    since: int = 0
    until: int = _LAST_VERSION
    """The first and the last version that have it."""

    tag: int | None = None
    """None: an ordinary field."""

    default: Any = Default.NONE
    """Of a tagged field, and of one that not every version has.

    A tagged field with its default is not written; null is written even if the field is nullable,
    because the default is the empty value.
    """

    @property
    def name(self) -> str:
        """Its name in Kafka's schema."""
        return camel_case(self.attribute)

    @property
    def is_run(self) -> bool:
        """Whether it is read and written together with neighbours of fixed size."""
        return self.tag is None and isinstance(self.type, Fixed)

    @property
    def fixed(self) -> Fixed:
        """Its type, which must be of fixed size."""
        assert isinstance(self.type, Fixed)
        return self.type


@functools.cache
def camel_case(attribute: str) -> str:
    """Return an attribute's name in camel case.

    >>> camel_case("topic_id")
    'topicId'
    """
    first, *more = attribute.split("_")
    return first + "".join(map(str.capitalize, more))


# -- from classes to structs -----------------------------------------------------------------


def struct_of(cls: type[Any]) -> Struct:
    """Return the struct that the annotations of a class declare; the same one each time."""
    found = _STRUCTS.get(cls)
    return _STRUCTS.setdefault(cls, _declared(cls)) if found is None else found


_STRUCTS: Final[dict[type[Any], Struct]] = {}


def _declared(cls: type[Any]) -> Struct:
    defaults = _defaults(cls)
    annotations = {name: _annotation(cls, name) for name in defaults if name not in _NOT_FIELDS}
    ordered = list(annotations)
    for name, annotation in annotations.items():
        for mark in _marks(annotation):
            if isinstance(mark, After):
                ordered.remove(name)
                ordered.insert(ordered.index(mark.attribute) + 1, name)
    return Struct(cls, tuple(_field(name, annotations[name], defaults[name]) for name in ordered))


def _defaults(cls: type[Any]) -> dict[str, Any]:
    """Return the default of each attribute, ``Default.NONE`` for none."""
    if issubclass(cls, tuple):
        of_tuple: dict[str, Any] = cls._field_defaults  # type: ignore[attr-defined]
        names: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
        return {name: of_tuple.get(name, Default.NONE) for name in names}
    return {
        field.name: Default.NONE if field.default is dataclasses.MISSING else field.default
        for field in dataclasses.fields(cls)
    }


def _annotation(cls: type[Any], name: str) -> Any:
    return next(base.__annotations__[name] for base in cls.__mro__ if name in base.__annotations__)


def _marks(annotation: Any) -> tuple[Any, ...]:
    return annotation.__metadata__ if get_origin(annotation) is Annotated else ()


def _field(attribute: str, annotation: Any, default: Any) -> Field:
    since, until, tag = 0, _LAST_VERSION, None
    for mark in _marks(annotation):
        match mark:
            case Since(version):
                since = version
            case Until(version):
                until = version
            case Tag(number):
                tag = number
    optional = tag is not None or since > 0 or until < _LAST_VERSION
    kind, nullable = _type_of(annotation)
    return Field(
        attribute, kind, nullable, since, until, tag, default if optional else Default.NONE
    )


def _type_of(annotation: Any) -> tuple[FieldType, bool]:
    """Return the wire type of an annotation, and whether it is nullable."""
    for mark in _marks(annotation):
        if isinstance(mark, Fixed):
            return mark, False
    if get_origin(annotation) is Annotated:
        return _type_of(annotation.__origin__)
    if get_origin(annotation) in (Union, types.UnionType):
        (present,) = (each for each in get_args(annotation) if each is not types.NoneType)
        return _type_of(present)[0], True
    if get_origin(annotation) is tuple:
        return Array(_type_of(get_args(annotation)[0])[0]), False
    if annotation in (str, bytes):
        return (STRING if annotation is str else BYTES), False
    return struct_of(annotation), False


# -- record types ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RecordType:
    """One type of record: its key, and all versions of its value."""

    key_class: type[Any]
    value_class: type[Any]
    last_version: int = 0
    """Kafka 4.4 reads versions 0 to this one."""

    flexible_since: int = 0
    """The first version with compact lengths and tagged fields."""

    is_written: bool = True
    """Whether Kafka 4.4 writes values of it, in the version that is the class's default."""

    @property
    def number(self) -> int:
        """The number that the key begins with."""
        number: int = self.key_class._field_defaults[RECORD_TYPE]
        return number

    @property
    def key(self) -> Struct:
        """The struct of the key: a single layout, never flexible."""
        return struct_of(self.key_class)

    @property
    def value(self) -> Struct:
        """The struct of the value."""
        return struct_of(self.value_class)

    @property
    def name(self) -> str:
        """Kafka's name, such as ``OffsetCommit``."""
        return self.key_class.__name__.removesuffix("Key")

    @property
    def versions(self) -> range:
        """The value versions that Kafka 4.4 reads."""
        return range(self.last_version + 1)

    def layout(self, version: int) -> Layout:
        """Return the layout of a value version."""
        return Layout(version, flexible=version >= self.flexible_since)
