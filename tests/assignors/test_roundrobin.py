"""The round-robin assignor on the classic examples."""

from __future__ import annotations

from assignors.roundrobin import assign_roundrobin
from assignors.types import Subscription

BOTH = {"C0": "t0 t1", "C1": "t0 t1"}
UNEQUAL = {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"}
FOUR = "t0 t1 t2 t3"


def test_two_members_and_two_topics_of_four(group, counts, words) -> None:
    """Every other partition goes to the same member."""
    given = words(assign_roundrobin(counts(t0=4, t1=4), group(BOTH)))

    assert given == {"C0": "t0p0 t0p2 t1p0 t1p2", "C1": "t0p1 t0p3 t1p1 t1p3"}


def test_two_members_and_two_topics_of_three(group, counts, words) -> None:
    """The deal goes on where the topic before left off."""
    given = words(assign_roundrobin(counts(t0=3, t1=3), group(BOTH)))

    assert given == {"C0": "t0p0 t0p2 t1p1", "C1": "t0p1 t1p0 t1p2"}


def test_unequal_subscriptions_are_dealt_unevenly(group, counts, words) -> None:
    """The one who reads everything gets four of six, though others could take some."""
    given = words(assign_roundrobin(counts(t0=1, t1=2, t2=3), group(UNEQUAL)))

    assert given == {"C0": "t0p0", "C1": "t1p0", "C2": "t1p1 t2p0 t2p1 t2p2"}


def test_after_the_first_of_unequal_members_has_left(group, counts, words) -> None:
    """Two more partitions change hands than would have to."""
    left = {member: UNEQUAL[member] for member in ("C1", "C2")}

    given = words(assign_roundrobin(counts(t0=1, t1=2, t2=3), group(left)))

    assert given == {"C1": "t0p0 t1p1", "C2": "t1p0 t2p0 t2p1 t2p2"}


def test_one_of_three_leaves_and_almost_everything_moves(group, counts, words) -> None:
    """Of the five partitions of those who stay, two change hands."""
    topics = counts(t0=2, t1=2, t2=2, t3=2)

    before = words(assign_roundrobin(topics, group(dict.fromkeys(("C0", "C1", "C2"), FOUR))))
    after = words(assign_roundrobin(topics, group(dict.fromkeys(("C0", "C2"), FOUR))))

    assert before == {"C0": "t0p0 t1p1 t3p0", "C1": "t0p1 t2p0 t3p1", "C2": "t1p0 t2p1"}
    assert after == {"C0": "t0p0 t1p0 t2p0 t3p0", "C2": "t0p1 t1p1 t2p1 t3p1"}


def test_static_members_come_first_in_the_ring(counts, words) -> None:
    """The order of the instance ids counts, not that of the member ids."""
    members = {
        "a": Subscription(topics=("t",)),
        "b": Subscription(topics=("t",), group_instance_id="i2"),
        "c": Subscription(topics=("t",), group_instance_id="i1"),
    }

    given = words(assign_roundrobin(counts(t=4), members))

    assert given == {"a": "tp2", "b": "tp1", "c": "tp0 tp3"}
