"""The fetch session of a consumer at a broker (KIP-227), for a host that keeps a value by partition.

Source: ``FetchSessionHandler``, ``FetchSession``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from assignors.types import TopicPartition
from protocols.messages import FetchPartition

T = TypeVar("T")


class FetchSession(Generic[T]):
    """A consumer's fetch session at a broker (KIP-227): its partitions in cache order.

    A full fetch sets the order, an incremental one keeps it, and a partition that returned data
    moves to the end. The host keeps a value for each partition.
    """

    __slots__ = ("cached",)

    def __init__(self) -> None:
        self.cached: dict[TopicPartition, T] = {}

    def renew(
        self, wanted: Iterable[FetchPartition], keep: Callable[[T | None, FetchPartition], T]
    ) -> None:
        """Apply a fetch: append new partitions, and remove those no longer requested.

        *keep* returns the host's value of a partition, given its earlier value, if there was one.
        """
        before = self.cached
        parts = {part.partition: part for part in wanted}
        if parts.keys() == before.keys():
            self.cached = {tp: keep(value, parts[tp]) for tp, value in before.items()}
            return
        order = [tp for tp in before if tp in parts] + [tp for tp in parts if tp not in before]
        self.cached = {tp: keep(before.get(tp), parts[tp]) for tp in order}

    def answered(self, partition: TopicPartition) -> None:
        """Move a partition that returned data to the end."""
        if len(self.cached) > 1:
            self.cached[partition] = self.cached.pop(partition)
