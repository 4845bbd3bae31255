"""The order of partitions in what poll returns: that of ``ConsumerRecords``, a Java HashMap."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from assignors.java import DEFAULT_LENGTH, hash_map_order, spread_hash, topic_partition_hash
from assignors.types import TopicPartition

Records = TypeVar("Records", bound=tuple[TopicPartition, int, int])
"""Records of one partition: the first offset, and the one behind the last."""

_FEW = 8
"""Up to so many keys a hash map of the default length neither resizes nor treeifies."""


_hash_of = lru_cache(maxsize=1 << 16)(topic_partition_hash)
"""Polls ask for the same few partitions repeatedly."""


@lru_cache(maxsize=1 << 16)
def _slot(partition: TopicPartition) -> int:
    return spread_hash(_hash_of(partition)) & DEFAULT_LENGTH - 1


def in_record_order(handed: list[Records]) -> tuple[Records, ...]:
    """Return records in the order of ``ConsumerRecords``, a HashMap (seen in every capture)."""
    if len(handed) <= _FEW:
        return tuple(sorted(handed, key=lambda part: _slot(part[0])))
    order = hash_map_order(dict.fromkeys(part[0] for part in handed), _hash_of)
    place = {tp: number for number, tp in enumerate(order)}
    return tuple(sorted(handed, key=lambda part: place[part[0]]))
