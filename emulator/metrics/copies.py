"""Count the processed records that their producer wrote twice: they are copies in the topic.

A producer without idempotence sends a batch again when it got no answer, and the topic has its records
twice. A group that processes each record once processes these twice: that is no work of the group, and
the ledger does not count it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from emulator import events as ev
from emulator.ledger.entries import Ledger
from emulator.metrics.handover import Offsets
from emulator.metrics.readings import Handler, Key, Reading, named


class CopyRule(NamedTuple):
    """Of each *of* offsets of a partition the last *records* are copies of those before them."""

    records: int
    of: int

    def copies_before(self, offset: int) -> int:
        """Return the number of copies below an offset.

        >>> [CopyRule(records=2, of=10).copies_before(offset) for offset in (8, 9, 10, 20)]
        [0, 1, 2, 4]
        """
        cycles, rest = divmod(offset, self.of)
        return cycles * self.records + max(rest - (self.of - self.records), 0)


class CopyMeter:
    """Measures topics whose producer repeats; *rules*: by topic."""

    def __init__(self, rules: Mapping[str, CopyRule]) -> None:
        self._rules = rules
        self._processed: dict[Key, Offsets] = {}

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
            ev.ProcessedOutOfOrder: self._on_processed,
        }

    def _on_processed(
        self, _: ev.Event, what: ev.Processed | ev.ProgressCounted | ev.ProcessedOutOfOrder
    ) -> None:
        if what.partition.topic in self._rules:
            key = what.group, what.partition
            self._processed.setdefault(key, Offsets()).add(what.first, what.next_offset)

    def read(self, _ended_us: int, _ledger: Ledger) -> Reading:
        """Return the copies that each group has processed, each counted once."""
        counts = {key: self._copies(key) for key in sorted(self._processed)}
        return Reading(
            values={"copies_processed": sum(counts.values())},
            tables={"copies_processed.by_partition": {**named(counts)}},
        )

    def _copies(self, key: Key) -> int:
        rule, done = self._rules[key[1].topic], self._processed[key]
        ranges = zip(done.starts, done.ends, strict=True)
        return sum(rule.copies_before(end) - rule.copies_before(start) for start, end in ranges)
