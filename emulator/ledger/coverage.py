"""The offset ranges of one partition that ownership epochs processed.

A :class:`Coverage` is a sequence of adjacent segments from a base offset to the frontier, the
end of what was processed or skipped. A segment is processed (with its first and its last owner)
or a gap (with the reason why it was skipped). Cost: O(1) for progress at the frontier, O(segments
touched) for reprocessing. Memory is bounded except for gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from assignors.values import dataclass
from emulator.events import OffsetGaps
from emulator.events.run import records_between
from emulator.ledger.epochs import Attribution, Epoch

if TYPE_CHECKING:
    from emulator.events.offsets import Removed

_START = attrgetter("start")

MAX_SEGMENTS = 256
"""Segments kept for each partition; of more, the older half is merged between its gaps."""


class Repeat(NamedTuple):
    """A range that has been processed once more."""

    start: int
    end: int
    first: Epoch
    """The first epoch that processed it."""

    last: Epoch
    """The previous epoch that processed it."""


@dataclass(slots=True, eq=False)
class Segment:
    """Adjacent records with the same owners; a gap has no first owner."""

    start: int
    end: int
    first: Epoch | None
    last: Epoch | None
    attribution: Attribution | None = None
    """Of a gap: why it was skipped; None if it only lies ahead of a lower start."""

    def joins(self, other: Segment) -> bool:
        """Return whether *other*, the right neighbour, can be merged with this segment.

        Where two epochs processed the same records concurrently, their order record by record
        is not kept: otherwise each change of order would begin a segment.
        """
        if self.attribution is not other.attribution:
            return False
        same = self.first is other.first and self.last is other.last
        return same or (self.first is other.last and self.last is other.first)


class Coverage:
    """The records of one partition that were processed, skipped, or neither yet."""

    __slots__ = (
        "_kept",
        "_max_segments",
        "_segments",
        "base",
        "frontier",
        "is_compacted",
        "offset_gaps",
    )

    def __init__(
        self,
        base: int,
        *,
        max_segments: int | None = None,
        gaps: OffsetGaps | Removed | None = None,
    ) -> None:
        """Begin at offset *base*; *max_segments* is :data:`MAX_SEGMENTS` by default.

        *gaps*: which offsets hold no record; None: all hold one. Of a compacted topic: those whose
        records were removed before they were processed or skipped.
        """
        self.offset_gaps = gaps
        self.is_compacted = gaps is not None and not isinstance(gaps, OffsetGaps)
        self.base = base
        self.frontier = base
        self._max_segments = max_segments
        self._kept = 0
        self._segments: list[Segment] = []

    def count(self, start: int, end: int) -> int:
        """Return the number of records in a range of offsets."""
        return records_between(self.offset_gaps, start, end)

    def process(self, epoch: Epoch, start: int, end: int) -> list[Repeat]:
        """Count [*start*, *end*) as processed by *epoch*; return the ranges that it reprocesses.

        *start* must not be beyond the frontier: call :meth:`skip` for a gap first.
        """
        assert self.base <= start <= self.frontier, "skip the gap first"
        if self.is_compacted:
            self._give_back(start, end)
        top = self._segments[-1] if self._segments else None
        if start == self.frontier and top is not None and top.first is top.last is epoch:
            top.end = self.frontier = end
            return []
        repeats = self._reprocess(epoch, start, min(end, self.frontier))
        if end > self.frontier:
            self._append(Segment(max(start, self.frontier), end, epoch, epoch))
        return repeats

    def compact(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Count records as removed, except those that were processed or skipped before."""
        unread = [piece for start, end in ranges for piece in self._unread(start, end)]
        if unread:
            from emulator.events.offsets import Removed  # noqa: PLC0415  few topics are compacted

            known = self.offset_gaps if isinstance(self.offset_gaps, Removed) else Removed()
            self.offset_gaps, self.is_compacted = known.plus(unread), True

    def _unread(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a range that were neither processed nor skipped."""
        if start < self.base:
            yield start, min(end, self.base)
        for index in range(max(self._behind(start) - 1, 0), len(self._segments)):
            segment = self._segments[index]
            if segment.start >= end:
                break
            if segment.first is None and segment.attribution is None and segment.end > start:
                yield max(start, segment.start), min(end, segment.end)
        if end > self.frontier:
            yield max(start, self.frontier), end

    def _give_back(self, start: int, end: int) -> None:
        """Count a range as not removed: an owner that had fetched it before has processed it."""
        gaps = self.offset_gaps
        assert gaps is not None, "the topic is compacted"
        assert not isinstance(gaps, OffsetGaps), "markers are never removed"
        for low, high in gaps.within(start, end):
            for passed in self._segments[self._cut(low) : self._cut(high)]:
                passed.first = passed.last = None
            self.offset_gaps = gaps = gaps.minus(low, high)

    def pass_over(self, epoch: Epoch, end: int) -> None:
        """Note that *epoch* passes offsets up to *end* beyond the frontier, all without a record for it."""
        if end > self.frontier:
            self._append(Segment(self.frontier, end, epoch, epoch))

    def _removed(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        gaps = self.offset_gaps
        return iter(()) if gaps is None or isinstance(gaps, OffsetGaps) else gaps.within(start, end)

    def removed_up_to(self, end: int) -> int:
        """Return the number of records below *end* that compaction removed before they were processed."""
        return sum(high - low for low, high in self._removed(self.base, end))

    def leave(self, end: int) -> None:
        """Count what is left up to *end* as not processed yet."""
        if end > self.frontier:
            self._append(Segment(self.frontier, end, None, None))

    def skip(self, start: int, end: int, attribution: Attribution) -> None:
        """Count [*start*, *end*) as skipped, except where it has been processed."""
        if start < self.frontier:
            self._attribute_gaps(start, min(end, self.frontier), attribution)
        if end > self.frontier:
            self._append(Segment(self.frontier, end, None, None, attribution))

    def undo(self, start: int, end: int, attribution: Attribution) -> int:
        """Count [*start*, *end*) as skipped: its results are gone; return how many records had one."""
        low, high = self._cut(start), self._cut(end)
        done = [segment for segment in self._segments[low:high] if segment.first is not None]
        for segment in done:
            segment.first, segment.last, segment.attribution = None, None, attribution
        count = sum(self.count(segment.start, segment.end) for segment in done)
        self._merge(low, high)
        return count

    def lower(self, base: int) -> None:
        """Move the base down; the records in between are unread, not skipped."""
        if base >= self.base:
            return
        self._segments.insert(0, Segment(base, self.base, None, None))
        self.base = base

    def split(self, at: int) -> Coverage:
        """Remove everything from *at* on and return it as a separate coverage.

        The log was truncated: records written at *at* later are other records.
        """
        base, gaps = max(at, self.base), self.offset_gaps
        tail = Coverage(base, max_segments=self._max_segments, gaps=gaps)
        low = self._cut(at)
        tail._segments, self._segments = self._segments[low:], self._segments[:low]
        tail.frontier = max(tail.base, self.frontier)
        self.base, self.frontier = min(self.base, at), min(self.frontier, at)
        return tail

    def clear_attributions(self, at: int) -> None:
        """Mark gaps from *at* on as unread: no consumer can reach them any more."""
        for gap in self._segments[self._cut(at) :]:
            if gap.first is None:
                gap.attribution = None

    def read_again(self, at: int, attribution: Attribution) -> None:
        """Mark gaps with an attribution from *at* on as unread: the next owner reads them."""
        for gap in self._segments[self._cut(at) :]:
            if gap.attribution is attribution:
                gap.attribution = None

    def replace_attributions(self, epoch: Epoch, attribution: Attribution) -> None:
        """Replace the attribution of the gaps that the start of *epoch* skipped."""
        for gap in self.gaps():
            if gap.attribution is not None and gap.attribution.after is epoch:
                gap.attribution = attribution

    def gaps(self) -> Iterator[Segment]:
        """Yield the gaps in order of offset."""
        return (segment for segment in self._segments if segment.first is None)

    def processed(self, low: int = 0, gaps: OffsetGaps | Removed | None = None) -> int:
        """Return the number of records from *low* on that were processed at least once.

        *gaps*: those of a reader; None: those of the coverage.
        """
        gaps = self.offset_gaps if gaps is None else gaps
        done = (s for s in self._segments if s.first is not None and s.end > low)
        return sum(records_between(gaps, max(s.start, low), s.end) for s in done)

    def __len__(self) -> int:
        return len(self._segments)

    def check(self) -> None:
        """Assert that non-empty segments cover base to frontier without overlap."""
        at = self.base
        for segment in self._segments:
            assert segment.start == at < segment.end
            at = segment.end
        assert at == self.frontier

    def _append(self, segment: Segment) -> None:
        self.frontier = segment.end
        top = self._segments[-1] if self._segments else None
        if top is not None and top.joins(segment):
            top.end = segment.end
        else:
            self._segments.append(segment)
            most = MAX_SEGMENTS if self._max_segments is None else self._max_segments
            if len(self._segments) > max(most, self._kept + self._kept // 2):
                self._merge_oldest((len(self._segments) - 1) // 2)
                self._kept = len(self._segments)  # many, if there are many gaps

    def _merge_oldest(self, count: int) -> None:
        """Merge old segments; the first owner is then exact for the start of each only."""
        kept: list[Segment] = []
        for segment in self._segments[:count]:
            below = kept[-1] if kept else None
            if below is None or below.last is None or segment.last is None:
                kept.append(segment)
            else:
                below.end = segment.end
                below.last = max(below.last, segment.last, key=lambda epoch: epoch.number)
        self._segments[:count] = kept

    def _reprocess(self, epoch: Epoch, start: int, end: int) -> list[Repeat]:
        repeats: list[Repeat] = []
        low, high = self._cut(start), self._cut(end)
        for segment in self._segments[low:high]:
            if segment.first is None:
                segment.first, segment.attribution = epoch, None
            else:
                assert segment.last is not None
                repeats.append(Repeat(segment.start, segment.end, segment.first, segment.last))
            segment.last = epoch
        self._merge(low, high)
        return repeats

    def _attribute_gaps(self, start: int, end: int, attribution: Attribution) -> None:
        low, high = self._cut(start), self._cut(end)
        for segment in self._segments[low:high]:
            if segment.first is None and segment.attribution is None:
                segment.attribution = attribution
        self._merge(low, high)

    def _behind(self, offset: int) -> int:
        """Return the index of the first segment that starts beyond an offset."""
        return bisect_right(self._segments, offset, key=_START)

    def _cut(self, at: int) -> int:
        """Make *at* a border of segments; return the index of the segment that starts there."""
        if at >= self.frontier:
            return len(self._segments)
        index = self._behind(at) - 1
        if index < 0:
            return 0
        segment = self._segments[index]
        if segment.start == at:
            return index
        self._segments.insert(index + 1, replace(segment, start=at))
        segment.end = at
        return index + 1

    def _merge(self, low: int, high: int) -> None:
        """Merge equal neighbours among the segments from *low* - 1 to *high*."""
        for index in range(min(high, len(self._segments) - 1), max(low, 1) - 1, -1):
            left, right = self._segments[index - 1], self._segments[index]
            if left.joins(right):
                left.end = right.end
                del self._segments[index]
