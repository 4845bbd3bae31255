"""The epochs at which the members of a consumer group own partitions, by its records (KIP-848).

The coordinator and every other reader of the log share this rule.

Source: ``ConsumerGroup.addPartitionEpochs`` and ``removePartitionEpochs``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from immutables import Map

from protocols.java_maps import NOTHING
from protocols.offsets_topic.records.errors import BrokenLogError

PartitionEpochs = Map[str, Map[int, int]]
"""By topic id and partition: the epoch of the member that owns it or has to revoke it."""

_NO_PARTITIONS: Final[Map[int, int]] = NOTHING


class Owned(Protocol):
    """The partitions of one member, by topic id."""

    @property
    def epoch(self) -> int:
        """The member's epoch."""

    @property
    def assigned(self) -> Mapping[str, Iterable[int]]:
        """The partitions that it owns."""

    @property
    def revoking(self) -> Mapping[str, Iterable[int]]:
        """The partitions that it has to revoke."""


def replayed_epochs(
    epochs: PartitionEpochs, member_id: str, before: Owned, after: Owned
) -> PartitionEpochs:
    """Return the epochs after the current assignment of a member changed.

    A compacted log may have a partition's new owner before its old one, so an entry of another
    epoch is kept. Raise BrokenLogError if the partition is owned at the same or a later epoch.
    """
    for topic in {**before.assigned, **before.revoking, **after.assigned, **after.revoking}:
        partitions = epochs.get(topic, _NO_PARTITIONS).mutate()
        for number in _of_topic(before, topic):
            if partitions.get(number) == before.epoch:
                del partitions[number]
        for number in _of_topic(after, topic):
            owned_at = partitions.get(number)
            if owned_at is not None and owned_at >= after.epoch:
                raise BrokenLogError(
                    f"member {member_id} is given {topic}-{number} at epoch {after.epoch}, "
                    f"but it is still owned at epoch {owned_at}"
                )
            partitions[number] = after.epoch
        left = partitions.finish()
        if left:
            epochs = epochs.set(topic, left)
        elif topic in epochs:
            epochs = epochs.delete(topic)
    return epochs


def _of_topic(owned: Owned, topic: str) -> tuple[int, ...]:
    return (*owned.assigned.get(topic, ()), *owned.revoking.get(topic, ()))
