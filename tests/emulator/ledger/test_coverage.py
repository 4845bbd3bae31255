"""Coverage of one partition: frontier, gaps and repeats by ranges."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.events import OffsetGaps
from emulator.events.offsets import Removed
from emulator.ledger.coverage import MAX_SEGMENTS, Coverage
from emulator.ledger.entries import Cause
from emulator.ledger.epochs import Attribution, Epoch


def epoch(number, start=0):
    return Epoch(
        number=number,
        group="g",
        consumer=f"c{number}",
        incarnation=1,
        generation=number,
        partition=TopicPartition("t", 0),
        start=start,
        source="committed",
        opened_us=number,
        row=number,
        cursor=start,
        position=start,
    )


A, B, C = epoch(1), epoch(2), epoch(3)
ATTRIBUTION = Attribution(Cause.SKIPPED, "", None, (), A, None)


def gaps(coverage):
    return [(gap.start, gap.end) for gap in coverage.gaps()]


def test_progress_at_the_frontier_is_one_segment():
    """However often an owner goes on, its work is one range."""
    coverage = Coverage(0)
    for start in range(0, 1000, 10):
        assert coverage.process(A, start, start + 10) == []
    coverage.check()

    assert 1 == len(coverage)
    assert 1000 == coverage.processed()


def test_a_repeat_says_who_was_first_and_who_was_last():
    """Processing again returns the range with its first owner and the one before."""
    coverage = Coverage(0)
    coverage.process(A, 0, 100)
    coverage.process(B, 80, 90)
    repeats = coverage.process(C, 85, 120)
    coverage.check()

    assert [(85, 90, A, B), (90, 100, A, A)] == repeats


def test_filling_a_gap_is_no_repeat():
    """A record passed over and then processed was processed once."""
    coverage = Coverage(0)
    coverage.skip(0, 50, ATTRIBUTION)
    repeats = coverage.process(A, 20, 30)
    coverage.check()

    assert [] == repeats
    assert [(0, 20), (30, 50)] == gaps(coverage)
    assert 50 == coverage.frontier


def test_processed_records_are_not_skipped():
    """Skipping a range makes gaps only of its unprocessed parts."""
    coverage = Coverage(0)
    coverage.process(A, 0, 50)
    coverage.skip(30, 70, ATTRIBUTION)
    coverage.check()

    assert [(50, 70)] == gaps(coverage)


def test_the_first_skip_of_a_gap_is_its_cause():
    """A later owner that also starts beyond the gap changes nothing."""
    coverage = Coverage(0)
    later = Attribution(Cause.RETENTION, "", None, (), B, None)
    coverage.skip(0, 50, ATTRIBUTION)
    coverage.skip(0, 60, later)
    coverage.check()

    assert [ATTRIBUTION, later] == [gap.attribution for gap in coverage.gaps()]


def test_a_lower_base_leaves_unreached_records():
    """Records between a new base and the old one are unread until a consumer skips them."""
    coverage = Coverage(100)
    coverage.process(A, 100, 120)
    coverage.lower(40)
    unreached = [gap.attribution for gap in coverage.gaps()]
    coverage.skip(40, 80, ATTRIBUTION)
    coverage.check()

    assert [None] == unreached
    assert [ATTRIBUTION, None] == [gap.attribution for gap in coverage.gaps()]


def test_a_gap_must_be_skipped_before_processing_beyond_it():
    """Processing beyond the frontier without a skip first is an error of the caller."""
    with pytest.raises(AssertionError, match="gap"):
        Coverage(0).process(A, 5, 6)


def test_two_owners_side_by_side_do_not_make_a_segment_a_record():
    """Where two owners take turns in the lead their work joins into one range."""
    coverage = Coverage(0)
    for start in range(0, 2000, 2):
        leader, other = (A, B) if start % 4 else (B, A)
        coverage.process(leader, start, start + 2)
        coverage.process(other, start, start + 2)
    coverage.check()

    assert 1 == len(coverage)


def test_segments_are_bounded():
    """A thousand owners in a row leave a bounded number of segments, and lose no record."""
    coverage = Coverage(0)
    for number in range(1, 1001):
        coverage.process(epoch(number), 10 * number - 10, 10 * number)
    coverage.check()

    assert len(coverage) <= MAX_SEGMENTS + 1
    assert 10_000 == coverage.processed()


def test_segments_that_cannot_be_merged_are_not_tried_each_time(monkeypatch):
    """A log with very many gaps would otherwise take quadratic time."""
    coverage, merged = Coverage(0, max_segments=16), []
    whole = Coverage._merge_oldest
    monkeypatch.setattr(
        Coverage, "_merge_oldest", lambda self, count: (merged.append(count), whole(self, count))
    )
    for start in range(0, 4_000, 2):
        coverage.skip(start, start + 1, ATTRIBUTION)
        coverage.process(A, start + 1, start + 2)
    coverage.check()

    assert 2_000 == sum(1 for _ in gaps(coverage))
    assert len(merged) < 20


def test_what_ends_at_the_frontier_adds_no_empty_segment():
    """Whoever passes over offsets, leaves them, or skips them; nor does a base that is none lower."""
    coverage = Coverage(0)
    coverage.lower(0)
    coverage.process(A, 0, 50)
    coverage.pass_over(B, 50)
    coverage.leave(50)
    coverage.skip(40, 50, ATTRIBUTION)
    coverage.check()

    assert 1 == len(coverage)


@pytest.mark.parametrize(("end", "removed"), [(50, (10, 20)), (50, (30, 50)), (60, (30, 50))])
def test_a_partition_of_which_only_processed_records_were_removed_misses_none(end, removed):
    """Those behind them were left."""
    coverage = Coverage(10)
    coverage.process(A, 10, 50)
    coverage.leave(end)
    coverage.compact([removed])

    assert (None, False) == (coverage.offset_gaps, coverage.is_compacted)


def test_records_that_were_removed_are_there_if_an_owner_has_processed_them():
    """Markers of transactions are never records."""
    markers = OffsetGaps(topic="t", topic_id="id", cycle=4, records=3, until=100)
    ended, compacted = (
        Coverage(0, gaps=markers),
        Coverage(0, gaps=Removed.of([(2, 8), (20, 30)])),
    )
    for coverage in (ended, compacted):
        coverage.process(A, 0, 8)

    assert (6, 8) == (ended.processed(), compacted.processed())


def test_gaps_are_told_apart_by_why_they_were_skipped_and_by_whom():
    """Those that the next owner reads again, and those whose cause is found later."""
    by_b, found = (Attribution(Cause.RETENTION, "", None, (), A, each) for each in (B, C))
    coverage = Coverage(0)
    coverage.skip(0, 10, ATTRIBUTION)
    coverage.skip(10, 20, by_b)
    coverage.process(A, 20, 30)
    coverage.leave(40)
    coverage.replace_attributions(B, found)
    before = [gap.attribution for gap in coverage.gaps()]
    coverage.read_again(0, found)

    assert [ATTRIBUTION, found, None] == before
    assert [ATTRIBUTION, None, None] == [gap.attribution for gap in coverage.gaps()]


def test_segments_are_merged_once_there_are_more_than_the_bound():
    coverage = Coverage(0, max_segments=4)
    lengths = []
    for number in range(1, 6):
        coverage.process(epoch(number), 10 * number - 10, 10 * number)
        lengths.append(len(coverage))

    assert [1, 2, 3, 4, 4] == lengths
