"""The queue of writes to an offset store outside Kafka."""

from __future__ import annotations


class WriteQueue:
    """Says when the store takes the next write, and when it has it; times in microseconds."""

    __slots__ = ("_done_us", "_free_us", "_in_order", "_service_us")

    def __init__(self, writes_per_s: float | None, *, in_order: bool = False) -> None:
        """*writes_per_s*: None: not bounded. *in_order*: no write is done before an earlier one."""
        self._service_us = 0 if writes_per_s is None else round(1_000_000 / writes_per_s)
        self._in_order = in_order
        self._free_us = self._done_us = 0

    def submit(self, now: int, latency_us: int) -> tuple[int, int]:
        """Add a write; return how long it waits until it is taken, and when it is done."""
        taken_us = max(now, self._free_us)
        self._free_us = taken_us + self._service_us
        done_us = taken_us + latency_us
        if self._in_order:
            done_us = self._done_us = max(self._done_us, done_us)
        return taken_us - now, done_us

    def clear(self) -> None:
        """Drop all writes: the store has stopped."""
        self._free_us = self._done_us = 0
