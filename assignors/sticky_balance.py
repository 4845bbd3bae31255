"""The working state of the sticky assignors' general path, its balance and its movements.

Source: ``AbstractStickyAssignor.GeneralAssignmentBuilder``, ``.PartitionMovements``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from sortedcontainers import SortedList

from assignors.java import HashTable, string_order, topic_partition_hash
from assignors.types import TopicPartition
from assignors.values import dataclass


class _Witness(NamedTuple):
    """Why the assignment is not balanced: *member* could relieve *owner* of a part of *topic*."""

    member: str
    topic: str
    owner: str


class Workbench:
    """The owners while partitions are dealt and moved; settled members are removed from it."""

    def __init__(
        self,
        partitions: dict[str, list[TopicPartition]],
        topics_of: Mapping[str, tuple[str, ...]],
        counts: Mapping[str, int],
    ) -> None:
        self.partitions = partitions
        self.owner = {one: member for member, owned in partitions.items() for one in owned}
        self.movements = Movements()
        self._topics_of = {member: frozenset(topics) for member, topics in topics_of.items()}
        self._capacity = {
            member: sum(counts[topic] for topic in topics) for member, topics in topics_of.items()
        }
        ids = sorted(partitions, key=string_order)
        self._rank = {member: rank for rank, member in enumerate(ids)}
        self._order = SortedList(map(self._place, partitions))
        self._holders: dict[str, Counter[str]] = {topic: Counter() for topic in counts}
        for one, member in self.owner.items():
            self._holders[one.topic][member] += 1
        self._witness: _Witness | None = None

    def size(self, member: str) -> int:
        """Return the number of partitions of *member*. Raises KeyError if it is settled."""
        return len(self.partitions[member])

    def is_full(self, member: str) -> bool:
        """Return whether *member* owns all partitions of all its topics."""
        return self.size(member) >= self._capacity[member]

    def members(self) -> Iterable[str]:
        """Return the working members by (size, id)."""
        return (member for _, _, member in self._order)

    def all_empty(self) -> bool:
        """Return whether no working member has a partition."""
        return not self._order or self._order[-1][0] == 0

    def smallest(self, topic: str) -> str | None:
        """Return the subscriber of *topic* with the fewest partitions."""
        return next((one for one in self.members() if topic in self._topics_of[one]), None)

    def give(self, partition: TopicPartition, member: str) -> None:
        """Append *partition* to the partitions of *member*."""
        self._order.remove(self._place(member))
        self.partitions[member].append(partition)
        self.owner[partition] = member
        self._holders[partition.topic][member] += 1
        self._order.add(self._place(member))

    def move(self, partition: TopicPartition, new: str) -> None:
        """Move *partition*, or a partition whose earlier move this undoes, to member *new*."""
        moved = self.movements.better_to_move(partition, self.owner[partition], new)
        old = self.owner[moved]
        self.movements.record(moved, old, new)
        self._order.remove(self._place(old))
        self.partitions[old].remove(moved)
        self._holders[moved.topic][old] -= 1
        self._order.add(self._place(old))
        self.give(moved, new)

    def settle(self, member: str) -> list[TopicPartition]:
        """Remove *member* from the working members; return its partitions."""
        self._order.remove(self._place(member))
        return self.partitions.pop(member)

    def balanced(self) -> bool:
        """Return whether no partition can move to a member that would still have fewer afterwards.

        Kafka recomputes this before every partition, which takes most of its time. Here the last
        counterexample is kept, and a new one is searched only when it no longer holds.
        """
        if self._order[-1][0] - self._order[0][0] <= 1:
            return True
        if self._witness is None or not self._holds(self._witness):
            self._witness = self._find_witness()
        return self._witness is None

    def score(self) -> int:
        """Return the sum of the differences in size over all pairs of working members."""
        return balance_score(size for size, _, _ in self._order)

    def _holds(self, witness: _Witness) -> bool:
        return (
            self._holders[witness.topic][witness.owner] > 0
            and self.size(witness.owner) > self.size(witness.member) + 1
            and self.size(witness.member) != self._capacity[witness.member]
        )

    def _find_witness(self) -> _Witness | None:
        largest = {
            topic: max(holding, key=self.size, default=None)
            for topic, holders in self._holders.items()
            if (holding := [one for one, n in holders.items() if n and one in self.partitions])
        }
        for member in self.members():
            for topic in self._topics_of[member]:
                owner = largest.get(topic)
                if owner and self._holds(witness := _Witness(member, topic, owner)):
                    return witness
        return None

    def _place(self, member: str) -> tuple[int, int, str]:
        return self.size(member), self._rank[member], member


def balance_score(sizes: Iterable[int]) -> int:
    """Return the sum of the differences over all pairs of *sizes*.

    >>> balance_score([1, 2, 4])
    6
    """
    ordered = sorted(sizes)
    return sum((2 * index - len(ordered) + 1) * size for index, size in enumerate(ordered))


class Move(NamedTuple):
    """The first and the last owner, over all steps of one assignment."""

    source: str
    target: str


@dataclass(slots=True)
class Movements:
    """The moves of one assignment so far, so that opposite moves are undone, not added."""

    _of_partition: dict[TopicPartition, Move] = field(default_factory=dict)
    _by_topic: dict[tuple[str, Move], HashTable[TopicPartition]] = field(default_factory=dict)

    def better_to_move(self, partition: TopicPartition, owner: str, new: str) -> TopicPartition:
        """Return the partition to move instead, so that an earlier opposite move is undone.

        Kafka takes the first in the order of a HashSet. Undone moves can restore an earlier
        state, which is why the leader may never end.
        """
        moved = self._of_partition.get(partition)
        source = moved.source if moved else owner
        opposite = self._by_topic.get((partition.topic, Move(new, source)))
        return next(iter(opposite)) if opposite is not None else partition

    def record(self, partition: TopicPartition, owner: str, new: str) -> None:
        """Note that *partition* moves from *owner* to *new*; a return to its first owner erases its record."""
        before = self._of_partition.pop(partition, None)
        if before:
            self._forget(partition, before)
            if before.source == new:
                return
            owner = before.source
        move = Move(owner, new)
        self._of_partition[partition] = move
        key = (partition.topic, move)
        if key not in self._by_topic:
            self._by_topic[key] = HashTable(topic_partition_hash)
        self._by_topic[key].put(partition)

    def snapshot(self) -> frozenset[tuple[tuple[str, Move], int, tuple[TopicPartition, ...]]]:
        """Return the state that later moves depend on, as a value to compare."""
        return frozenset((key, table.length, tuple(table)) for key, table in self._by_topic.items())

    def _forget(self, partition: TopicPartition, move: Move) -> None:
        key = (partition.topic, move)
        self._by_topic[key].remove(partition)
        if not self._by_topic[key]:
            del self._by_topic[key]
