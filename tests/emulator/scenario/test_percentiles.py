"""The 99th percentile of each kind of distribution."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from emulator.scenario.tables.distributions import Distribution, p99_us
from emulator.world.draws import sampler

DRAWS = 20_000


@pytest.mark.parametrize(
    "table",
    [
        {"constant": "2s"},
        {"uniform": ("1s", "3s")},
        {"exponential": "2s"},
        {"lognormal": {"median": "2s", "p99": "9s"}},
        {"pareto": {"minimum": "1s", "alpha": 2.0}},
        {"pareto": {"minimum": "1s", "alpha": 0.5, "maximum": "20s"}},
    ],
    ids=str,
)
def test_99_of_100_draws_are_not_longer(table):
    distribution = TypeAdapter(Distribution).validate_python(table)
    draw, max_us = sampler(distribution, 7), p99_us(distribution)

    assert 0.985 < sum(draw(at) <= max_us + 1 for at in range(DRAWS)) / DRAWS
    assert 0.97 * max_us < sorted(map(draw, range(DRAWS)))[int(DRAWS * 0.992)]
