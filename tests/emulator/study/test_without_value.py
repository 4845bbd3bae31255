"""A metric without a value in some runs: it is null in the rows, and no cell wins by having none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.study.answer_text import sentences
from emulator.study.model import Until, Within
from emulator.study.page import drawn
from emulator.study.rows import play_chunk, runs_table
from emulator.study.screen import study_screen
from emulator.study.sensitivity import influences
from emulator.study.summary import differences, front, rules_not_met

from .samples import findings_with, pictures, plan_of, results_of, study_of, tasks_of

MIN = '{ least = "reprocessed" }'


@pytest.fixture
def findings():
    """Return findings of two cells; in the second, no run has a value of the objective."""
    return findings_with(MIN, [5.0, None, 7.0, 6.0, 5.0, 7.0], [None] * 6)


def test_a_run_without_a_takeover_has_null():
    """Not 0, which would be the fastest takeover of all."""
    plan = plan_of(study_of(("seeds = 6", "seeds = 1")))
    task, *_ = tasks_of(plan)
    early = task.scenario.model_copy(update={"run_for": 5_000_000})
    rows = play_chunk(replace(task, scenario=early), lambda _: None, lambda _: None).runs

    assert [None] == runs_table(rows, task.metrics)["takeover_first_s"].to_pylist()
    assert [0] == [row["lost"] for row in rows]


def test_a_cell_without_a_value_is_not_the_best(findings):
    """Nor tied with the best, nor the worst: nothing is known of it."""
    assert [0] == [findings.best.best, *findings.best.ties[1:]]
    assert 0 == findings.best.worst
    assert any("reprocessed 6 ±" in sentence for sentence in sentences(findings))


def test_a_bound_on_a_metric_without_a_value_does_not_hold():
    """Unless the bound allows that."""
    values = [5.0, None], [5.0, 6.0]
    strict, loose = (
        findings_with(f'{{ least = "lost", expect = {{ reprocessed = "{bound}" }} }}', *values)
        for bound in ("<= 9", "none or <= 9")
    )

    assert (1,) == strict.best.feasible
    assert (0, 1) == loose.best.feasible


def test_a_cell_without_values_is_shown_as_such(findings):
    """On the screen and in the pictures, with the others."""
    screen = list(study_screen(findings))
    row = next(line for line in screen if line.startswith("| 5s "))

    assert ["none"] * 4 == row.replace("|", "").split()[-4:]
    assert all("<svg" in drawn(picture).figure for picture in pictures(findings))


def test_figures_are_computed_of_the_seeds_with_a_value():
    """Differences pair the seeds that have both; fronts and influences leave out what has none."""
    plan = plan_of()
    some = results_of(plan, [5.0, None, 7.0], [6.0, 6.0, None])
    none = results_of(plan, [5.0, 6.0, 7.0], [None] * 3)
    rule = Until(metric="reprocessed", within=Within(absolute=9.0))

    assert [1] == [each.comparison.runs for each in differences(some, ["reprocessed"])]
    assert [] == differences(none, ["reprocessed"]) == influences(none, ["reprocessed"])
    assert {0: (6.0,)} == front(none, ("reprocessed",)).means
    assert [] == rules_not_met(none, [rule])
