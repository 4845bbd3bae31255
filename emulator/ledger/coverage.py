"""Ownership epochs, and the offset ranges of one partition that they processed.

An :class:`Epoch` begins whenever a consumer initialises its position of a partition, and ends
when the consumer stops processing the partition for good. For a zombie that is later than the
time at which the group removed it.

A :class:`Coverage` is a sequence of adjacent segments from a base offset to the frontier, the
end of what was processed or skipped. A segment is processed (with its first and its last owner)
or a gap (with the reason why it was skipped). Cost: O(1) for progress at the frontier, O(segments
touched) for reprocessing. Memory is bounded except for gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from assignors.types import TopicPartition
from emulator.events import Event, ProgressCounted
from emulator.ledger.cluster import link_to
from emulator.ledger.entries import Cause, Link, Owner, Root, Step
from emulator.ledger.progress import Marks

MAX_SEGMENTS = 256
"""Segments kept for each partition; of more, the older half is merged between its gaps."""


class FailedCommit(NamedTuple):
    """A commit of an epoch that had no effect; it covers the offsets below ``offset``."""

    offset: int
    link: Link
    error: str = ""
    reason: Link | None = None
    """The event that made it fail, where ``link`` does not show it."""


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """The cause of reprocessing or skipping a range, with its evidence."""

    cause: Cause
    detail: str
    root: Root | None
    chain: tuple[Link, ...]
    before: Epoch | None
    """The previous owner."""

    after: Epoch | None
    """The owner that started below or beyond the end of the previous one; None if there is
    none."""


class PendingRepeat(NamedTuple):
    """A processed range that an epoch will reprocess if it continues."""

    start: int
    end: int
    attribution: Attribution


@dataclass(slots=True, eq=False)
class Epoch:
    """One ownership epoch with the state that the ledger keeps of it."""

    number: int
    """Counts openings over the run."""

    group: str
    consumer: str
    incarnation: int
    generation: int
    partition: TopicPartition
    start: int
    source: str
    """Where its start offset came from, as in ``EpochOpened``."""

    opened: Link
    cursor: int
    """The end of what it has finished, in the log after its truncations."""

    position: int
    """The end of what poll returned, at the resolution of the events."""

    closed_by: Event | None = None
    """The event that shows its end; None while it is open."""

    why: str = ""
    """Why it ended, as in ``EpochClosed``."""

    pending_repeats: tuple[PendingRepeat, ...] = ()
    marks: Marks = field(default_factory=Marks)
    refused: FailedCommit | None = None
    lost: FailedCommit | None = None
    stale: FailedCommit | None = None
    """A commit that a replaced leader accepted."""

    log_incarnation: int = 0
    """Incarnation of the log it reads; the log may have been truncated since."""

    limit: int | None = None
    """The log that it reads was truncated at this offset; None: it was not."""

    truncation: Link | None = None
    beyond: int | None = None
    """The end of what it has finished above ``limit``."""

    concurrent: dict[int, Attribution] | None = None
    """By number of another epoch: the attribution of the records that both processed."""

    @property
    def ended_us(self) -> int:
        """When it ended; while it is open, when it began."""
        return (self.closed_by or self.opened).at_us

    def advance(self, next_offset: int, at_us: int) -> None:
        """Move the cursor to *next_offset*, finished at *at_us*."""
        self.cursor = next_offset
        self.marks.add(next_offset, at_us)

    def advance_evenly(self, fact: ProgressCounted) -> None:
        """Move the cursor over equal periods."""
        self.cursor = fact.next_offset
        self.marks.add_series(fact.first, fact.ends, fact.every_us, fact.times)

    @property
    def finished(self) -> int:
        """The end of what it has finished, records of a truncated range included."""
        return self.cursor if self.beyond is None else self.beyond

    def truncate(self, limit: int) -> None:
        """Note that the log it reads was truncated at *limit*."""
        self.limit = limit if self.limit is None else min(limit, self.limit)
        self.clamp()

    def switch_log(self, incarnation: int, truncations: list[int], lowest: int) -> None:
        """Continue on another incarnation of the log, truncated since at *truncations*.

        *lowest*: the first offset of that incarnation; pending repeats beyond it are dropped.
        """
        self.truncate(lowest)
        self.pending_repeats = self.pending_from(0)
        self.log_incarnation = incarnation
        self.limit = min(truncations, default=None)
        self.beyond = None

    def clamp(self) -> None:
        """Limit cursor and position to the log as it is after its truncation."""
        if self.limit is None:
            return
        if self.cursor > self.limit:
            self.beyond = max(self.cursor, self.finished)
            self.cursor = self.limit
        self.position = min(self.position, self.limit)

    def finished_us(self, offset: int) -> int:
        """Return when the record at *offset* was finished, at the resolution of the marks."""
        finished_us = self.marks.finished_us(offset)
        return self.ended_us if finished_us is None else finished_us

    @property
    def last_finished_us(self) -> int:
        """When it finished its last records, or ended if a successor has begun beyond them."""
        last_us = self.marks.last_us
        return self.ended_us if last_us is None else last_us

    def pending_at(self, offset: int) -> PendingRepeat | None:
        """Return the pending repeat that contains *offset*, if there is one."""
        for pending in self.pending_repeats:
            if pending.start <= offset < pending.end:
                return pending
        return None

    def pending_from(self, offset: int) -> tuple[PendingRepeat, ...]:
        """Return the pending repeats from *offset* on, without truncated records."""
        return tuple(
            PendingRepeat(max(pending.start, offset), end, pending.attribution)
            for pending in self.pending_repeats
            if (end := self._end_in_log(pending.end)) > max(offset, pending.start)
        )

    def _end_in_log(self, end: int) -> int:
        return end if self.limit is None else min(end, self.limit)

    def owner_at(self, at_us: int) -> Owner:
        """Return this epoch's owner as in an entry."""
        return Owner(self.consumer, self.incarnation, self.generation, at_us)

    @property
    def closed(self) -> Link | None:
        """The link that shows its end; None while it is open."""
        if self.closed_by is None:
            return None
        values = (self.consumer, str(self.partition), self.cursor, self.why)
        return link_to(self.closed_by, Step.CLOSED, *values)


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
        if self.first is None or other.first is None:
            return self.first is other.first and self.attribution is other.attribution
        same = self.first is other.first and self.last is other.last
        return same or (self.first is other.last and self.last is other.first)


class Coverage:
    """The records of one partition that were processed, skipped, or neither yet."""

    __slots__ = ("_max_segments", "_segments", "_starts", "base", "frontier")

    def __init__(self, base: int, *, max_segments: int | None = None) -> None:
        """Begin at offset *base*; *max_segments* is :data:`MAX_SEGMENTS` by default."""
        self.base = base
        self.frontier = base
        self._max_segments = max_segments
        self._starts: list[int] = []
        self._segments: list[Segment] = []

    def process(self, epoch: Epoch, start: int, end: int) -> list[Repeat]:
        """Count [*start*, *end*) as processed by *epoch*; return the ranges that it reprocesses.

        *start* must not be beyond the frontier: call :meth:`skip` for a gap first.
        """
        assert self.base <= start <= self.frontier, "skip the gap first"
        top = self._segments[-1] if self._segments else None
        if start == self.frontier and top is not None and top.first is top.last is epoch:
            top.end = self.frontier = end
            return []
        repeats = self._reprocess(epoch, start, min(end, self.frontier))
        if end > self.frontier:
            self._append(Segment(max(start, self.frontier), end, epoch, epoch))
        return repeats

    def skip(self, start: int, end: int, attribution: Attribution) -> None:
        """Count [*start*, *end*) as skipped, except where it has been processed."""
        if start < self.frontier:
            self._attribute_gaps(start, min(end, self.frontier), attribution)
        if end > self.frontier:
            self._append(Segment(self.frontier, end, None, None, attribution))

    def lower(self, base: int) -> None:
        """Move the base down; the records in between are unread, not skipped."""
        if base >= self.base:
            return
        self._segments.insert(0, Segment(base, self.base, None, None))
        self._starts.insert(0, base)
        self.base = base

    def split(self, at: int) -> Coverage:
        """Remove everything from *at* on and return it as a separate coverage.

        The log was truncated: records written at *at* later are other records.
        """
        tail = Coverage(max(at, self.base), max_segments=self._max_segments)
        low = self._cut(at)
        tail._segments, self._segments = self._segments[low:], self._segments[:low]
        tail._starts, self._starts = self._starts[low:], self._starts[:low]
        tail.frontier = max(tail.base, self.frontier)
        self.base, self.frontier = min(self.base, at), min(self.frontier, at)
        return tail

    def clear_attributions(self, at: int) -> None:
        """Mark gaps from *at* on as unread: no consumer can reach them any more."""
        for gap in self._segments[self._cut(at) :]:
            if gap.first is None:
                gap.attribution = None

    def replace_attributions(self, epoch: Epoch, attribution: Attribution) -> None:
        """Replace the attribution of the gaps that the start of *epoch* skipped."""
        for gap in self.gaps():
            if gap.attribution is not None and gap.attribution.after is epoch:
                gap.attribution = attribution

    def gaps(self) -> Iterator[Segment]:
        """Yield the gaps in order of offset."""
        return (segment for segment in self._segments if segment.first is None)

    def processed(self, low: int = 0) -> int:
        """Return the number of records from *low* on that were processed at least once."""
        done = (s for s in self._segments if s.first is not None and s.end > low)
        return sum(s.end - max(s.start, low) for s in done)

    def __len__(self) -> int:
        return len(self._segments)

    def check(self) -> None:
        """Assert that non-empty segments cover base to frontier without overlap."""
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
            most = MAX_SEGMENTS if self._max_segments is None else self._max_segments
            if len(self._segments) > most:
                self._merge_oldest(most // 2)

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
        self._starts = [segment.start for segment in self._segments]

    def _reprocess(self, epoch: Epoch, start: int, end: int) -> list[Repeat]:
        repeats: list[Repeat] = []
        if start >= end:
            return repeats
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

    def _cut(self, at: int) -> int:
        """Make *at* a border of segments; return the index of the segment that starts there."""
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

    def _merge(self, low: int, high: int) -> None:
        """Merge equal neighbours among the segments from *low* - 1 to *high*."""
        for index in range(min(high, len(self._segments) - 1), max(low, 1) - 1, -1):
            left, right = self._segments[index - 1], self._segments[index]
            if left.joins(right):
                left.end = right.end
                del self._segments[index], self._starts[index]
