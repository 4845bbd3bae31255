"""The offsets of a compacted partition whose records the log cleaner has removed.

Records keep their offsets, so the offsets of removed records are gaps, which a reader skips.
Source: ``Cleaner.cleanInto``, which keeps the newest record of each key.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

Ranges = Iterable[tuple[int, int]]


class Removed(NamedTuple):
    """The removed offsets: disjoint ranges in ascending order, with records between any two."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    before: tuple[int, ...] = (0,)
    """At index n: the number of offsets in the first n ranges."""

    kept_before: tuple[int, ...] = ()
    """For each range: the number of records before it."""

    @classmethod
    def of(cls, ranges: Ranges) -> Removed:
        """Return the offsets of *ranges*, which may overlap, as one value.

        >>> removed = Removed.of([(8, 10), (3, 5), (5, 6)])
        >>> removed.starts, removed.ends, removed.kept_before
        ((3, 8), (6, 10), (3, 5))
        """
        joined: list[list[int]] = []
        for start, end in sorted(each for each in ranges if each[0] < each[1]):
            if joined and start <= joined[-1][1]:
                joined[-1][1] = max(end, joined[-1][1])
            else:
                joined.append([start, end])
        before = tuple(accumulate((end - start for start, end in joined), initial=0))
        starts = tuple(start for start, _ in joined)
        kept = tuple(start - gone for start, gone in zip(starts, before, strict=False))
        return cls(starts, tuple(end for _, end in joined), before, kept)

    @property
    def ranges(self) -> Iterator[tuple[int, int]]:
        """The ranges in order."""
        return zip(self.starts, self.ends, strict=True)

    def __bool__(self) -> bool:
        return bool(self.starts)

    def plus(self, ranges: Ranges) -> Removed:
        """Return these offsets and those of *ranges*."""
        return Removed.of([*self.ranges, *ranges])

    def minus(self, first: int, end: int) -> Removed:
        """Return these offsets without those in [*first*, *end*).

        >>> tuple(Removed.of([(3, 9)]).minus(4, 6).ranges)
        ((3, 4), (6, 9))
        """
        below = ((start, min(stop, first)) for start, stop in self.ranges)
        above = ((max(start, end), stop) for start, stop in self.ranges)
        return Removed.of([*below, *above])

    def within(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the removed ranges, each cut to [*first*, *end*)."""
        for index in range(max(bisect_right(self.starts, first) - 1, 0), len(self.starts)):
            if self.starts[index] >= end:
                break
            low, high = max(self.starts[index], first), min(self.ends[index], end)
            if low < high:
                yield low, high

    def records_before(self, offset: int) -> int:
        """Return the number of records below an offset.

        >>> [Removed.of([(3, 5)]).records_before(offset) for offset in (3, 4, 5, 6)]
        [3, 3, 3, 4]
        """
        place = bisect_right(self.starts, offset)
        kept_from = max(offset, self.ends[place - 1]) if place else offset
        return kept_from - self.before[place]

    def count_in(self, first: int, end: int) -> int:
        """Return the number of records in a range."""
        return self.records_before(end) - self.records_before(first)

    def next_record(self, offset: int) -> int:
        """Return the first offset from *offset* on that holds a record, or will hold one."""
        place = bisect_right(self.starts, offset)
        return max(offset, self.ends[place - 1]) if place else offset

    def move(self, offset: int, records: int) -> int:
        """Return the position after the next *records* records from *offset*, and after their gap.

        >>> [Removed.of([(3, 5)]).move(1, count) for count in (1, 2, 3)]
        [2, 5, 6]
        """
        count = self.records_before(offset) + records
        return count + self.before[bisect_right(self.kept_before, count)]

    def runs(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of offsets in [*first*, *end*) that hold records only.

        >>> list(Removed.of([(3, 5), (8, 9)]).runs(1, 12))
        [(1, 3), (5, 8), (9, 12)]
        """
        first = self.next_record(first)
        while first < end:
            place = bisect_right(self.starts, first)
            gap = min(self.starts[place], end) if place < len(self.starts) else end
            yield first, gap
            first = self.next_record(gap)
