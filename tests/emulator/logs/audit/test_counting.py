"""Audits against a count of every single record, whatever the rows' order, size and chunks."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.ledger import accounts
from emulator.logs.audit import passes, reading
from emulator.logs.audit.passes import Audited
from emulator.logs.errors import AuditError

from .logs import (
    EPOCH,
    SECOND,
    Row,
    audited,
    lost_in,
    processings,
    records,
    repeats_in,
    source_of,
    write,
)

PASSES = st.lists(
    st.tuples(
        st.integers(0, 1),  # partition
        st.integers(0, 20),  # first offset
        st.integers(1, 12),  # records
        st.sampled_from("abc"),
        st.integers(1, 5),  # records a row
    ),
    min_size=1,
    max_size=8,
)


def one_after_another(passes) -> list[Row]:
    """Return rows of passes of which each begins when the one before is over."""
    rows, at = [], EPOCH
    for partition, first, count, consumer, size in passes:
        for lo in range(first, first + count, size):
            hi = min(lo + size, first + count)
            rows.append(Row("orders", partition, lo, hi, consumer, at, at + SECOND))
            at += SECOND
    return rows


def counted(rows: list[Row], order: list[int], chunk: int) -> Audited:
    """Audit rows in some order, in chunks of so many."""
    shuffled = [rows[place % len(rows)] for place in order if place < len(rows)]
    rest = [row for row in rows if row not in shuffled]
    with tempfile.TemporaryDirectory() as folder:
        return audited(write(Path(folder) / "log.parquet", [*shuffled, *rest], chunk))


def again_of(found: Audited) -> Counter:
    """Return how often each record was processed again."""
    counts = Counter()
    for (topic, partition, offset, *_), times in repeats_in(found).items():
        counts[topic, partition, offset] += times
    return counts


def hold_counts(found: Audited, rows: list[Row]) -> None:
    """Compare with a count by record: how often again, and which never."""
    done = processings(rows)
    again = Counter({key: len(times) - 1 for key, times in done.items() if len(times) > 1})
    never = set()
    for partition in {row.partition for row in rows}:
        offsets = [offset for _, number, offset in done if number == partition]
        within = range(min(offsets), max(offsets))
        never |= {("orders", partition, o) for o in within if ("orders", partition, o) not in done}

    assert again == again_of(found)
    assert never == lost_in(found)
    assert sum(row.hi - row.lo for row in rows) == sum(p.processed for p in found.partitions)


@settings(deadline=None, max_examples=20)
@given(passes=PASSES, order=st.permutations(range(12)), chunk=st.integers(1, 30))
def test_every_record_is_counted_with_its_consumers_and_times(passes, order, chunk):
    """Of a record that was processed twice: the first and the second consumer, as the rows say."""
    rows = one_after_another(passes)
    found = counted(rows, order, chunk)

    hold_counts(found, rows)
    repeats = repeats_in(found)
    for (topic, partition, offset), times in processings(rows).items():
        if len(times) == 2:
            assert repeats[topic, partition, offset, times[0][1], times[1][1]] == 1
    done = processings(rows)
    for part in found.partitions:
        for each in part.again:
            times = done[*part.name, each.first]
            assert (each.first_us, each.first_owner) in times
            assert (each.second_us, each.second_owner) in times


AT_ONCE = st.lists(
    st.tuples(
        st.integers(0, 15),
        st.integers(1, 10),
        st.sampled_from("abcd"),
        st.integers(0, 40),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=20)
@given(passes=AT_ONCE, chunk=st.integers(1, 20))
def test_records_are_counted_where_consumers_work_at_the_same_time(passes, chunk):
    """Each pass has a consumer of its own and any time; all work counts."""
    rows = [
        Row("orders", 0, lo, lo + 1, f"{name}{number}", EPOCH + at, EPOCH + at + lasting)
        for number, (first, count, name, begin, lasting) in enumerate(passes)
        for lo, at in zip(
            range(first, first + count), range(begin, begin + count * lasting, lasting), strict=True
        )
    ]

    hold_counts(counted(rows, [], chunk), rows)


@settings(deadline=None, max_examples=15)
@given(passes=PASSES, chunk=st.integers(1, 30))
def test_records_are_counted_where_the_oldest_stretches_are_joined(passes, chunk):
    """Of very many stretches it is forgotten who was first, and never how often."""
    rows = one_after_another(passes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "MAX_PARTITION_SEGMENTS", 4)
        hold_counts(counted(rows, [], chunk), rows)


@settings(deadline=None, max_examples=15)
@given(passes=PASSES, chunks=st.tuples(st.integers(1, 40), st.integers(1, 40)))
def test_the_size_of_chunks_changes_nothing(passes, chunks):
    """Where a chunk ends, a range may be cut; no ledger shows it."""
    rows = one_after_another(passes)
    one, other = (counted(rows, [], chunk) for chunk in chunks)

    assert one == other


def test_simultaneous_consumers_are_ordered_record_by_record(tmp_path):
    """A slow consumer that was overtaken comes second from there on, not before."""
    slow = records(0, 20, "slow", 0)
    quick = [row._replace(start=row.end - SECOND // 20) for row in records(8, 16, "quick", 10)]
    quick = [
        row._replace(end=EPOCH + 10 * SECOND + number * SECOND // 10, start=EPOCH + 10 * SECOND)
        for number, row in enumerate(quick)
    ]
    (part,) = audited(write(tmp_path / "log.parquet", [*slow, *quick], 5)).partitions

    assert [("slow", "quick", 8, 10), ("quick", "slow", 11, 15)] == [
        (each.first_owner, each.second_owner, each.first, each.next_offset - 1)
        for each in part.again
    ]
    assert all(each.overlap for each in part.again)


def test_an_owner_that_works_beyond_the_second_one_overlaps_it(tmp_path):
    """Its next range began before the second owner ended, although it has other offsets."""
    rows = [
        Row("orders", 0, 0, 10, "first", EPOCH, EPOCH + 10 * SECOND),
        Row("orders", 0, 10, 20, "first", EPOCH + 10 * SECOND, EPOCH + 20 * SECOND),
        Row("orders", 0, 5, 10, "second", EPOCH + 12 * SECOND, EPOCH + 15 * SECOND),
    ]
    (part,) = audited(write(tmp_path / "log.parquet", rows)).partitions
    (again,) = part.again

    assert ("first", "second", 5, 10) == (again.first_owner, again.second_owner, *again[:2])
    assert again.overlap


def test_records_of_many_workers_make_ranges(tmp_path):
    """A consumer that finishes records out of order is not cut into one range a record."""
    rows = [
        Row("orders", 0, offset, offset + 1, "m", EPOCH, EPOCH + offset * SECOND + late)
        for offset in range(100)
        for late in [(offset * 7 % 5) * 3 * SECOND]
    ]
    source = source_of(write(tmp_path / "log.parquet", rows, 1000))
    (part,) = reading.parts_of(source, 1 << 30)
    ((ranges, _),) = passes.ranges_of(source, part, passes.Terms(), None)

    assert 1 == ranges.num_rows
    hold_counts(audited(tmp_path / "log.parquet"), rows)


def test_one_consumer_cannot_do_the_same_twice_at_once(tmp_path):
    """Two rows of one consumer that overlap both in offset and in time contradict each other."""
    rows = [
        Row("orders", 0, 0, 10, "m1", EPOCH, EPOCH + 10 * SECOND),
        Row("orders", 0, 5, 15, "m1", EPOCH + SECOND, EPOCH + 9 * SECOND),
    ]
    path = write(tmp_path / "log.parquet", rows)

    with pytest.raises(AuditError) as refused:
        audited(path)

    assert "orders-0: ranges of one consumer overlap: m1 processed 5..9" in str(refused.value)
    assert "`columns` consumer=NAME" in str(refused.value)


@pytest.mark.parametrize("is_first", [True, False])
def test_work_without_a_duration_does_not_overlap_work_that_begins_then(tmp_path, is_first):
    """Whichever of the two rows comes first in the log."""
    rows = [
        Row("orders", 0, 0, 10, "m1", EPOCH, EPOCH),
        Row("orders", 0, 0, 10, "m1", EPOCH, EPOCH + 10 * SECOND),
    ]
    path = write(tmp_path / "log.parquet", rows if is_first else rows[::-1])

    assert 10 == audited(path).partitions[0].reprocessed
