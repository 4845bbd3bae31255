"""Records as JSON, like that of Kafka's dump tool, line by line as the tool printed them."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given

from protocols.offsets_topic.records import (
    Record,
    UnknownKey,
    UnknownValue,
    decode,
    encode,
)
from protocols.offsets_topic.records.as_json import key_json, marker_json, value_json
from protocols.offsets_topic.records.embedded import (
    ASSIGNMENT,
    CONSUMER_PROTOCOL_VERSION,
    SUBSCRIPTION,
    write_embedded,
)
from protocols.offsets_topic.records.markers import (
    ControlType,
    EndTxnMarker,
)

from .golden import DUMPS, cases, key_of, made, value_of
from .strategies import records

LINE = re.compile(
    r"\| offset: (\d+) .*? keySize: (\d+) valueSize: (-?\d+) .*?"
    r"key: (\{.*?\}) payload: (\{.*\}|<DELETE>)$"
)
DELETED = "<DELETE>"


class Line(NamedTuple):
    """One record as the tool shows it."""

    offset: int
    key_size: int
    value_size: int
    key: str
    value: str


def lines_of(dump: Path) -> Iterator[Line]:
    with gzip.open(dump, "rt", encoding="utf-8") as file:
        for text in file:
            if text.startswith("| offset"):
                offset, key_size, value_size, *shown = LINE.match(text.rstrip("\n")).groups()
                yield Line(int(offset), int(key_size), int(value_size), *shown)


def record_of(line: Line) -> Record:
    """Return the record that a line shows; clients write the consumer protocol's version 3."""
    shown = json.loads(line.key)
    number = int(shown["type"])
    key = key_of(number, shown["data"])
    if line.value == DELETED:
        return Record(key, None)
    value = json.loads(line.value)
    for member in value["data"].get("members", ()):
        member["subscription"] = written(SUBSCRIPTION, member["subscription"])
        member["assignment"] = written(ASSIGNMENT, member["assignment"])
    return Record(key, value_of(number, int(value["version"]), value["data"]))


def written(table, shown: dict[str, Any]) -> str:
    version = CONSUMER_PROTOCOL_VERSION
    return write_embedded(table, made(table, shown, version, value_version=version)).hex()


def as_shown(shown: dict[str, Any] | None) -> str:
    if shown is None:
        return DELETED
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def check(dump: Path) -> int:
    """Hold every record of a dump against ours; return how many there are."""
    lines = list(lines_of(dump))
    for line in lines:
        record = record_of(line)
        key, value = encode(record)

        assert (line.key_size, line.value_size) == (len(key), -1 if value is None else len(value))
        read = decode(key, value)
        assert record == read
        assert (key, value) == encode(read)
        assert (line.key, line.value) == (
            as_shown(key_json(read.key)),
            as_shown(value_json(read.value)),
        )
    return len(lines)


@pytest.mark.parametrize(
    ("group", "records"),
    [
        ("crash-range-auto-1-hrkn4", 44),
        ("kip848-crash-1-cad7p", 100),
        ("rolling-static-1-26gt5", 73),
    ],
)
def test_every_record_is_shown_as_the_tool_shows_it(group, records):
    """Text for text; as many bytes as it counted; and the bytes come back."""
    assert records == check(DUMPS / f"{group}.dump.txt.gz")


@pytest.mark.long
@pytest.mark.skipif("REBALANCE_CAPTURES" not in os.environ, reason="no captures at hand")
def test_every_record_of_every_dump_is_shown_as_the_tool_shows_it():
    """Of whole segments as well."""
    dumps = sorted(Path(os.environ["REBALANCE_CAPTURES"]).glob("offsets-log/*.dump.txt.gz"))

    assert dumps
    assert all(check(dump) for dump in dumps)


@given(records)
def test_any_record_can_be_written_as_json(record):
    """They are read back from it unchanged."""
    for shown in (key_json(record.key), value_json(record.value)):
        assert shown == json.loads(json.dumps(shown))


@pytest.mark.parametrize("case", cases("record"), ids=lambda case: case["id"])
def test_every_field_that_is_not_left_out_is_shown(case):
    """Those of the golden cases, by Kafka's names."""
    record = Record(key_of(case["type"], case["key"]), None)

    assert {"type": str(case["type"]), "data": case["key"]} == key_json(record.key)
    if case["value"] is not None:
        value = value_of(case["type"], case["version"], case["value"])
        shown = value_json(value)
        assert str(case["version"]) == shown["version"]
        assert list(shown["data"]) == [name for name in shown["data"] if name in case["value"]]


def test_metadata_of_another_protocol_are_shown_as_bytes():
    """In base64, as JSON has no bytes."""
    (case,) = (case for case in cases("record") if case["id"] == "r012")
    (member,) = case["value"]["members"]
    member |= {"subscription": "00", "assignment": "ff"}
    shown = value_json(value_of(2, 3, case["value"]))["data"]["members"][0]

    assert ("AA==", "/w==") == (shown["subscription"], shown["assignment"])


def test_members_are_shown_in_the_version_of_what_they_sent():
    """Older ones have fewer fields."""
    (case,) = (case for case in cases("record") if case["id"] == "r012")
    shown = value_json(value_of(2, 3, case["value"]))["data"]["members"][0]

    assert ["topics", "userData", "ownedPartitions"] == list(shown["subscription"])
    assert ["assignedPartitions", "userData"] == list(shown["assignment"])


def test_unknown_records_are_shown_as_bytes():
    """With its type or version if it has one."""
    assert {"type": "9", "data": "Zw=="} == key_json(UnknownKey(9, b"g"))
    assert {"version": "7", "data": "Zw=="} == value_json(UnknownValue(b"\x00\x07g"))
    assert {"version": None, "data": "Zw=="} == value_json(UnknownValue(b"g"))


def test_the_end_of_a_transaction_is_shown():
    """Those of the tool."""
    marker = EndTxnMarker(control_type=ControlType.ABORT, coordinator_epoch=5)

    assert {"endTxnMarker": "ABORT", "coordinatorEpoch": 5} == marker_json(marker)
