"""The size of the offsets log over time, and what compaction takes away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator import events as ev
from emulator.metrics.brokers import MAX_POINTS, LogMeter

from ..ledger.history import GROUP, History
from .meters import read

SECOND = 1_000_000


def appended(size, records, broker=1, epoch=0, number=7):
    return ev.Appended(
        log_partition=number,
        group=GROUP,
        log_offset=0,
        records=(("OffsetCommit", 1),),
        size=100,
        leader_epoch=epoch,
        broker=broker,
        log_size=size,
        log_records=records,
    )


def compacted(removed, left, broker=1):
    return ev.LogCompacted(
        log_partition=7,
        broker=broker,
        first=0,
        next_offset=9,
        removed_size=removed * 100,
        removed_records=removed,
        size=left * 100,
        records=left,
        segments=2,
    )


def rolled(segments, broker=1):
    return ev.SegmentRolled(
        log_partition=7, broker=broker, base_offset=9, why="segment.ms", segments=segments
    )


def history_of(*facts, every_us=SECOND):
    history = History()
    for what in facts:
        history.now_us += every_us
        history.say(what)
    return history


def rows(reading):
    return [tuple(row.values()) for row in reading.listings["log_sizes"]]


def test_the_log_grows_by_appends_and_shrinks_by_compactions():
    """Its size is what a load would read."""
    history = history_of(appended(100, 1), rolled(2), appended(200, 2), compacted(1, 1))
    values = read(LogMeter(), history).values

    assert (100, 1, 2) == (values["log_size"], values["log_size_records"], values["log_segments"])
    assert (200, 2) == (values["log_size_peak"], values["log_size_records_peak"])
    assert (1, 1) == (values["log_segments_rolled"], values["log_compactions"])
    assert (100, 1) == (values["log_compacted_bytes"], values["log_compacted_records"])


def test_partitions_are_summed_and_the_largest_is_the_peak():
    """Each has a course of its own."""
    history = history_of(appended(100, 1), appended(300, 3, number=8))
    reading = read(LogMeter(), history)

    assert (400, 300) == (reading.values["log_size"], reading.values["log_size_peak"])
    assert [7, 8] == [row["log_partition"] for row in reading.listings["log_sizes"]]


def test_appends_of_a_stale_leader_do_not_count():
    """They will never be loaded."""
    loaded = ev.CoordinatorLoaded(
        log_partition=7,
        broker=2,
        leader_epoch=1,
        size=50,
        records=1,
        high_watermark=1,
        waited_us=0,
        loaded_us=0,
        segments=1,
    )
    history = history_of(appended(100, 2), loaded, appended(900, 9), compacted(1, 8), rolled(5))
    reading = read(LogMeter(), history)

    assert (50, 1) == (reading.values["log_size"], reading.values["log_segments"])
    assert (50, 1, 1) == rows(reading)[-1][2:]


def test_loads_are_counted_with_their_seconds_and_bytes():
    """Of every broker, waiting for other loads included."""
    loads = [
        ev.CoordinatorLoaded(
            log_partition=number,
            broker=2,
            leader_epoch=1,
            size=1_000 * number,
            records=1,
            high_watermark=1,
            waited_us=waited_us,
            loaded_us=2 * SECOND,
        )
        for number, waited_us in ((7, 0), (8, 2_500_000))
    ]
    values = read(LogMeter(), history_of(appended(100, 2), *loads)).values

    assert (2, 6.5, 15_000) == (
        values["log_loads"],
        values["log_loads_s"],
        values["log_loads_bytes"],
    )


def test_the_history_has_a_bounded_number_of_rows():
    """The last of each interval, however long the run."""
    for count in (50, 5_000):
        history = history_of(*(appended(100 * n, n) for n in range(1, count + 1)))
        course = rows(read(LogMeter(), history))
        times = [at_s for _, at_s, *_ in course]

        assert MAX_POINTS / 2 < len(course) <= MAX_POINTS
        assert sorted(times) == times
        assert (7, history.now_us / SECOND, 100 * count, count, 1) == course[-1]


def test_a_run_without_appends_has_no_log_to_speak_of():
    """All is nothing."""
    reading = read(LogMeter(), History())

    assert {0} == set(reading.values.values())
    assert () == reading.listings["log_sizes"]


STEADY = st.lists(
    st.tuples(st.integers(1, 3 * SECOND), st.integers(1, 30), st.integers(0, 2 * SECOND)),
    min_size=1,
    max_size=4,
)
"""Equal appends: when the first, how many, and how far apart."""


def steady(appends, size):
    """Return the times of equal appends, and the event that stands for all of them."""
    first_us, times, every_us = appends
    what = ev.AppendsCounted(
        log_partition=7,
        group=GROUP,
        records=(("OffsetCommit", size),),
        size=size * 100,
        times=times,
        every_us=every_us,
    )
    return [(first_us + number * every_us, size) for number in range(times)], what


def test_a_log_may_begin_with_appends_that_are_only_counted():
    """A group without members of its own writes nothing but commits."""
    _, what = steady((SECOND, 3, SECOND), 2)
    history = History()
    history.now_us = 3 * SECOND
    history.say(what)

    assert 600 == read(LogMeter(), history).values["log_size"]


@given(st.lists(STEADY, min_size=1, max_size=4))
def test_appends_that_are_only_counted_give_the_same_course(stretches):
    """However they overlap, and with compactions in between."""
    singly, summed = ([ev.Event(None, 0, None, appended(100, 1), 0)] for _ in range(2))
    grown, began_us = 1, 0
    for stretch in stretches:
        each = [steady(appends, size) for size, appends in enumerate(stretch, 1)]
        times = sorted((began_us + at_us, size) for batches, _ in each for at_us, size in batches)
        for at_us, size in times:
            grown += size
            singly.append(ev.Event(None, at_us, None, appended(100 * grown, grown), 0))
        summed += [
            ev.Event(None, began_us + batches[-1][0], None, what, 0) for batches, what in each
        ]
        began_us, grown = times[-1][0], grown // 2
        for events in (singly, summed):
            events.append(ev.Event(1, began_us, None, compacted(1, grown), 0))
    meters = LogMeter(), LogMeter()
    for meter, events in zip(meters, (singly, summed), strict=True):
        for event in events:
            meter.handlers()[type(event.what)](event, event.what)

    assert meters[0].read(began_us) == meters[1].read(began_us)
