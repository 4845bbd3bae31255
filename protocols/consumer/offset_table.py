"""A table of the user's database with the offset of each group and partition.

The machine has no clock and is changed in place. A transaction writes all its rows or none. A fenced one
writes them only where the stored offset is still the expected one (``UPDATE … WHERE offset = expected``):
the transaction of a process that has lost its partitions then changes no row, and is rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping

from protocols.consumer.store_history import NOTHING_STORED, Key
from protocols.consumer.write_queue import WriteQueue


class OffsetTable:
    """The rows, and the queue of transactions."""

    __slots__ = ("_rows", "queue")

    def __init__(self, transactions_per_s: float | None) -> None:
        """*transactions_per_s*: the highest rate of commits; None: not bounded."""
        self._rows: dict[Key, int] = {}
        self.queue = WriteQueue(transactions_per_s)

    def commit(self, rows: Mapping[Key, int], expected: Mapping[Key, int] | None) -> bool:
        """Write all rows; return False and write none if one is not as *expected*."""
        if expected is not None and any(self.read(key) != expected[key] for key in rows):
            return False
        self._rows.update(rows)
        return True

    def restore(self, rows: Mapping[Key, int]) -> None:
        """Replace all rows by those of a backup."""
        self._rows = dict(rows)

    def read(self, key: Key) -> int:
        """Return a stored offset, ``NOTHING_STORED`` if there is none."""
        return self._rows.get(key, NOTHING_STORED)
