"""The broker's memory of one consumer's fetches (KIP-227): in which order it answers.

Source: ``FetchSession`` and its cached partitions: a full fetch sets the order, an incremental
one keeps the order of the cache, and a partition that returned data goes to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from assignors.types import TopicPartition
from protocols.messages import FetchPartition

T = TypeVar("T")


class FetchSession(Generic[T]):
    """The partitions of one session, each with what its host keeps for it, in cache order."""

    __slots__ = ("cached",)

    def __init__(self) -> None:
        self.cached: dict[TopicPartition, T] = {}

    def renew(
        self, wanted: Iterable[FetchPartition], keep: Callable[[T | None, FetchPartition], T]
    ) -> None:
        """Take a fetch: new partitions come last, those no longer wanted leave the session.

        *keep* makes what the host keeps for a partition, from what it kept before, if anything.
        """
        before = self.cached
        parts = {part.partition: part for part in wanted}
        order = [tp for tp in before if tp in parts] + [tp for tp in parts if tp not in before]
        self.cached = {tp: keep(before.get(tp), parts[tp]) for tp in order}

    def answered(self, partition: TopicPartition) -> None:
        """Note that a partition returned data."""
        if len(self.cached) > 1:
            self.cached[partition] = self.cached.pop(partition)
