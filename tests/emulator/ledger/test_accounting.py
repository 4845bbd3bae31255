"""Coverage of one partition: frontier, gaps and repeats by ranges."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.ledger.accounting import SEGMENTS, Coverage
from emulator.ledger.entries import Cause
from emulator.ledger.epochs import Blame, Epoch


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
        opened_event=number,
        opened_us=number,
        cursor=start,
        position=start,
    )


A, B, C = epoch(1), epoch(2), epoch(3)
BLAME = Blame(Cause.SKIPPED, "", None, (), A, None)


def gaps(coverage):
    return [(gap.start, gap.end) for gap in coverage.gaps()]


def test_progress_at_the_frontier_is_one_segment():
    """However often an owner goes on, its work is one range."""
    coverage = Coverage(0)
    for start in range(0, 1000, 10):
        assert coverage.work(A, start, start + 10) == []
    coverage.check()

    assert 1 == len(coverage)
    assert 1000 == coverage.processed()


def test_a_repeat_says_who_was_first_and_who_was_last():
    """Processing again returns the range with its first owner and the one before."""
    coverage = Coverage(0)
    coverage.work(A, 0, 100)
    coverage.work(B, 80, 90)
    repeats = coverage.work(C, 85, 120)
    coverage.check()

    assert [(85, 90, A, B), (90, 100, A, A)] == repeats


def test_filling_a_gap_is_no_repeat():
    """A record passed over and then processed was processed once."""
    coverage = Coverage(0)
    coverage.pass_over(0, 50, BLAME)
    repeats = coverage.work(A, 20, 30)
    coverage.check()

    assert [] == repeats
    assert [(0, 20), (30, 50)] == gaps(coverage)
    assert 50 == coverage.frontier


def test_what_was_processed_is_not_passed_over():
    """Passing over a range makes gaps of its unprocessed parts alone."""
    coverage = Coverage(0)
    coverage.work(A, 0, 50)
    coverage.pass_over(30, 70, BLAME)
    coverage.check()

    assert [(50, 70)] == gaps(coverage)


def test_a_lower_base_leaves_unreached_records():
    """Records between a new base and the old one lie ahead until somebody passes them over."""
    coverage = Coverage(100)
    coverage.work(A, 100, 120)
    coverage.lower(40)
    unreached = [gap.blame for gap in coverage.gaps()]
    coverage.pass_over(40, 80, BLAME)
    coverage.check()

    assert [None] == unreached
    assert [BLAME, None] == [gap.blame for gap in coverage.gaps()]


def test_a_hole_must_be_passed_over_before_work_beyond_it():
    """Work beyond the frontier without a word about the hole is an error of the caller's."""
    with pytest.raises(AssertionError, match="hole"):
        Coverage(0).work(A, 5, 6)


def test_two_owners_side_by_side_do_not_make_a_segment_a_record():
    """Where two owners take turns in the lead their work joins into one range."""
    coverage = Coverage(0)
    for start in range(0, 2000, 2):
        leader, other = (A, B) if start % 4 else (B, A)
        coverage.work(leader, start, start + 2)
        coverage.work(other, start, start + 2)
    coverage.check()

    assert 1 == len(coverage)


def test_segments_are_bounded():
    """A thousand owners in a row leave a bounded number of segments, and lose no record."""
    coverage = Coverage(0)
    for number in range(1, 1001):
        coverage.work(epoch(number), 10 * number - 10, 10 * number)
    coverage.check()

    assert len(coverage) <= SEGMENTS + 1
    assert 10_000 == coverage.processed()
