"""Expectations speak of metrics that exist."""

from __future__ import annotations

import pytest

from emulator.scenario.expectations import refuse_unknown_metrics
from emulator.scenario.problems import ScenarioError

from .samples import read

METRICS = ("lost", "reprocessed", "reprocessed.by_cause")


def test_known_metrics_their_entries_and_figures_over_seeds_pass():
    """An entry in brackets and a figure over seeds belong to the metric they follow."""
    scenario = read(("lost = 0", '"reprocessed.by_cause[crashed]" = 0\n"reprocessed.p95" = "< 9"'))

    refuse_unknown_metrics(scenario, METRICS, "orders.toml")


def test_an_unknown_metric_is_refused_with_the_nearest():
    """A misspelled metric is offered its right spelling."""
    with pytest.raises(ScenarioError) as refused:
        refuse_unknown_metrics(read(("lost = 0", "reprocesed.p95 = 0")), METRICS, "orders.toml")

    said = 'orders.toml: expect[reprocesed.p95]: no such metric; did you mean "reprocessed"?'
    assert said == str(refused.value)
