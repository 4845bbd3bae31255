"""Means as reports show them: with their interval, or with the range of few values."""

from __future__ import annotations

from collections.abc import Callable

from emulator.metrics.distribution import MIN_RUNS, Comparison, Summary
from emulator.report.wording import figure

_DECIMALS = 9
"""Rounding to these hides the floating-point error of an interval of width 0."""

BESIDE_MEANS = (
    f"After a mean: ± half of its interval; of fewer than {MIN_RUNS} runs, their smallest and largest "
    "value in brackets."
)


def with_band(of: Summary | Comparison, words: Callable[[float], str] = figure) -> str:
    """Return a mean with half the width of its interval, or with the range of few values.

    >>> from emulator.metrics.distribution import summarise
    >>> with_band(summarise([1, 659])), with_band(summarise([3, 3])), with_band(summarise([4]))
    ('330 (1 to 659)', '3', '4')
    """
    mean, (low, high) = words(of.mean.value), of.band
    half = round(high - of.mean.value, _DECIMALS)
    if not half:
        return mean
    if of.runs < MIN_RUNS:
        return f"{mean} ({words(low)} to {words(high)})"
    return f"{mean} ± {figure(half)}"


def beside_means(runs: int) -> str:
    """Return what a report of that many runs shows with each mean.

    >>> beside_means(2), beside_means(20)
    ('the smallest and the largest of them', 'their 95 % confidence interval')
    """
    return (
        "the smallest and the largest of them"
        if runs < MIN_RUNS
        else "their 95 % confidence interval"
    )


def few_seeds(runs: int) -> str:
    """Return a clause that a difference of that many runs may be chance; empty: they are enough.

    >>> few_seeds(2), few_seeds(20)
    ('; with so few a difference may be chance', '')
    """
    return "; with so few a difference may be chance" if runs < MIN_RUNS else ""
