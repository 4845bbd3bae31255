"""The example assignors do what their first line says."""

from __future__ import annotations

import pytest

from assignors.errors import PluginError
from assignors.plugin import run_assignor
from assignors.registry import load_assignor
from assignors.types import Subscription, TopicPartition, Topics

TOPICS = Topics(partition_counts={"t": 60, "u": 7})
READERS = {
    "A": Subscription(topics=("t", "u")),
    "B": Subscription(topics=("t", "absent")),
    "C": Subscription(topics=("u",)),
}
EVERYTHING = [TopicPartition("t", n) for n in range(60)] + [
    TopicPartition("u", n) for n in range(7)
]


def given_partitions(assignment) -> list[TopicPartition]:
    """Return everything that is given, sorted."""
    return sorted(one for partitions in assignment.values() for one in partitions)


def test_random_gives_everything_once_to_a_reader(example_folder) -> None:
    """Random, but never to a member that does not ask for the topic."""
    assignor = load_assignor("random_assignor:create", {"seed": 7}, folders=example_folder)

    given = run_assignor(assignor, TOPICS, READERS).assignment

    assert given_partitions(given) == EVERYTHING
    assert {one.topic for one in given["C"]} == {"u"}


def test_random_depends_on_the_seed_alone(example_folder) -> None:
    """The same seed gives the same assignment, whatever the order of the members."""
    seven, again, eight = (
        load_assignor("random_assignor:create", {"seed": seed}, folders=example_folder)
        for seed in (7, 7, 8)
    )
    turned = dict(reversed(READERS.items()))

    first = run_assignor(seven, TOPICS, READERS).assignment

    assert first == run_assignor(again, TOPICS, turned).assignment
    assert first != run_assignor(eight, TOPICS, READERS).assignment


def test_broadcast_gives_each_member_every_partition_of_its_topics(example_folder) -> None:
    """It declares that sharing is intended, so no warning is reported."""
    assignor = load_assignor("broadcast:create", folders=example_folder)

    checked = run_assignor(assignor, TOPICS, READERS)

    assert [len(checked.assignment[member]) for member in "ABC"] == [67, 60, 7]
    assert checked.given_twice == ()


def test_weighted_gives_by_the_weights_in_the_user_data(example_folder) -> None:
    """Three times the weight, three times the partitions."""
    members = {}
    for member, weight in (("small", 1), ("large", 3)):
        own = load_assignor("weighted:create", {"weight": weight}, folders=example_folder)
        data = own.subscription_user_data(frozenset("t"))
        members[member] = Subscription(topics=("t",), user_data=data)
    leader = load_assignor("weighted:create", folders=example_folder)

    given = run_assignor(leader, TOPICS, members).assignment

    assert {member: len(has) for member, has in given.items()} == {"small": 15, "large": 45}


@pytest.mark.parametrize("weight", [0, -1, "heavy", True, 1.5])
def test_weighted_refuses_what_is_no_weight(weight: object, example_folder) -> None:
    """The user learns what is allowed."""
    with pytest.raises(PluginError, match="weight must be a whole number above 0"):
        load_assignor("weighted:create", {"weight": weight}, folders=example_folder)
