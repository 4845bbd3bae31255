"""The topic ``__consumer_offsets``: its records, its segments, their replay, and partitioning.

Source of the partitioning: ``GroupCoordinatorService.partitionFor``.
"""

from __future__ import annotations

from typing import Final

from assignors.java import java_hash

OFFSETS_TOPIC: Final = "__consumer_offsets"
_SMALLEST_INT = -(2**31)


def partition_for(group_id: str, partitions: int = 50) -> int:
    """Return the partition of the offsets topic, hence the coordinator, of a group.

    *partitions*: the partition count of the topic. Kafka takes the absolute value of Java's
    string hash, with 0 for the one value without an absolute value.

    >>> partition_for("my-group"), partition_for("test-group")
    (12, 12)
    >>> partition_for("polygenelubricants")
    0
    """
    value = java_hash(group_id)
    return 0 if value == _SMALLEST_INT else abs(value) % partitions
