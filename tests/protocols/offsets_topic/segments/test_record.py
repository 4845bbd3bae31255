"""Records: what is read fast and what is read at leisure are the same."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocols.offsets_topic.segments.header import BadBatch
from protocols.offsets_topic.segments.record import (
    LogRecord,
    RecordFields,
    _layout,
    _read_record,
    add_records,
    encode_records,
)

from .drawn import records

NULL_WITH_A_VALUE = bytes.fromhex("10000000026b010000")
"""A record whose value is null and is followed by an unexpected byte."""


def read_at_leisure(data: bytes, count: int, base: int) -> list[LogRecord] | None:
    """Read records one number after the other; None when they cannot be read."""
    found, at = [], 0
    try:
        for _ in range(count):
            record, at = _read_record(data, at, base, 5_000)
            found.append(record)
    except (IndexError, ValueError):
        return None
    return found if at == len(data) else None


def read_fast(data: bytes, count: int, base: int) -> list[LogRecord] | None:
    fields = RecordFields.empty()
    try:
        add_records(fields, data, 0, count, base, 5_000)
    except BadBatch:
        return None
    return fields.records()


def fields_of(*records: LogRecord) -> RecordFields:
    headers = {place: each.headers for place, each in enumerate(records) if each.headers}
    columns = [[each[field] for each in records] for field in range(4)]
    return RecordFields(*columns, headers)


BEFORE = LogRecord(1, 2, b"k", b"v", ((b"h", None),))
"""What is in the lists already."""


def read_fields(data: bytes, count: int, base: int) -> RecordFields | None:
    """Read records field by field, behind another; none are added when they cannot be read."""
    fields = fields_of(BEFORE)
    try:
        add_records(fields, data, 0, count, base, 5_000)
    except BadBatch:
        assert fields_of(BEFORE) == fields

        return None
    return fields


def assert_all_agree(data: bytes, count: int, base: int = 100) -> None:
    found = read_at_leisure(data, count, base)
    behind = None if found is None else fields_of(BEFORE, *found)

    assert found == read_fast(data, count, base)
    assert behind == read_fields(data, count, base)


@given(records())
def test_any_records_are_read_alike(put):
    """By the loop, behind other records too, and number by number."""
    base = put[0].offset
    data = encode_records(put, base, 5_000)

    assert put == read_fast(data, len(put), base)
    assert_all_agree(data, len(put), base)


@given(records(most=3), st.integers(0, 2**20), st.integers(1, 255), st.integers(0, 4))
def test_any_bytes_are_read_alike(put, at, change, count):
    """Also where they are no records."""
    data = bytearray(encode_records(put, put[0].offset, put[0].timestamp))
    data[at % min(len(data), 40)] ^= change

    assert_all_agree(bytes(data), count)


@given(st.binary(max_size=40), st.integers(0, 3))
@example(NULL_WITH_A_VALUE, 1)
@example(bytes.fromhex("8c01000000026b7e00") + bytes(64), 1)
def test_noise_is_read_alike(data, count):
    """Numbers in more bytes than they need, lengths that do not fit, nulls with a value."""
    assert_all_agree(data, count)


@pytest.mark.parametrize(
    ("length", "key", "value"),
    [(6, 0, 0), (63, 57, 0), (64, 5, 53), (69, 0, 63), (71, 0, 64), (201, 64, 129)],
)
def test_usual_records_have_a_layout(length, key, value):
    """By their own length and their key's: so the length of the value is known."""
    data = encode_records([LogRecord(0, 0, b"k" * key, b"v" * value)], 0, 0)
    size, at = (data[0], 1) if data[0] < 0x80 else (data[0] | data[1] << 8, 2)
    key_size = data[at + 3] if data[at + 3] < 0x80 else data[at + 3] | data[at + 4] << 8
    unpack, found, _ = _layout(size, key_size)

    assert length == found == len(data) - at
    assert (b"k" * key, b"v" * value) == (unpack(data, at)[2], unpack(data, at)[4])


@pytest.mark.parametrize(
    ("size", "key_size"),
    [
        (0x0D, 0x00),  # a negative length
        (0x20, 0x01),  # no key
        (0x20, 0x40),  # a key longer than its record
        (0x8080, 0x02),  # the size goes on in a third byte
        (0x0188, 0x8080),  # so does the key's
        (0x0090, 0x02),  # two bytes where one would do
        (0x018C, 0x00),  # no value is as long as that leaves: 63 bytes need one for their size
    ],
)
def test_unusual_records_have_none(size, key_size):
    """They are read number by number."""
    assert None is _layout(size, key_size)


def test_malformed_records_have_an_error():
    """With the index of the record."""
    with pytest.raises(BadBatch, match="record 1 of 1 has 1 bytes more than its fields take"):
        add_records(RecordFields.empty(), NULL_WITH_A_VALUE, 0, 1, 0, 0)


def test_records_that_cannot_be_read_leave_nothing_behind():
    """Neither themselves nor their headers, which later records would seem to have."""
    put = (LogRecord(7, 5_000, b"k", b"v", ((b"name", b"v"),)), LogRecord(8, 5_000, b"k", b"v"))
    fields = fields_of(LogRecord(6, 5_000, b"k", b"v"))
    with pytest.raises(BadBatch):
        add_records(fields, encode_records(put, 7, 5_000)[:-1], 0, 2, 7, 5_000)

    assert fields == fields_of(LogRecord(6, 5_000, b"k", b"v"))


def test_a_batch_of_as_many_records_as_the_limit_is_read():
    """One more is refused before any is read."""
    data = encode_records([LogRecord(at, 5_000, b"k", b"v", ()) for at in range(2)], 0, 5_000)
    fields = RecordFields.empty()
    with pytest.raises(BadBatch, match="2 records in one batch; the limit `records` is 1"):
        add_records(fields, data, 0, 2, 0, 5_000, most=1)
    add_records(fields, data, 0, 2, 0, 5_000, most=2)

    assert [0, 1] == fields.offsets
