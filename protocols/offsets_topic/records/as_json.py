"""Convert records to the JSON values that Kafka's dump tool prints.

Names and order are the tool's; as in the tool, fields that the version lacks and tagged fields
with their defaults are omitted. Numbers of types and versions are text, bytes are base64; the
metadata of a classic group's members is shown by field if it can be read.

Source: ``DumpLogSegments.OffsetsMessageParser``, the schemas' generated ``JsonConverter``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from protocols.offsets_topic.records.classic import MemberMetadata
from protocols.offsets_topic.records.embedded import (
    ASSIGNMENT,
    SUBSCRIPTION,
    read_assignment,
    read_subscription,
)
from protocols.offsets_topic.records.errors import MalformedRecordError
from protocols.offsets_topic.records.markers import EndTxnMarker
from protocols.offsets_topic.records.record import RECORD_TYPES, UnknownKey, UnknownValue, Value
from protocols.offsets_topic.records.schema import Array, Field, FieldType, Key, Struct, struct_of

Json = dict[str, Any]

_EMBEDDED: dict[tuple[Struct, str], tuple[Struct, Callable[[bytes], Any]]] = {
    (struct_of(MemberMetadata), "subscription"): (SUBSCRIPTION, read_subscription),
    (struct_of(MemberMetadata), "assignment"): (ASSIGNMENT, read_assignment),
}


def key_json(key: Key) -> Json:
    """Return a key as ``{"type": "1", "data": {...}}``; of an unknown type the data are bytes."""
    if isinstance(key, UnknownKey):
        return {"type": str(key.record_type), "data": _bytes_json(key.content)}
    table = RECORD_TYPES[key.record_type].key
    return {"type": str(key.record_type), "data": _struct_json(table, key, version=0)}


def value_json(value: Value | None) -> Json | None:
    """Return a value as ``{"version": "4", "data": {...}}``, a tombstone as None.

    Of an unknown version the data are the bytes after it; if there is none it is None.
    """
    if value is None:
        return None
    version = value.value_version
    if isinstance(value, UnknownValue):
        body = value.raw if version is None else value.raw[2:]
        return {"version": version if version is None else str(version), "data": _bytes_json(body)}
    assert version is not None
    data = _struct_json(struct_of(type(value)), value, version)
    return {"version": str(version), "data": data}


def marker_json(marker: EndTxnMarker) -> Json:
    """Return the end of a transaction as the tool prints it."""
    return {
        "endTxnMarker": marker.control_type.name,
        "coordinatorEpoch": marker.coordinator_epoch,
    }


def _struct_json(table: Struct, value: Any, version: int) -> Json:
    shown = Json()
    for field in table.of_version(version):
        held = getattr(value, field.attribute)
        if field.tag is None or held != field.default:
            shown[field.name] = _field_json(table, field, held, version)
    return shown


def _field_json(table: Struct, field: Field, held: Any, version: int) -> Any:
    embedded = _EMBEDDED.get((table, field.name))
    if embedded is None:
        return _json(field.type, held, version)
    inner, read = embedded
    try:
        shown = read(held)
    except MalformedRecordError:
        return _bytes_json(held)
    return _struct_json(inner, shown, shown.value_version)


def _json(kind: FieldType, held: Any, version: int) -> Any:
    if held is None:
        return None
    if isinstance(kind, Struct):
        return _struct_json(kind, held, version)
    if isinstance(kind, Array):
        return [_json(kind.of, item, version) for item in held]
    return _bytes_json(held) if isinstance(held, bytes) else held


def _bytes_json(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
