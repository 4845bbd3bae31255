"""The time of trials, as it is stated before they are played."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import pytest

import emulator
from emulator.advice.cost import cost_of, round_s
from emulator.advising import reported
from emulator.loading import ScenarioText, load_text
from emulator.report.proposal_wording import not_tried

from .test_trials import RARE


@pytest.mark.long
def test_the_stated_time_covers_the_seeds_that_are_played():
    """That of the first seeds, and that of all of them, as the number of seeds has it."""
    loaded = load_text(ScenarioText("rare", "rare", RARE, Path()))
    _, report = reported(loaded, 1)
    advice = emulator.advise(loaded.scenario, first=1, jobs=1)
    played = len(advice.trials[0].seeds)
    cost = cost_of(loaded, report.proposals)
    each_s = round_s(loaded, report.proposals)

    assert played == 20
    assert cost.first_s == pytest.approx(5 * each_s - round_s(loaded, ()))
    assert cost.longest_s == pytest.approx(played * each_s - round_s(loaded, ()))
    (line, *rest) = not_tried(report, cost.first_s, cost.longest_s)
    assert f"up to {ceil(cost.longest_s)} s if further seeds" in " ".join([line, *rest])
