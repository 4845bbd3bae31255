"""The state of one offsets partition's coordinator, for groups of any type.

A :class:`Shard` has three parts. :class:`Durable` is what its log says, up to the last record
proposed: only replay (``replay.py``) makes a new one, live and at load. ``groups`` is what the
coordinator has in memory of classic groups, which move there first and write one record a
generation, so that memory may be ahead of the log (spec classic-coordinator 5.3). ``soft`` is
what it knows beside the log of groups that are written fact by fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from immutables import Map

from protocols.java_maps import NOTHING, TimelineMap
from protocols.offsets_topic.records import GroupMetadataValue, OffsetCommitValue

G = TypeVar("G")

PartitionOffsets = TimelineMap[int, OffsetCommitValue]
TopicOffsets = TimelineMap[str, PartitionOffsets]

_NO_GROUPS: TimelineMap[str, Any] = TimelineMap()
_NO_TOPICS: TopicOffsets = TimelineMap()


@dataclass(frozen=True, slots=True)
class Durable:
    """What a shard's log says: the newest record of every key."""

    groups: TimelineMap[str, Any] = _NO_GROUPS
    """By id: what its type makes of the group's records. None: known by its offsets alone."""

    offsets: Map[str, TopicOffsets] = NOTHING
    """Group to topic to partition."""

    def is_classic(self, group_id: str) -> bool:
        """Say whether a group is a classic one; so is one that nothing is known of."""
        return is_classic(self.groups.get(group_id))

    def topics_of(self, group_id: str) -> TopicOffsets:
        """Return the committed offsets of a group by topic."""
        return self.offsets.get(group_id, _NO_TOPICS)

    def offset(self, group_id: str, topic: str, partition: int) -> OffsetCommitValue | None:
        """Return one committed offset, or None."""
        partitions = self.topics_of(group_id).get(topic)
        return None if partitions is None else partitions.get(partition)


def is_classic(logged: Any) -> bool:
    """Say whether what the log says of a group makes it a classic one, or none at all.

    It takes no rule of any other type to say so: those are read when a group of theirs comes.
    """
    return logged is None or isinstance(logged, GroupMetadataValue)


_NOTHING_DURABLE = Durable()


@dataclass(frozen=True, slots=True)
class Shard(Generic[G]):
    """All groups of one offsets partition."""

    groups: Map[str, G] = NOTHING
    """Classic groups in memory; of these the log knows the same ids."""

    durable: Durable = _NOTHING_DURABLE
    soft: Map[str, Any] = NOTHING
    """By group id; no entry: nothing."""

    def with_group(self, group_id: str, group: G) -> Shard[G]:
        """Return the shard with one group in memory in a new state."""
        return Shard(self.groups.set(group_id, group), self.durable, self.soft)

    def without_group(self, group_id: str) -> Shard[G]:
        """Return the shard with one group in memory forgotten."""
        return Shard(self.groups.delete(group_id), self.durable, self.soft)

    def with_soft(self, group_id: str, soft: Any) -> Shard[G]:
        """Return the shard that knows something else of a group beside the log."""
        return Shard(self.groups, self.durable, self.soft.set(group_id, soft))
