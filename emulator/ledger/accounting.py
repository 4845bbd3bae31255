"""The frontier and the gap set of one partition, by ranges.

:class:`Coverage` is a run of neighbouring segments from the base to the frontier. A segment is
either processed (by whom first, by whom last) or a gap (passed over, and why). Everything else
of the ledger is derived from it. Cost: O(1) for progress at the frontier, O(segments touched)
for what was processed before; memory is bounded but for gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from emulator.ledger.epochs import Blame, Epoch

SEGMENTS = 256
"""So many segments are told apart; the older half of more is joined between its gaps."""


class Repeat(NamedTuple):
    """A range that has now been processed once more."""

    start: int
    end: int
    first: Epoch
    """Who processed it first."""

    last: Epoch
    """Who had processed it last before."""


@dataclass(slots=True, eq=False)
class Segment:
    """Neighbouring records with one story; a gap has no first owner."""

    start: int
    end: int
    first: Epoch | None
    last: Epoch | None
    blame: Blame | None = None
    """Of a gap: why it was passed over; None while it only lies ahead of a lower start."""

    def joins(self, other: Segment) -> bool:
        """Say whether *other*, the right neighbour, tells the same story.

        Where two epochs worked side by side it does not matter who was ahead record by
        record, else every change of lead would be a segment.
        """
        if self.first is None or other.first is None:
            return self.first is other.first and self.blame is other.blame
        same = self.first is other.first and self.last is other.last
        return same or (self.first is other.last and self.last is other.first)


class Coverage:
    """Which records of one partition were processed, passed over, or neither yet."""

    __slots__ = ("_most", "_segments", "_starts", "base", "frontier")

    def __init__(self, base: int, *, segments: int | None = None) -> None:
        """Begin at *base*; *segments*: how many are told apart, :data:`SEGMENTS` by default."""
        self.base = base
        self.frontier = base
        self._most = segments
        self._starts: list[int] = []
        self._segments: list[Segment] = []

    def work(self, epoch: Epoch, start: int, end: int) -> list[Repeat]:
        """Account [*start*, *end*) as processed by *epoch*; return what that repeats.

        *start* must not lie beyond the frontier: what is passed over is said first.
        """
        assert self.base <= start <= self.frontier, "a hole must be passed over first"
        top = self._segments[-1] if self._segments else None
        if start == self.frontier and top is not None and top.first is top.last is epoch:
            top.end = self.frontier = end
            return []
        repeats = self._work_again(epoch, start, min(end, self.frontier))
        if end > self.frontier:
            self._append(Segment(max(start, self.frontier), end, epoch, epoch))
        return repeats

    def pass_over(self, start: int, end: int, blame: Blame) -> None:
        """Account [*start*, *end*) as passed over, where it was not processed before."""
        if start < self.frontier:
            self._blame_unreached(start, min(end, self.frontier), blame)
        if end > self.frontier:
            self._append(Segment(self.frontier, end, None, None, blame))

    def lower(self, base: int) -> None:
        """Let the account begin at *base*: what lies between is unreached, not yet passed over."""
        if base >= self.base:
            return
        self._segments.insert(0, Segment(base, self.base, None, None))
        self._starts.insert(0, base)
        self.base = base

    def cut_off(self, at: int) -> Coverage:
        """Give away everything from *at* on, as a coverage of its own that begins there.

        What is counted at *at* from now on are other records: the log was truncated.
        """
        tail = Coverage(max(at, self.base), segments=self._most)
        low = self._cut(at)
        tail._segments, self._segments = self._segments[low:], self._segments[:low]
        tail._starts, self._starts = self._starts[low:], self._starts[:low]
        tail.frontier = max(tail.base, self.frontier)
        self.base, self.frontier = min(self.base, at), min(self.frontier, at)
        return tail

    def spare(self, at: int) -> None:
        """Take back what was said of gaps from *at* on: nobody will ever reach them."""
        for gap in self._segments[self._cut(at) :]:
            if gap.first is None:
                gap.blame = None

    def blame_instead(self, epoch: Epoch, blame: Blame) -> None:
        """Let another blame stand for what was passed over by the begin of *epoch*."""
        for gap in self.gaps():
            if gap.blame is not None and gap.blame.after is epoch:
                gap.blame = blame

    def gaps(self) -> Iterator[Segment]:
        """Yield the gaps in order of offset."""
        return (segment for segment in self._segments if segment.first is None)

    def processed(self) -> int:
        """Count the records processed at least once."""
        return sum(s.end - s.start for s in self._segments if s.first is not None)

    def __len__(self) -> int:
        return len(self._segments)

    def check(self) -> None:
        """Assert that the segments cover base to frontier without overlap, none empty."""
        at = self.base
        assert len(self._starts) == len(self._segments)
        for start, segment in zip(self._starts, self._segments, strict=True):
            assert start == segment.start == at < segment.end
            at = segment.end
        assert at == self.frontier

    def _append(self, segment: Segment) -> None:
        self.frontier = segment.end
        top = self._segments[-1] if self._segments else None
        if top is not None and top.joins(segment):
            top.end = segment.end
        else:
            self._segments.append(segment)
            self._starts.append(segment.start)
            most = SEGMENTS if self._most is None else self._most
            if len(self._segments) > most:
                self._join_old(most // 2)

    def _join_old(self, count: int) -> None:
        """Join what was processed long ago; who was first is known for each joint's start only."""
        kept: list[Segment] = []
        for segment in self._segments[:count]:
            below = kept[-1] if kept else None
            if below is None or below.last is None or segment.last is None:
                kept.append(segment)
            else:
                below.end = segment.end
                below.last = max(below.last, segment.last, key=lambda epoch: epoch.number)
        self._segments[:count] = kept
        self._starts = [segment.start for segment in self._segments]

    def _work_again(self, epoch: Epoch, start: int, end: int) -> list[Repeat]:
        repeats: list[Repeat] = []
        if start >= end:
            return repeats
        low, high = self._cut(start), self._cut(end)
        for segment in self._segments[low:high]:
            if segment.first is None:
                segment.first, segment.blame = epoch, None
            else:
                assert segment.last is not None
                repeats.append(Repeat(segment.start, segment.end, segment.first, segment.last))
            segment.last = epoch
        self._join(low, high)
        return repeats

    def _blame_unreached(self, start: int, end: int, blame: Blame) -> None:
        low, high = self._cut(start), self._cut(end)
        for segment in self._segments[low:high]:
            if segment.first is None and segment.blame is None:
                segment.blame = blame
        self._join(low, high)

    def _cut(self, at: int) -> int:
        """Make *at* a border of segments; return the index of the one that starts there."""
        if at <= self.base:
            return 0
        index = bisect_right(self._starts, at) - 1
        if index < 0 or at >= self.frontier:
            return len(self._segments)
        segment = self._segments[index]
        if segment.start == at:
            return index
        self._segments.insert(index + 1, replace(segment, start=at))
        self._starts.insert(index + 1, at)
        segment.end = at
        return index + 1

    def _join(self, low: int, high: int) -> None:
        """Join equal neighbours among the segments from *low* - 1 to *high*."""
        for index in range(min(high, len(self._segments) - 1), max(low, 1) - 1, -1):
            left, right = self._segments[index - 1], self._segments[index]
            if left.joins(right):
                left.end = right.end
                del self._segments[index], self._starts[index]
