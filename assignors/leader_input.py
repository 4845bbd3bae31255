"""The input of a client-side assignor: members, topics and racks, in Java's order.

In Kafka members and topics pass through hash maps, and the iteration order of those maps decides
which member gets which partition. Replicas count for racks whether they are alive or not.
Sources: ``AbstractPartitionAssignor.assign`` and ``.useRackAwareAssignment`` (KIP-881),
``AbstractStickyAssignor.RackInfo``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain, repeat

from assignors.java import hash_map_order, java_hash, string_order
from assignors.types import Subscription, Subscriptions, TopicPartition, Topics, partition_of_pair
from assignors.values import dataclass


@dataclass(frozen=True, slots=True)
class LeaderInput:
    """The members and the topics of one assignment."""

    subscriptions: Mapping[str, Subscription]
    """In *member order*: as a HashMap of the member ids iterates."""

    topics_of: Mapping[str, tuple[str, ...]]
    """Member to its subscribed topics, sorted, as they arrive; some may not exist."""

    partition_counts: Mapping[str, int]
    """Known topic to number of partitions (at least 1), in Java's map order."""

    racks: Mapping[str, tuple[tuple[str, ...], ...]]
    """Topic to the racks of each partition's replicas."""

    @property
    def uniform(self) -> bool:
        """Whether all members are subscribed to the same topics."""
        return len(set(map(id, self.topics_of.values()))) <= 1


def read_leader_input(topics: Topics, subscriptions: Subscriptions) -> LeaderInput:
    """Return *subscriptions* and *topics* in the order in which Kafka's leader iterates them."""
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

    Sharing makes comparing a million (member, topic) pairs cheap.
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


def member_racks(subscriptions: Mapping[str, Subscription]) -> dict[str, str]:
    """Return the racks of the members that have one; an empty string means no rack."""
    return {member: sub.rack_id for member, sub in subscriptions.items() if sub.rack_id}


def partition_racks(group: LeaderInput, topic: str) -> list[frozenset[str]]:
    """Return the racks of each partition of *topic*; an empty set where they are not known."""
    count = group.partition_counts[topic]
    known = [frozenset(racks) for racks in group.racks.get(topic, ())[:count]]
    return known + [frozenset()] * (count - len(known))


def racks_matter(of_members: Collection[str], of_partitions: Iterable[frozenset[str]]) -> bool:
    """Return whether some member shares a rack with a replica and some partition is not on all racks."""
    distinct = set(of_partitions)
    everywhere = frozenset().union(*distinct)
    return not everywhere.isdisjoint(of_members) and distinct != {everywhere}


@dataclass(frozen=True, slots=True)
class Racks:
    """The racks of members and partitions; empty if racks do not matter."""

    of_member: Mapping[str, str] = field(default_factory=dict)
    of_partition: Mapping[TopicPartition, frozenset[str]] = field(default_factory=dict)
    members_near: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Partition to the number of members on its racks, counted once per rack."""

    def __bool__(self) -> bool:
        return bool(self.of_member)

    def mismatch(self, member: str, partition: TopicPartition) -> bool:
        """Return whether *member* has a rack without a replica of *partition*."""
        rack = self.of_member.get(member)
        return rack is not None and rack not in self.of_partition.get(partition, ())

    def is_near(self, member: str, partition: TopicPartition) -> bool:
        """Return whether *member* has a rack with a replica of *partition*."""
        rack = self.of_member.get(member)
        return rack is not None and rack in self.of_partition.get(partition, ())

    def first_near(
        self, members: Sequence[str], partition: TopicPartition, start: int = 0
    ) -> int | None:
        """Return the index of the first member near *partition*, cyclically from *start*."""
        indices = chain(range(start, len(members)), range(start))
        return next((i for i in indices if self.is_near(members[i], partition)), None)


def read_racks(group: LeaderInput) -> Racks:
    """Return the racks as a sticky assignor sees them, empty if they do not matter."""
    of_member = member_racks(group.subscriptions)
    if not of_member:
        return Racks()
    of_partition = {
        TopicPartition(topic, number): racks
        for topic in group.partition_counts
        for number, racks in enumerate(partition_racks(group, topic))
    }
    if not racks_matter(of_member.values(), of_partition.values()):
        return Racks()
    on_rack = Counter(of_member.values())
    members_near = {
        partition: sum(on_rack[rack] for rack in racks) for partition, racks in of_partition.items()
    }
    return Racks(of_member, of_partition, members_near)
