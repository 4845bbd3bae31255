"""The coordinator's ``uniform`` assignor: balanced first, then sticky. Racks are not used.

If all members are subscribed to the same topics, surplus partitions stay with their owners, up to
the number of members that may have one more; in a new group the last members of the map get them.
Otherwise free partitions go to the member with the fewest; then, topic by topic, partitions move
from the fullest to the emptiest subscriber until a round moves nothing, or 16 rounds are over.
Source: ``org.apache.kafka.coordinator.group.assignor.UniformAssignor``,
``UniformHomogeneousAssignmentBuilder``, ``UniformHeterogeneousAssignmentBuilder`` (KIP-848).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from assignors.errors import AssignorDefectError, Defect
from assignors.java import hash_map_order, length_for_capacity, length_of_set_copy
from assignors.leader_input import partitions_of
from assignors.server_input import CoordinatorInput, Target, as_assignment, read_coordinator_input
from assignors.types import Assignment, Subscriptions, TopicPartition, Topics


def assign_server_uniform(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Spread the partitions evenly over the members that may have them.

    *subscriptions*: in the order of the coordinator's member map; ``owned_partitions`` is each
    member's current target assignment.

    >>> from assignors.types import Subscription
    >>> asks = Subscription(topics=("t0", "t1", "t2", "t3"))
    >>> for member, given in assign_server_uniform(
    ...     Topics(partition_counts=dict.fromkeys(asks.topics, 2)),
    ...     {"C0": asks, "C1": asks, "C2": asks},
    ... ).items():
    ...     print(member, *given)
    C0 t2-0 t2-1
    C1 t1-0 t0-0 t0-1
    C2 t1-1 t3-0 t3-1
    """
    group = read_coordinator_input(topics, subscriptions)
    assign = assign_homogeneous if group.homogeneous else assign_heterogeneous
    return as_assignment(subscriptions, assign(group))


def assign_homogeneous(group: CoordinatorInput) -> dict[str, Target]:
    """Return the new target of each member; none if no topic is known.

    Raises :class:`AssignorDefectError` where Kafka's class raises.
    """
    asked = next(iter(group.topics_of.values()), None)
    if asked is None or not asked.names:
        return {}
    topics = hash_map_order(asked.names, group.topic_hash, length_of_set_copy(asked.reported_size))
    targets = {member: group.current_target(member) for member in group.subscriptions}
    unassigned = deque(_unassigned(group, topics))
    partitions = sum(group.partition_counts[topic] for topic in topics)
    share, extra = divmod(partitions, len(targets))
    unfilled: dict[str, int] = {}
    for visited, (member, target) in enumerate(targets.items()):
        quota = share + (extra > 0)
        left = _revoke(target, topics, quota, unassigned)
        # A member that lacks just the extra partition leaves it to a later one that holds it,
        # unless so few are left that each of them has to take one.
        takes_extra = extra > 0
        if left > 0 and takes_extra and len(targets) - visited > extra:
            left -= 1
            takes_extra = False
        if left > 0:
            unfilled[member] = left
        extra -= takes_extra
    _fill(targets, unfilled, unassigned)
    return targets


def _unassigned(group: CoordinatorInput, topics: Iterable[str]) -> Iterable[TopicPartition]:
    """Yield the partitions that are in no current target, topic by topic."""
    assigned = {one for sub in group.subscriptions.values() for one in sub.owned_partitions}
    for topic in topics:
        for partition in partitions_of(topic, range(group.partition_counts[topic])):
            if partition not in assigned:
                yield partition


def _revoke(
    target: Target, topics: Iterable[str], quota: int, unassigned: deque[TopicPartition]
) -> int:
    """Remove topics not in *topics* and partitions beyond *quota*; return the rest of the quota.

    Partitions of dropped topics are not reassigned in this round.
    """
    wanted = set(topics)
    room = target.room(wanted, quota)
    if room is not None:
        return room
    for topic in target.topics():
        if topic not in wanted:
            target.drop(topic)
            continue
        numbers = target.numbers(topic)
        for number in numbers[quota:]:
            target.remove(topic, number)
            unassigned.append(TopicPartition(topic, number))
        quota -= min(quota, len(numbers))
    return quota


def _fill(
    targets: Mapping[str, Target], unfilled: Mapping[str, int], unassigned: deque[TopicPartition]
) -> None:
    for member, left in unfilled.items():
        targets[member].begin_change()
        for _ in range(min(left, len(unassigned))):
            targets[member].add(*unassigned.popleft())
    if unassigned:
        raise AssignorDefectError(Defect.PARTITIONS_LEFT, f"no member can take {unassigned[0]}")


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
        """Remove topics from the targets of members that are no longer subscribed to them."""
        for index, target in enumerate(self.targets):
            asked = set(self.group.topics_of[self.members[index]].names)
            for topic in target.topics():
                if topic not in asked:
                    target.drop(topic)
            kept = target.partitions()
            self.sizes[index] = len(kept)
            self.owner.update(dict.fromkeys(kept, index))

    def give(self, partition: TopicPartition, index: int) -> None:
        """Move *partition* from its current target, if any, to that of the member at *index*."""
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


class Balancer:
    """Finds the fullest and the emptiest subscriber of a topic while partitions move.

    It picks from both ends of a list that is sorted by size once, at the start.

    At either end is a band of subscribers of equal size, which are picked in turn. The low band
    rises by one with each full turn and takes in the subscribers that already have its new size;
    the high band sinks likewise. The list is never sorted again: inside a band all sizes are equal.
    Source: ``UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer``.
    """

    def __init__(self, sizes: Sequence[int], readers: Iterable[int]) -> None:
        """Sort *readers* by size and index; *sizes* changes while the balancer is used."""
        self._sizes = sizes
        self._readers = sorted(readers, key=lambda reader: (sizes[reader], reader))
        smallest, largest = sizes[self._readers[0]], sizes[self._readers[-1]]
        self.difference = largest - smallest
        """Between the largest and the smallest size at the start."""

        self._low_end = 0
        self._low_level = smallest - 1
        self._next_low = 0
        self._high_start = self._high_end = len(self._readers)
        self._high_level = largest + 1
        self._next_high = len(self._readers) - 1

    @property
    def level(self) -> bool:
        """Whether the two bands differ by at most one partition."""
        return self._high_level - self._low_level <= 1

    def least(self) -> int:
        """Return the next reader of the low band; it is expected to get a partition."""
        if self._next_low >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._readers) and self._at(self._low_end, self._low_level):
                self._low_end += 1
            self._next_low = 0
        self._next_low += 1
        return self._readers[self._next_low - 1]

    def most(self) -> int | None:
        """Return the next reader of the high band, None if all have been excluded."""
        if self._next_high < self._high_start:
            self._sink()
        if self._next_high < 0:
            return None
        self._next_high -= 1
        return self._readers[self._next_high + 1]

    def exclude(self) -> None:
        """Remove the reader that :meth:`most` returned last from the high band."""
        place, last = self._next_high + 1, self._high_end - 1
        readers = self._readers
        readers[place], readers[last] = readers[last], readers[place]
        self._high_end -= 1

    def _sink(self) -> None:
        if self._high_end <= self._high_start and self._high_start > 0:
            self._high_level = self._sizes[self._readers[self._high_start - 1]]
        else:
            self._high_level -= 1
        while self._high_start > 0 and self._at(self._high_start - 1, self._high_level):
            self._high_start -= 1
        self._next_high = self._high_end - 1

    def _at(self, place: int, level: int) -> bool:
        return self._sizes[self._readers[place]] == level
