"""The queue of writes to an offset store outside Kafka."""

from __future__ import annotations


class WriteQueue:
    """Says when the store can take the next write; times in microseconds."""

    __slots__ = ("_free_us", "_service_us")

    def __init__(self, writes_per_s: float | None) -> None:
        """*writes_per_s*: the highest rate of writes; None: not bounded."""
        self._service_us = 0 if writes_per_s is None else round(1_000_000 / writes_per_s)
        self._free_us = 0

    def take(self, now: int) -> int:
        """Add a write to the queue, and return when it is taken."""
        taken_us = max(now, self._free_us)
        self._free_us = taken_us + self._service_us
        return taken_us

    def clear(self) -> None:
        """Drop all writes: the store has stopped."""
        self._free_us = 0
