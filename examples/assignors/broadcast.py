"""An assignor that gives every member every partition of the topics it asks for.

Use it for a cache that each instance must fill completely. In a scenario:

    "partition.assignment.strategy" = "broadcast:create"

Kafka accepts it: nothing checks that a partition has only one owner. All members commit to the
same offsets, however, and overwrite each other. ``exclusive = False`` declares that several owners
of a partition are intended, so they cause no warning.
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
