"""An assignor that tells each member its number in the group, from 0 on.

A member that needs a number (a shard to write to, a port) gets it from the leader with its
assignment, as user data, and keeps it in ``number``. Partitions are given round robin. In a scenario:

    "partition.assignment.strategy" = "numbered:create"
"""

from __future__ import annotations

from dataclasses import dataclass

from assignors.types import (
    Assigned,
    RebalanceProtocol,
    Subscriptions,
    TopicPartition,
    Topics,
)


@dataclass
class NumberedAssignor:
    """One consumer's assignor; it knows the number of its member."""

    name: str = "numbered"
    rebalance_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)
    number: int | None = None

    def subscription_user_data(self, topics: frozenset[str]) -> None:
        """Send nothing to the leader."""

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> dict[str, Assigned]:
        """Give partitions round robin, and each member its number."""
        members = sorted(subscriptions)
        every = [
            TopicPartition(topic, number)
            for topic, count in sorted(topics.partition_counts.items())
            for number in range(count)
        ]
        return {
            member: Assigned(every[number :: len(members)], str(number).encode())
            for number, member in enumerate(members)
        }

    def on_assignment(
        self, partitions: tuple[TopicPartition, ...], generation: int, user_data: bytes = b""
    ) -> None:
        """Keep the number; a member without user data has none."""
        del partitions, generation
        self.number = int(user_data) if user_data else None


def create() -> NumberedAssignor:
    """Make the assignor; it needs no configuration."""
    return NumberedAssignor()
