"""The bytes that sticky members send are Kafka's, and bad ones are read as Kafka reads them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.claims import (
    NO_CLAIM,
    UNREADABLE_CLAIM,
    Claim,
    decode_cooperative,
    decode_sticky,
    encode_cooperative,
    encode_sticky,
)
from assignors.types import TopicPartition

T0 = TopicPartition("t", 0)
VERSION_1 = bytes.fromhex("00000001 0001 74 00000002 00000000 00000001 00000007")

partitions = st.lists(
    st.builds(TopicPartition, st.text("abc-._", min_size=1, max_size=5), st.integers(0, 2**31 - 1)),
    max_size=30,
)


def test_version_1_is_written_byte_for_byte() -> None:
    """One topic with partitions 0 and 1, then generation 7."""
    assert VERSION_1 == encode_sticky([T0, TopicPartition("t", 1)], 7)


def test_topics_stand_in_the_order_of_a_hash_map() -> None:
    """Not in the order of the assignment, nor sorted: "b" and "a" are neighbours by hash."""
    data = encode_sticky([TopicPartition(topic, 0) for topic in ("b", "zz", "a")], 1)

    assert ["zz", "a", "b"] == [topic for topic, _ in decode_sticky(data).partitions]


@given(claimed=partitions, generation=st.integers(-1, 2**31 - 1))
def test_written_user_data_is_read_back(claimed: list[TopicPartition], generation: int) -> None:
    """The order inside a topic stays; that of the topics is the map's."""
    read = decode_sticky(encode_sticky(claimed, generation))

    assert generation == read.generation
    for topic in {topic for topic, _ in claimed}:
        of_topic = [one for one in claimed if one.topic == topic]
        assert of_topic == [one for one in read.partitions if one.topic == topic]


def test_version_0_has_no_generation() -> None:
    """The same without the last four bytes; it is read as generation -1."""
    assert Claim([T0, TopicPartition("t", 1)], None) == decode_sticky(VERSION_1[:-4])


def test_version_0_may_end_with_a_topic_without_partitions() -> None:
    """The shortest end there is."""
    assert Claim([], None) == decode_sticky(bytes.fromhex("00000001 0001 74 00000000"))


@pytest.mark.parametrize("data", [None, b""])
def test_no_user_data_is_no_claim_at_all(data: bytes | None) -> None:
    """A new member has nothing, and names no generation."""
    assert NO_CLAIM == decode_sticky(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        VERSION_1[:-5],
        VERSION_1[:9],
        struct.pack(">i", -1) + bytes(8),
        struct.pack(">ihi", 1, -1, 0) + bytes(40_000),
        struct.pack(">ih1si", 1, 1, b"t", -1) + bytes(8),
        struct.pack(">ih1si", 1, 1, b"t", 2**31 - 1) + bytes(8),
        struct.pack(">i", 2**31 - 1),
    ],
)
def test_bad_bytes_claim_nothing_in_generation_minus_1(data: bytes) -> None:
    """Cut off, or with a negative or absurd length: Kafka ignores what the member had."""
    assert UNREADABLE_CLAIM == decode_sticky(data)


@given(data=st.binary(max_size=60))
def test_any_bytes_are_read_somehow(data: bytes) -> None:
    """Nothing that a member sends makes the leader fail."""
    assert isinstance(decode_sticky(data), Claim)
    assert isinstance(decode_cooperative(data), int)


def test_bytes_behind_the_generation_are_ignored() -> None:
    """A later version may add fields."""
    assert 7 == decode_sticky(VERSION_1 + b"more").generation


def test_the_cooperative_assignor_sends_four_bytes() -> None:
    """The generation, and -1 if it cannot be read; none without user data."""
    assert b"\0\0\1\0" == encode_cooperative(256)
    assert 256 == decode_cooperative(encode_cooperative(256))
    assert decode_cooperative(b"\0\0") == -1
    assert decode_cooperative(None) is None
