"""The waits of an application in poll, and the polls that leave responses unread, as they are collected."""

from __future__ import annotations

import pytest

from protocols.consumer.reader import Counts, Notes, PollClock


def waited(clock: PollClock, begin: int, end: int, *, leaves_unread: bool = False) -> None:
    clock.wait(begin)
    clock.wait(begin + 1)
    clock.leave(end, leaves_unread=leaves_unread)


def collected() -> PollClock:
    clock = PollClock()
    clock.watch(100)
    waited(clock, 110, 120)
    waited(clock, 130, 140, leaves_unread=True)
    return clock


def test_nothing_is_collected_before_it_is_asked_for():
    """And nothing is known then."""
    clock = PollClock()
    waited(clock, 1, 2, leaves_unread=True)

    assert clock.counts is None
    assert clock.since(Counts(0, 0, 0), 0) is None
    assert not clock.is_waiting
    clock.repeat(Notes((1,), (1,)), 0, 10, 2)
    assert (None, []) == (clock.waits, list(clock.partial))


def test_polls_without_records_are_one_wait():
    """From the first of them to the poll that returns records."""
    clock = collected()

    assert Counts(100, 4, 1) == clock.counts
    assert [110, 120, 130, 140] == list(clock.waits or ())
    assert [140] == list(clock.partial)


def test_a_poll_that_returns_at_once_is_no_wait():
    """It may still leave responses unread."""
    clock = PollClock()
    clock.watch(0)
    clock.leave(5, leaves_unread=True)
    clock.leave(6, leaves_unread=False)

    assert Counts(0, 0, 1) == clock.counts


def test_a_wait_that_has_begun_counts_from_the_begin_of_the_collection():
    """Its beginning is before it."""
    clock = PollClock()
    clock.wait(5)
    clock.watch(10)
    clock.leave(15, leaves_unread=False)

    assert [10, 15] == list(clock.waits or ())


@pytest.mark.parametrize(
    ("counts", "known"), [(Counts(100, 2, 0), True), (Counts(99, 2, 0), False), (None, False)]
)
def test_what_was_collected_since_is_known_unless_the_collection_began_anew(counts, known):
    """Times are relative to a beginning."""
    clock = collected()

    assert known is clock.counts_on(counts)
    assert (Notes((5, 15), (15,)) if known else None) == clock.since(counts, 125)


def test_equal_periods_repeat_what_one_of_them_had():
    """At the distance of a period; without notes nothing is known of them."""
    clock = collected()
    clock.repeat(Notes((1, 2), (2,)), 200, 10, 2)
    clock.repeat(None, 300, 10, 2)

    assert [201, 202, 211, 212] == list(clock.waits or ())[4:]
    assert [202, 212] == list(clock.partial)[1:]
