"""What people call metrics, and how a study prints a mean."""

from __future__ import annotations

from emulator.metrics.catalogue import VALUES
from emulator.metrics.distribution import Estimate
from emulator.report.figures_shown import ALWAYS, IF_ANY
from emulator.report.wording import figure

WORDS = {
    "commits_sent": "commits sent",
    "evictions_living": "living members evicted",
    "drop_outs": "consumers dropped out",
    "member_hours": "member hours",
}
"""Of metrics that other reports leave to their names."""

UNITS = {metric.name: metric.unit for metric in VALUES}

_DECIMALS = 9
"""What floating point leaves of an interval without width lies below these."""


def label_of(metric: str) -> str:
    """Return what people call a metric, with its unit."""
    known = {**WORDS, **ALWAYS, **IF_ANY}.get(metric)
    unit = UNITS.get(metric)
    return known or (f"{metric} ({unit})" if unit else metric)


def plus_minus(estimate: Estimate) -> str:
    """Return a mean with half the width of its interval."""
    half = 0.0 if estimate.high is None else round(estimate.high - estimate.value, _DECIMALS)
    return f"{figure(estimate.value)} ± {figure(half)}" if half else figure(estimate.value)
