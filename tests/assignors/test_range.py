"""The range assignor on the classic examples, and on racks."""

from __future__ import annotations

from assignors.range import assign_range
from assignors.types import Subscription, Topics

BOTH = {"C0": "t0 t1", "C1": "t0 t1"}


def test_two_members_and_two_topics_of_four(group, counts, words) -> None:
    """Both topics are cut in the middle."""
    given = words(assign_range(counts(t0=4, t1=4), group(BOTH)))

    assert given == {"C0": "t0p0 t0p1 t1p0 t1p1", "C1": "t0p2 t0p3 t1p2 t1p3"}


def test_two_members_and_two_topics_of_three(group, counts, words) -> None:
    """The first member gets the odd partition of every topic."""
    given = words(assign_range(counts(t0=3, t1=3), group(BOTH)))

    assert given == {"C0": "t0p0 t0p1 t1p0 t1p1", "C1": "t0p2 t1p2"}


def test_static_members_come_first_by_instance_id(counts, words) -> None:
    """The member id decides only among those without an instance id."""
    members = {
        "a": Subscription(topics=("t",)),
        "b": Subscription(topics=("t",), group_instance_id="i2"),
        "c": Subscription(topics=("t",), group_instance_id="i1"),
    }

    given = words(assign_range(counts(t=3), members))

    assert given == {"a": "tp2", "b": "tp1", "c": "tp0"}


def test_an_unknown_topic_is_ignored(group, counts, words) -> None:
    """Neither an absent topic nor one without partitions is an error."""
    given = words(assign_range(counts(t=1, empty=0), group({"C0": "t absent empty"})))

    assert given == {"C0": "tp0"}


def test_a_member_without_topics_gets_nothing(group, counts, words) -> None:
    """It has an entry all the same."""
    given = words(assign_range(counts(t=1), group({"C0": "", "C1": "t"})))

    assert given == {"C0": "", "C1": "tp0"}


def test_a_group_without_members_has_no_assignment(counts) -> None:
    """The assignment is empty."""
    assert assign_range(counts(t=1), {}) == {}


def test_members_get_partitions_with_a_replica_on_their_rack(words) -> None:
    """Co-partitioned topics go together even then."""
    racks = (("r1",), ("r0",))
    topics = Topics(partition_counts={"t": 2, "u": 2}, racks={"t": racks, "u": racks})
    members = {
        "C0": Subscription(topics=("t", "u"), rack_id="r0"),
        "C1": Subscription(topics=("t", "u"), rack_id="r1"),
    }

    given = words(assign_range(topics, members))

    assert given == {"C0": "tp1 up1", "C1": "tp0 up0"}


def test_an_empty_rack_is_none(words) -> None:
    """Members without racks are dealt to as ever."""
    topics = Topics(partition_counts={"t": 2}, racks={"t": (("r1",), ("r0",))})
    members = {member: Subscription(topics=("t",), rack_id="") for member in ("C0", "C1")}

    given = words(assign_range(topics, members))

    assert given == {"C0": "tp0", "C1": "tp1"}
