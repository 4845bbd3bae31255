"""The input of a server-side assignor: the group as its coordinator sees it, in Java's order.

Sources: ``TargetAssignmentBuilder``, ``MemberSubscriptionAndAssignmentImpl``, ``TopicIds``,
``SubscriptionType`` (KIP-848). Kafka identifies topics by id there, so the hash of the id decides
their order; here a topic is identified by its name.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import repeat

from assignors.java import (
    DEFAULT_LENGTH,
    HashTable,
    hash_map_order,
    java_hash,
    length_for_capacity,
    length_of_set_copy,
    uuid_hash,
)
from assignors.types import (
    Assignment,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
    partition_of_pair,
)
from assignors.values import dataclass


@dataclass(frozen=True, slots=True)
class SubscribedTopics:
    """The known topics of one member, in the order in which Kafka translates their names."""

    names: tuple[str, ...]
    reported_size: int
    """The number of names in the subscription, known or not: the size of Java's collection."""


class Target:
    """The target assignment of one member: topic to partition numbers, each in Java's order.

    Kafka shares targets that do not change and copies one before its first change; the copy's
    tables are smaller, which can change the order.
    """

    __slots__ = ("_copied", "_hash_of", "_listed", "_numbers", "_topics")

    def __init__(
        self, topic_hash: Callable[[str], int], numbers: Mapping[str, Collection[int]]
    ) -> None:
        self._hash_of = topic_hash
        self._copied = False
        self._listed = numbers

    def begin_change(self) -> None:
        """Become the copy that Kafka creates before the first change."""
        if not self._copied:
            numbers = {topic: self.numbers(topic) for topic in self.topics()}
            self._copied = True
            self._fill(numbers, length_for_capacity(len(numbers)))

    def room(self, topics: Collection[str], quota: int) -> int | None:
        """Return the rest of *quota* if the target has topics of *topics* only and fits; else None."""
        if self._copied or not all(topic in topics for topic in self._listed):
            return None
        left = quota - sum(map(len, self._listed.values()))
        return None if left < 0 else left

    def add(self, topic: str, number: int, length: int = DEFAULT_LENGTH) -> None:
        """Add one number by ``computeIfAbsent``; a new set gets *length* slots."""
        self.begin_change()
        self._topics.compute_if_absent(topic)
        if topic not in self._numbers:
            self._numbers[topic] = HashTable(int, length)
        self._numbers[topic].put(number)

    def remove(self, topic: str, number: int) -> None:
        """Remove one number, and the topic with its last number."""
        self.begin_change()
        self._numbers[topic].remove(number)
        if not self._numbers[topic]:
            self.drop(topic)

    def drop(self, topic: str) -> None:
        """Remove all numbers of *topic*."""
        self.begin_change()
        self._topics.remove(topic)
        del self._numbers[topic]

    def topics(self) -> list[str]:
        """Return the topics in map order."""
        if not self._copied:
            return hash_map_order(self._listed, self._hash_of)
        return list(self._topics)

    def numbers(self, topic: str) -> list[int]:
        """Return the numbers of *topic* in set order."""
        if not self._copied:
            listed = self._listed[topic]
            return hash_map_order(listed, int, length_of_set_copy(len(listed)))
        return list(self._numbers[topic])

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return everything, topic by topic."""
        return tuple(
            partition
            for topic in self.topics()
            for partition in map(
                partition_of_pair, zip(repeat(topic), self.numbers(topic), strict=False)
            )
        )

    def _fill(self, numbers: Mapping[str, Iterable[int]], length: int) -> None:
        self._topics: HashTable[str] = HashTable(self._hash_of, length)
        self._numbers: dict[str, HashTable[int]] = {}
        for topic, listed in numbers.items():
            distinct = list(listed)
            self._topics.put(topic)
            table: HashTable[int] = HashTable(int, length_of_set_copy(len(distinct)))
            for number in distinct:
                table.put(number)
            self._numbers[topic] = table


@dataclass(frozen=True, slots=True)
class CoordinatorInput:
    """The members and the topics of one server-side assignment."""

    subscriptions: Mapping[str, Subscription]
    """In map order: as a HashMap of the member ids iterates."""

    topics_of: Mapping[str, SubscribedTopics]
    partition_counts: Mapping[str, int]
    topic_ids: Mapping[str, bytes]
    homogeneous: bool
    """Whether all members are subscribed to the same topics, by the counting of the group."""

    def topic_hash(self, topic: str) -> int:
        """Return the hash of the topic's id."""
        return uuid_hash(self.topic_ids[topic])

    def topic_order(self, topic: str) -> tuple[int, int]:
        """Return a sort key that orders topics as their ids compare: two signed halves."""
        topic_id = self.topic_ids[topic]
        return (
            int.from_bytes(topic_id[:8], signed=True),
            int.from_bytes(topic_id[8:], signed=True),
        )

    def current_target(self, member: str) -> Target:
        """Return the current target of *member*, as the group's records list it."""
        numbers: dict[str, list[int]] = {}
        for topic, number in self.subscriptions[member].owned_partitions:
            numbers.setdefault(topic, []).append(number)
        return Target(self.topic_hash, numbers)


def read_coordinator_input(topics: Topics, subscriptions: Subscriptions) -> CoordinatorInput:
    """Return the group in the order in which Kafka's coordinator iterates it.

    *subscriptions*: in the order of the coordinator's member map; ``owned_partitions`` is each
    member's current target assignment.
    """
    members = {member: subscriptions[member] for member in hash_map_order(subscriptions, java_hash)}
    counts = {topic: count for topic, count in topics.partition_counts.items() if count}
    named = {topic for sub in members.values() for topic in sub.topics}
    owned = {one.topic for sub in members.values() for one in sub.owned_partitions}
    shared: dict[tuple[str, ...], SubscribedTopics] = {}
    topics_of = {}
    for member, subscription in members.items():
        names = subscription.topics
        if names not in shared:
            shared[names] = _subscribed(names, counts)
        topics_of[member] = shared[names]
    return CoordinatorInput(
        members,
        topics_of,
        counts,
        {topic: topics.topic_ids.get(topic, name_based_id(topic)) for topic in named | owned},
        (
            all(named == set(names) for names in shared)
            if topics.same_for_all is None
            else topics.same_for_all
        ),
    )


def name_based_id(topic: str) -> bytes:
    """Return the version 3 UUID of the topic's name, as ``UUID.nameUUIDFromBytes`` makes it."""
    digest = hashlib.md5(topic.encode(), usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest, version=3).bytes


def as_assignment(subscriptions: Subscriptions, targets: Mapping[str, Target]) -> Assignment:
    """Return *targets* with the members as the caller listed them."""
    return {
        member: targets[member].partitions() if member in targets else ()
        for member in subscriptions
    }


def _subscribed(names: tuple[str, ...], counts: Mapping[str, int]) -> SubscribedTopics:
    ordered = hash_map_order(names, java_hash, length_of_set_copy(len(names)))
    return SubscribedTopics(tuple(name for name in ordered if name in counts), len(ordered))
