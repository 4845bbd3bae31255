"""Which partitions have moved during one assignment, so that moves can be undone, not repeated.

Source: ``AbstractStickyAssignor.PartitionMovements`` (spec assignors 1.5 D.10).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assignors.java import HashTable, topic_partition_hash
from assignors.types import TopicPartition


class Move(NamedTuple):
    """From which member to which, over all steps of one assignment."""

    source: str
    target: str


@dataclass(slots=True)
class Movements:
    """The moves of one assignment so far."""

    _of_partition: dict[TopicPartition, Move] = field(default_factory=dict)
    _by_topic: dict[tuple[str, Move], HashTable[TopicPartition]] = field(default_factory=dict)

    def better_to_move(self, partition: TopicPartition, owner: str, new: str) -> TopicPartition:
        """Return the partition to move instead, so that an earlier opposite move is undone.

        Kafka takes the first in the order of a HashSet; that undone moves can bring back the
        state before them is why the leader may never end (spec assignors 2.1).
        """
        moved = self._of_partition.get(partition)
        source = moved.source if moved else owner
        opposite = self._by_topic.get((partition.topic, Move(new, source)))
        return next(iter(opposite)) if opposite is not None else partition

    def record(self, partition: TopicPartition, owner: str, new: str) -> None:
        """Note that *partition* goes from *owner* to *new*; coming home erases its record."""
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
        """Return all that later moves depend on, as a value to compare."""
        return frozenset((key, table.length, tuple(table)) for key, table in self._by_topic.items())

    def _forget(self, partition: TopicPartition, move: Move) -> None:
        key = (partition.topic, move)
        self._by_topic[key].remove(partition)
        if not self._by_topic[key]:
            del self._by_topic[key]
