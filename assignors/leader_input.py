"""What a client-side assignor works on: the group as its leader sees it, in Java's order.

Source: ``AbstractPartitionAssignor.assign`` (spec assignors 1.2); members and topics pass through
hash maps there, and the order in which those iterate decides who gets what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, repeat

from assignors.java import hash_map_order, java_hash, string_order
from assignors.types import Subscription, Subscriptions, TopicPartition, Topics, partition_of_pair


@dataclass(frozen=True, slots=True)
class LeaderInput:
    """The members and the topics of one assignment."""

    subscriptions: Mapping[str, Subscription]
    """In *member order*: as a HashMap of the member ids iterates."""

    topics_of: Mapping[str, tuple[str, ...]]
    """Member to the topics it asked for, sorted, as the wire brings them; some may not exist."""

    partition_counts: Mapping[str, int]
    """Known topic to number of partitions (at least 1), in Java's map order."""

    racks: Mapping[str, tuple[tuple[str, ...], ...]]
    """Topic to the racks of each partition's replicas."""

    @property
    def uniform(self) -> bool:
        """Whether all members asked for the same topics."""
        return len(set(map(id, self.topics_of.values()))) <= 1


def read_leader_input(topics: Topics, subscriptions: Subscriptions) -> LeaderInput:
    """Put *subscriptions* and *topics* into the order in which Kafka's leader meets them."""
    members = hash_map_order(subscriptions, java_hash)
    topics_of = _sorted_topics({member: subscriptions[member].topics for member in members})
    different = {id(names): names for names in topics_of.values()}
    subscribed = hash_map_order(chain.from_iterable(different.values()), java_hash)
    known = [topic for topic in subscribed if topics.partition_counts.get(topic)]
    return LeaderInput(
        {member: subscriptions[member] for member in members},
        topics_of,
        {topic: topics.partition_counts[topic] for topic in hash_map_order(known, java_hash)},
        topics.racks,
    )


def static_order(subscriptions: Mapping[str, Subscription]) -> list[str]:
    """Return the members with an instance id by that id, then the others by member id."""

    def rank(member: str) -> tuple[bool, bytes]:
        instance = subscriptions[member].group_instance_id
        return instance is None, string_order(member if instance is None else instance)

    return sorted(subscriptions, key=rank)


def partitions_of(topic: str, numbers: Iterable[int]) -> list[TopicPartition]:
    """Return the partitions of *topic* with these *numbers*."""
    return list(map(partition_of_pair, zip(repeat(topic), numbers)))


def _sorted_topics(topics_of: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Sort each member's topics; members with the same ones share one tuple.

    Sharing is what lets a million (member, topic) pairs be told equal at a glance.
    """
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    result: dict[str, tuple[str, ...]] = {}
    last: tuple[str, ...] = ()
    last_sorted: tuple[str, ...] = ()
    for member, names in topics_of.items():
        if names is not last:
            last = names
            ordered = tuple(sorted(names))
            last_sorted = shared.setdefault(ordered, ordered)
        result[member] = last_sorted
    return result
