"""The coordinator's assignors on the classic example, and what they keep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.errors import AssignorDefectError, Defect
from assignors.server_input import name_based_id
from assignors.server_range import assign_server_range
from assignors.server_uniform import Balancer, assign_server_uniform
from assignors.types import Assignment, Subscription

FOUR = "t0 t1 t2 t3"
THREE = ("C0", "C1", "C2")


def keeping(members: dict[str, str], before: Assignment) -> dict[str, Subscription]:
    """Return the subscriptions of members whose current target is *before*."""
    return {
        member: Subscription(topics=tuple(topics.split()), owned_partitions=before.get(member, ()))
        for member, topics in members.items()
    }


def test_uniform_gives_the_surplus_to_the_last_members(group, counts, words) -> None:
    """From scratch; topics stand in the order of their ids' hashes."""
    topics = counts(t0=2, t1=2, t2=2, t3=2)

    given = words(assign_server_uniform(topics, group(dict.fromkeys(THREE, FOUR))))

    assert given == {"C0": "t2p0 t2p1", "C1": "t1p0 t0p0 t0p1", "C2": "t1p1 t3p0 t3p1"}


def test_uniform_moves_the_leavers_partitions_only(group, counts, words) -> None:
    """Those who stay keep all they had."""
    topics = counts(t0=2, t1=2, t2=2, t3=2)
    before = assign_server_uniform(topics, group(dict.fromkeys(THREE, FOUR)))
    left = keeping(dict.fromkeys(("C0", "C2"), FOUR), before)

    given = words(assign_server_uniform(topics, left))

    assert given == {"C0": "t0p0 t0p1 t2p0 t2p1", "C2": "t1p0 t1p1 t3p0 t3p1"}


def test_uniform_leaves_the_surplus_with_its_holder(counts, words) -> None:
    """Since Kafka 4.1 a balanced group is not changed, whichever member has one more."""
    topics = counts(t=3)
    before = words(assign_server_uniform(topics, keeping({"A": "t", "B": "t"}, {})))
    held = assign_server_uniform(topics, keeping({"A": "t", "B": "t"}, {}))

    after = words(assign_server_uniform(topics, keeping({"A": "t", "B": "t"}, held)))

    assert before == after


def test_uniform_balances_unequal_subscriptions(group, counts) -> None:
    """As the sticky assignor does, and round robin does not."""
    members = group({"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"})

    given = assign_server_uniform(counts(t0=1, t1=2, t2=3), members)

    assert {member: len(has) for member, has in given.items()} == {"C0": 1, "C1": 2, "C2": 3}


def test_uniform_drops_a_topic_that_is_no_longer_asked_for(counts, words) -> None:
    """Its partitions find a new member in the same round if the subscriptions differ."""
    before = assign_server_uniform(counts(t=2, u=2), keeping({"A": "t u", "B": "u"}, {}))

    given = words(assign_server_uniform(counts(t=2, u=2), keeping({"A": "u", "B": "t u"}, before)))

    assert sorted(given["B"].split()) == ["tp0", "tp1"]
    assert sorted(given["A"].split()) == ["up0", "up1"]


def test_a_partition_in_two_targets_ends_in_a_named_defect(counts) -> None:
    """It counts for both, so the quotas leave something over; Kafka raises."""
    both = assign_server_uniform(counts(t=4), keeping({"A": "t"}, {}))["A"]
    members = keeping({"A": "t", "B": "t"}, {"A": both, "B": both})

    with pytest.raises(AssignorDefectError, match="left over") as caught:
        assign_server_uniform(counts(t=4), members)

    assert caught.value.defect is Defect.PARTITIONS_LEFT


def test_range_cuts_each_topic_in_the_order_of_the_ids(group, counts, words) -> None:
    """The same sets as the client's range, in another order."""
    topics = counts(t0=2, t1=2, t2=2, t3=2)

    given = words(assign_server_range(topics, group(dict.fromkeys(THREE, FOUR))))

    assert given == {"C0": "t0p0 t1p0 t3p0 t2p0", "C1": "t0p1 t1p1 t3p1 t2p1", "C2": ""}


def test_range_of_equal_members_splits_among_all_and_gives_no_partition_twice(group, counts, words):
    """By the counting of the group, which may be stale: B's topics are not known yet, or C's are new."""
    topics = replace(counts(t0=6), same_for_all=True)

    waits = assign_server_range(topics, group({"A": "t0", "B": ""}))
    asks = assign_server_range(topics, group({"B": "t0", "C": "t0 t1"}))

    assert words(waits) == {"A": "t0p0 t0p1 t0p2", "B": "t0p3 t0p4 t0p5"}
    assert words(asks) == {"B": "t0p0 t0p1 t0p2", "C": "t0p3 t0p4 t0p5"}


@pytest.mark.parametrize("assign", [assign_server_range, assign_server_uniform])
def test_unknown_topics_and_empty_groups_are_no_errors(assign, group, counts, words) -> None:
    """Topics that do not exist are assigned to no member."""
    assert words(assign(counts(t=1), group({"A": "absent"}))) == {"A": ""}
    assert assign(counts(t=1), {}) == {}


def test_a_topic_without_an_id_has_one_by_its_name() -> None:
    """A version 3 UUID, as Java makes one of the name's bytes."""
    assert name_based_id("orders").hex() == "12c500ed0b7839109fb46af0f246be87"


def test_the_balancer_picks_from_both_ends_in_turn() -> None:
    """The low band takes in who is already at its level, the high band likewise."""
    sizes = [0, 2, 4, 4]
    balancer = Balancer(sizes, range(4))

    moves = []
    while not balancer.level:
        most, least = balancer.most(), balancer.least()
        if balancer.level:
            break
        sizes[most] -= 1
        sizes[least] += 1
        moves.append((most, least))

    assert moves == [(3, 0), (2, 0)]
    assert sizes == [2, 2, 3, 3]


def test_the_balancer_ignores_members_without_movable_partitions() -> None:
    """An excluded member is not chosen again; if all are excluded, none is chosen."""
    balancer = Balancer([0, 3, 3], range(3))

    picked = []
    while (most := balancer.most()) is not None:
        picked.append(most)
        balancer.exclude()

    assert sorted(picked) == [0, 1, 2]
