"""Summarise runs of many seeds as distributions: quantiles and means with confidence intervals.

No shape is assumed for quantiles. The *q*-quantile of *n* values is the order statistic ``x[ceil(n
q)]``; an interval between two order statistics covers the true quantile with a probability that the
binomial distribution gives exactly, for any distribution of the values (Conover, *Practical
Nonparametric Statistics*, 3.2). Where *n* is too small for the requested confidence, an end of the
interval is open (None). Means, and means of paired differences, get Student's t interval; its
quantile is found by bisection of the exact distribution function.

SciPy has both distributions and gives the same figures to 12 digits. It is not used because it
costs more than the 60 lines that it would replace: 143 MB to install, and 0.2 s of CPU time
(``scipy.special``; ``scipy.stats`` 0.9 s) at the start of every command with several seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from assignors.values import dataclass

CONFIDENCE = 0.95

_DECIMALS = 9
"""Decimals kept: smaller differences between equal times are rounding errors of floating point."""

_ACCURACY = 1e-12

MIN_RUNS = 5
"""Means of fewer values are shown with the values' range: an interval of theirs says nothing.

Half of the interval of two values is 6.4 times as wide as their range, of four up to 0.9 times."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured figure with its interval, which contains the true figure with ``confidence``."""

    value: float
    low: float | None
    """None: too few values for a lower bound."""

    high: float | None
    """None: too few values for an upper bound."""

    confidence: float
    """At least the requested confidence if neither end is open."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric over seeds."""

    runs: int
    """The number of runs in which the metric has a value."""

    mean: Estimate
    minimum: float
    median: Estimate
    p95: Estimate
    p99: Estimate
    maximum: float

    @property
    def band(self) -> tuple[float, float]:
        """The ends of what is shown with the mean: its interval, or the range of few values."""
        return _band(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences second minus first, seed by seed."""

    runs: int
    """Number of seeds in which both settings have a value."""

    mean: Estimate
    median: Estimate
    less: int
    """Number of seeds in which the second setting had less."""

    equal: int
    """Number of seeds without a difference."""

    more: int
    """Number of seeds in which the second setting had more."""

    minimum: float
    maximum: float

    @property
    def band(self) -> tuple[float, float]:
        """The ends of what is shown with the mean: its interval, or the range of few differences."""
        return _band(self)

    @property
    def may_be_chance(self) -> bool:
        """Whether the difference may be chance: no test at 5 % finds that there is one.

        The tests are Student's t (the interval of the mean contains 0), and the sign test: without a
        difference as many pairs have the same sign less often than once in 20 (Conover, 3.4).
        """
        low, high = self.mean.low, self.mean.high
        if low is not None and high is not None and (low > 0 or high < 0):
            return False
        fewer, more = sorted((self.less, self.more))
        unequal = fewer + more
        tail = sum(math.comb(unequal, k) for k in range(fewer + 1))
        return bool(2 * tail > (1 - CONFIDENCE) * 2**unequal)


def _band(of: Summary | Comparison) -> tuple[float, float]:
    low, high = of.mean.low, of.mean.high
    if of.runs < MIN_RUNS or low is None or high is None:
        return of.minimum, of.maximum
    return low, high


def summarise(values: Sequence[float]) -> Summary:
    """Return the distribution of one metric over seeds; *values* must not be empty."""
    return Summary(
        runs=len(values),
        mean=mean(values, CONFIDENCE),
        minimum=min(values),
        median=quantile(values, 0.5, CONFIDENCE),
        p95=quantile(values, 0.95, CONFIDENCE),
        p99=quantile(values, 0.99, CONFIDENCE),
        maximum=max(values),
    )


def compare(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE
) -> Comparison:
    """Return how *second* differs from *first*; both are in order of the same seeds.

    Raise ValueError if their lengths differ.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"{len(first)} and {len(second)} runs do not make pairs")
    differences = [
        round(after - before, _DECIMALS) for before, after in zip(first, second, strict=True)
    ]
    return Comparison(
        runs=len(differences),
        mean=mean(differences, confidence),
        median=quantile(differences, 0.5, confidence),
        less=sum(difference < 0 for difference in differences),
        equal=sum(difference == 0 for difference in differences),
        more=sum(difference > 0 for difference in differences),
        minimum=min(differences),
        maximum=max(differences),
    )


def order_statistic(values: Sequence[float], q: float) -> float:
    """Return the smallest value that at least a share *q* of the values does not exceed.

    >>> order_statistic([3, 1, 2, 4], 0.5)
    2
    """
    ordered = sorted(values)
    return ordered[max(1, math.ceil(len(ordered) * q - _ACCURACY)) - 1]


def quantile(values: Sequence[float], q: float, confidence: float = CONFIDENCE) -> Estimate:
    """Return a quantile with its distribution-free interval.

    >>> quantile(range(1, 101), 0.5)  # doctest: +ELLIPSIS
    Estimate(value=50, low=40, high=61, confidence=0.96479...)
    """
    ordered = sorted(values)
    low, high, reached = _ranks(len(ordered), q, confidence)
    return Estimate(
        value=order_statistic(ordered, q),
        low=None if low is None else ordered[low],
        high=None if high is None else ordered[high],
        confidence=reached,
    )


@lru_cache
def _ranks(n: int, q: float, confidence: float) -> tuple[int | None, int | None, float]:
    """Return the ranks of the interval's ends among *n* ordered values, and its confidence."""
    below, tail = _below(n, q), (1 - confidence) / 2
    low = max((k for k, share in enumerate(below) if share <= tail), default=None)
    high = min((k for k, share in enumerate(below) if share >= 1 - tail), default=None)
    reached = (1.0 if high is None else below[high]) - (0.0 if low is None else below[low])
    return low, high, reached


def _below(n: int, q: float) -> list[float]:
    """Return, for each k < n, the probability that at most k of n values are below the quantile.

    The interval from ``ordered[low]`` to ``ordered[high]`` contains the quantile with at least the
    probability of *high* minus that of *low*.
    """
    total, shares = 0.0, []
    for k in range(n):
        total += math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(q)
            + (n - k) * math.log1p(-q)
        )
        shares.append(min(total, 1.0))
    return shares


def mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean with Student's t interval; a single value has no interval.

    >>> mean([1, 2, 3, 4, 5])  # doctest: +ELLIPSIS
    Estimate(value=3.0, low=1.0367..., high=4.9632..., confidence=0.95)
    """
    n = len(values)
    middle = math.fsum(values) / n
    if n == 1:
        return Estimate(middle, None, None, confidence)
    spread = math.fsum((value - middle) ** 2 for value in values) / (n - 1)
    reach = student(1 - (1 - confidence) / 2, n - 1) * math.sqrt(spread / n)
    return Estimate(middle, middle - reach, middle + reach, confidence)


@lru_cache
def student(share: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution for a *share* of at least one half.

    >>> round(student(0.975, 9), 4)
    2.2622
    """
    low, high = 0.0, 1.0
    while _student_below(high, freedom) < share:
        high *= 2
    while high - low > _ACCURACY * max(1.0, high):
        middle = (low + high) / 2
        if _student_below(middle, freedom) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _student_below(t: float, freedom: int) -> float:
    """Return the distribution function of Student's t at *t* >= 0.

    It uses the closed sums for integer degrees of freedom (Abramowitz and Stegun, 26.7.3 and
    26.7.4).
    """
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    within = (angle + sine * total) * 2 / math.pi if odd else sine * total
    return 0.5 + within / 2
