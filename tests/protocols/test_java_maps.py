"""Maps walked in the order of the coordinator's own tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from assignors.java import java_hash
from protocols.java_maps import TimelineMap, recounted, spread

TIMELINE_MAPS = [
    # p: put, r: remove; then the keys as an iterator of Kafka's table hands them out: slot by slot,
    # and of one slot's the last one first.
    (
        "rm20,rm1,pm42,rm4,pm1,pm22,rm34,pm46,pm57,rm19,pm12,pm35,pm13,pm59",
        "m59 m46 m12 m35 m22 m1 m42 m13 m57",
    ),
    (
        "rm23,rm4,rm46,pm59,pm41,pm43,pm11,pm38,rm0,pm27,pm56,pm53,rm6,pm26",
        "m59 m56 m38 m43 m53 m27 m11 m26 m41",
    ),
    (
        "pm38,pm42,pm32,pm21,rm33,pm37,pm32,rm50,rm8,pm4,pm39,pm57,pm9,rm27,rm30,pm26,pm55,pm31,rm55,rm50,rm5,rm46,pm10,pm23,pm20,pm59,pm4,pm46,pm38,pm32,pm0,pm29,pm59",
        "m0 m20 m46 m59 m38 m4 m32 m37 m29 m9 m42 m21 m26 m39 m31 m57 m23 m10",
    ),
]


def test_of_two_in_one_slot_the_newer_comes_first():
    """0 and 5 share one in a table of eight."""
    assert [5, 0, 2, 4, 1, 3] == [
        key for key, _ in TimelineMap().put_all((n, n) for n in range(6)).items()
    ]
    assert [0, 5, 2, 4, 1, 3] == list(TimelineMap().put_all((n, n) for n in (5, 4, 3, 2, 1, 0)))


def test_a_value_that_is_replaced_keeps_its_place():
    """Only taking a key out and putting it in again makes it new."""
    six = TimelineMap().put_all((n, "") for n in range(6))

    assert list(six) == list(six.put(0, "x"))
    assert [0, 5, 2, 4, 1, 3] == list(six.without(0).put(0, ""))


def test_the_table_makes_room_before_it_looks():
    """Putting a key that is there may double it; holding one does not."""
    two = TimelineMap().put_all([(0, ""), (1, "")])

    assert [2, 4, 2] == [two.length, two.put(0, "").length, two.hold(0, "").length]
    assert 4 == two.hold(2, "").length


def test_a_table_never_shrinks():
    """Its order is that of the size it once had."""
    grown = TimelineMap().put_all((n, "") for n in range(6))
    for number in (1, 2, 3, 4):
        grown = grown.without(number)

    assert 8 == grown.length
    assert 2 == len(grown)


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (("a", "b"), ("b", "a"), {"a": 2, "b": 1}),
        (("a", "b"), ("a", "c"), {"a": 2, "c": 1}),
        ((), ("a", "a"), {"a": 3, "b": 1}),
        (("a",), (), {"a": 1, "b": 1}),
    ],
)
def test_each_list_counts_a_name_once(before, after, counts):
    """A name that no list has any more is not counted as 0."""
    assert counts == dict(recounted(Map({"a": 2, "b": 1}), before, after))


def test_the_spread_hash_mixes_both_halves():
    """As Java's HashMap does before it takes the low bits."""
    value = java_hash("group")

    assert (value & 0xFFFFFFFF) ^ (value & 0xFFFFFFFF) >> 16 == spread("group")


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans())))
def test_it_is_a_map(moves: list[tuple[int, bool]]):
    """Whatever is put in and taken out, it holds what a dict would, and walks each key once."""
    persistent: TimelineMap[int, int] = TimelineMap()
    model: dict[int, int] = {}
    for place, (key, put) in enumerate(moves):
        if put:
            persistent, model[key] = persistent.put(key, place), place
        elif key in persistent:
            persistent = persistent.without(key)
            del model[key]

    assert model == dict(persistent.items())
    assert len(model) == len(persistent) == len(list(persistent))
    assert all(persistent.get(key) == value for key, value in model.items())


@given(st.lists(st.text(max_size=3)))
def test_putting_many_is_putting_one_after_the_other(keys: list[str]):
    """Order and size are the same either way."""
    one_by_one: TimelineMap[str, int] = TimelineMap()
    for place, key in enumerate(keys):
        one_by_one = one_by_one.put(key, place)

    assert one_by_one == TimelineMap().put_all((key, place) for place, key in enumerate(keys))


@pytest.mark.parametrize(("operations", "expected"), TIMELINE_MAPS)
def test_a_map_iterates_as_in_the_coordinator(operations: str, expected: str) -> None:
    """It looks whether to double before it puts, even a key that is there."""
    keys: TimelineMap[str, str] = TimelineMap()
    for operation in operations.split(","):
        key = operation[1:]
        if operation[0] == "p":
            keys = keys.put(key, "")
        elif key in keys:
            keys = keys.without(key)

    assert expected.split() == list(keys)
