"""Check a scenario's expectations of its metrics, over one run or over many seeds.

A bound names a metric (``lost``), an entry of a table (``reprocessed.by_cause[two owners at
once]``), or over seeds a statistic of either (``reprocessed.p95``; ``.mean``, ``.min``, ``.max``,
``.p50`` and any other percentile). A name without a statistic must hold in every run.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from emulator.metrics.catalogue import is_metric, unknown_metric
from emulator.metrics.metrics import Metrics

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}

_STATISTIC = re.compile(r"(?P<metric>.+)\.(?P<statistic>mean|min|max|p\d{1,2}(?:\.\d+)?)")

Bound = tuple[str, float]
"""A relation of ``RELATIONS`` and the value on its right side."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One expectation and its outcome."""

    name: str
    relation: str
    expected: float
    measured: float
    """Without a statistic, over several runs: the value with the largest violation."""

    ok: bool
    message: str


def is_expectable(name: str) -> bool:
    """Return whether *name* can have a bound."""
    return is_metric(split_name(name)[0])


def check_expectations(
    bounds: Mapping[str, Bound], runs: Sequence[Metrics]
) -> tuple[Expected, ...]:
    """Compare *bounds* with one run or several, in order of *bounds*.

    Raise KeyError for an unknown metric, with the closest match.
    """
    return tuple(_check(name, bound, runs) for name, bound in bounds.items())


def _check(name: str, bound: Bound, runs: Sequence[Metrics]) -> Expected:
    metric, statistic = split_name(name)
    if not is_metric(metric):
        raise KeyError(unknown_metric(metric))
    relation, expected = bound
    values = [run[metric] for run in runs]
    if statistic:
        return _check_statistic(name, bound, _statistic(statistic, values), len(runs))
    worst = _worst(relation, expected, values)
    failed = sum(not RELATIONS[relation](value, expected) for value in values)
    text = f"{name} is {worst:g}, expected {relation} {expected:g}"
    if len(runs) > 1:
        text += f" ({failed} of {len(runs)} runs are outside)"
    return Expected(name, relation, expected, worst, failed == 0, text)


def _check_statistic(name: str, bound: Bound, measured: float, runs: int) -> Expected:
    relation, expected = bound
    ok = RELATIONS[relation](measured, expected)
    over = "one run" if runs == 1 else f"{runs} runs"
    text = f"{name} over {over} is {measured:g}, expected {relation} {expected:g}"
    return Expected(name, relation, expected, measured, ok, text)


def split_name(name: str) -> tuple[str, str]:
    """Split a name into metric and statistic; a metric's own name is never split.

    >>> split_name("reprocessed.p95"), split_name("lost")
    (('reprocessed', 'p95'), ('lost', ''))
    """
    match = None if is_metric(name) else _STATISTIC.fullmatch(name)
    return (match["metric"], match["statistic"]) if match else (name, "")


def _statistic(statistic: str, values: Sequence[float]) -> float:
    if statistic == "mean":
        return math.fsum(values) / len(values)
    if statistic in ("min", "max"):
        return min(values) if statistic == "min" else max(values)
    from emulator.metrics.distribution import order_statistic  # noqa: PLC0415  one run needs none

    return order_statistic(values, float(statistic[1:]) / 100)


def _worst(relation: str, expected: float, values: Sequence[float]) -> float:
    """Return the value that violates the relation most."""
    if relation in ("<", "<="):
        return max(values)
    if relation in (">", ">="):
        return min(values)
    return max(values, key=lambda value: abs(value - expected))
