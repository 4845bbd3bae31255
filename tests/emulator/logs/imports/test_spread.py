"""A spread is small, and its quantiles are nearly those of the numbers themselves."""

from __future__ import annotations

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from emulator.logs.imports.progress import Spread, merged

NUMBERS = st.lists(st.integers(0, 10**12), min_size=1)


def spread_of(numbers) -> Spread:
    spread = Spread()
    for number in numbers:
        spread.add(number)
    return spread


@given(NUMBERS, st.sampled_from([0.01, 0.5, 0.95, 1.0]))
def test_a_quantile_is_at_most_a_hundredth_too_small(numbers, share):
    """Small numbers are kept as they are."""
    exact = sorted(numbers)[ceil(share * len(numbers)) - 1]
    approximated = spread_of(numbers).quantile(share)

    assert exact * 0.99 <= approximated <= exact


@given(NUMBERS, NUMBERS)
def test_parts_merge_to_the_whole(some, others):
    """In whatever order they come."""
    assert spread_of(others + some) == merged([spread_of(some), spread_of(others)])
    assert len(some) + len(others) == spread_of(some + others).total


def test_of_nothing_there_is_no_quantile():
    """An empty spread has none."""
    assert Spread().quantile(0.5) is None


def test_very_many_different_numbers_take_few_places():
    """Memory does not grow with them."""
    spread = Spread()
    for number in range(0, 10**9, 9_973):
        spread.add(number)

    assert len(spread.counts) < 4_000
