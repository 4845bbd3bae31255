"""An assignor that gives each partition to a random reader, the same one for the same seed.

In a scenario, in a member's or a group's settings:

    "partition.assignment.strategy" = "random_assignor:create"
    assignor_config = { seed = 7 }

It neither balances nor is sticky: compare it with the built-in assignors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from assignors.types import Assignment, FunctionAssignor, Subscriptions, TopicPartition, Topics


def create(config: Mapping[str, Any]) -> FunctionAssignor:
    """Make the assignor. *config*: ``seed``, an integer or a string (default 0)."""
    seed = config.get("seed", 0)

    def assign(topics: Topics, subscriptions: Subscriptions) -> Assignment:
        given: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
        for topic, count in sorted(topics.partition_counts.items()):
            readers = sorted(member for member, sub in subscriptions.items() if topic in sub.topics)
            for number in range(count if readers else 0):
                partition = TopicPartition(topic, number)
                given[readers[draw(seed, partition) % len(readers)]].append(partition)
        return {member: tuple(partitions) for member, partitions in given.items()}

    return FunctionAssignor("random", assign)


def draw(seed: object, partition: TopicPartition) -> int:
    """Return a random number that depends on *seed* and *partition* alone.

    With a shared generator the number would depend on how many draws were made before.
    """
    digest = hashlib.blake2b(f"{seed}/{partition}".encode(), digest_size=8).digest()
    return int.from_bytes(digest)
