"""Count what two groups did together, one of which replaces the other.

Each group has a ledger of its own, so a record that both processed is reprocessed in neither. These
figures join them, per partition: a deploy under a new group id, or blue and green side by side.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.readings import Handler, Key, Reading, Row, longest, named

BOTH = "processed_by_both"
NEITHER = "processed_by_neither"
GAP = "handover_gap_max_s"


class Offsets:
    """A set of offsets as disjoint ranges in order; adding at its end costs O(1)."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Add the offsets from *start* up to *end*."""
        first = bisect_left(self.ends, start)
        last = bisect_right(self.starts, end)
        if first < last:
            start, end = min(start, self.starts[first]), max(end, self.ends[last - 1])
        self.starts[first:last] = [start]
        self.ends[first:last] = [end]

    def cut(self, at: int) -> Offsets:
        """Remove all offsets from *at* on, and return them."""
        tail = Offsets()
        while self.ends and self.ends[-1] > at:
            tail.add(max(self.starts[-1], at), self.ends[-1])
            if self.starts[-1] < at:
                self.ends[-1] = at
            else:
                del self.starts[-1], self.ends[-1]
        return tail

    def __len__(self) -> int:
        return sum(self.ends) - sum(self.starts)


def union(parts: Iterable[Offsets]) -> Offsets:
    """Return the offsets that are in at least one of *parts*."""
    joined = Offsets()
    ranges = (pair for part in parts for pair in zip(part.starts, part.ends, strict=True))
    for start, end in sorted(ranges):
        joined.add(start, end)
    return joined


class HandoverMeter:
    """Measures the groups of a scenario that replace other ones.

    *replaces*: group to the group whose work it takes over. Cost: O(log ranges) for each progress
    event of such a group; memory: the ranges.
    """

    def __init__(self, replaces: Mapping[str, str]) -> None:
        self._replaces = replaces
        self._counted = {*replaces, *replaces.values()}
        self._processed: defaultdict[Key, Offsets] = defaultdict(Offsets)
        self._first_us: dict[Key, int] = {}
        self._last_us: dict[Key, int] = {}
        self._both: Counter[Key] = Counter()
        """By the group that replaces another one, and partition."""

        self._neither: Counter[Key] = Counter()

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type; none where no group replaces another."""
        if not self._replaces:
            return {}
        return {
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
            ev.ProcessedOutOfOrder: self._on_processed,
            ev.RecordsTruncated: self._on_truncated,
            ev.TopicDeleted: self._on_deleted,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the records of both and of neither, and the longest time between the two."""
        for tp in sorted({tp for _, tp in self._processed}):
            self._count(tp, 0)
        rows = [self._row(new, old) for new, old in self._replaces.items()]
        gaps = [row["gap_s"] for row in rows if row["gap_s"] is not None]
        return Reading(
            values={
                BOTH: self._both.total(),
                NEITHER: self._neither.total(),
                GAP: max(gaps, default=0),
            },
            tables={
                f"{BOTH}.by_partition": _table(self._both),
                f"{NEITHER}.by_partition": _table(self._neither),
            },
            listings={"handovers": tuple(rows)},
            without_value=frozenset() if gaps else frozenset((GAP,)),
        )

    def _row(self, new: str, old: str) -> Row:
        gaps = tuple(self._gaps_us(new, old))
        return {
            "group": new,
            "replaces": old,
            "both": sum(count for key, count in self._both.items() if key[0] == new),
            "neither": sum(count for key, count in self._neither.items() if key[0] == new),
            "gap_s": longest(gaps) if gaps else None,
        }

    def _on_processed(
        self, event: ev.Event, what: ev.Processed | ev.ProgressCounted | ev.ProcessedOutOfOrder
    ) -> None:
        if what.group in self._counted:
            key = what.group, what.partition
            self._processed[key].add(what.first, what.next_offset)
            self._first_us[key] = min(what.began_us, self._first_us.get(key, what.began_us))
            self._last_us[key] = max(event.at_us, self._last_us.get(key, 0))

    def _on_truncated(self, _: ev.Event, what: ev.RecordsTruncated) -> None:
        """Count the records that left the log: others will get their offsets."""
        self._count(what.partition, what.first)

    def _on_deleted(self, _: ev.Event, what: ev.TopicDeleted) -> None:
        for tp in sorted({tp for _, tp in self._processed if tp.topic == what.topic}):
            self._count(tp, 0)

    def _count(self, tp: TopicPartition, first: int) -> None:
        """Count the records of a partition from offset *first* on, and forget them."""
        tails = {
            group: processed.cut(first)
            for (group, other), processed in self._processed.items()
            if other == tp
        }
        for new, old in self._replaces.items():
            pair = [tails[group] for group in (old, new) if group in tails]
            together = union(pair)
            self._both[new, tp] += sum(map(len, pair)) - len(together)
            if together.starts:
                self._neither[new, tp] += together.ends[-1] - together.starts[0] - len(together)

    def _gaps_us(self, new: str, old: str) -> Iterator[int]:
        """Yield, per partition, the time from the last record of *old* to the first of *new*."""
        for (group, tp), first_us in self._first_us.items():
            if group == new and (old, tp) in self._last_us:
                yield max(0, first_us - self._last_us[old, tp])


def _table(counts: Mapping[Key, int]) -> dict[str, int | float]:
    return {**named({key: count for key, count in counts.items() if count})}
