"""Control records: how a transaction ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.records import (
    MalformedRecordError,
)
from protocols.offsets_topic.records.markers import (
    ControlType,
    EndTxnMarker,
    UnknownControlRecord,
    decode_control,
)

from ..segments.control import encode_control
from .golden import cases
from .strategies import refusal

COMMITTED = bytes.fromhex("0000 0001"), bytes.fromhex("0000 00000005")
versions = st.integers(0, 2**15 - 1)
markers = st.builds(
    EndTxnMarker,
    control_type=st.sampled_from(ControlType),
    coordinator_epoch=st.integers(-(2**31), 2**31 - 1),
    key_version=versions,
    value_version=versions,
)


def test_a_marker_is_written_as_kafka_writes_it():
    """Key and value stand in the golden batch, each behind its length."""
    (case,) = cases("marker")
    marker = EndTxnMarker(
        control_type=ControlType.COMMIT, coordinator_epoch=case["fields"]["coordinator_epoch"]
    )

    assert COMMITTED == encode_control(marker)
    assert marker == decode_control(*COMMITTED)
    assert f"08{COMMITTED[0].hex()}0c{COMMITTED[1].hex()}00" == case["hex"][-26:]


@given(markers)
def test_a_marker_comes_back_from_its_bytes(marker):
    """Of a newer version too, which is read as version 0."""
    assert marker == decode_control(*encode_control(marker))


@given(st.integers(-(2**15), 2**15 - 1).filter(lambda number: number not in (0, 1)), st.binary())
def test_a_control_record_of_another_type_is_kept(number, value):
    """A reader ignores it."""
    key = b"\x00\x00" + number.to_bytes(2, signed=True)
    record = decode_control(key, value)

    assert UnknownControlRecord(key=key, value=value) == record
    assert (key, value) == encode_control(record)


@given(st.binary(max_size=6), st.none() | st.binary(max_size=8))
def test_any_bytes_are_read_or_refused(key, value):
    """With the place."""
    error = refusal(decode_control, key, value)
    parts = {"key": key, "value": value or b""}

    assert error is None or 0 <= error.position <= len(parts[error.part])


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("0000 00", "", "key, byte 2, ControlRecordType.type: cut off"),
        ("ffff 0000", "", "key, byte 0, ControlRecordType.version: -1 is no version"),
        ("0000 0000", "0000", "value, byte 2, EndTxnMarker.coordinatorEpoch: cut off"),
        ("0000 0001", "8000 00000000", "value, byte 0, EndTxnMarker.version: -32768 is no"),
    ],
)
def test_an_error_has_part_byte_and_field(key, value, expected):
    """The part, the byte in it, and the field."""
    with pytest.raises(MalformedRecordError, match=expected):
        decode_control(bytes.fromhex(key), bytes.fromhex(value))
