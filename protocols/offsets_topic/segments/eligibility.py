"""Which part of a log may be compacted, and whether it is worth it now.

A log is clean up to the offset where the last compaction stopped, then dirty, then not yet to
be touched: the active segment, what is not stable, and what is younger than the minimal lag.
All boundaries but the first are segment boundaries.

Source: ``LogCleanerManager.cleanableOffsets``, ``calculateCleanableBytes``,
``maxCompactionDelay`` and ``grabFilthiestCompactedLog``, ``LogToClean``
(spec classic-coordinator 5.8).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from protocols.offsets_topic.segments.segment import LogSettings, Segment


@dataclass(frozen=True, slots=True)
class LogToClean:
    """What a compaction of a log would work on, and whether it may begin."""

    first_dirty_offset: int
    """What lies below is compacted."""

    first_uncleanable_offset: int
    """What lies from here on stays as it is: the base offset of a segment."""

    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    """By how much the oldest dirty record is past ``max.compaction.lag.ms``; 0: it is not."""

    min_cleanable_dirty_ratio: float

    @property
    def cleanable_ratio(self) -> float:
        """The dirty part, 0 to 1; of several logs the dirtiest is cleaned first."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def eligible(self) -> bool:
        """Whether the cleaner takes the log: dirty beyond the ratio, or overdue."""
        overdue = self.overdue_ms > 0 and self.cleanable_bytes > 0
        return overdue or self.cleanable_ratio > self.min_cleanable_dirty_ratio


def log_to_clean(
    segments: Sequence[Segment],
    settings: LogSettings,
    *,
    checkpoint: int | None,
    last_stable_offset: int,
    now_ms: int,
) -> LogToClean:
    """Return what the cleaner sees in a log.

    *segments*: in order, the active one last. *checkpoint*: where the last compaction stopped;
    None before the first. *last_stable_offset*: the high watermark, or the first record of the
    oldest open transaction below it.
    """
    active = segments[-1]
    first_dirty = _first_dirty_offset(segments, checkpoint)
    closed_dirty = segments_between(segments, first_dirty, active.base_offset)
    too_young = [
        each.base_offset
        for each in closed_dirty
        if each.largest_timestamp_ms > now_ms - settings.min_compaction_lag_ms
    ]
    limits = [last_stable_offset, active.base_offset]
    if settings.min_compaction_lag_ms > 0:
        limits += too_young[:1]
    stop = max(first_dirty, min(limits))
    boundary = (segments_between(segments, stop, active.base_offset) or [active])[0].base_offset
    cleanable = segments_between(segments, first_dirty, boundary)
    return LogToClean(
        first_dirty_offset=first_dirty,
        first_uncleanable_offset=boundary,
        clean_bytes=sum(each.size_bytes for each in segments if each.base_offset < first_dirty),
        cleanable_bytes=sum(each.size_bytes for each in cleanable),
        overdue_ms=_overdue_ms(closed_dirty, settings, now_ms),
        min_cleanable_dirty_ratio=settings.min_cleanable_dirty_ratio,
    )


def segments_between(segments: Sequence[Segment], start: int, end: int) -> Sequence[Segment]:
    """Return the segments with offsets from *start* to before *end*; none if that is nothing."""
    if start >= end:
        return ()
    bases = [segment.base_offset for segment in segments]
    return segments[max(0, bisect_right(bases, start) - 1) : bisect_left(bases, end)]


def _first_dirty_offset(segments: Sequence[Segment], checkpoint: int | None) -> int:
    """Return where the dirty part begins: a checkpoint outside of the log counts for nothing."""
    start, end = segments[0].base_offset, segments[-1].next_offset
    return checkpoint if checkpoint is not None and start <= checkpoint <= end else start


def _overdue_ms(closed_dirty: Sequence[Segment], settings: LogSettings, now_ms: int) -> int:
    """Return for how long a closed dirty segment is older than the maximal lag."""
    timestamps = [each.first_timestamp_ms for each in closed_dirty if each.first_timestamp_ms > 0]
    if not timestamps:
        return 0
    return max(0, now_ms - settings.max_compaction_lag_ms - min(timestamps))
