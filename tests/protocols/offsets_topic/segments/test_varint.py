"""Numbers of variable length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.segments.record import (
    INT_BITS,
    LONG_BITS,
    VARINTS,
    encode_varint,
    read_varint,
)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_numbers_are_written_as_java_writes_them(value, encoded):
    """Zig-zag, seven bits a byte, low bits first."""
    assert encoded == encode_varint(value).hex()


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_come_back(value):
    """With the position after the number."""
    encoded = encode_varint(value)

    assert (value, len(encoded) + 1) == read_varint(b"x" + encoded + b"y", 1, LONG_BITS)


@given(st.integers(-2000, 2000) | st.integers(-(2**63), 2**63 - 1))
def test_numbers_may_be_looked_up(value):
    """The table says what the encoder says, of numbers that are not in it too, and does not grow."""
    size = len(VARINTS)

    assert (encode_varint(value), size) == (VARINTS[value], len(VARINTS))


@pytest.mark.parametrize(
    ("data", "bits"),
    [("ffffffffff00", INT_BITS), ("ffffffff1f", INT_BITS), ("ff" * 10 + "00", LONG_BITS)],
)
def test_numbers_that_do_not_fit_are_refused(data, bits):
    """More bytes, or more bits, than the number may have."""
    with pytest.raises(ValueError, match=f"{bits} bits"):
        read_varint(bytes.fromhex(data), 0, bits)


def test_a_number_that_is_cut_off_is_an_index_error():
    """The caller knows what the number was for, and says it."""
    with pytest.raises(IndexError):
        read_varint(b"\x80", 0)
