"""Random numbers by address: a pure function of seed, stream, party and time.

There is no generator whose order of use could matter, so the same seed gives the same world under
any protocol, and a comparison of two runs is a paired difference.
"""

from __future__ import annotations

import base64
import hashlib
import math
import uuid
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

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_SCALE = 2.0**-53
_APART = 1 << 40
"""The distance to the next address to try, where the first draw cannot be used."""


def stream_key(seed: int, stream: str, who: str) -> int:
    """Return the 64-bit key of one stream of one party."""
    text = f"{seed}\x00{stream}\x00{who}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def draw(key: int, address: int) -> float:
    """Return the number in [0, 1) at ``address`` of a stream.

    The mixing is SplitMix64's (Steele, Lea and Flood, 2014): every address is a fresh state.

    >>> draw(1, 7) == draw(1, 7), draw(1, 7) == draw(1, 8)
    (True, False)
    """
    z = (key + address * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) * _SCALE


def text_id(key: int, address: int) -> str:
    """Return 36 characters in the shape of a random UUID."""
    high = int(draw(key, 2 * address) * (1 << 53)) << 11
    low = int(draw(key, 2 * address + 1) * (1 << 53)) << 11
    digits = f"{high:016x}{low:016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def base64_id(key: int, address: int) -> str:
    """Return 22 characters as of ``Uuid.randomUuid``: URL-safe base64, no leading dash."""
    printed = "-"
    while printed.startswith("-"):
        printed = base64.urlsafe_b64encode(uuid.UUID(text_id(key, address)).bytes)[:22].decode()
        address += _APART
    return printed


Sampler = Callable[[int], int]
"""Returns a time in microseconds by address; the same address always gives the same time."""

_NORMAL = NormalDist()
_P99 = _NORMAL.inv_cdf(0.99)
_MIN, _MAX = 1e-12, 1 - 1e-12
"""The range of a normal distribution's probabilities that is used."""


def constant_of(distribution: Distribution) -> int | None:
    """Return the value of a distribution that has only one value, else None."""
    return distribution.constant if isinstance(distribution, Constant) else None


def sampler(distribution: Distribution, key: int) -> Sampler:
    """Return the sampler of a distribution with the random numbers of ``key``."""
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
    """Return a sampler with :func:`draw` in line: runs with such delays take most draws here."""

    def sample(address: int) -> int:
        z = (key + address * _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        u = ((z ^ (z >> 31)) >> 11) * _SCALE
        if not _MIN < u < _MAX:
            u = min(max(u, _MIN), _MAX)
        return int(median * exp(sigma * inv_cdf(u)))

    exp, inv_cdf = math.exp, _NORMAL.inv_cdf
    return sample


def _pareto(key: int, minimum: int, exponent: float, maximum: int | None) -> Sampler:
    def sample(address: int) -> int:
        value = int(minimum * (1 - draw(key, address)) ** -exponent)
        return value if maximum is None else min(value, maximum)

    return sample
