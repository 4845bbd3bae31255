"""The broker's memory of one consumer's fetches (KIP-227): in which order it answers.

Source: ``FetchSession`` and its cached partitions: a full fetch sets the order, an incremental
one keeps the order of the cache, and a partition that returned data goes to its end.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.messages import FetchPartition


class FetchSession:
    """The partitions of one session, in the order the broker walks them."""

    __slots__ = ("_cached",)

    def __init__(self) -> None:
        self._cached: dict[TopicPartition, int] = {}

    def in_order(self, wanted: tuple[FetchPartition, ...]) -> list[FetchPartition]:
        """Return the wanted partitions in the session's order; new ones come last.

        Partitions that are no longer wanted leave the session.
        """
        if len(wanted) == 1:
            self._cached = {wanted[0].partition: 0}
            return list(wanted)
        offsets = {part.partition: part for part in wanted}
        cached = {tp: 0 for tp in self._cached if tp in offsets}
        for tp in offsets:
            cached.setdefault(tp, 0)
        self._cached = cached
        return [offsets[tp] for tp in cached]

    def answered(self, with_data: tuple[TopicPartition, ...]) -> None:
        """Note which partitions returned data."""
        for tp in with_data:
            self._cached[tp] = self._cached.pop(tp, 0)
