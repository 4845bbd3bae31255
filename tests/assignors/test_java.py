"""The model of Java's hash tables against what Java itself printed."""

from __future__ import annotations

import pytest

from assignors.java import (
    HashTable,
    hash_map_length,
    hash_map_order,
    java_hash,
    length_for_capacity,
    length_of_map_copy,
    length_of_set_copy,
    string_order,
    timeline_map_length,
    topic_partition_hash,
    uuid_hash,
)
from assignors.types import TopicPartition

HASH_MAPS = [
    # p: put, c: computeIfAbsent, r: remove; then the key set as Java 17 prints it
    ("c12,p2,p20,c26,c16,p5,c1,r12,p7,p7,p24,c11", [16, 1, 2, 20, 5, 7, 24, 26, 11]),
    (
        "p160,c352,p368,p48,c496,c576,p512,c496,c400,c96,r48,c112,p400,p192,p304,c16,r304",
        [96, 576, 352, 160, 512, 192, 16, 112, 400, 496, 368],
    ),
    (
        "p48,c29,p26,p35,p24,p20,c48,c13,p46,p8,p41,r26,p30,p38,c35,c43,p12,p1",
        [1, 35, 38, 8, 41, 43, 12, 13, 46, 48, 20, 24, 29, 30],
    ),
    ("p16,p96,p80,p96,c304,p32,r32,c112,p112,c416", [416, 112, 304, 16, 96, 80]),
    ("p1024,c64,p1792,p256,p1600,r1792,c1344,c832,p0,p1344", [832, 1344, 64, 1024, 256, 1600, 0]),
    ("p28,p6,p18,c26,c4,c6,r26,p54,c10,c4,c30", [18, 4, 6, 54, 10, 28, 30]),
    (
        "c22,p16,p30,p7,p37,c40,p32,r22,c13,p32,r30,p0,c29,p32,c26,p37,c5,c42,c38",
        [16, 32, 0, 5, 37, 38, 7, 40, 42, 26, 29, 13],
    ),
    (
        "p1344,p1472,p896,p1088,p640,p0,p896,p896,p1536,p1408,r896,p1472,p1664,p128,p1664,r1472",
        [1344, 1088, 640, 0, 1536, 1408, 1664, 128],
    ),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("hello", 99162322), ("h\u00e9llo", 103094734), ("\U0001f600", 1772899)],
)
def test_a_string_hashes_as_in_java(text: str, expected: int) -> None:
    """UTF-16 units count, and the result wraps around to a signed 32-bit number."""
    assert expected == java_hash(text)


def test_a_long_string_hashes_as_its_parts_do() -> None:
    """Beyond the precomputed powers the hash goes on as by Java's loop."""
    head, tail = "x" * 250, "y" * 250

    expected = java_hash(head) * pow(31, len(tail), 1 << 32) + java_hash(tail)

    assert (expected - java_hash(head + tail)) % (1 << 32) == 0


def test_a_partition_hashes_by_topic_and_number() -> None:
    """The number counts 31 times, plus 31 squared, plus the topic's hash."""
    assert 31 * (31 + 7) + java_hash("orders") == topic_partition_hash(TopicPartition("orders", 7))


def test_a_topic_id_hashes_as_a_uuid() -> None:
    """Both halves are mixed, and then both halves of that."""
    topic_id = bytes.fromhex("00000001 00000002 00000004 00000008")

    assert uuid_hash(topic_id) == 1 ^ 2 ^ 4 ^ 8


@pytest.mark.parametrize(("operations", "expected"), HASH_MAPS)
def test_a_hash_map_iterates_as_in_java(operations: str, expected: list[int]) -> None:
    """Puts go to the tail of a chain, computed keys to its head, and full tables double."""
    table = HashTable(lambda key: key)
    for operation in operations.split(","):
        act = {"p": table.put, "c": table.compute_if_absent, "r": table.remove}[operation[0]]
        act(int(operation[1:]))

    assert expected == list(table)
    assert len(expected) == len(table)
    assert all(key in table for key in expected)


def test_the_order_of_puts_equals_the_table_filled_key_by_key() -> None:
    """The short way and the long way agree, chains that double small tables included."""
    fills = [list(range(0, step * count, step)) for step in (1, 3, 16, 48) for count in (5, 12, 40)]
    for keys in fills:
        for length in (1, 16, 32):
            table = HashTable(int, length)
            for key in keys:
                table.put(key)

            assert list(table) == hash_map_order(keys, int, length)


def test_the_order_of_an_older_larger_map_is_kept() -> None:
    """A map that once had 13 keys goes on with 32 slots."""
    assert [16, 1] == hash_map_order([16, 1], int)
    assert [1, 16] == hash_map_order([16, 1], int, hash_map_length(13))


def test_lengths_are_powers_of_two() -> None:
    """Capacities are rounded up, and copies leave room for a quarter."""
    assert [1, 1, 2, 4, 16, 32] == [length_for_capacity(c) for c in (0, 1, 2, 3, 16, 17)]
    assert [4, 8, 8, 16, 16, 32] == [length_of_map_copy(n) for n in (2, 3, 5, 6, 11, 12)]
    assert [16, 16, 32] == [length_of_set_copy(n) for n in (0, 11, 12)]
    assert [16, 32, 32, 64] == [hash_map_length(n) for n in (12, 13, 24, 25)]
    assert [2, 4, 4, 8] == [timeline_map_length(n) for n in (2, 3, 5, 6)]


def test_texts_are_ordered_by_utf_16_unit() -> None:
    """A character beyond the first plane comes before the last ones of that plane."""
    assert ["a", "\U0001f600", "\uffff"] == sorted(["\uffff", "a", "\U0001f600"], key=string_order)
