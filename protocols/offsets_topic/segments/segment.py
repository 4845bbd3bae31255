"""The segments of a log: their file names, when a log rolls, and which can be compacted.

A segment rolls only when a batch is appended, never by time alone: a log without
appends keeps its active segment, which is never compacted. A log is clean up to the offset where
the last compaction stopped, then dirty, then uncleanable: the active segment, unstable records, and
records younger than the minimum lag. All boundaries but the first are segment boundaries.

Kafka also rolls when an index is full. With the defaults (10 MiB of index, an entry at most
every 4 KiB of log) that takes more than 3 GiB of one segment, so it is not modelled.

Source: ``LogSegment.shouldRoll`` and ``timeWaitedForRoll``, ``UnifiedLog.maybeRoll``,
``LogConfig.maxSegmentMs``, ``LogFileUtils``, ``LogCleanerManager.cleanableOffsets``,
``calculateCleanableBytes``, ``maxCompactionDelay`` and ``grabFilthiestCompactedLog``, ``LogToClean``.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from assignors.values import dataclass
from protocols.offsets_topic.segments.header import BatchHeader

_NAME: Final = re.compile(r"(\d{20})\.log")
_MAX_OFFSETS: Final = 2**31 - 1
_NEVER_MS: Final = 2**63 - 1

SEGMENT_BYTES: Final = 104_857_600
DELETE_RETENTION_MS: Final = 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """The settings of a topic's log; the defaults are those of the offsets topic."""

    segment_bytes: int = SEGMENT_BYTES
    segment_ms: int = 7 * 24 * 3_600_000
    max_compaction_lag_ms: int = _NEVER_MS
    """At least 1, as Kafka requires."""

    min_compaction_lag_ms: int = 0
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = DELETE_RETENTION_MS


@dataclass(frozen=True, slots=True)
class Segment:
    """The properties of a segment, without its bytes."""

    base_offset: int
    next_offset: int
    """The log offset after its last record; the base offset while it is empty."""

    size_bytes: int = 0
    first_timestamp_ms: int = -1
    """The maximum timestamp of its first batch; -1 if it is empty or has none."""

    largest_timestamp_ms: int = -1
    """The maximum timestamp of all batches; if they have none, the time of the last write."""

    created_ms: int = 0

    def appended(self, header: BatchHeader) -> Segment:
        """Return the segment with one more batch at its end."""
        first = self.first_timestamp_ms if self.size_bytes else header.max_timestamp
        return Segment(
            self.base_offset,
            header.next_offset,
            self.size_bytes + header.size,
            first,
            max(self.largest_timestamp_ms, header.max_timestamp),
            self.created_ms,
        )


class RollReason(enum.StrEnum):
    """Why a batch goes into a new segment."""

    SIZE = "segment.bytes"
    AGE = "segment.ms"
    OFFSETS = "offsets"
    """Its last offset minus the segment's base offset does not fit into an index."""


def roll_reason(
    segment: Segment, header: BatchHeader, settings: LogSettings, now_ms: int
) -> RollReason | None:
    """Return why a batch does not fit into the active segment; None if it does.

    On a roll the new segment begins with the batch: its base offset is the log end offset.
    """
    if segment.size_bytes + header.size > settings.segment_bytes:
        return RollReason.SIZE
    if segment.size_bytes and _waited_ms(segment, header, now_ms) > longest_segment_ms(settings):
        return RollReason.AGE
    if header.last_offset - segment.base_offset > _MAX_OFFSETS:
        return RollReason.OFFSETS
    return None


def longest_segment_ms(settings: LogSettings) -> int:
    """Return the maximum time span of a segment, which the maximum compaction lag may reduce."""
    return min(settings.segment_ms, settings.max_compaction_lag_ms)


def _waited_ms(segment: Segment, header: BatchHeader, now_ms: int) -> int:
    """Return the time between the segment's first batch and this one."""
    if segment.first_timestamp_ms < 0:
        return now_ms - segment.created_ms
    return header.max_timestamp - segment.first_timestamp_ms


def segment_file_name(base_offset: int) -> str:
    """Return the name of a segment's file.

    >>> segment_file_name(170210)
    '00000000000000170210.log'
    """
    return f"{base_offset:020d}.log"


def base_offset_of(file_name: str) -> int:
    """Return the base offset in the name of a segment's file.

    Raises ``ValueError`` for another kind of name.
    """
    named = _NAME.fullmatch(file_name)
    if named is None:
        raise ValueError(f"{file_name!r} is no segment: 20 digits and .log make its name")
    return int(named[1])


@dataclass(frozen=True, slots=True)
class LogToClean:
    """The part of a log that a compaction would read, and whether it may begin."""

    first_dirty_offset: int
    """The log below this offset is already compacted."""

    first_uncleanable_offset: int
    """The log from this offset on is not compacted: the base offset of a segment."""

    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    """Age of the oldest dirty record beyond ``max.compaction.lag.ms``; 0: within the limit."""

    min_cleanable_dirty_ratio: float

    @property
    def cleanable_ratio(self) -> float:
        """The dirty part, 0 to 1; of several logs the dirtiest is cleaned first."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def eligible(self) -> bool:
        """Whether the cleaner selects the log: its dirty ratio is exceeded, or it is overdue."""
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
    """Return the part of a log that the cleaner may compact.

    *segments*: in order, the active one last. *checkpoint*: the end of the last compaction;
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
    """Return the segments with offsets from *start* to before *end*; none for an empty range."""
    if start >= end:
        return ()
    bases = [segment.base_offset for segment in segments]
    return segments[max(0, bisect_right(bases, start) - 1) : bisect_left(bases, end)]


def _first_dirty_offset(segments: Sequence[Segment], checkpoint: int | None) -> int:
    """Return the start of the dirty part; a checkpoint outside of the log is ignored."""
    start, end = segments[0].base_offset, segments[-1].next_offset
    return checkpoint if checkpoint is not None and start <= checkpoint <= end else start


def _overdue_ms(closed_dirty: Sequence[Segment], settings: LogSettings, now_ms: int) -> int:
    """Return by how much a closed dirty segment is older than the maximum lag."""
    timestamps = [each.first_timestamp_ms for each in closed_dirty if each.first_timestamp_ms > 0]
    if not timestamps:
        return 0
    return max(0, now_ms - settings.max_compaction_lag_ms - min(timestamps))
