"""Encode records to bytes and decode them.

:func:`encode` writes the same bytes that :func:`decode` read: values of old versions, unknown
types, unknown versions, unknown tagged fields, and bytes after a value's last field. Not preserved
are encodings with two forms: a length or count other than -1 for null, a varint longer than
necessary, the forms that ``tagged`` lists, and bytes after a key's last field. Kafka's own writers
produce none of them.

Source: ``GroupCoordinatorRecordSerde``, ``CoordinatorRecordSerde``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from protocols.offsets_topic.records.classic import (
    ZERO_TOPIC_ID,
    OffsetCommitKey,
    OffsetCommitValue,
)
from protocols.offsets_topic.records.errors import MalformedRecordError, UnwritableRecordError
from protocols.offsets_topic.records.reading import struct_reader
from protocols.offsets_topic.records.record import (
    RECORD_TYPES,
    Record,
    UnknownKey,
    UnknownValue,
    Value,
)
from protocols.offsets_topic.records.schema import RECORD_TYPE, Key, Layout
from protocols.offsets_topic.records.wire import Reader, Writer
from protocols.offsets_topic.records.writing import struct_writer

_record: Callable[[tuple[Key, Value | None]], Record] = functools.partial(tuple.__new__, Record)
"""Creates a record without a Python call."""

_KEY_LAYOUT = Layout(0, flexible=False)
_BODY = 2
"""Keys begin with their type, values with their version: an int16."""

_NO_TYPE = -1
"""A number that is no record type."""

_REMEMBERED = 16_384
_LONGEST_REMEMBERED = 1_024
"""Keys repeat, so they are cached; very long keys do not repeat and would fill the memory."""


# -- decoding --------------------------------------------------------------------------------


def decode(key: bytes, value: bytes | None) -> Record:
    """Return the record of a key and a value; None as the value is a tombstone.

    An unknown type gives an :class:`UnknownKey`, an unknown version an :class:`UnknownValue`.
    Raise MalformedRecordError for bytes that are cut off or not valid.
    """
    decoded = decode_key(key)
    if value is None:
        return _record((decoded, None))
    return _record((decoded, decode_value(decoded.record_type, value)))


def decode_key(data: bytes) -> Key:
    """Return the key in *data*; raise MalformedRecordError if the bytes are not valid."""
    return _known_key(data) if len(data) <= _LONGEST_REMEMBERED else _key(data)


def decode_value(record_type: int, data: bytes) -> Value:
    """Return the value in *data* under a key of this type; errors as :func:`decode`."""
    try:
        value: Value = _readers[record_type, data[:_BODY]](data, _BODY)[0]
    except MalformedRecordError as error:
        raise error.of("value", RECORD_TYPES[record_type].value_class.__name__) from None
    return value


def _key(data: bytes) -> Key:
    if len(data) < _BODY:
        raise MalformedRecordError(0, "type", f"2 bytes wanted, {len(data)} left", "key")
    number = int.from_bytes(data[:_BODY], signed=True)
    record_type = RECORD_TYPES.get(number)
    if record_type is None:
        return UnknownKey(number, data[_BODY:])
    table = record_type.key
    try:
        key: Key = struct_reader(table, _KEY_LAYOUT)(data, _BODY)[0]
    except MalformedRecordError as error:
        raise error.of("key", table.cls.__name__) from None
    return key


_known_key = functools.lru_cache(maxsize=_REMEMBERED)(_key)


class _Readers(dict[tuple[int, bytes], Reader]):
    """Readers of values by record type and the version's two bytes, compiled on first use."""

    def __missing__(self, wanted: tuple[int, bytes]) -> Reader:
        number, prefix = wanted
        record_type = RECORD_TYPES.get(number)
        if record_type is None:
            return _unknown_value
        if len(prefix) < _BODY:
            raise MalformedRecordError(0, "version", f"2 bytes wanted, {len(prefix)} left")
        version = int.from_bytes(prefix, signed=True)
        if version not in record_type.versions:
            return _unknown_value
        reader = struct_reader(record_type.value, record_type.layout(version))
        return self.setdefault(wanted, reader)


_readers = _Readers()


def _unknown_value(data: bytes, _: int) -> tuple[UnknownValue, int]:
    return UnknownValue(data), len(data)


# -- encoding --------------------------------------------------------------------------------


def encode(record: Record) -> tuple[bytes, bytes | None]:
    """Return the bytes of a record's key and value; a value is written in its own version.

    Raise UnwritableRecordError for text that is too long, numbers that are too large, a field that
    the value's version does not have, or the value of another key.
    """
    key, value = record
    if value is None:
        return encode_key(key), None
    return encode_key(key), encode_value(key.record_type, value)


def encode_key(key: Key) -> bytes:
    """Return the bytes of a key; raise UnwritableRecordError as :func:`encode`."""
    try:
        return _key_writers[type(key)](key)
    except UnwritableRecordError as error:
        raise error.within(type(key).__name__) from None


def encode_value(record_type: int, value: Value) -> bytes:
    """Return the bytes of a value under a key of this type; errors as :func:`encode`."""
    try:
        return _writers[record_type, type(value), value.value_version](value)
    except UnwritableRecordError as error:
        raise error.within(type(value).__name__) from None


def size(record: Record) -> int:
    """Return the size of a record's key and value together, in bytes."""
    key, value = encode(record)
    return len(key) + (0 if value is None else len(value))


def _written_unknown_key(key: UnknownKey) -> bytes:
    try:
        return key.record_type.to_bytes(_BODY, signed=True) + key.content
    except OverflowError:
        raise UnwritableRecordError("type", f"{key.record_type} is no int16") from None


def _raw(value: UnknownValue) -> bytes:
    return value.raw


class _KeyWriters(dict[type, Writer]):
    """Writers of keys by class, compiled on first use."""

    def __missing__(self, cls: type) -> Writer:
        number = getattr(cls, "_field_defaults", {}).get(RECORD_TYPE, _NO_TYPE)
        record_type = RECORD_TYPES.get(number)
        if record_type is None or record_type.key_class is not cls:
            raise UnwritableRecordError("", "not the key of a record")
        head = record_type.number.to_bytes(_BODY)
        return self.setdefault(cls, struct_writer(record_type.key, _KEY_LAYOUT, head))


_key_writers = _KeyWriters({UnknownKey: _written_unknown_key})


class _Writers(dict[tuple[int, type, int | None], Writer]):
    """Writers of values by record type, class and version, compiled on first use."""

    def __missing__(self, wanted: tuple[int, type, int | None]) -> Writer:
        number, cls, version = wanted
        if cls is UnknownValue:
            return _raw
        record_type = RECORD_TYPES.get(number)
        if record_type is None or record_type.value_class is not cls:
            raise UnwritableRecordError("", f"not the value of a key of type {number}")
        if version is None or version not in record_type.versions:
            problem = f"{version} is none of 0 to {record_type.last_version}"
            raise UnwritableRecordError("value_version", problem)
        head = version.to_bytes(_BODY)
        writer = struct_writer(record_type.value, record_type.layout(version), head)
        return self.setdefault(wanted, writer)


_writers = _Writers()


# -- sizes -----------------------------------------------------------------------------------

_NO_VALUE = -1
"""The size of a tombstone's value, as in the rules for batches."""


def sizes_of(record: Record) -> tuple[int, int]:
    """Return the bytes of a record's key and of its value; -1 for the value of a tombstone."""
    key, value = record
    if value is None:
        return _key_size(key), _NO_VALUE
    return _key_size(key), _value_size(key.record_type, value)


def _key_size(key: Any) -> int:
    if type(key) is OffsetCommitKey:
        return _commit_key_size(key.group, key.topic)
    return _other_key_size(key)


@functools.lru_cache(_REMEMBERED)
def _commit_key_size(group: str, topic: str) -> int:
    """Return the bytes of the key of a committed offset, the same for all partitions of a topic."""
    return len(encode_key(OffsetCommitKey(group, topic, 0)))


@functools.lru_cache(_REMEMBERED)
def _other_key_size(key: Any) -> int:
    return len(encode_key(key))


def _value_size(record_type: int, value: Any) -> int:
    """Return the bytes of a value; an offset commit is not encoded to learn them."""
    if type(value) is OffsetCommitValue and not (value.unknown_tags or value.trailing):
        has_topic_id = value.topic_id != ZERO_TOPIC_ID
        return _commit_size(value.metadata, value.value_version, has_topic_id=has_topic_id)
    return len(encode_value(record_type, value))


@functools.lru_cache(_REMEMBERED)
def _commit_size(metadata: str, version: int, *, has_topic_id: bool) -> int:
    """Return the bytes of an offset commit, whose other fields have fixed sizes."""
    value = OffsetCommitValue(
        offset=0,
        commit_timestamp=0,
        metadata=metadata,
        topic_id=_SOME_TOPIC_ID if has_topic_id else ZERO_TOPIC_ID,
        value_version=version,
    )
    return len(encode_value(_OFFSET_COMMIT, value))


_OFFSET_COMMIT = 1
_SOME_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
