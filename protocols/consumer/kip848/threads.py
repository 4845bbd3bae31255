"""How long the two threads of a consumer take to run once there is something for them to do.

The application thread and the background thread share positions and the buffer of records, and
nothing orders what they do with them but time. What an automatic commit covers is therefore a
matter of fractions of a millisecond (spec kip848 3.10), which the host draws by address.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from math import exp
from statistics import NormalDist


class Lag(enum.StrEnum):
    """What a thread needs its time for."""

    EVENT = "background thread: from the queuing of an event to taking it"
    ROUND = "background thread: from an answer to taking events that are queued"
    WAKE = "application thread: from the end of a wait to looking at the buffer"
    TAKE = "application thread: from queuing its event to taking records"


Lags = Callable[[Lag, int], int]
"""Microseconds a thread needs, by what it needs them for and when that begins."""

EACH_RECORD_US = 4
"""What taking one record costs the application thread."""

MEDIAN_US = 1_400
"""Of the time a thread needs to wake up, as measured on a busy machine; about 500 on a quiet one."""

SPREAD = 0.6
"""Standard deviation of that time's logarithm."""

_LEAST = 1e-9
"""Draws are kept so far from 0 and 1, where a lognormal time would have no bounds."""

_TAKES_US = (150, 300)
_ROUNDS_US = (50, 300)


def at_once(lag: Lag, now: int) -> int:
    """Let both threads run as soon as there is something to do: 0."""
    del lag, now
    return 0


def measured(
    draw: Callable[[Lag, int], float], median_us: int = MEDIAN_US, spread: float = SPREAD
) -> Lags:
    """Return lags as they were measured: waking up is lognormal, the rest uniform.

    *draw*: a number in [0, 1) for (what it is for, when); *median_us*: of a wake-up; *spread*:
    standard deviation of its logarithm.

    >>> lags = measured(lambda _what, _when: 0.5, median_us=500)
    >>> [lags(lag, 0) for lag in Lag]
    [500, 175, 500, 225]
    """
    quantile = NormalDist(0, spread).inv_cdf
    uniform = {Lag.TAKE: _TAKES_US, Lag.ROUND: _ROUNDS_US}

    def lag_us(lag: Lag, now: int) -> int:
        drawn = draw(lag, now)
        bounds = uniform.get(lag)
        if bounds is not None:
            return _uniform(bounds, drawn)
        if not _LEAST < drawn < 1 - _LEAST:
            drawn = min(max(drawn, _LEAST), 1 - _LEAST)
        return round(median_us * exp(quantile(drawn)))

    return lag_us


def _uniform(bounds: tuple[int, int], drawn: float) -> int:
    low, high = bounds
    return round(low + (high - low) * drawn)
