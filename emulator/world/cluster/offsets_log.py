"""One partition of ``__consumer_offsets``: appends, what is durable, what a load reads.

The seam for the real log: bytes, segments, compaction and replicas that fail come behind the
same three words, append, durable up to, rejected. Here the log is always compacted: of every
key the newest record is kept, so it does not grow with simulated time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.world.distributions import Sampler
from emulator.world.kernel import Kernel, Rank
from protocols.records import Record, size

Durable = Callable[[int], None]
"""Takes the log offset below which everything is safe."""


class OffsetsLog:
    """An append-only log with a high watermark."""

    def __init__(
        self, kernel: Kernel, number: int, replication_us: Sampler, durable: Durable
    ) -> None:
        self._kernel = kernel
        self._number = number
        self._replication_us = replication_us
        self._durable = durable
        self._newest: dict[Any, tuple[int, Record]] = {}
        self._stopped = False
        self.end = 0
        """The log offset the next record gets."""

        self.high_watermark = 0
        self._replicated = 0

    def append(self, records: tuple[Record, ...]) -> int:
        """Append one atomic batch; return the log offset of its first record."""
        first = self.end
        for number, record in enumerate(records):
            self._newest.pop(record.key, None)
            if record.value is not None:
                self._newest[record.key] = (first + number, record)
        self.end = first + len(records)
        end = self.end
        when = self._kernel.now + self._replication_us(first)
        self._kernel.at(when, Rank.AT_BROKER, self._number, lambda _: self._fetched(end))
        return first

    def _fetched(self, end: int) -> None:
        """The followers have everything below ``end``."""
        self._replicated = max(self._replicated, end)
        self._advance()

    def _advance(self) -> None:
        if not self._stopped and self._replicated > self.high_watermark:
            self.high_watermark = self._replicated
            self._durable(self.high_watermark)

    def stop(self) -> None:
        """Stop the high watermark: a replica in sync no longer fetches."""
        self._stopped = True

    def go_on(self) -> None:
        """Let the high watermark catch up."""
        self._stopped = False
        self._advance()

    def read(self) -> list[tuple[int, Record]]:
        """Return what a load reads: the newest record of every key, by log offset."""
        return sorted(self._newest.values(), key=lambda entry: entry[0])


def kind_of(record: Record) -> str:
    """Return what a record is called in counts and reports."""
    name = type(record.key).__name__.removesuffix("Key")
    return name if record.value is not None else f"{name} tombstone"


def size_of(record: Record) -> int:
    """Return the bytes of a record's key and value."""
    return size(record)
