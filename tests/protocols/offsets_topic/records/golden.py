"""Bytes of a real Kafka with the fields they hold, and what dumps of its log show."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from protocols.offsets_topic.records import RECORD_TYPES, Key, Value
from protocols.offsets_topic.records.schema import BYTES, Array, FieldType, Struct

TESTS = Path(__file__).parents[3]
GOLDEN = TESTS / "golden" / "records.jsonl.gz"
DUMPS = TESTS / "captures" / "offsets-log"


def cases(*kinds: str) -> list[dict[str, Any]]:
    """Return the golden cases of these kinds."""
    lines = gzip.decompress(GOLDEN.read_bytes()).decode().splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] in kinds]


def key_of(number: int, shown: dict[str, Any]) -> Key:
    """Return the key with these fields."""
    table = RECORD_TYPES[number].key
    return made(table, shown, 0)


def value_of(number: int, version: int, shown: dict[str, Any]) -> Value:
    """Return the value of a version with these fields."""
    return made(RECORD_TYPES[number].value, shown, version, value_version=version)


def made(table: Struct, shown: dict[str, Any], version: int, **more: Any) -> Any:
    """Return a struct from its fields by Kafka's names; bytes are hex."""
    fields = {field.name: field for field in table.of_version(version)}
    assert set(shown) <= set(fields)
    held = {
        fields[name].attribute: _held(fields[name].type, shown[name], version) for name in shown
    }
    return table.cls(**held, **more)


def _held(kind: FieldType, shown: Any, version: int) -> Any:
    if shown is None:
        return None
    if isinstance(kind, Array):
        return tuple(_held(kind.of, item, version) for item in shown)
    if isinstance(kind, Struct):
        return made(kind, shown, version)
    return bytes.fromhex(shown) if kind is BYTES and isinstance(shown, str) else shown
