"""A seen-set with a window, and what a group has delivered to it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.scenario.model import Deduplication

Record = tuple["TopicPartition", int]


class SeenSet:
    """The records of the last so many, or of the last while."""

    __slots__ = ("_newest", "_order", "_records", "_window_us")

    def __init__(self, given: Deduplication) -> None:
        self._window_us = given.window
        self._records = given.records
        self._newest: dict[Record, int] = {}
        """When each was last added."""

        self._order: deque[tuple[int, Record]] = deque()

    def add(self, record: Record, now: int) -> None:
        """Remember a record; its time counts from now on."""
        self._newest[record] = now
        self._order.append((now, record))
        self._forget(now)

    def recognises(self, record: Record, now: int) -> bool:
        """Return whether a record was added and is not forgotten yet."""
        self._forget(now)
        return record in self._newest

    def _forget(self, now: int) -> None:
        while self._order:
            added_us, record = self._order[0]
            if self._newest.get(record) == added_us and not self._is_over(now - added_us):
                return
            self._order.popleft()
            if self._newest.get(record) == added_us:
                del self._newest[record]

    def _is_over(self, age_us: int) -> bool:
        if self._window_us is not None and age_us > self._window_us:
            return True
        return self._records is not None and len(self._newest) > self._records


class Deliveries:
    """What a group has delivered, and the seen-set that its members share."""

    __slots__ = ("_finished", "given", "shared")

    def __init__(self, given: Deduplication) -> None:
        self.given = given
        self.shared = SeenSet(given)
        self._finished: dict[TopicPartition, set[int]] = {}

    def finish(self, tp: TopicPartition, offset: int) -> bool:
        """Note that a record was processed; return whether it had been before."""
        offsets = self._finished.setdefault(tp, set())
        before = offset in offsets
        offsets.add(offset)
        return before

    def is_finished(self, tp: TopicPartition, offset: int) -> bool:
        """Return whether a record was processed."""
        return offset in self._finished.get(tp, ())

    def truncated(self, tp: TopicPartition, first: int) -> None:
        """Forget the records that a log has lost: others get their offsets."""
        kept = {offset for offset in self._finished.get(tp, ()) if offset < first}
        self._finished[tp] = kept
