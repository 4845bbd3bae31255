"""The names of cells and metrics in a study's report, and the format of its figures."""

from __future__ import annotations

from emulator.metrics.catalogue import VALUES
from emulator.metrics.distribution import Estimate
from emulator.report.figures import ALWAYS, IF_ANY, NO_VALUE, labelled
from emulator.report.wording import figure
from emulator.study.plan import Plan

MOST_NAMED = 3
"""Cells of a kind that a sentence names; of further ones it gives the number."""

LABELS = {
    "commits_sent": "commits sent",
    "evictions_living": "living members evicted",
    "drop_outs": "consumers dropped out",
    "member_hours": "member hours",
}
"""Labels of metrics that other reports show by their names."""

UNITS = {metric.name: metric.unit for metric in VALUES}

_DECIMALS = 9
"""Rounding to these hides the floating-point error of an interval of width 0."""


def label_of(metric: str, plan: Plan | None = None) -> str:
    """Return the label of a metric, with its unit; *plan*: the study, in which lag may count offsets."""
    known = {**LABELS, **ALWAYS, **IF_ANY}.get(metric)
    unit = UNITS.get(metric)
    label = known or (f"{metric} ({unit})" if unit else metric)
    return label if plan is None else labelled(metric, label, plan.lag_unit)


def plain(name: str) -> str:
    """Return the label of a metric without its unit, or the name of an axis."""
    return label_of(name).rpartition(" (")[0] or label_of(name)


def plus_minus(estimate: Estimate | None) -> str:
    """Return a mean with half the width of its interval; of no values, that there is none."""
    if estimate is None:
        return NO_VALUE
    half = 0.0 if estimate.high is None else round(estimate.high - estimate.value, _DECIMALS)
    return f"{figure(estimate.value)} ± {figure(half)}" if half else figure(estimate.value)


def name_of(plan: Plan, cell: int) -> str:
    """Return the settings of a cell, by number; with its protocol if the study has several."""
    settings = plan.cells[cell].settings
    words = [f"{choice.axis}={choice.label}" for choice in settings.point]
    several = len(plan.study.protocols) > 1
    return settings.name if several or not words else ", ".join(words)
