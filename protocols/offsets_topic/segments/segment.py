"""Segments: the files a log is cut into, and when a new one begins.

A segment rolls only when a batch is appended, never by the passing of time alone: a log that
nobody writes to keeps its active segment, and what is in it is never compacted.

Kafka also rolls when an index is full. With the defaults (10 MiB of index, an entry at most
every 4 KiB of log) that takes more than 3 GiB of one segment, so it is left out here.

Source: ``LogSegment.shouldRoll`` and ``timeWaitedForRoll``, ``UnifiedLog.maybeRoll``,
``LogConfig.maxSegmentMs``, ``LogFileUtils`` (spec classic-coordinator 5.1 and 5.8).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Final

from protocols.offsets_topic.segments.header import BatchHeader

_NAME: Final = re.compile(r"(\d{20})\.log")
_MOST_OFFSETS: Final = 2**31 - 1
_NEVER_MS: Final = 2**63 - 1

SEGMENT_BYTES: Final = 104_857_600
DELETE_RETENTION_MS: Final = 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What a topic sets for its log; the defaults are those of the offsets topic."""

    segment_bytes: int = SEGMENT_BYTES
    segment_ms: int = 7 * 24 * 3_600_000
    max_compaction_lag_ms: int = _NEVER_MS
    """At least 1, as Kafka demands."""

    min_compaction_lag_ms: int = 0
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = DELETE_RETENTION_MS


@dataclass(frozen=True, slots=True)
class Segment:
    """What the rules ask about a segment; its bytes are elsewhere."""

    base_offset: int
    next_offset: int
    """Behind its last record; the base offset while it is empty."""

    size_bytes: int = 0
    first_timestamp_ms: int = -1
    """The maximal timestamp of its first batch; -1 when it is empty or has none."""

    largest_timestamp_ms: int = -1
    """Of all its batches; where these have none, when it was last written to."""

    created_ms: int = 0

    def appended(self, header: BatchHeader) -> Segment:
        """Return the segment with one more batch behind it."""
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
    """Its last offset is further from the segment's base than an index can say."""


def roll_reason(
    segment: Segment, header: BatchHeader, settings: LogSettings, now_ms: int
) -> RollReason | None:
    """Say why a batch cannot go into the active segment; None when it can.

    If not, the new segment begins with the batch: its base offset is the log's end.
    """
    if segment.size_bytes + header.size > settings.segment_bytes:
        return RollReason.SIZE
    if segment.size_bytes and _waited_ms(segment, header, now_ms) > longest_segment_ms(settings):
        return RollReason.AGE
    if header.last_offset - segment.base_offset > _MOST_OFFSETS:
        return RollReason.OFFSETS
    return None


def longest_segment_ms(settings: LogSettings) -> int:
    """Return how much time one segment may cover: less where compaction must come sooner."""
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
    """Return the base offset that a segment's file is named for.

    Raises ``ValueError`` for another kind of name.
    """
    named = _NAME.fullmatch(file_name)
    if named is None:
        raise ValueError(f"{file_name!r} is no segment: 20 digits and .log make its name")
    return int(named[1])
