"""Racks: the assignments of Kafka's classes for topics whose replicas have some of the racks only.

The cases are those of ``RangeAssignorTest`` and ``AbstractStickyAssignorTest``. The replicas of the
partitions, topic by topic, are on the racks in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from assignors.range import assign_range
from assignors.sticky import assign_cooperative_sticky, assign_sticky
from assignors.types import Assignment, Subscription, Subscriptions, TopicPartition, Topics

UNEQUAL = {"1": 6, "2": 7, "3": 2}
FIVE = {"1": 5, "2": 5, "3": 5}
PAIRS = {"1": 6, "2": 6, "3": 2, "4": 2}
SIX = {"1": 6, "2": 6, "3": 2, "4": 2, "5": 4, "6": 4}
ALL, SOME = ("123", "123", "123"), ("123", "123", "13")
OWNED = ("1-0 1-1 1-2 1-3 1-4", "1-5 2-0 2-1 2-2 2-3", "2-4 2-5 2-6 3-0 3-1")


class Case(NamedTuple):
    """Topics with their partitions, topics of each member, and the racks."""

    topics: dict[str, int]
    reads: tuple[str, ...]
    replicas: int
    racks: str
    """Of the brokers; a dot: none."""

    members: str
    """Their racks; a dot: none."""

    expected: tuple[str, ...]
    owned: tuple[str, ...] = ()


def without_racks(topics: dict[str, int], reads: tuple[str, ...], expected: tuple[str, ...]):
    """Racks do not matter: brokers or members have none, each rack has all partitions, or no member's has."""
    same = [(3, "...", "abc"), (3, "abc", "..."), (3, "abc", "abc"), (4, "abcd", "abc")]
    same += [(3, "abc", "def"), (3, "abc", ".ef")]
    return [Case(topics, reads, *racks, expected) for racks in same]


PLAIN = ("1-0 1-1 2-0 2-1 2-2 3-0", "1-2 1-3 2-3 2-4 3-1", "1-4 1-5 2-5 2-6")
PLAIN_SOME = ("1-0 1-1 2-0 2-1 2-2 2-3 3-0", "1-2 1-3 2-4 2-5 2-6 3-1", "1-4 1-5")
TOGETHER = ("1-0 1-1 2-0 2-1 3-0 3-1", "1-2 1-3 2-2 2-3 3-2 3-3", "1-4 2-4 3-4")
FIVE_SOME = ("1-0 1-1 2-0 2-1 2-2 3-0 3-1", "1-2 1-3 2-3 2-4 3-2 3-3", "1-4 3-4")
BY_TWO = ("12", "12", "34", "34")
HALVES = ("1-0 1-1 1-2 2-0 2-1 2-2", "1-3 1-4 1-5 2-3 2-4 2-5", "3-0 4-0", "3-1 4-1")
EVERY = ("1234",) * 4
QUARTERS = ("1-0 1-1 2-0 2-1 3-0 4-0", "1-2 1-3 2-2 2-3 3-1 4-1", "1-4 2-4", "1-5 2-5")
LONG = ("123456789",) * 3
THIRDS = (
    "1-0 1-1 2-0 2-1 3-0 4-0 5-0 5-1 6-0 6-1",
    "1-2 1-3 2-2 2-3 3-1 4-1 5-2 6-2",
    "1-4 1-5 2-4 2-5 5-3 6-3",
)
MOVED = (
    "1-0 1-2 2-0 2-2 3-0 4-0 5-1 6-1",
    "1-1 1-3 2-1 2-3 3-1 4-1 5-2 6-2",
    "1-4 1-5 2-4 2-5 5-0 5-3 6-0 6-3",
)
RANGE = [
    *without_racks(UNEQUAL, ALL, PLAIN),
    Case(
        UNEQUAL,
        ALL,
        1,
        "abc",
        "abc",
        ("1-0 1-3 2-0 2-3 2-6", "1-1 1-4 2-1 2-4 3-0", "1-2 1-5 2-2 2-5 3-1"),
    ),
    Case(
        UNEQUAL,
        ALL,
        2,
        "abc",
        "abc",
        ("1-0 1-2 2-0 2-2 2-3 3-1", "1-1 1-3 2-1 2-4 3-0", "1-4 1-5 2-5 2-6"),
    ),
    Case(UNEQUAL, ALL, 3, "ab", "abc", PLAIN),
    *without_racks(UNEQUAL, SOME, PLAIN_SOME),
    Case(
        UNEQUAL,
        SOME,
        1,
        "abc",
        "abc",
        ("1-0 1-3 2-0 2-2 2-3 2-6", "1-1 1-4 2-1 2-4 2-5 3-0", "1-2 1-5 3-1"),
    ),
    Case(
        UNEQUAL,
        SOME,
        2,
        "abc",
        "abc",
        ("1-0 1-2 2-0 2-2 2-3 2-5 3-1", "1-1 1-3 2-1 2-4 2-6 3-0", "1-4 1-5"),
    ),
    Case(UNEQUAL, SOME, 3, "ab", "abc", PLAIN_SOME),
    *without_racks(FIVE, ALL, TOGETHER),
    *(
        Case(FIVE, ALL, n, racks, "abc", TOGETHER)
        for n, racks in ((1, "abc"), (2, "abc"), (3, "ab"))
    ),
    *without_racks(FIVE, SOME, FIVE_SOME),
    Case(
        FIVE,
        SOME,
        1,
        "abc",
        "abc",
        ("1-0 1-1 2-0 2-1 2-4 3-0 3-1", "1-2 1-3 2-2 2-3 3-2 3-3", "1-4 3-4"),
    ),
    Case(
        FIVE,
        SOME,
        2,
        "abc",
        "abc",
        ("1-2 2-0 2-1 2-3 3-2", "1-0 1-3 2-2 2-4 3-0 3-3", "1-1 1-4 3-1 3-4"),
    ),
    Case(FIVE, SOME, 3, "ab", "abc", FIVE_SOME),
    *(Case(PAIRS, BY_TWO, n, "ab", "abba", HALVES) for n in (3, 2)),
    Case(
        PAIRS,
        BY_TWO,
        1,
        "ab",
        "abba",
        ("1-0 1-2 1-4 2-0 2-2 2-4", "1-1 1-3 1-5 2-1 2-3 2-5", "3-1 4-1", "3-0 4-0"),
    ),
    *(Case(PAIRS, EVERY, n, "ab", "abba", QUARTERS) for n in (3, 2)),
    Case(
        PAIRS,
        EVERY,
        1,
        "ab",
        "abba",
        ("1-0 1-2 2-0 2-2 3-0 4-0", "1-1 1-3 2-1 2-3 3-1 4-1", "1-5 2-5", "1-4 2-4"),
    ),
    Case(
        PAIRS,
        EVERY,
        1,
        "abc",
        "abba",
        ("1-0 1-3 2-0 2-3 3-0 4-0", "1-1 1-4 2-1 2-4 3-1 4-1", "1-2 2-2", "1-5 2-5"),
    ),
    Case(SIX, LONG, 3, "...", "abc", THIRDS),
    Case(SIX, LONG, 3, "abc", "abc", THIRDS),
    Case(SIX, LONG, 2, "abc", "abc", MOVED),
]
DEALT = ("1-0 1-3 2-0 2-3 2-6", "1-1 1-4 2-1 2-4 3-0", "1-2 1-5 2-2 2-5 3-1")
LOPSIDED = ("1-5 2-0 2-2 2-4 2-6", "1-3 2-1 2-3 2-5 3-0", "1-0 1-1 1-2 1-4 3-1")
NEAR = ("1-3 2-0 2-2 2-3 2-6", "1-4 2-1 2-4 2-5 3-0", "1-0 1-1 1-2 1-5 3-1")
BOTH_STICKY = [
    *without_racks(UNEQUAL, ALL, DEALT),
    *(
        Case(UNEQUAL, ALL, n, racks, "abc", DEALT)
        for n, racks in ((1, "abc"), (2, "abc"), (3, "ab"))
    ),
    *without_racks(UNEQUAL, SOME, LOPSIDED),
    Case(UNEQUAL, SOME, 1, "abc", "abc", NEAR),
    Case(
        UNEQUAL,
        SOME,
        2,
        "abc",
        "abc",
        ("1-3 2-0 2-2 2-5 2-6", "1-0 2-1 2-3 2-4 3-0", "1-1 1-2 1-4 1-5 3-1"),
    ),
    Case(UNEQUAL, SOME, 3, "ab", "abc", LOPSIDED),
]
KEPT, KEPT_SOME = ("1-3", "2-1", "3-1"), ("1-2 1-3 1-4", "2-0 2-1 2-2 2-3", "3-0 3-1")
ALSO_STICKY = [
    Case(UNEQUAL, ALL, 1, "abc", "abc", DEALT, OWNED),
    Case(UNEQUAL, SOME, 1, "abc", "abc", NEAR, OWNED),
    Case(UNEQUAL, SOME, 3, "abc", "abc", LOPSIDED, OWNED),
]
ALSO_COOPERATIVE = [
    Case(UNEQUAL, ALL, 1, "abc", "abc", ("1-0 1-3", "2-1", "2-5 3-1"), OWNED),
    Case(UNEQUAL, SOME, 1, "abc", "abc", KEPT, OWNED),
    Case(UNEQUAL, SOME, 1, "abc", "abc", NEAR, KEPT),
    Case(UNEQUAL, SOME, 3, "abc", "abc", KEPT_SOME, OWNED),
    Case(
        UNEQUAL,
        SOME,
        3,
        "abc",
        "abc",
        ("1-2 1-3 1-4 2-4 2-5", "2-0 2-1 2-2 2-3 2-6", "1-0 1-1 1-5 3-0 3-1"),
        KEPT_SOME,
    ),
]


def name_of(case: Case) -> str:
    """Return a short name for reports of the tests."""
    return f"{case.replicas}-{case.racks}-{case.members}"


def partitions_of(text: str) -> tuple[TopicPartition, ...]:
    """Return the partitions of a text such as ``1-0 2-3``."""
    pairs = (each.split("-") for each in text.split())
    return tuple(TopicPartition(f"t{topic}", int(number)) for topic, number in pairs)


def topics_of(case: Case) -> Topics:
    """Return the topics; the replicas of all partitions are on the brokers in turn."""
    racks, following = {}, 0
    for topic, count in sorted(case.topics.items()):
        brokers = [
            [(following + n + r) % len(case.racks) for r in range(case.replicas)]
            for n in range(count)
        ]
        racks[f"t{topic}"] = tuple(
            tuple(case.racks[b].strip(".") for b in each) for each in brokers
        )
        following += count
    counts = {f"t{topic}": count for topic, count in case.topics.items()}
    return Topics(partition_counts=counts, racks=racks)


def assigned(
    assign: Callable[[Topics, Subscriptions], Assignment], case: Case, owned: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the partitions of each member, as a case has them."""
    members = {
        f"consumer{number}": Subscription(
            topics=tuple(f"t{topic}" for topic in topics),
            rack_id=rack.strip(".") or None,
            owned_partitions=partitions_of(owned[number]) if owned else (),
        )
        for number, (topics, rack) in enumerate(zip(case.reads, case.members, strict=True))
    }
    given = assign(topics_of(case), members)
    return tuple(
        " ".join(f"{tp.topic[1:]}-{tp.partition}" for tp in sorted(given[name])) for name in members
    )


@pytest.mark.parametrize("case", RANGE, ids=name_of)
def test_range_prefers_racks_if_that_splits_no_topics_with_equal_partitions(case: Case):
    """Topics with equal subscribers and partition counts are divided alike first."""
    assert case.expected == assigned(assign_range, case, ())


@pytest.mark.parametrize("case", BOTH_STICKY, ids=name_of)
def test_both_sticky_assignors_prefer_racks_and_keep_the_result(case: Case):
    """Members that own the result get it again."""
    for made in (assign_sticky, assign_cooperative_sticky):
        assert case.expected == assigned(made, case, ())
        assert case.expected == assigned(made, case, case.expected)


@pytest.mark.parametrize("case", ALSO_STICKY, ids=name_of)
def test_sticky_moves_what_is_on_another_rack(case: Case):
    """It has no claims without user data, so it assigns anew."""
    assert case.expected == assigned(assign_sticky, case, case.owned)


@pytest.mark.parametrize("case", ALSO_COOPERATIVE, ids=name_of)
def test_cooperative_moves_it_in_two_steps(case: Case):
    """Partitions that move are given to no member in the first."""
    assert case.expected == assigned(assign_cooperative_sticky, case, case.owned)
