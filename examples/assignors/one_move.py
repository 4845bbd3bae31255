"""A cooperative assignor that moves at most one partition in each round, however many have to move.

In a scenario, in the settings of a group:

    "partition.assignment.strategy" = "one_move:create"

The member that gives the partition up joins again, the next round moves the next partition, and so
on: an arrival takes as many rounds as partitions move. Compare it with
cooperative-sticky, which moves all of them in one round and assigns them in a second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assignors.types import (
    Assignment,
    FunctionAssignor,
    RebalanceProtocol,
    Subscriptions,
    TopicPartition,
    Topics,
)


def create(config: Mapping[str, Any]) -> FunctionAssignor:
    """Make the assignor. *config*: not used."""
    del config
    return FunctionAssignor("one-move", assign, (RebalanceProtocol.COOPERATIVE,))


def assign(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Assign what has no owner, and take one partition from the member with the most.

    It has no owner in this round: its old one revokes it first, and joins again.
    """
    given = {
        member: list(subscription.owned_partitions)
        for member, subscription in subscriptions.items()
    }
    owned = {partition for partitions in given.values() for partition in partitions}
    for partition in partitions_of(topics):
        if partition not in owned:
            given[fewest(given)].append(partition)
    most = max(given, key=lambda member: len(given[member]))
    if len(given[most]) > len(given[fewest(given)]) + 1:
        given[most].pop()
    return {member: tuple(partitions) for member, partitions in given.items()}


def partitions_of(topics: Topics) -> list[TopicPartition]:
    """Return all partitions, in order."""
    counts = sorted(topics.partition_counts.items())
    return [TopicPartition(topic, number) for topic, count in counts for number in range(count)]


def fewest(given: Mapping[str, list[TopicPartition]]) -> str:
    """Return the member with the fewest partitions."""
    return min(given, key=lambda member: len(given[member]))
