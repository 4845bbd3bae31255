"""An assignor that gives every member every partition of the topics it asks for.

Like a cache that each instance must fill for itself. In a scenario:

    "partition.assignment.strategy" = "examples.assignors.broadcast:create"

Kafka does not mind: nothing checks that a partition is given once. All members commit to the
same offsets, though, and overwrite each other. ``exclusive = False`` says that this is meant, so
that a partition with several owners is no warning.
"""

from __future__ import annotations

from assignors.types import Assignment, FunctionAssignor, Subscriptions, TopicPartition, Topics


def create() -> FunctionAssignor:
    """Make the assignor; it needs no configuration."""
    return FunctionAssignor("broadcast", assign_to_all, exclusive=False)


def assign_to_all(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Give each member all partitions of its topics."""
    return {
        member: tuple(
            TopicPartition(topic, number)
            for topic in subscription.topics
            for number in range(topics.partition_counts.get(topic, 0))
        )
        for member, subscription in subscriptions.items()
    }
