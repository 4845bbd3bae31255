"""The ``uniform`` assignor when members ask for different topics.

Free partitions go to whoever has fewest; then topic by topic partitions move from the fullest to
the emptiest reader until nothing moves any more, or 16 rounds are over.
Source: ``UniformHeterogeneousAssignmentBuilder`` (spec assignors 1.9).
"""

from __future__ import annotations

from collections.abc import Iterable

from assignors.java import length_for_capacity
from assignors.leader_input import partitions_of
from assignors.server_balancer import Balancer
from assignors.server_input import CoordinatorInput, Target
from assignors.types import TopicPartition

_ROUNDS_MAXIMUM = 16


class _Bench:
    """Targets, sizes and owners while partitions are dealt and moved; members by their index."""

    def __init__(self, group: CoordinatorInput) -> None:
        self.group = group
        self.members = list(group.subscriptions)
        self.targets = [group.current_target(member) for member in self.members]
        self.sizes = [0] * len(self.members)
        self.owner: dict[TopicPartition, int] = {}
        self.subscribers: dict[str, list[int]] = {}
        for index, member in enumerate(self.members):
            for topic in group.topics_of[member].names:
                self.subscribers.setdefault(topic, []).append(index)

    def revoke(self) -> None:
        """Drop from the targets the topics that are no longer asked for."""
        for index, target in enumerate(self.targets):
            asked = set(self.group.topics_of[self.members[index]].names)
            for topic in target.topics():
                if topic not in asked:
                    target.drop(topic)
            kept = target.partitions()
            self.sizes[index] = len(kept)
            self.owner.update(dict.fromkeys(kept, index))

    def give(self, partition: TopicPartition, index: int) -> None:
        """Put *partition* into the target of the member at *index*, out of another one's."""
        topic, number = partition
        if partition in self.owner:
            old = self.owner[partition]
            self.targets[old].remove(topic, number)
            self.sizes[old] -= 1
        count, readers = self.group.partition_counts[topic], len(self.subscribers[topic])
        expected = -(-count // readers)
        self.targets[index].add(topic, number, length_for_capacity(4 * expected // 3 + 1))
        self.owner[partition] = index
        self.sizes[index] += 1

    def balancer(self, topic: str) -> Balancer:
        """Return a balancer over the readers of *topic*."""
        return Balancer(self.sizes, self.subscribers[topic])


def assign_heterogeneous(group: CoordinatorInput) -> dict[str, Target]:
    """Return the new target of each member; none if no topic is known."""
    bench = _Bench(group)
    if not bench.subscribers:
        return {}
    bench.revoke()
    topics = _sort_topics(bench)
    for topic in topics:
        _deal(bench, topic)
    _balance(bench, [topic for topic in topics if len(bench.subscribers[topic]) > 1])
    return dict(zip(bench.members, bench.targets, strict=True))


def _sort_topics(bench: _Bench) -> list[str]:
    """Sort by partitions per reader, most first, then by readers, fewest first, then by id."""

    def rank(topic: str) -> tuple[float, int, tuple[int, int]]:
        readers = len(bench.subscribers[topic])
        per_reader = bench.group.partition_counts[topic] / readers
        return -per_reader, readers, bench.group.topic_order(topic)

    return sorted(bench.subscribers, key=rank)


def _partitions(bench: _Bench, topic: str) -> list[TopicPartition]:
    return partitions_of(topic, range(bench.group.partition_counts[topic]))


def _deal(bench: _Bench, topic: str) -> None:
    free = [one for one in _partitions(bench, topic) if one not in bench.owner]
    balancer = bench.balancer(topic)
    for partition in free:
        bench.give(partition, balancer.least())


def _balance(bench: _Bench, topics: Iterable[str]) -> None:
    """Balance topic by topic until a whole round since the last move has moved nothing."""
    last: str | None = None
    for _ in range(_ROUNDS_MAXIMUM):
        for topic in topics:
            if topic == last:
                return
            if _balance_topic(bench, topic) or last is None:
                last = topic


def _balance_topic(bench: _Bench, topic: str) -> bool:
    """Move partitions of *topic* from its fullest to its emptiest readers; say if any moved."""
    balancer = bench.balancer(topic)
    if balancer.difference <= 1:
        return False
    by_owner: dict[int, list[TopicPartition]] = {}
    for partition in _partitions(bench, topic):
        by_owner.setdefault(bench.owner[partition], []).append(partition)
    moved = False
    while not balancer.level:
        fullest = balancer.most()
        while fullest is not None and not by_owner.get(fullest):
            balancer.exclude()
            fullest = balancer.most()
        if fullest is None:
            break
        partition = by_owner[fullest].pop()
        emptiest = balancer.least()
        if balancer.level:
            break
        bench.give(partition, emptiest)
        moved = True
    return moved
