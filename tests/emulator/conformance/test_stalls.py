"""Stalls and waits of commits are read from the events alone."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.conformance.stalls import Pace
from emulator.events import CommitAnswered, CommitSent, Event, Processed, RunEnded

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
SECOND = 1_000_000
FAULT_US = 10 * SECOND


def worked(tp, first, began_s, done_s, consumer="m1"):
    done = Processed(
        consumer=consumer,
        group="g",
        generation=1,
        partition=tp,
        first=first,
        next_offset=first + 1,
        began_us=int(began_s * SECOND),
    )
    return int(done_s * SECOND), done


def sent(commit, at_s, offsets=((P0, 1),)):
    what = CommitSent(
        consumer="m1",
        group="g",
        generation=1,
        commit=commit,
        kind="auto",
        offsets=offsets,
        processed=tuple(offset for _, offset in offsets),
    )
    return int(at_s * SECOND), what


def answered(commit, at_s, error="NONE"):
    what = CommitAnswered(consumer="m1", group="g", commit=commit, error=error)
    return int(at_s * SECOND), what


def ended(at_s, *ends):
    return int(at_s * SECOND), RunEnded(log_ends=ends, positions=())


def seen(*moments):
    pace = Pace(FAULT_US)
    for number, (at_us, what) in enumerate(moments):
        pace.see(Event(number, at_us, None, what, number))
    return pace


def test_a_stall_is_from_the_end_of_one_record_to_the_begin_of_the_next():
    """Of each partition by itself, the longest one."""
    pace = seen(
        worked(P0, 0, 9, 9.5),
        worked(P1, 0, 9.5, 11),
        worked(P0, 1, 13, 14),
        worked(P0, 2, 15, 15),
        worked(P1, 1, 20, 21),
    )

    assert {P0: 3.5, P1: 9.0} == pace.stalls


def test_a_stall_before_the_fault_does_not_count():
    """A slow start is not caused by the broker."""
    pace = seen(worked(P0, 0, 1, 2), worked(P0, 1, 8, 9), worked(P0, 2, 10.5, 11))

    assert {P0: 1.5} == pace.stalls


def test_a_stall_ends_with_any_consumer():
    """A new owner's first record ends it; two owners at once are no stall."""
    pace = seen(
        worked(P0, 0, 9, 9.5),
        worked(P0, 1, 12.5, 13, consumer="m2"),
        worked(P0, 1, 12, 14),
    )

    assert {P0: 3.0} == pace.stalls


def test_a_stall_without_end_lasts_until_the_end_of_the_run():
    """If there is anything left to read."""
    pace = seen(worked(P0, 0, 9, 9.5), worked(P1, 0, 9, 9.5), ended(60, (P0, 5), (P1, 1)))

    assert {P0: 50.5} == pace.stalls


def test_a_commit_waits_from_when_it_was_sent():
    """To its answer, if that is good; one sent before the fault, or empty, does not count."""
    pace = seen(
        sent("1", 9),
        sent("2", 11),
        sent("3", 12, offsets=()),
        answered("1", 13),
        answered("3", 14),
        answered("2", 15, error="NOT_COORDINATOR"),
        sent("4", 15),
        answered("4", 18),
        sent("5", 19),
        answered("5", 20),
    )

    assert (8.0, 3.0) == (pace.first_commit_s, pace.commit_wait_s)


def test_without_a_commit_there_is_no_wait():
    """None, which is not nothing."""
    pace = seen(worked(P0, 0, 9, 9.5))

    assert (None, None) == (pace.first_commit_s, pace.commit_wait_s)


@pytest.mark.parametrize("times", [((9, 9.5), (9.5, 10.2)), ((9, 9.5), (10.0, 10.2))])
def test_work_that_goes_on_at_the_fault_is_no_stall(times):
    """Only a beginning after the fault ends one."""
    pace = seen(*(worked(P0, number, *when) for number, when in enumerate(times)))

    assert {} == pace.stalls
