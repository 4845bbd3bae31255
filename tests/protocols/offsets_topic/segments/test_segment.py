"""Segments: their names, and when a new one begins."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.segments.header import BatchHeader
from protocols.offsets_topic.segments.segment import (
    LogSettings,
    RollReason,
    Segment,
    base_offset_of,
    longest_segment_ms,
    roll_reason,
    segment_file_name,
)

from .drawn import commits

WEEK_MS = 604_800_000
FILLED = Segment(0, 10, 1_000, first_timestamp_ms=5_000, largest_timestamp_ms=9_000)


def header(time: int = 9_000, offset: int = 10, last: int | None = None) -> BatchHeader:
    return commits(["key"], offset, time=time, last=last).header


def test_segments_are_named_by_their_base_offset():
    """In 20 digits."""
    assert "00000000000000000000.log" == segment_file_name(0)
    assert "09223372036854775807.log" == segment_file_name(2**63 - 1)
    assert 170_210 == base_offset_of(segment_file_name(170_210))


@pytest.mark.parametrize(
    "name", ["17.log", "00000000000000170210.index", "x00000000000000170210.log", ""]
)
def test_other_files_are_no_segments(name):
    """The error says what a segment is called."""
    with pytest.raises(ValueError, match="20 digits"):
        base_offset_of(name)


def test_the_settings_are_those_of_the_offsets_topic():
    """Segments of 100 MiB and a week, half dirty, tombstones for a day."""
    settings = LogSettings()

    assert (104_857_600, WEEK_MS) == (settings.segment_bytes, settings.segment_ms)
    assert (0.5, 0, 2**63 - 1, 86_400_000) == (
        settings.min_cleanable_dirty_ratio,
        settings.min_compaction_lag_ms,
        settings.max_compaction_lag_ms,
        settings.delete_retention_ms,
    )


def test_a_segment_grows_by_its_batches():
    """Size, end, and the times of the first and the latest batch."""
    one, other = commits(["a", "b"], 7, time=50).header, commits(["c"], 9, time=40).header

    assert Segment(7, 10, one.size + other.size, 50, 50) == Segment(7, 7).appended(one).appended(
        other
    )


def test_a_segment_is_full_when_one_more_batch_would_not_fit():
    """To the byte."""
    size = FILLED.size_bytes + header().size

    assert None is roll_reason(FILLED, header(), LogSettings(segment_bytes=size), 0)
    assert RollReason.SIZE is roll_reason(FILLED, header(), LogSettings(segment_bytes=size - 1), 0)


def test_a_segment_covers_a_week_of_its_batches_times():
    """Counted from its first batch, strictly more, whatever the clock says."""
    due = FILLED.first_timestamp_ms + WEEK_MS

    assert None is roll_reason(FILLED, header(due), LogSettings(), now_ms=due + 10**12)
    assert RollReason.AGE is roll_reason(FILLED, header(due + 1), LogSettings(), now_ms=0)


def test_time_alone_rolls_nothing():
    """An empty segment takes the first batch however old it is."""
    assert None is roll_reason(Segment(10, 10), header(10**15), LogSettings(), now_ms=10**15)


def test_batches_without_times_count_by_the_clock():
    """From when the segment was made."""
    timeless = Segment(0, 10, 1_000, first_timestamp_ms=-1, created_ms=500)
    settings = LogSettings(segment_ms=1_000)

    assert None is roll_reason(timeless, header(-1), settings, now_ms=1_500)
    assert RollReason.AGE is roll_reason(timeless, header(-1), settings, now_ms=1_501)


def test_the_beginning_of_time_is_a_time():
    """Only -1 is none."""
    earliest = Segment(0, 10, 1_000, first_timestamp_ms=0, created_ms=500)

    assert None is roll_reason(earliest, header(900), LogSettings(segment_ms=1_000), now_ms=9_000)


def test_a_maximal_lag_makes_segments_shorter():
    """The active segment is not compacted, so it must not be older than that."""
    hour = LogSettings(max_compaction_lag_ms=3_600_000)

    assert (WEEK_MS, 3_600_000) == (longest_segment_ms(LogSettings()), longest_segment_ms(hour))
    assert RollReason.AGE is roll_reason(FILLED, header(5_000 + 3_600_001), hour, 0)
    assert None is roll_reason(FILLED, header(5_000 + 3_600_000), hour, 0)


def test_offsets_of_a_segment_fit_into_an_int():
    """The last offset of the batch counts."""
    near, far = header(offset=10, last=2**31 - 1), header(offset=11, last=2**31)

    assert None is roll_reason(FILLED, near, LogSettings(), 0)
    assert RollReason.OFFSETS is roll_reason(FILLED, far, LogSettings(), 0)
