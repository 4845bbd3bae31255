"""Which part of a log may be compacted, and when it is worth it."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.segments.segment import (
    LogSettings,
    LogToClean,
    Segment,
    log_to_clean,
    segments_between,
)

NOW = 1_000_000
LOG = (
    Segment(0, 100, 1_000, 100_000, 190_000),
    Segment(100, 200, 2_000, 200_000, 290_000),
    Segment(200, 300, 4_000, 300_000, 390_000),
    Segment(300, 350, 8_000, 400_000, 999_000),
)
"""Three closed segments and the active one."""


def seen(
    *, checkpoint: int | None = None, stable: int = 350, log=LOG, now: int = NOW, **settings
) -> LogToClean:
    return log_to_clean(
        log,
        LogSettings(**settings),
        checkpoint=checkpoint,
        last_stable_offset=stable,
        now_ms=now,
    )


def bounds(found: LogToClean) -> tuple[int, int]:
    return found.first_dirty_offset, found.first_uncleanable_offset


def test_the_active_segment_is_never_touched():
    """A log that was never cleaned is dirty up to there."""
    found = seen()

    assert (0, 300) == bounds(found)
    assert (0, 7_000, 1.0) == (found.clean_bytes, found.cleanable_bytes, found.cleanable_ratio)
    assert found.eligible


def test_records_of_the_future_are_only_young_where_there_is_a_minimum_lag():
    """Without one no time is looked at (``cleanableOffsets``)."""
    log = (*LOG[:1], Segment(100, 200, 2_000, 200_000, 2 * NOW), *LOG[2:])

    assert (0, 300) == bounds(seen(log=log))
    assert (0, 100) == bounds(seen(log=log, min_compaction_lag_ms=1))


def test_a_log_of_one_segment_has_nothing_to_clean():
    """However long it is: a partition of little traffic keeps every commit for a week."""
    found = seen(log=LOG[:1], stable=100)

    assert (0, 0) == bounds(found)
    assert (0, 0.0, False) == (found.cleanable_bytes, found.cleanable_ratio, found.eligible)


def test_cleaned_segments_are_clean():
    """Up to the checkpoint; the ratio is of the dirty bytes to both."""
    found = seen(checkpoint=200)

    assert (200, 300) == bounds(found)
    assert (3_000, 4_000) == (found.clean_bytes, found.cleanable_bytes)
    assert pytest.approx(4 / 7) == found.cleanable_ratio


@pytest.mark.parametrize("checkpoint", [-1, 351])
def test_a_checkpoint_outside_of_the_log_counts_for_nothing(checkpoint):
    """The whole log is dirty then."""
    assert (0, 300) == bounds(seen(checkpoint=checkpoint))
    assert (350, 300) == bounds(seen(checkpoint=350))


def test_half_dirty_is_not_dirty_enough():
    """The ratio must be larger than the setting, not equal to it."""
    log = (Segment(0, 10, 500), Segment(10, 20, 500), Segment(20, 25, 77))
    half = seen(log=log, checkpoint=10, stable=25)
    more = seen(log=log, checkpoint=10, stable=25, min_cleanable_dirty_ratio=0.49)

    assert (0.5, False, True) == (half.cleanable_ratio, half.eligible, more.eligible)


@pytest.mark.parametrize(
    ("stable", "uncleanable"), [(350, 300), (300, 300), (299, 200), (200, 200), (150, 100), (0, 0)]
)
def test_nothing_from_the_last_stable_offset_on_is_touched(stable, uncleanable):
    """Down to the beginning of its segment: what hangs there keeps all of it from compaction."""
    assert (0, uncleanable) == bounds(seen(stable=stable))


@pytest.mark.parametrize(
    ("lag", "uncleanable"), [(0, 300), (610_000, 300), (610_001, 200), (810_001, 0)]
)
def test_segments_younger_than_the_minimal_lag_are_not_touched(lag, uncleanable):
    """By their largest time; the first such segment and all behind it."""
    assert (0, uncleanable) == bounds(seen(min_compaction_lag_ms=lag))


def test_one_young_segment_protects_older_ones_behind_it():
    """Order is by offset, whatever the times are."""
    log = (LOG[0], Segment(100, 200, 2_000, 200_000, 999_999), LOG[2], LOG[3])

    assert (0, 100) == bounds(seen(log=log, min_compaction_lag_ms=1_000))


@pytest.mark.parametrize(
    ("lag", "overdue"), [(2**63 - 1, 0), (700_000, 0), (699_999, 1), (600_000, 100_000)]
)
def test_a_dirty_segment_older_than_the_maximal_lag_is_overdue(lag, overdue):
    """By the time of its first batch, strictly; then the ratio does not matter."""
    found = seen(checkpoint=200, max_compaction_lag_ms=lag, min_cleanable_dirty_ratio=0.9)

    assert (overdue, overdue > 0) == (found.overdue_ms, found.eligible)


@pytest.mark.parametrize(("first_ms", "overdue"), [(-1, 0), (0, 0), (1, 98)])
def test_a_segment_whose_first_batch_has_no_time_is_never_overdue(first_ms, overdue):
    """Times of 0 and below are no times (``LogCleanerManager.maxCompactionDelay``)."""
    log = (Segment(0, 10, 1_000, first_ms, 50), Segment(10, 20, 1_000, 60, 70))

    assert overdue == seen(log=log, stable=20, now=100, max_compaction_lag_ms=1).overdue_ms


def test_overdue_uncleanable_segments_wait():
    """A hanging transaction blocks compaction from its first record on."""
    found = seen(checkpoint=200, stable=250, max_compaction_lag_ms=1)

    assert found.overdue_ms > 0
    assert (0, False) == (found.cleanable_bytes, found.eligible)


def test_the_active_segment_is_never_overdue():
    """Nor are segments without times."""
    log = (Segment(0, 10, 500), Segment(10, 20, 500, 5, 5))

    assert 0 == seen(log=log, stable=20, max_compaction_lag_ms=1).overdue_ms


def test_a_compaction_that_stopped_within_a_segment_goes_on_there():
    """The segment counts as clean and as dirty, as in Kafka."""
    found = seen(checkpoint=150)

    assert (150, 300) == bounds(found)
    assert (3_000, 6_000) == (found.clean_bytes, found.cleanable_bytes)


def test_clean_segments_stay_clean_when_less_is_stable():
    """After a truncation the last stable offset may lie below the checkpoint."""
    found = seen(checkpoint=200, stable=150)

    assert (200, 200) == bounds(found)
    assert (3_000, 0) == (found.clean_bytes, found.cleanable_bytes)


def test_segments_between_offsets():
    """The one that has the first offset, up to the one that has the last."""
    assert LOG[1:3] == segments_between(LOG, 150, 300)
    assert LOG[1:4] == segments_between(LOG, 199, 301)
    assert not segments_between(LOG, 150, 150)
