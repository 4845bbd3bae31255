"""An assignor that assigns partitions in proportion to the weight of each member.

Each member sends its weight as user data; the leader reads all weights and gives each partition to
the reader with the lowest load relative to its weight. In a scenario, for the large machine:

    "partition.assignment.strategy" = "weighted:create"
    assignor_config = { weight = 4 }
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assignors.types import (
    Assignment,
    RebalanceProtocol,
    Subscriptions,
    TopicPartition,
    Topics,
)

_WEIGHT = struct.Struct(">i")


@dataclass(frozen=True)
class WeightedAssignor:
    """One consumer's assignor: it knows this member's weight and reads those of the others."""

    weight: int
    name: str = "weighted"
    rebalance_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: frozenset[str]) -> bytes:
        """Return this member's weight, for the leader."""
        del topics
        return _WEIGHT.pack(self.weight)

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        """Give each partition to the reader with the fewest partitions for its weight."""
        weights = {member: weight_in(sub.user_data) for member, sub in subscriptions.items()}
        given: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
        for topic, count in sorted(topics.partition_counts.items()):
            readers = sorted(member for member, sub in subscriptions.items() if topic in sub.topics)
            for number in range(count if readers else 0):
                member = min(readers, key=lambda one: (len(given[one]) + 1) / weights[one])
                given[member].append(TopicPartition(topic, number))
        return {member: tuple(partitions) for member, partitions in given.items()}

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:
        """Do nothing: the assignor has no state."""


def create(config: Mapping[str, Any]) -> WeightedAssignor:
    """Make the assignor. *config*: ``weight``, an integer above 0 (default 1).

    Raise ValueError for another weight.
    """
    weight = config.get("weight", 1)
    if not isinstance(weight, int) or isinstance(weight, bool) or weight < 1:
        raise ValueError(f"weight must be a whole number above 0; got {weight!r}")
    return WeightedAssignor(weight)


def weight_in(user_data: bytes | None) -> int:
    """Return the weight a member sent; 1 if it sent none."""
    weight: int = _WEIGHT.unpack(user_data)[0] if user_data else 1
    return weight
