"""Distributions of a scenario as functions from an address to microseconds."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from emulator.scenario.model import (
    Constant,
    Distribution,
    Exponential,
    Lognormal,
    Pareto,
    Trace,
    Uniform,
)
from emulator.world.draws import draw

Sampler = Callable[[int], int]
"""Address to microseconds; the same address gives the same time, always."""

_NORMAL = NormalDist()
_P99 = _NORMAL.inv_cdf(0.99)


def constant_of(distribution: Distribution) -> int | None:
    """Return the one value of a distribution that has one, None for the others."""
    return distribution.constant if isinstance(distribution, Constant) else None


def sampler(distribution: Distribution, key: int) -> Sampler:
    """Return the sampler of a distribution whose random numbers are those of ``key``."""
    match distribution:
        case Constant(constant=value):
            return lambda _: value
        case Uniform(uniform=(low, high)):
            return lambda address: low + int(draw(key, address) * (high - low + 1))
        case Exponential(exponential=mean):
            return lambda address: int(-mean * math.log1p(-draw(key, address)))
        case Lognormal(lognormal=shape):
            sigma = math.log(shape.p99 / shape.median) / _P99
            return _lognormal(key, shape.median, sigma)
        case Pareto(pareto=shape):
            return _pareto(key, shape.minimum, 1 / shape.alpha, shape.maximum)
        case Trace(trace=times):
            return lambda address: times[address % len(times)]
    raise AssertionError(distribution)


def _lognormal(key: int, median: int, sigma: float) -> Sampler:
    def sample(address: int) -> int:
        u = draw(key, address)
        return int(median * math.exp(sigma * _NORMAL.inv_cdf(min(max(u, 1e-12), 1 - 1e-12))))

    return sample


def _pareto(key: int, minimum: int, exponent: float, maximum: int | None) -> Sampler:
    def sample(address: int) -> int:
        value = int(minimum * (1 - draw(key, address)) ** -exponent)
        return value if maximum is None else min(value, maximum)

    return sample
