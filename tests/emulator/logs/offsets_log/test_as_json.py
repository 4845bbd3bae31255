"""Batches and records as JSON, like that of Kafka's dump tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from protocols.offsets_topic.records import GroupMetadataKey, Record, encode_key
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.header import LOG_APPEND_TIME, Producer
from protocols.offsets_topic.segments.record import LogRecord

from .segments import (
    CAPTURES,
    GROUPS,
    KEPT,
    PRODUCER,
    batch,
    commit,
    dumped_batch,
    dumped_record,
    lines_of,
    marker,
    raw_batch,
    segment_of,
    shown,
    written,
)


def texts(content: list[dict]) -> list[str]:
    """Return lines as JSON, in which the order of the fields counts."""
    return [json.dumps(each) for each in content]


@pytest.mark.parametrize(("partition", "group"), GROUPS.items())
def test_every_record_of_a_group_is_shown_as_kafkas_own_tool_dumps_it(partition, group):
    """Names, order and values of its fields, record for record."""
    dump = [dumped_record(line) for line in lines_of(KEPT / f"{group}.dump.txt.gz")]

    assert len(dump) > 70
    assert texts(dump) == texts(shown(segment_of(partition), group))


@pytest.mark.long
@pytest.mark.skipif(not CAPTURES, reason="REBALANCE_CAPTURES names no folder of captures")
def test_every_segment_is_shown_as_kafkas_own_tool_dumps_it():
    """Whole: headers of batches and all records, in their places."""
    dumps = sorted(Path(CAPTURES).glob("offsets-log/__consumer_offsets-*.dump.txt.gz"))
    for dump in dumps:
        (segment,) = dump.parent.glob(dump.name.split(".")[0] + ".*.log.gz")
        documents = [
            dumped_record(line) if line.startswith("|") else dumped_batch(line)
            for line in lines_of(dump)
            if line.startswith(("|", "baseOffset"))
        ]

        assert texts(documents) == texts(shown(segment, batches=True))
    assert dumps


# -- what the captures do not have -------------------------------------------------------------


def one(folder, data: bytes, **wanted: bool) -> dict:
    """Return the only line about a segment that has one."""
    (line,) = shown(written(folder, data), **wanted)
    return line


def test_a_tombstone_has_no_payload_but_the_tools_word(tmp_path):
    """With the tool's size of a missing value."""
    line = one(tmp_path, batch(commit()._replace(value=None)))

    assert ("<DELETE>", -1) == (line["payload"], line["valueSize"])


def test_records_of_a_transaction_say_whose(tmp_path):
    """Other records have no such fields."""
    line = one(tmp_path, batch(commit(), producer=PRODUCER))
    plain = one(tmp_path, batch(commit()))

    extra = {"producerId": 4000, "producerEpoch": 1, "isTransactional": True}
    assert extra == {name: line[name] for name in line if name not in plain}


def test_a_marker_says_how_the_transaction_ended(tmp_path):
    """In the place of key and payload."""
    line = shown(written(tmp_path, marker(7, is_committed=False)))[0]

    assert {
        "offset": 7,
        "CreateTime": 2000,
        "keySize": 4,
        "valueSize": 6,
        "sequence": -1,
        "headerKeys": [],
        "producerId": 4000,
        "producerEpoch": 1,
        "isTransactional": True,
        "endTxnMarker": "ABORT",
        "coordinatorEpoch": 5,
    } == line


def test_an_append_time_is_called_so(tmp_path):
    """It is the batch's, for every record."""
    lines = shown(
        written(tmp_path, batch(commit(), commit(), attributes=LOG_APPEND_TIME)), batches=True
    )

    assert [1001] * 3 == [line["LogAppendTime"] for line in lines]
    assert not [line for line in lines if "CreateTime" in line]


def test_sequences_count_on_from_the_batchs(tmp_path):
    """They begin again after 2**31 - 1."""
    records = [
        LogRecord(n, 0, *raw) for n, raw in enumerate([(encode_key(commit().key), None)] * 3)
    ]
    data = encode_batch(records, producer=Producer(1, 0, 2**31 - 2))

    lines = shown(written(tmp_path, data), batches=True)

    assert [2**31 - 2, 2**31 - 1, 0] == [line["sequence"] for line in lines[1:]]
    assert (2**31 - 2, 0) == (lines[0]["baseSequence"], lines[0]["lastSequence"])


@pytest.mark.parametrize("codec", Compression)
def test_a_compressed_batch_names_its_codec(tmp_path, codec):
    """Its records are shown as of any other."""
    head, record = shown(written(tmp_path, batch(commit(offset=9), attributes=codec)), batches=True)

    assert codec.name.lower() == head["compresscodec"]
    assert 9 == record["payload"]["data"]["offset"]


def test_a_delete_horizon_is_shown(tmp_path):
    """In a batch that a cleaning went over."""
    record = LogRecord(3, 50, encode_key(commit().key), None)
    data = encode_batch([record], delete_horizon_ms=900)

    assert 900 == shown(written(tmp_path, data), batches=True)[0]["deleteHorizonMs"]


def test_an_unknown_type_is_shown_raw_and_marked(tmp_path):
    """Hexadecimal digits, that of the value behind its version."""
    line = one(tmp_path, raw_batch((b"\0\x18\0\1gmore", b"\0\3abc")))

    assert {"type": "24", "raw": b"\0\1gmore".hex()} == line["key"]
    assert {"version": "3", "raw": b"abc".hex()} == line["payload"]
    assert ("record type 24", 0) == (line["unknown"], line["position"])


def test_an_unknown_version_is_shown_raw_and_marked(tmp_path):
    """Under a key that says which group it is about."""
    line = one(tmp_path, raw_batch((encode_key(GroupMetadataKey("g")), b"\0\x09abc")))

    assert {"type": "2", "data": {"group": "g"}} == line["key"]
    assert {"version": "9", "raw": b"abc".hex()} == line["payload"]
    assert "version 9 of a value of record type 2" == line["unknown"]


def test_an_unknown_control_record_is_shown_raw_and_marked(tmp_path):
    """With the number of its type."""
    data = encode_batch([LogRecord(0, 0, b"\0\0\0\7", b"\0\0x")], attributes=0x20)
    line = shown(written(tmp_path, data))[0]

    assert (7, {"raw": "00000007"}, {"raw": "000078"}) == (
        line["controlType"],
        line["key"],
        line["payload"],
    )
    assert "control record type 7" == line["unknown"]


GOOD = batch(commit(), commit(partition=1))


@pytest.mark.parametrize(
    ("pair", "key", "payload", "error"),
    [
        (
            (None, b"v"),
            None,
            {"raw": "76"},
            "it has no key; every record of the offsets topic has one",
        ),
        ((b"\0", None), {"raw": "00"}, "<DELETE>", "key, byte 0, type: 2 bytes wanted, 1 left"),
        ((b"\0\2\0\5g", b""), {"raw": "0002000567"}, {"raw": ""}, "key, byte "),
        (
            (encode_key(GroupMetadataKey("g")), b"\0\3\0"),
            {"type": "2", "data": {"group": "g"}},
            {"raw": "000300"},
            "value, byte 2, GroupMetadataValue.protocolType: ",
        ),
        (
            (encode_key(GroupMetadataKey("g")), b""),
            {"type": "2", "data": {"group": "g"}},
            {"raw": ""},
            "value, byte 0, ",
        ),
    ],
)
def test_undecodable_records_are_shown_raw_with_the_reason(tmp_path, pair, key, payload, error):
    """With the batch's position in the file; the records around it are unchanged."""
    lines = shown(written(tmp_path, GOOD + raw_batch(pair, at=2) + batch(commit(), at=3)))

    assert [0, 1, 2, 3] == [line["offset"] for line in lines]
    assert (key, payload, len(GOOD)) == (lines[2]["key"], lines[2]["payload"], lines[2]["position"])
    assert lines[2]["error"].startswith(error)
    assert not [line for line in lines if line is not lines[2] and "error" in line]


def test_a_control_record_that_cannot_be_decoded_is_shown_raw(tmp_path):
    """Its batch is right, its key too short."""
    data = encode_batch([LogRecord(0, 0, b"\0", b"\0")], attributes=0x20)
    line = shown(written(tmp_path, data))[0]

    assert ({"raw": "00"}, {"raw": "00"}) == (line["key"], line["payload"])
    assert line["error"].startswith("key, byte ")


def test_only_records_of_the_groups_asked_for_are_shown(tmp_path):
    """With the ends of their transactions, and of others' not."""
    data = (
        batch(commit("a"), commit("b"))
        + batch(commit("b"), at=2, producer=PRODUCER)
        + marker(3)
        + batch(commit("a"), at=4, producer=PRODUCER)
        + marker(5)
        + raw_batch((b"\0\x18\0\1a", None), (b"\0\x18\0\1b", None), at=6)
        + batch(Record(GroupMetadataKey("c"), None), at=8)
    )
    path = written(tmp_path, data)

    assert [0, 4, 5, 6] == [line["offset"] for line in shown(path, "a")]
    assert [1, 2, 3, 7, 8] == [line["offset"] for line in shown(path, "b", "c")]
