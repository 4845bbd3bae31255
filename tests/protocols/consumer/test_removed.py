"""The offsets that compaction removed: all questions agree with a set of offsets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocols.messages.records import next_run
from protocols.messages.removed import Removed

ranges = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=8).map(
    lambda pairs: [(start, start + size) for start, size in pairs]
)
offsets = st.integers(0, 80)


def members(spans):
    return {at for start, end in spans for at in range(start, end)}


@given(ranges, offsets, offsets)
def test_all_questions_agree_with_the_definition(spans, first, end):
    """Counts, next records, runs and parts, as if every offset were looked at."""
    removed, gone = Removed.of(spans), members(spans)
    there = [at for at in range(first, end) if at not in gone]

    assert gone == members(removed.ranges)
    assert all(low < high for low, high in removed.ranges)
    assert not {*removed.starts} & {*removed.ends}
    assert sum(at not in gone for at in range(first)) == removed.records_before(first)
    assert there == [at for run in removed.runs(first, end) for at in range(*run)]
    assert gone & {*range(first, end)} == members(removed.within(first, end))
    assert all(low < high for low, high in removed.within(first, end))
    assert (end < first) or len(there) == removed.count_in(first, end)
    assert next(at for at in range(first, 200) if at not in gone) == removed.next_record(first)


@given(ranges, offsets, st.integers(0, 30))
def test_moving_by_records_ends_behind_a_gap(spans, offset, records):
    """Before the next record, so many records on."""
    removed, gone = Removed.of(spans), members(spans)
    end = removed.move(offset, records)

    assert end not in gone
    assert records == sum(at not in gone for at in range(offset, end))


@given(ranges, ranges, offsets, offsets)
def test_sets_of_offsets_are_added_and_cut(spans, more, first, end):
    removed = Removed.of(spans)

    assert members(spans) | members(more) == members(removed.plus(more).ranges)
    assert members(spans) - {*range(first, end)} == members(removed.minus(first, end).ranges)


def test_a_full_poll_stops_before_the_gap():
    """``fetchRecords``: nextFetchOffset is behind the last record; the next poll skips the gap."""
    removed = Removed.of([(3, 5)])

    assert [(0, 3, 3), (0, 3, 5)] == [next_run(removed, 0, 9, limit) for limit in (3, 4)]


def test_a_part_next_to_removed_offsets_has_none_of_them():
    """Also no empty range."""
    removed = Removed.of([(3, 5)])

    assert [[], [], [(3, 4)]] == [list(removed.within(*part)) for part in ((5, 9), (0, 3), (0, 4))]
