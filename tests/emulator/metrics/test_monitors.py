"""What monitors say of a run, compared with what was stuck."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

import emulator
from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.burrow import Commit, Status, append, status_of
from emulator.metrics.monitors import MonitorMeter, MonitorRule
from emulator.report.screens.automation import automation_lines
from emulator.scenario.problems import ScenarioError
from emulator.verdicts.monitoring import monitor_problems
from emulator.verdicts.verdict import VerdictId

S = 1_000_000

SCENARIO = """
title = "watched"
run_for = "6min"
topic = [{{ name = "t", partitions = 2, rate = "5/s" }}]
fault = [{{ hang = "g-1", at = "2min", for = "{hang}" }}]

[[group]]
id = "g"
topics = ["t"]
members = 2
settings = {{ "auto.offset.reset" = "earliest" }}
monitor = [{monitor}]
"""


def commits(*pairs: tuple[int, int]) -> list[Commit]:
    """Return commits every 5 seconds with offset and lag."""
    return [Commit(5 * S * number, *pair) for number, pair in enumerate(pairs)]


def of(window: list[Commit], ends: list[int], after_s: int = 1, **keys: bool) -> Status:
    return status_of(window, ends, window[-1].at_us + after_s * S, **keys)


# -- Burrow ----------------------------------------------------------------------------------------


def test_a_commit_too_close_to_the_last_one_replaces_it_and_keeps_its_time():
    """``addConsumerOffset``: with the new time a fast committer would fill one place for ever."""
    window = deque[Commit](maxlen=3)
    for at_ms, offset in ((0, 1), (400, 2), (900, 3), (1_000, 4), (1_700, 5), (2_000, 6)):
        append(window, at_ms * 1_000, offset, 10, S)

    assert list(window) == [Commit(0, 3, 7), Commit(S, 5, 5), Commit(2 * S, 6, 4)]


def test_no_lag_is_ok_whatever_the_commits_say():
    assert of(commits((5, 3), (5, 3)), [5], after_s=99) == Status.OK


def test_commits_older_than_the_window_is_long_are_a_stop_unless_lag_was_zero_recently():
    window = commits((1, 9), (2, 9), (3, 9))

    assert of(window, [40, 50], after_s=10) == Status.WARN
    assert of(window, [40, 50], after_s=11) == Status.STOP
    assert of(window, [3, 50], after_s=11) != Status.STOP


def test_the_same_offset_again_with_lag_is_a_stall_and_growing_lag_a_warning():
    assert of(commits((5, 1), (5, 2), (5, 3)), [9]) == Status.STALL
    assert of(commits((5, 1), (6, 2), (7, 2)), [9]) == Status.WARN
    assert of(commits((5, 3), (6, 2), (7, 2)), [9]) == Status.OK


def test_a_rewind_counts_until_it_is_made_up_for_and_only_the_newer_order_sees_it_after_zero_lag():
    rewound, recovered = commits((9, 0), (2, 7), (4, 6)), commits((9, 0), (2, 7), (9, 1))

    assert of(rewound, [10]) == Status.REWIND
    assert of(rewound, [10], rewind_first=False) == Status.OK
    assert of(recovered, [10]) == Status.OK


def test_the_older_order_forgives_no_rewind_that_was_made_up_for():
    recovered = commits((9, 2), (2, 9), (10, 1))

    assert of(recovered, [12]) == Status.OK
    assert of(recovered, [12], rewind_first=False) == Status.REWIND


# -- runs ------------------------------------------------------------------------------------------


def watched(monitor: str, hang: str = "2min") -> emulator.Scenario:
    return emulator.loads(SCENARIO.format(monitor=monitor, hang=hang))


@pytest.mark.long
def test_a_hang_is_noticed_in_time_the_same_with_late_events_and_in_exact_mode():
    scenario = watched('{ rule = "burrow", every = "5s" }')
    run, late = emulator.run(scenario), emulator.run(scenario, keep_events=False)
    exact = emulator.run(scenario, mode="exact", keep_events=False, each_commit=False)

    [row] = run.metrics.listings["monitors"]
    assert (row["stuck"], row["missed"], row["false"]) == (1, 0, 0)
    assert 45 < row["delay_max_s"] <= 60 + 45
    assert run.metrics.values == late.metrics.values == exact.metrics.values
    assert run.metrics.listings == late.metrics.listings


def test_a_threshold_that_is_too_high_misses_and_one_that_is_too_low_cries_wolf():
    monitors = """
        { rule = "lag", name = "high", above = 100000 },
        { rule = "lag", name = "low", above = 15, every = "1s", of = "partition" }"""
    run = emulator.run(watched(monitors))

    high, low = run.metrics.listings["monitors"]
    assert (high["missed"], high["alarms"]) == (1, 0)
    assert low["missed"] == 0
    assert low["false"] > 0
    assert run.metrics["monitor_misses"] == 1
    assert VerdictId.MONITOR_WRONG in {verdict.id for verdict in run.verdicts}


def test_a_short_hang_is_no_standstill_and_an_alarm_for_it_is_false():
    run = emulator.run(
        watched('{ rule = "lag", above = 60, every = "1s", of = "partition" }', hang="40s")
    )

    [row] = run.metrics.listings["monitors"]
    assert row["stuck"] == 0
    assert row["false"] >= 1
    assert not run.metrics.has("monitor_delay_max_s")


TP = TopicPartition("t", 0)
STORED = ev.OffsetsStored(
    consumer="g-0", group="g", commit="c", store="zookeeper", offsets=((TP, 5),), sent_us=0, waited_us=0
)  # fmt: skip


def meter_of_one_monitor() -> MonitorMeter:
    rule = MonitorRule(name="burrow", every_us=S, stuck_after_us=S, refresh_us=S, intervals=2)
    return MonitorMeter({"g": [rule]})


def play(meter: MonitorMeter, at_s: int, what: Any) -> None:
    meter.handlers()[type(what)](ev.Event(None, at_s * S, None, what, 0), what)


def sampled(*partitions: TopicPartition) -> ev.LagSampled:
    """Return a sample with 9 records and none processed in each partition."""
    ends, none = tuple(9 for _ in partitions), tuple(-1 for _ in partitions)
    return ev.LagSampled(
        group="g", partitions=partitions, log_ends=ends, committed=none, processed=none
    )


def test_commits_to_zookeeper_are_seen():
    meter = meter_of_one_monitor()
    for at_s, what in ((0, sampled(TP)), (1, STORED), (2, STORED), (9, sampled(TP))):
        play(meter, at_s, what)

    [(monitor, _)] = meter._monitors["g"]
    assert [alarm.state for alarm in monitor.alarms.all] == ["STOP"]


@pytest.mark.long
def test_burrow_sees_no_offsets_in_a_database_and_misses_every_standstill():
    """A rule on lag that the application's own database is read for notices the hang."""
    rules = '{ rule = "burrow", every = "15s" }, { rule = "lag", above = 50, every = "15s" }'
    run = emulator.run(watched(f'{rules}]\noffsets = "database"\npoison = ['))
    burrow, lag = run.metrics.listings["monitors"]
    [verdict] = [each for each in run.verdicts if each.id == VerdictId.MONITOR_WRONG]

    assert burrow["alarms"] == 0 < burrow["missed"] == burrow["stuck"]
    assert lag["missed"] == 0 < lag["alarms"]
    assert verdict.sentence.endswith("it does not see offsets in a database")
    lines = [text for _, text in automation_lines(run.metrics, str)]
    assert "burrow: no alarm: it does not see offsets in a database, 1 standstill missed" in lines


def test_a_partition_that_was_deleted_is_neither_stuck_nor_an_alarm():
    meter = meter_of_one_monitor()
    for at_s, what in ((0, sampled(TP)), (1, STORED), (9, sampled(TP)), (20, sampled())):
        play(meter, at_s, what)

    [(monitor, truth)] = meter._monitors["g"]
    assert [each.to_us for each in truth.stuck.all] == [20 * S]
    assert [each.to_us for each in monitor.alarms.all] == [20 * S]


def test_a_verdict_says_what_was_noticed_and_nothing_of_standstills_without_one():
    row = {"group": "g", "monitor": "m", "stuck": 2, "missed": 0, "false": 3, "delay_max_s": 0.0}
    row |= {"sees_commits": True, "window": 10}
    quiet = {**row, "stuck": 0, "delay_max_s": None}
    metrics = SimpleNamespace(listings={"monitors": (row, quiet)})

    first, second = monitor_problems(SimpleNamespace(metrics=metrics))
    assert (
        "noticed 2 of 2 standstills, after 0 s at most, and gave 3 false alarms" in first.sentence
    )
    assert second.sentence == "the monitor m of g gave 3 false alarms"


@pytest.mark.parametrize(
    ("monitor", "message"),
    [
        ('{ rule = "lag" }', 'needs "above"'),
        ('{ rule = "burrow", above = 3 }', 'needs "above"'),
        ('{ rule = "burow" }', "burrow"),
        ('{ rule = "burrow" }, { rule = "burrow", every = "1s" }', "give each a name"),
    ],
)
def test_a_monitor_without_its_keys_is_refused(monitor, message):
    with pytest.raises(ScenarioError, match=message):
        watched(monitor)
