"""Control batches: how transactions end."""

from __future__ import annotations

import struct

import pytest

from protocols.offsets_topic.records.markers import ControlType, UnknownControlRecord
from protocols.offsets_topic.segments.batch import Batch, encode_batch, encode_empty_batch
from protocols.offsets_topic.segments.header import (
    CONTROL,
    TRANSACTIONAL,
    BadBatch,
    BatchHeader,
    Producer,
)
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.transactions import read_marker

from .control import encode_marker, marker_of
from .drawn import golden

MARKERS = golden("marker")
EXAMPLE_F = bytes.fromhex(
    "0000000000000065 00000042 00000003 02 8b2b3958 0030 00000000"
    "0000019b76daa800 0000019b76daa800 0000000000000fa0 0001 ffffffff 00000001"
    "20 00 00 00  08 0000 0001  0c 0000 00000005  00"
)


def control(key: bytes | None, value: bytes | None) -> Batch:
    record = LogRecord(0, 0, key, value)
    return Batch.read(encode_batch([record], attributes=TRANSACTIONAL | CONTROL))


@pytest.mark.parametrize("case", MARKERS, ids=lambda case: case["id"])
def test_markers_are_written_and_read_as_kafka_does(case):
    """Fields give bytes, bytes give fields."""
    fields = case["fields"]
    marker = marker_of(ControlType(fields["commit"]), fields["coordinator_epoch"])
    encoded = encode_marker(
        marker,
        offset=fields["base_offset"],
        timestamp=fields["timestamp"],
        producer_id=fields["producer_id"],
        producer_epoch=fields["producer_epoch"],
        partition_leader_epoch=fields["partition_leader_epoch"],
    )

    assert case["hex"] == encoded.hex()
    assert marker == read_marker(Batch.read(encoded))


def test_the_worked_example_of_a_commit_marker():
    """Producer 4000, epoch 1, at offset 101: 78 bytes."""
    batch = Batch.read(EXAMPLE_F)

    assert marker_of(ControlType.COMMIT, 5) == read_marker(batch)
    assert (101, 4000, 1, -1, 78, True, True) == (
        batch.header.base_offset,
        batch.header.producer_id,
        batch.header.producer_epoch,
        batch.header.base_sequence,
        batch.header.size,
        batch.header.is_control,
        batch.header.is_transactional,
    )


def test_a_newer_version_is_read_as_the_oldest():
    """Bytes behind the fields that are known are passed over."""
    marker = read_marker(control(struct.pack(">hhh", 1, 0, 9), struct.pack(">hiq", 3, 8, 9)))

    assert (ControlType.ABORT, 8) == (marker.control_type, marker.coordinator_epoch)


@pytest.mark.parametrize("number", [2, 6, -1, 77])
def test_other_control_records_are_passed_over(number):
    """Whatever their values hold."""
    record = read_marker(control(struct.pack(">hh", 0, number), None))

    assert isinstance(record, UnknownControlRecord)


def test_an_emptied_control_batch_says_nothing():
    """Compaction leaves it to keep a producer's epoch."""
    assert None is read_marker(Batch.read(encode_empty_batch(BatchHeader.read(EXAMPLE_F))))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (None, b"", "key, byte 0, ControlRecordType.version"),
        (b"\0\0\0", b"", "key, byte 2, ControlRecordType.type"),
        (struct.pack(">hh", 0, 1), None, "value, byte 0, EndTxnMarker.version"),
        (struct.pack(">hh", 0, 0), b"\0" * 5, "value, byte 2, EndTxnMarker.coordinatorEpoch"),
        (struct.pack(">hh", -1, 0), b"\0" * 6, "key, byte 0, .*: -1 is no version"),
        (struct.pack(">hh", 0, 1), b"\xff" * 6, "value, byte 0, .*: -1 is no version"),
    ],
)
def test_a_marker_that_is_cut_off_or_has_no_version_is_named(key, value, message):
    """Key and value have a least length, and versions from 0 on."""
    with pytest.raises(BadBatch, match=message):
        read_marker(control(key, value))


def test_a_producer_of_a_marker_has_no_sequence():
    """Unlike one of records, which begins with sequence 0."""
    assert (0, -1) == (Producer(1, 0).base_sequence, BatchHeader.read(EXAMPLE_F).base_sequence)
