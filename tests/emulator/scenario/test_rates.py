"""Rates that change: what arrives within a run, and how often they may change."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from unittest.mock import patch

import pytest

from emulator.advising import reported
from emulator.loading import LoadedScenario
from emulator.report.capacity import capacity_lines
from emulator.scenario import resolution
from emulator.scenario.estimates.loads import loads_of
from emulator.scenario.estimates.periods import changes_of_rates
from emulator.scenario.load import loads
from emulator.scenario.model import Scenario
from emulator.scenario.problems import ScenarioError
from emulator.scenario.resolution import records_of
from emulator.scenario.tables.rates import Segment, Segments, changes_of

SCENARIO = """
title = "rates"
run_for = "{run_for}"
topic = [{{ name = "t", partitions = 1, rate = {rate}{more} }}]
group = [{{ id = "g", topics = ["t"], members = 1, work = "700ms" }}]
"""
DAY = '{ curve = { every = "24h", points = [{ at = "0s", rate = "0/s" }, { at = "12h", rate = "24/s" }] } }'
LATE_STEP = '{ steps = [{ at = "0s", rate = "1/s" }, { at = "1h", rate = "9/s" }] }'
EARLY_STEP = '{ steps = [{ at = "0s", rate = "1/s" }, { at = "1min", rate = "9/s" }] }'
LATE_RAMP = '{ ramp = { at = "1h", for = "1h", from = "1/s", to = "9/s" } }'
FALLING = '{ ramp = { for = "10min", from = "9/s", to = "1/s" } }'


def read(rate: str, run_for: str = "4min", more: str = "") -> Scenario:
    return loads(SCENARIO.format(rate=rate, run_for=run_for, more=more))


@pytest.mark.parametrize(
    ("rate", "run_for", "more", "number"),
    [
        (DAY, "1h", "", 3_600),
        (DAY, "48h", "", 48 * 3_600 * 12),
        (DAY, "36h", "", 36 * 3_600 * 12),
        (DAY, "26h", ', produce_from = "24h"', 7_200 * 2),
        (EARLY_STEP, "4min", ', produce_from = "1min"', 180 * 9),
        (EARLY_STEP, "4min", ', produce_until = "2min"', 60 + 540),
        (LATE_STEP, "4min", "", 240),
        (FALLING, "5min", "", 300 * 7),
        ('"3/s"', "1min", ', produce_from = "20s"', 120),
    ],
)
def test_records_are_those_of_the_time_of_writing(rate, run_for, more, number):
    scenario = read(rate, run_for, more)

    assert records_of(scenario.topic[0], scenario.run_for) == pytest.approx(number)


@pytest.mark.parametrize(
    ("rate", "run_for", "arrival"),
    [
        (LATE_STEP, "4min", 1),
        (LATE_STEP, "1h", 1),
        (LATE_STEP, "61min", 9),
        (LATE_RAMP, "4min", 1),
        (FALLING, "5min", 5),
        (FALLING, "1h", 1),
        (DAY, "1h", 1),
        (DAY, "36h", 12),
    ],
)
def test_a_load_is_of_the_rates_within_the_run(rate, run_for, arrival):
    (load,) = loads_of(read(rate, run_for))

    assert load.arrival == pytest.approx(arrival)


@pytest.mark.parametrize(
    ("rate", "run_for", "more", "peak"),
    [
        (FALLING, "10min", "", 9),
        (FALLING, "10min", ', produce_from = "5min"', 5),
        (LATE_STEP, "4min", "", 1),
        (EARLY_STEP, "4min", "", 9),
        (LATE_RAMP, "90min", "", 5),
        (DAY, "1h", "", 2),
        (DAY, "36h", "", 24),
        (DAY, "25h", ', produce_from = "22h"', 4),
        ('"3/s"', "4min", "", 0),
    ],
)
def test_the_peak_is_the_highest_rate_of_the_run(rate, run_for, more, peak):
    (load,) = loads_of(read(rate, run_for, more))

    assert load.peak == pytest.approx(peak)


def test_the_rates_of_a_group_are_worked_out_once_for_all_its_members():
    """A group of 10,000 members with 100,000 partitions waited for minutes for its load."""
    asked = []
    for members in (2, 20):
        scenario = loads(
            SCENARIO.format(rate='"1/s"', run_for="4min", more="").replace(
                "members = 1", f"members = {members}"
            )
        )
        with patch.object(resolution, "factor_of", wraps=resolution.factor_of) as factor_of:
            list(loads_of(scenario))
        asked.append(factor_of.call_count)

    assert asked[0] == asked[1]


def test_the_report_names_the_peak_of_a_rate_that_fell():
    _, run = reported(LoadedScenario("rates", (), read(FALLING, "10min"), Path()), None)
    (said,) = [text for title, text in capacity_lines(run) if title == "load"]

    assert "1 records per second arrive for g (at most 9), its 1 member" in said


def test_a_curve_that_changes_too_often_is_refused_with_the_number():
    fast = DAY.replace("24h", "2us").replace("12h", "1us")
    with pytest.raises(ScenarioError) as refused:
        read(fast)

    said = str(refused.value)
    assert "rate.curve.every" in said
    assert "the rate changes 240,000,001 times in the run of 4min; allowed are 100,000" in said


def test_changes_of_rates_come_one_after_the_other():
    """Those of two topics in order of time, and those of a long run without a list of all."""
    curve = Segments((Segment(0, 1.0, 3.0), Segment(400_000, 3.0, 1.0)), every_us=1_000_000)

    assert list(changes_of(curve, 1_400_000)) == [0, 400_000, 1_000_000, 1_400_000]
    assert list(islice(changes_of(curve, 10**18), 3)) == [0, 400_000, 1_000_000]
    scenario = loads(
        """
        title = "two curves"
        run_for = "7s"
        group = [{ id = "g", topics = ["a", "b"], members = 1 }]
        [[topic]]
        name = "a"
        rate.steps = [{ at = "0s", rate = "1/s" }, { at = "4s", rate = "2/s" }]
        [[topic]]
        name = "b"
        rate.curve = { every = "3s", points = [{ at = "0s", rate = "1/s" }, { at = "1s", rate = "2/s" }] }
        """
    )
    assert [at // 1_000_000 for at in changes_of_rates(scenario)] == [0, 0, 1, 3, 4, 4, 6, 7]
