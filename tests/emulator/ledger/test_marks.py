"""When an epoch finished its records: marks one by one, in series, and thinned out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.ledger import epochs
from emulator.ledger.epochs import RECENT, Marks

PERIODS = st.tuples(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9)), min_size=1, max_size=3),
    st.integers(1, 90),
)
"""The records and durations of the ranges of one period, and the number of periods."""


def ends_of(first, at_us, ranges):
    """Return the ends of ranges of *records* each, that took so long."""
    ends = []
    for records, took_us in ranges:
        first, at_us = first + records, at_us + took_us
        ends.append((first, at_us))
    return tuple(ends)


def both(stretches, forgotten):
    """Return the same marks one by one and in series, and their number of records."""
    single, series = Marks(), Marks()
    first = at_us = 0
    for ranges, times in stretches:
        ends = ends_of(first, at_us, ranges)
        every_us, records = ends[-1][1] - at_us, ends[-1][0] - first
        series.add_series(first, ends, every_us, times)
        for period in range(times):
            for processed, finished_us in ends:
                single.add(processed + period * records, finished_us + period * every_us)
        first, at_us = first + times * records, at_us + times * every_us
        if forgotten is not None:
            single.forget_below(forgotten)
            series.forget_below(forgotten)
    return single, series, first


@given(st.lists(PERIODS, min_size=1, max_size=5), st.none() | st.integers(0, 300))
def test_a_series_shows_the_times_that_its_marks_show(stretches, forgotten):
    """Of every record, also of those whose marks are thinned out or forgotten."""
    single, series, end = both(stretches, forgotten)

    for offset in range(0, end + 1, max(1, end // 200)):
        assert single.finished_us(offset) == series.finished_us(offset)
    assert single.last_us == series.last_us


def test_new_marks_are_exact_and_old_ones_nearly():
    """The error grows with the age, and so does the number of marks, but slowly."""
    marks, count = Marks(), 10_000
    for number in range(count):
        marks.add(number + 1, number)
    late = [marks.finished_us(offset) - offset for offset in range(count)]

    assert {0} == set(late[-RECENT:])
    assert all(0 <= error <= 2 * (count - at) / RECENT for at, error in enumerate(late))
    assert len(marks._kept) < 10 * RECENT


def test_times_of_forgotten_records_are_those_of_the_first_mark_left(monkeypatch):
    """Or unknown, if none is."""
    monkeypatch.setattr(epochs, "RECENT", 1 << 30)
    marks = Marks()
    marks.add_series(0, ((2, 5), (3, 6)), 10, 4)
    marks.forget_below(5)

    assert (16, 16, 25, 36) == tuple(map(marks.finished_us, (0, 5, 6, 11)))
    assert 36 == marks.last_us
    assert marks.finished_us(12) is None
    marks.forget_below(12)
    assert marks.last_us is None


def test_thinned_series_keep_the_marks_that_single_marks_keep(monkeypatch):
    """The newest mark of a series is kept as long as it would be alone."""
    monkeypatch.setattr(epochs, "RECENT", 4)
    single, series, end = both([([(1, 3), (2, 4)], 3)] * 12, None)

    for offset in range(end):
        assert single.finished_us(offset) == series.finished_us(offset)
    assert (36 * 7, 36 * 7) == (single.last_us, series.last_us)
