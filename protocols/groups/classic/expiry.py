"""From when the retention of a classic group's offsets counts (KIP-211).

Source: ``ClassicGroup.offsetExpirationCondition`` (spec classic-coordinator 5.7).
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.groups.classic.group import reads
from protocols.groups.classic.shard import Shard
from protocols.groups.classic.states import State
from protocols.messages import CONSUMER_PROTOCOL_TYPE
from protocols.offsets_topic.records import OffsetCommitValue


def expires_from_ms(
    shard: Shard, group_id: str, partition: TopicPartition, value: OffsetCommitValue
) -> int | None:
    """Return from when the retention of an offset counts, or None while it is in use.

    An offset committed to a group that is empty counts from when it became so [Q21].
    """
    group = shard.groups[group_id]
    if group.protocol_type is None:
        return value.commit_timestamp
    if group.state is State.EMPTY:
        return value.commit_timestamp if group.state_since_ms is None else group.state_since_ms
    quiet = group.state is State.STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE
    if not quiet or group.subscribed_topics is None or reads(group, partition.topic):
        return None
    return value.commit_timestamp


def is_over(shard: Shard, group_id: str) -> bool:
    """Say whether a group may go once it has no offsets."""
    return shard.groups[group_id].state is State.EMPTY
