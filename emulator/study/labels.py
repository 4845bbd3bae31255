"""The names of cells and metrics in a study's report, and the format of its figures."""

from __future__ import annotations

from emulator.metrics.catalogue import VALUES
from emulator.metrics.distribution import Summary
from emulator.report.bands import with_band
from emulator.report.figures import ALWAYS, IF_ANY, NO_VALUE, labelled
from emulator.study.plan import Plan

MAX_NAMED = 3
"""Cells of a kind that a sentence names; of further ones it gives the number."""

LABELS = {
    "commits_sent": "commits sent",
    "evictions_living": "living members evicted",
    "drop_outs": "consumers dropped out",
    "member_hours": "member hours",
}
"""Labels of metrics that other reports show by their names."""

UNITS = {metric.name: metric.unit for metric in VALUES}


def label_of(metric: str, plan: Plan | None = None) -> str:
    """Return the label of a metric, with its unit; *plan*: the study, in which lag may count offsets."""
    known = {**LABELS, **ALWAYS, **IF_ANY}.get(metric)
    unit = UNITS.get(metric)
    label = known or (f"{metric} ({unit})" if unit else metric)
    return label if plan is None else labelled(metric, label, plan.lag_unit)


def plain(name: str) -> str:
    """Return the label of a metric without its unit, or the name of an axis."""
    return label_of(name).rpartition(" (")[0] or label_of(name)


def mean_text(summary: Summary | None) -> str:
    """Return a mean with its interval, or the range of few values; of no values, that there is none."""
    return NO_VALUE if summary is None else with_band(summary)


def name_of(plan: Plan, cell: int) -> str:
    """Return the settings of a cell, by number; with its protocol if the study has several."""
    settings = plan.cells[cell].settings
    words = [f"{choice.axis}={choice.label}" for choice in settings.point]
    several = len(plan.study.protocols) > 1
    return settings.name if several or not words else ", ".join(words)
