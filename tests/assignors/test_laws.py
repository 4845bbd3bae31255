"""Laws for every group: each partition once, none left out, balanced, no needless moves.

Where Kafka's result depends on the order of its input, the law says so: member ids that share a
slot of Java's hash map come out in the order in which they went in.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assignors.errors import AssignorDefectError, Defect
from assignors.java import hash_map_order, java_hash
from assignors.plugin import check_assignment, check_cooperative
from assignors.range import assign_range
from assignors.roundrobin import assign_roundrobin
from assignors.server_range import assign_server_range
from assignors.server_uniform import assign_server_uniform
from assignors.sticky import assign_cooperative_sticky, assign_sticky
from assignors.types import Assignment, Subscription, Subscriptions, Topics

from .drawn import (
    AssignFunction,
    all_given,
    any_group,
    as_sets,
    claiming_groups,
    groups,
    keeping,
    shuffled,
    wanted,
    without_racks,
)

few = settings(max_examples=25, deadline=None)
"""Each law meets six assignors; what 25 groups do not show, the long test may."""

CLIENT_SIDE = [assign_range, assign_roundrobin, assign_sticky, assign_cooperative_sticky]
ALL = [*CLIENT_SIDE, assign_server_range, assign_server_uniform]
STICKY = [assign_sticky, assign_server_uniform]


@pytest.mark.plain_of(3)
@pytest.mark.parametrize("assign", ALL)
@few
@given(any_group)
def test_every_wanted_partition_is_given_once_and_to_a_reader(
    assign: AssignFunction, drawn
) -> None:
    """No partition twice, none forgotten, none to a member that does not ask for it."""
    topics, members = drawn
    assume(not (any(sub.topics for sub in members.values()) and first_has_none(members)))

    given = assign(topics, members)

    assert wanted(topics, members) == all_given(given)
    assert members.keys() == given.keys()
    for member, partitions in given.items():
        assert {one.topic for one in partitions} <= set(members[member].topics)


def first_has_none(members: Subscriptions) -> bool:
    """Say whether members without topics come first, which Kafka's sticky takes for readers."""
    return not members[hash_map_order(members, java_hash)[0]].topics


@pytest.mark.parametrize(
    "assign", [assign_roundrobin, assign_sticky, assign_cooperative_sticky, assign_server_uniform]
)
@few
@given(groups(uniform=True))
def test_equal_members_differ_by_one_partition_at_most(assign: AssignFunction, drawn) -> None:
    """Balanced over all topics."""
    topics, members = drawn

    sizes = [len(partitions) for partitions in assign(topics, members).values()]

    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("assign", [assign_range, assign_server_range])
@few
@given(any_group)
def test_range_is_balanced_topic_by_topic(assign: AssignFunction, drawn) -> None:
    """The readers of a topic differ by one partition of it at most."""
    topics, members = drawn

    given = assign(topics, members)

    for topic in topics.partition_counts:
        readers = [member for member, sub in members.items() if topic in sub.topics]
        sizes = [sum(one.topic == topic for one in given[member]) for member in readers]
        assert max(sizes, default=0) - min(sizes, default=0) <= 1


@few
@given(groups(uniform=False))
def test_sticky_is_balanced(drawn) -> None:
    """From scratch, no move of one partition to another subscriber makes two members more equal."""
    topics, members = drawn
    members = without_racks(members)
    assume(not first_has_none(members))

    given = assign_sticky(topics, members)

    for partitions in given.values():
        for partition in partitions:
            for reader, subscription in members.items():
                if partition.topic in subscription.topics:
                    assert len(given[reader]) >= len(partitions) - 1


@pytest.mark.parametrize("assign", STICKY)
@few
@given(groups(uniform=True))
def test_a_second_assignment_changes_nothing(assign: AssignFunction, drawn) -> None:
    """The membership is the same."""
    topics, members = drawn
    members = without_racks(members)
    before = assign(topics, members)

    after = assign(topics, keeping(assign, members, before))

    assert as_sets(before) == as_sets(after)


@pytest.mark.parametrize("assign", STICKY)
@few
@given(groups(uniform=True), st.randoms(use_true_random=False))
def test_when_one_leaves_the_others_keep_what_they_have(
    assign: AssignFunction, drawn, chooser
) -> None:
    """Only the leaver's partitions move."""
    topics, members = drawn
    members = without_racks(members)
    assume(len(members) > 1)
    before = assign(topics, members)
    leaver = chooser.choice(list(members))
    left = {member: sub for member, sub in members.items() if member != leaver}

    after = assign(topics, keeping(assign, left, before))

    assert all(set(before[member]) <= set(after[member]) for member in left)


@pytest.mark.parametrize("assign", STICKY)
@few
@given(groups(uniform=True))
def test_when_one_joins_partitions_move_to_it_alone(assign: AssignFunction, drawn) -> None:
    """At most its share moves."""
    topics, members = drawn
    members = without_racks(members)
    before = assign(topics, members)
    topics_of_all = next(iter(members.values())).topics
    joined = {**members, "the newcomer": Subscription(topics=topics_of_all)}

    after = assign(topics, keeping(assign, joined, before))

    assert all(set(after[member]) <= set(before[member]) for member in members)
    assert len(after["the newcomer"]) == len(wanted(topics, members)) // len(joined)


@pytest.mark.parametrize(("kind", "rounds"), [(groups(uniform=True), 2), (any_group, 4)])
@few
@given(st.data())
def test_cooperative_never_moves_in_one_step_and_settles_soon(kind, rounds: int, data) -> None:
    """A moving partition is revoked first, then assigned: two rounds with equal subscriptions.

    With different ones, the second round may itself move a partition, and need a third.
    """
    topics, members = data.draw(kind)
    members = without_racks(members)
    assume(not first_has_none(members))
    others = data.draw(any_group)
    before = assign_cooperative_sticky(others[0], without_racks(others[1]))
    there = set(wanted(topics, members))
    still_there = [tuple(one for one in had if one in there) for had in before.values()]
    given = dict(zip(members, still_there, strict=False))

    for generation in range(1, rounds + 1):
        rejoining = keeping(assign_cooperative_sticky, members, given, generation)
        given = assign_cooperative_sticky(topics, rejoining)
        check_cooperative(rejoining, given)
        assert check_assignment(given, members).given_twice == ()

    assert wanted(topics, members) == all_given(given)


@pytest.mark.parametrize("assign", [assign_range, assign_roundrobin, assign_server_range])
@few
@given(any_group, st.randoms(use_true_random=False))
def test_the_order_of_members_and_topics_does_not_matter(
    assign: AssignFunction, drawn, chooser
) -> None:
    """Law 4, without reserve: who gets what is the same however the input is shuffled."""
    topics, members = drawn

    turned = assign(*shuffled(topics, members, chooser))

    assert as_sets(assign(topics, members)) == as_sets(turned)


@pytest.mark.plain_of(3)
@pytest.mark.parametrize("assign", ALL)
@few
@given(any_group, st.randoms(use_true_random=False))
def test_the_order_of_members_and_topics_matters_only_within_a_slot(
    assign: AssignFunction, drawn, chooser
) -> None:
    """Law 4: lists and all, as long as Java's maps iterate alike."""
    topics, members = drawn
    other_topics, other = shuffled(topics, members, chooser)
    assume(hash_map_order(members, java_hash) == hash_map_order(other, java_hash))
    assume(set_order(members) == set_order(other))

    assert assign(topics, members) == assign(other_topics, other)


def set_order(members: Subscriptions) -> dict[str, list[str]]:
    """Return each member's topics as a Java set of their names iterates them."""
    return {member: hash_map_order(sub.topics, java_hash) for member, sub in members.items()}


def assigned_or_defect(topics: Topics, members: Subscriptions) -> Assignment | Defect:
    """Return what the sticky assignor does, one way or the other."""
    try:
        return assign_sticky(topics, members)
    except AssignorDefectError as error:
        return error.defect


def check_outcome(topics: Topics, members: Subscriptions) -> None:
    """Check that a defect has its name, and that an assignment forgets nothing."""
    outcome = assigned_or_defect(topics, members)
    if isinstance(outcome, Defect):
        assert outcome is not Defect.PARTITIONS_LEFT
    else:
        assert members.keys() == outcome.keys()
        assert set(wanted(topics, members)) <= set(all_given(outcome)) or first_has_none(members)


@few
@given(claiming_groups())
def test_any_claims_end_in_an_assignment_or_a_named_defect(drawn) -> None:
    """Stale, double, foreign and absurd claims included; it never hangs."""
    check_outcome(*drawn)


@pytest.mark.long
@pytest.mark.soak
@settings(max_examples=200, deadline=None)
@given(claiming_groups())
def test_many_more_claims_end_in_an_assignment_or_a_named_defect(drawn) -> None:
    """The same for as many groups as it takes to meet the rare defects."""
    check_outcome(*drawn)
