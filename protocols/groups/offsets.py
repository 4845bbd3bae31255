"""Committed offsets of groups of any type: as replay keeps them, and as they go.

Source: ``OffsetMetadataManager`` (spec classic-coordinator 3.5 to 3.10, 10.3b).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assignors.types import TopicPartition
from protocols.facts import OffsetsDropped
from protocols.groups.shard import Durable, PartitionOffsets
from protocols.java_maps import TimelineMap
from protocols.machine import Tell
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record

Stored = dict[tuple[str, str], list[tuple[int, OffsetCommitValue]]]
"""By group and topic, in the order in which these came: partitions and their offsets."""

_NO_PARTITIONS: PartitionOffsets = TimelineMap()


def with_offsets(durable: Durable, stored: Stored) -> Durable:
    """Return what is durable with more offsets; a group that is not there is a simple one."""
    for (group_id, topic), offsets in stored.items():
        topics = durable.topics_of(group_id)
        partitions = (topics.get(topic) or _NO_PARTITIONS).put_all(offsets)
        groups = durable.groups
        if group_id not in groups:
            groups = groups.put(group_id, None)
        held = durable.offsets.set(group_id, topics.hold(topic, partitions))
        durable = Durable(groups, held)
    return durable


def without_offset(durable: Durable, key: OffsetCommitKey) -> Durable:
    """Return what is durable without one offset.

    A map that becomes empty is dropped, so its order starts afresh.
    """
    topics = durable.topics_of(key.group)
    partitions = topics.get(key.topic)
    if partitions is None or key.partition not in partitions:
        return durable
    partitions = partitions.without(key.partition)
    topics = topics.hold(key.topic, partitions) if partitions else topics.without(key.topic)
    if topics:
        return replace(durable, offsets=durable.offsets.set(key.group, topics))
    return replace(durable, offsets=durable.offsets.delete(key.group))


def committed(durable: Durable, group_id: str) -> tuple[TopicPartition, ...]:
    """Return the partitions a group has offsets of, in the order of spec 10.3b."""
    return tuple(
        TopicPartition(topic, number)
        for topic, partitions in durable.topics_of(group_id).items()
        for number in partitions
    )


def tombstones(group_id: str, partitions: Iterable[TopicPartition]) -> tuple[Record, ...]:
    """Return the records that delete committed offsets."""
    return tuple(
        Record(OffsetCommitKey(group_id, partition.topic, partition.partition), None)
        for partition in partitions
    )


def dropped(group_id: str, partitions: tuple[TopicPartition, ...], why: str) -> tuple[Tell, ...]:
    """Tell of offsets that vanish, if any do; it waits for their tombstones, which may fail."""
    if not partitions:
        return ()
    return (Tell(OffsetsDropped(group=group_id, partitions=partitions, why=why)),)


def still_gone(durable: Durable, fact: OffsetsDropped) -> tuple[Tell, ...]:
    """Tell what is left of *fact* when its tombstones are durable.

    What was committed after them, while they were replicated, is there.
    """
    gone = tuple(
        partition for partition in fact.partitions if durable.offset(fact.group, *partition) is None
    )
    return dropped(fact.group, gone, fact.why)
