"""What members process, the first record, and hot partitions."""

from __future__ import annotations

import pytest

from emulator import events as ev
from emulator.metrics.recovery import LagMeter
from emulator.metrics.traffic import CapacityMeter

from ..ledger.history import GROUP, P0, P1, History
from .meters import read


def sample(history, ends, processed):
    sampled = ev.LagSampled(
        group=GROUP, partitions=(P0, P1), log_ends=ends, committed=processed, processed=processed
    )
    history.say(sampled)


def test_records_are_counted_for_each_member():
    """Also a member without any; the first record counts from the start of the first member."""
    history = History()
    history.start("a", "b")
    history.wait(2)
    history.work("a", 0, 10)
    history.work("a", 10, 15, P1)
    reading = read(CapacityMeter(), history)

    assert {"a": 15, "b": 0} == reading.tables["processed.by_member"]
    assert pytest.approx(2.0, abs=0.01) == reading.values["first_record_max_s"]
    assert frozenset() == reading.without_value


def test_without_a_record_there_is_no_first_one():
    """The metric has no value."""
    history = History()
    history.start("a")

    assert {"first_record_max_s"} == read(CapacityMeter(), history).without_value


@pytest.mark.parametrize(
    ("ends", "hot"), [((150, 100), []), ((700, 20), ["orders-0"]), ((4, 0), [])]
)
def test_a_partition_with_twice_the_records_of_the_others_is_hot(ends, hot):
    """Records from before the first sample do not count, and few records may be chance."""
    history = History()
    sample(history, (100, 0), (0, 0))
    sample(history, (100 + ends[0], ends[1]), (0, 0))
    rows = read(CapacityMeter(), history).listings["hot_partitions"]

    assert hot == [row["partition"] for row in rows]


def test_a_backlog_is_drained_when_a_tenth_of_it_is_left():
    """Without any fault; with lag until the end it has no value."""
    history = History()
    sample(history, (500, 500), (0, 0))
    history.wait(5)
    sample(history, (500, 500), (400, 400))

    assert {"lag_drain_max_s"} == read(LagMeter(), history).without_value

    history.wait(5)
    sample(history, (500, 500), (460, 450))
    reading = read(LagMeter(), history)

    assert pytest.approx(10.0, abs=0.01) == reading.values["lag_drain_max_s"]
    assert frozenset() == reading.without_value
    assert 1_000 == reading.listings["backlogs"][0]["peak"]
