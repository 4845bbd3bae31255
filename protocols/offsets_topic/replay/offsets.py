"""Committed offsets, and offsets that are pending until their transaction ends.

Source: ``OffsetMetadataManager.replay`` and ``replayEndTransactionMarker``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from immutables import Map

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.java_maps import NOTHING
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue
from protocols.values import replace

NO_PRODUCER_ID: Final = -1
"""The producer id of a batch outside transactions."""


class StoredOffset(NamedTuple):
    """A committed offset, and the log offset of its record."""

    log_offset: int
    value: OffsetCommitValue


OffsetsOfPartitions = Map[TopicPartition, StoredOffset]
OffsetsOfGroups = Map[str, OffsetsOfPartitions]

_NONE: Final[OffsetsOfPartitions] = NOTHING
_NO_GROUPS: Final[OffsetsOfGroups] = NOTHING


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets of every group."""

    committed: OffsetsOfGroups = _NO_GROUPS
    pending: Map[int, OffsetsOfGroups] = NOTHING
    """By producer id; a group stays listed until the transaction ends."""

    def put(
        self, key: OffsetCommitKey, value: OffsetCommitValue, log_offset: int, producer_id: int
    ) -> Offsets:
        """Return the offsets with one more, pending if a producer wrote it."""
        stored = StoredOffset(log_offset, value)
        if producer_id == NO_PRODUCER_ID:
            return replace(self, committed=_put(self.committed, key, stored))
        of_producer = _put(self.pending.get(producer_id, _NO_GROUPS), key, stored)
        return replace(self, pending=self.pending.set(producer_id, of_producer))

    def without(self, key: OffsetCommitKey) -> Offsets:
        """Return the offsets without those of one partition, committed or pending."""
        pending = self.pending
        for producer_id, of_groups in self.pending.items():
            if key.group in of_groups:
                left = of_groups.set(key.group, _without(of_groups[key.group], key))
                pending = pending.set(producer_id, left)
        of_group = _without(self.committed.get(key.group, _NONE), key)
        if of_group:
            return Offsets(self.committed.set(key.group, of_group), pending)
        if key.group in self.committed:
            return Offsets(self.committed.delete(key.group), pending)
        return Offsets(self.committed, pending)

    def ended(self, producer_id: int, *, is_committed: bool) -> Offsets:
        """Return the offsets after the end of a producer's transaction.

        A pending offset does not replace one with a later record in the log.
        """
        of_groups = self.pending.get(producer_id)
        if of_groups is None:
            return self
        committed = self.committed
        if is_committed:
            for group_id, waiting in of_groups.items():
                together = _newest(committed.get(group_id, _NONE), waiting)
                committed = committed.set(group_id, together) if together else committed
        return Offsets(committed, self.pending.delete(producer_id))

    def producers_of(self, group_id: str) -> list[int]:
        """Return the producers with pending offsets of a group, in order of their ids."""
        return sorted(each for each, groups in self.pending.items() if groups.get(group_id))


def _put(groups: OffsetsOfGroups, key: OffsetCommitKey, stored: StoredOffset) -> OffsetsOfGroups:
    of_group = groups.get(key.group, _NONE)
    return groups.set(key.group, of_group.set(TopicPartition(key.topic, key.partition), stored))


def _without(offsets: OffsetsOfPartitions, key: OffsetCommitKey) -> OffsetsOfPartitions:
    partition = TopicPartition(key.topic, key.partition)
    return offsets.delete(partition) if partition in offsets else offsets


def _newest(committed: OffsetsOfPartitions, waiting: OffsetsOfPartitions) -> OffsetsOfPartitions:
    for partition, stored in waiting.items():
        there = committed.get(partition)
        if there is None or stored.log_offset > there.log_offset:
            committed = committed.set(partition, stored)
    return committed
