"""Quantiles and means over seeds with their intervals."""

from __future__ import annotations

from hashlib import blake2b
from statistics import NormalDist

import pytest

from emulator.metrics.distribution import compare, mean, quantile, student, summarise

TRIALS = 700


def uniform(*address):
    digest = blake2b(repr(address).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@pytest.mark.parametrize(
    ("freedom", "critical"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (9, 2.2622), (30, 2.0423), (999, 1.9623)],
)
def test_students_quantiles_are_the_tabled_ones(freedom, critical):
    """Two-sided 95 percent, from printed tables."""
    assert critical == round(student(0.975, freedom), 4)


def test_student_approaches_the_normal_distribution():
    """With many degrees of freedom the quantile is the normal one."""
    assert abs(student(0.975, 100_000) - NormalDist().inv_cdf(0.975)) < 1e-4


def test_a_quantile_needs_enough_values():
    """Five values cannot bound their median at 95 percent, six can."""
    few, enough = quantile(range(5), 0.5), quantile(range(6), 0.5)

    assert (None, None) == (few.low, few.high)
    assert (0, 5) == (enough.low, enough.high)
    assert round(1 - 2 / 64, 9) == round(enough.confidence, 9)


def test_a_high_percentile_of_few_seeds_is_open_above():
    """Twenty runs say from where the 95th percentile lies, not up to where."""
    estimate = quantile(range(20), 0.95)

    assert (18, None) == (estimate.value, estimate.high)
    assert estimate.low is not None


@pytest.mark.parametrize(("q", "n"), [(0.5, 25), (0.9, 60), (0.95, 100)])
def test_intervals_cover_the_true_quantile_as_often_as_they_say(q, n):
    """Over many samples of a skewed distribution the share of hits is at least 95 percent."""
    hits = 0
    for trial in range(TRIALS):
        sample = [uniform(trial, q, index) ** 3 for index in range(n)]
        estimate = quantile(sample, q)
        above = estimate.low is None or estimate.low <= q**3
        hits += above and (estimate.high is None or q**3 <= estimate.high)

    assert hits / TRIALS >= 0.94


def test_one_value_has_a_mean_and_no_interval():
    """A single seed says nothing of the spread."""
    estimate = mean([7])

    assert (7, None, None) == (estimate.value, estimate.low, estimate.high)


def test_a_summary_has_the_ends_and_the_middle():
    """Minimum, median, high percentiles, maximum."""
    summary = summarise(list(range(1, 1001)))

    assert (1, 500, 950, 990, 1000) == (
        summary.minimum,
        summary.median.value,
        summary.p95.value,
        summary.p99.value,
        summary.maximum,
    )


def test_pairs_are_compared_seed_by_seed():
    """A difference that every seed shows is certain though the runs scatter widely."""
    first = [1000 * uniform("run", seed) for seed in range(20)]
    second = [value - 5 - uniform("noise", seed) for seed, value in enumerate(first)]
    comparison = compare(first, second)

    assert (20, 0, 0) == (comparison.less, comparison.equal, comparison.more)
    assert comparison.mean.high is not None
    assert comparison.mean.high < -5
    assert comparison.median.high is not None
    assert comparison.median.high < -5


def test_runs_that_do_not_pair_are_refused():
    """Both settings need the same seeds."""
    with pytest.raises(ValueError, match="3 and 2 runs"):
        compare([1, 2, 3], [1, 2])
