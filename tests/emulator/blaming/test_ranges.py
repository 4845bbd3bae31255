"""Rows for many records are taken apart; a stop within one stays."""

from __future__ import annotations

from emulator.blaming.evidence import Joined, Work
from emulator.blaming.ranges import taken_apart

from .incidents import SECOND, orders


def row(first: int, end: int, began_s: float, ended_s: float) -> Work:
    return Work("a", orders(0), first, end, int(began_s * SECOND), int(ended_s * SECOND))


def test_records_of_a_long_row_end_at_even_times():
    found = list(taken_apart([row(0, 25, 0, 5)]))

    assert 25 == len(found)
    assert (0, 25) == (found[0].first, found[-1].next_offset)
    assert [0.2, 0.4] == [each.ended_us / SECOND for each in found[:2]]
    assert 5 == found[-1].ended_us / SECOND


def test_a_row_of_one_record_stays():
    rows = [row(0, 1, 0, 30)]

    assert rows == list(taken_apart(rows))


def test_a_row_with_a_stop_stays_whole():
    """Its records took four times as long as the others."""
    rows = [row(0, 50, 0, 5), row(50, 100, 5, 10), row(100, 110, 10, 14)]

    assert rows[2] == list(taken_apart(rows))[-1]


def test_a_row_without_a_begin_begins_with_the_last_one_or_with_a_new_process():
    """The events of a run have the time of the next commit only; the consumer joined anew at 12 s."""
    rows = [row(0, 25, 5, 5), row(25, 50, 10, 10), row(50, 65, 15, 15)]
    joins = [Joined(12 * SECOND, "a")]
    found = list(taken_apart(rows, joins))

    assert 5.2 == next(each for each in found if each.first == 25).ended_us / SECOND
    assert all(each.began_us == each.ended_us for each in found), "the time of the work is unknown"
    assert 12.2 == next(each for each in found if each.first == 50).ended_us / SECOND


def test_a_row_without_a_begin_does_not_begin_before_the_records_in_front_of_it():
    """Another consumer finished them at 9 s: the second row is no repeat of them."""
    other = Work("b", orders(0), 40, 60, 9 * SECOND, 9 * SECOND)
    rows = [row(0, 25, 5, 5), other, row(60, 75, 10, 10)]
    found = list(taken_apart(rows))

    assert all(each.ended_us >= 9 * SECOND for each in found if each.first >= 60)
