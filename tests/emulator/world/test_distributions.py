"""Distributions of a scenario as samplers: what was asked for is what comes."""

from __future__ import annotations

from statistics import fmean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.scenario.model import (
    Constant,
    Exponential,
    Lognormal,
    LognormalShape,
    Pareto,
    ParetoShape,
    Trace,
    Uniform,
)
from emulator.world.draws import constant_of, sampler, stream_key

KEY = stream_key(3, "work", "t-0")
DRAWS = 20_000

ALL = [
    Constant(constant=1_234),
    Uniform(uniform=(100, 900)),
    Exponential(exponential=10_000),
    Lognormal(lognormal=LognormalShape(median=3_000, p99=300_000)),
    Pareto(pareto=ParetoShape(minimum=1_000, alpha=1.5, maximum=50_000)),
    Pareto(pareto=ParetoShape(minimum=1_000, alpha=2.5)),
    Trace(trace=(5, 50, 500)),
]

every_kind = pytest.mark.parametrize("distribution", ALL, ids=repr)


def drawn(distribution, draws=DRAWS):
    sample = sampler(distribution, KEY)
    return [sample(address) for address in range(draws)]


def quantile(values, share):
    return sorted(values)[int(share * len(values))]


@every_kind
def test_samples_are_whole_microseconds_and_never_negative(distribution):
    """As all times of a run."""
    values = drawn(distribution, 2_000)

    assert {int} == {type(value) for value in values}
    assert 0 <= min(values)


@every_kind
@given(order=st.permutations(range(12)))
def test_a_sample_depends_on_its_address_alone(distribution, order):
    """Not on what was sampled before it, nor on which sampler of the stream is asked."""
    sample = sampler(distribution, KEY)

    assert drawn(distribution, 12) == [value for _, value in sorted((a, sample(a)) for a in order)]


def test_a_constant_is_always_the_same_and_says_so():
    """Others have no one value."""
    assert [1_234] * 5 == drawn(ALL[0], 5)
    assert [1_234] + [None] * 6 == [constant_of(distribution) for distribution in ALL]


def test_uniform_times_reach_both_ends_and_all_between():
    """Each as likely as any other."""
    values = drawn(Uniform(uniform=(10, 14)))

    assert {10, 11, 12, 13, 14} == set(values)
    assert all(values.count(value) == pytest.approx(DRAWS / 5, rel=0.05) for value in set(values))


def test_a_uniform_of_one_time_is_that_time():
    """The ends may be equal."""
    assert {7} == set(drawn(Uniform(uniform=(7, 7)), 100))


def test_exponential_times_have_the_mean_asked_for():
    """With the median and tail of a memoryless stream."""
    values = drawn(Exponential(exponential=10_000))

    assert 10_000 == pytest.approx(fmean(values), rel=0.03)
    assert 6_931 == pytest.approx(median(values), rel=0.04)
    assert 46_052 == pytest.approx(quantile(values, 0.99), rel=0.08)


def test_lognormal_times_have_the_median_and_p99_asked_for():
    """Those two numbers say everything about them."""
    values = drawn(Lognormal(lognormal=LognormalShape(median=3_000, p99=300_000)))

    assert 3_000 == pytest.approx(median(values), rel=0.06)
    assert 300_000 == pytest.approx(quantile(values, 0.99), rel=0.15)


def test_a_lognormal_without_spread_is_its_median():
    """A p99 equal to the median leaves no room."""
    shape = LognormalShape(median=5_000, p99=5_000)

    assert {5_000} == set(drawn(Lognormal(lognormal=shape), 500))


def test_pareto_times_begin_at_their_minimum_and_have_its_tail():
    """The share beyond ten times the minimum is ten to the minus alpha."""
    values = drawn(Pareto(pareto=ParetoShape(minimum=1_000, alpha=1.5)))
    beyond = sum(1 for value in values if value >= 10_000) / DRAWS

    assert 1_000 <= min(values) < 1_010
    assert 10**-1.5 == pytest.approx(beyond, rel=0.1)


def test_pareto_times_longer_than_the_maximum_are_cut_to_it():
    """All others are as without one."""
    free = drawn(Pareto(pareto=ParetoShape(minimum=1_000, alpha=1.5)))
    cut = drawn(Pareto(pareto=ParetoShape(minimum=1_000, alpha=1.5, maximum=4_000)))

    assert [min(value, 4_000) for value in free] == cut
    assert 4_000 in cut


def test_a_trace_is_replayed_in_order_and_begins_again():
    """By address: record offset 4 takes the time on line 4 modulo its length."""
    assert [5, 50, 500, 5, 50, 500, 5] == drawn(Trace(trace=(5, 50, 500)), 7)
