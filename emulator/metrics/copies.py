"""Count the processed records that a producer wrote twice, or took back.

A producer without idempotence sends a batch again when it got no answer, and the topic has its records
twice: copies. A transactional producer aborts transactions, whose records stay in the topic. A group that
processes each record once processes these, too: that is no reprocessing, and the ledger does not count it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from emulator import events as ev
from emulator.events.offsets import Gaps
from emulator.ledger.entries import Ledger
from emulator.metrics.handover import Offsets
from emulator.metrics.readings import Handler, Key, Reading, named


class CopyRule(NamedTuple):
    """Of each *of* offsets of a partition the last *records* are copies of those before them."""

    records: int
    of: int

    def before(self, offset: int) -> int:
        """Return the number of copies below an offset.

        >>> [CopyRule(records=2, of=10).before(offset) for offset in (8, 9, 10, 20)]
        [0, 1, 2, 4]
        """
        cycles, rest = divmod(offset, self.of)
        return cycles * self.records + max(rest - (self.of - self.records), 0)


class AbortedRule(NamedTuple):
    """Records of transactions, and those of committed ones: the rest are aborted."""

    written: Gaps
    committed: Gaps

    def before(self, offset: int) -> int:
        """Return the number of aborted records below an offset.

        >>> third_aborted = AbortedRule(Gaps(cycle=3, records=2), Gaps(cycle=9, records=2, parts=2))
        >>> [third_aborted.before(offset) for offset in (6, 7, 9, 18)]
        [0, 1, 2, 4]
        """
        return self.written.records_before(offset) - self.committed.records_before(offset)


class RuleMeter:
    """Measures which processed records follow a rule of their topic's producer; *rules*: by topic."""

    def __init__(
        self, name: str, rules: Mapping[str, CopyRule] | Mapping[str, AbortedRule]
    ) -> None:
        """Measure under the name of a metric."""
        self._name = name
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
        """Return the records that each group has processed, each counted once."""
        counts = {key: self._count(key) for key in sorted(self._processed)}
        return Reading(
            values={self._name: sum(counts.values())},
            tables={f"{self._name}.by_partition": {**named(counts)}},
        )

    def _count(self, key: Key) -> int:
        rule, done = self._rules[key[1].topic], self._processed[key]
        ranges = zip(done.starts, done.ends, strict=True)
        return sum(rule.before(end) - rule.before(start) for start, end in ranges)
