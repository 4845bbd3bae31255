"""When records arrive in a partition and when they become visible, as arithmetic.

There is no event for each record. Each pattern of arrivals answers two questions about records
``0, 1, …`` of one partition: how many have arrived by an instant, and when record ``k`` arrives.
Memory does not grow with the run, apart from one checkpoint every few minutes of a Poisson stream.

Undisturbed, all that was appended by ``now - replication`` is visible at ``now``. While the high
watermark is stalled no record becomes visible; while it lags, every record becomes visible later.

Producers with ``acks=all`` wait for the high watermark. A leader handles their requests in flight
one at a time, each when the one before is replicated. So when a high watermark moves again, it
passes one request after the other first: the first polls return single records of each partition.
(Real producers share their requests among the partitions of a leader: in the capture
coordinator-kill two were for one, three for the other. Here each partition has its own; the
difference is a few milliseconds.)
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from emulator.scenario.estimates.periods import per_microsecond
from emulator.scenario.model import BurstShape
from emulator.world.draws import draw

SECOND_US = 1_000_000
NEVER = 1 << 62
"""Later than every instant of a run."""


class Arrivals(Protocol):
    """The records of one partition, in order of arrival."""

    def count(self, until_us: int) -> int:
        """Return how many records have arrived at or before ``until_us``."""

    def time(self, index: int) -> int:
        """Return when record ``index`` arrives; ``NEVER`` if it does not."""

    def phase(self, index: int) -> int | None:
        """Return what decides the intervals after record ``index``; None: no finite rule."""


class Steady:
    """One record every ``period_us``, the first at ``begin_us``."""

    __slots__ = ("_begin", "_denominator", "_end", "_numerator")

    def __init__(self, period_us: Fraction, begin_us: int, end_us: int) -> None:
        self._numerator = period_us.numerator
        self._denominator = period_us.denominator
        self._begin = begin_us
        self._end = end_us

    def count(self, until_us: int) -> int:
        """Return how many records have arrived at or before ``until_us``."""
        until_us = min(until_us, self._end - 1)
        elapsed = until_us - self._begin
        if elapsed < 0:
            return 0
        return ((elapsed + 1) * self._denominator - 1) // self._numerator + 1

    def time(self, index: int) -> int:
        """Return when record ``index`` arrives."""
        when = self._begin + index * self._numerator // self._denominator
        return when if when < self._end else NEVER

    def phase(self, index: int) -> int:
        """Return the fraction of a microsecond that was rounded off its time."""
        return index * self._numerator % self._denominator


class Silent:
    """A pattern without any arrivals."""

    __slots__ = ()

    def count(self, until_us: int) -> int:
        """Return 0."""
        del until_us
        return 0

    def time(self, index: int) -> int:
        """Return ``NEVER``."""
        del index
        return NEVER

    def phase(self, index: int) -> int:
        """Return 0: there are no intervals."""
        del index
        return 0


class Appended:
    """Records that consumers append while the run is played."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: list[int] = []

    def add(self, at_us: int) -> None:
        """Add a record that arrives now or later."""
        insort(self._times, at_us)

    def count(self, until_us: int) -> int:
        """Return how many records have arrived at or before ``until_us``."""
        return bisect_right(self._times, until_us)

    def time(self, index: int) -> int:
        """Return when record ``index`` arrives; ``NEVER`` if it was not appended yet."""
        return self._times[index] if index < len(self._times) else NEVER

    def phase(self, index: int) -> None:
        """Return None: there is no rule."""
        del index


class Alternating:
    """Bursts: ``rate`` for a while, ``between`` for the rest of each cycle."""

    __slots__ = ("_begin", "_end", "_fast", "_inside", "_per_cycle", "_slow", "_whole")

    def __init__(self, shape: BurstShape, factor: float, begin_us: int, end_us: int) -> None:
        assert shape.every is not None, "bursts at given times are segments"
        self._fast = per_microsecond(shape.rate * factor)
        self._slow = per_microsecond(shape.between * factor)
        self._inside = shape.lasting
        self._whole = shape.every
        self._per_cycle = self._produced(shape.every)
        self._begin = begin_us
        self._end = end_us

    def _produced(self, elapsed_us: int) -> Fraction:
        """Return the (fractional) records of the first ``elapsed_us`` of a cycle."""
        fast = min(elapsed_us, self._inside)
        return self._fast * fast + self._slow * (elapsed_us - fast)

    def count(self, until_us: int) -> int:
        """Return how many records have arrived at or before ``until_us``."""
        elapsed = min(until_us, self._end - 1) - self._begin
        if elapsed < 0:
            return 0
        cycles, rest = divmod(elapsed, self._whole)
        return int(cycles * self._per_cycle + self._produced(rest))

    def time(self, index: int) -> int:
        """Return when record ``index`` arrives: when the count reaches ``index`` + 1."""
        if not self._per_cycle:
            return NEVER
        cycles = max(0, math.ceil((index + 1) / self._per_cycle) - 1)
        left = index + 1 - cycles * self._per_cycle
        at_fast = self._fast * self._inside
        if left <= at_fast:
            rest = left / self._fast
        elif self._slow:
            rest = self._inside + (left - at_fast) / self._slow
        else:
            rest = Fraction(self._whole) + left / self._fast
        when = self._begin + cycles * self._whole + math.ceil(rest)
        return when if when < self._end else NEVER

    def phase(self, index: int) -> None:
        """Return None: bursts are not followed as a rule."""
        del index


class Independent:
    """A Poisson stream, drawn second by second; any second can be drawn again."""

    __slots__ = ("_begin", "_checkpoints", "_drawn", "_end", "_key", "_last", "_mean")

    _STRIDE = 256

    def __init__(self, rate: float, key: int, begin_us: int, end_us: int) -> None:
        self._mean = rate
        self._key = key
        self._begin = begin_us
        self._end = end_us
        self._checkpoints = [0]
        self._last: tuple[int, int] = (0, 0)
        self._drawn: tuple[int, list[int]] = (-1, [])

    def _times(self, second: int) -> list[int]:
        """Return the arrivals of one second, in microseconds since its beginning, in order."""
        if self._drawn[0] != second:
            self._drawn = (second, self._draw(second))
        return self._drawn[1]

    def _draw(self, second: int) -> list[int]:
        base = second << 20
        found: list[int] = []
        elapsed = 0.0
        for step in range(1 << 20):
            elapsed -= math.log1p(-draw(self._key, base + step)) / self._mean
            if elapsed >= 1:
                return found
            found.append(int(elapsed * SECOND_US))
        raise AssertionError("more than a million records in a second of one partition")

    def _before(self, second: int) -> int:
        """Return how many records arrive before ``second``."""
        known, total = self._last
        if known > second:
            known = min(second // self._STRIDE, len(self._checkpoints) - 1) * self._STRIDE
            total = self._checkpoints[known // self._STRIDE]
        while known < second:
            total += len(self._times(known))
            known += 1
            if known == len(self._checkpoints) * self._STRIDE:
                self._checkpoints.append(total)
        self._last = (known, total)
        return total

    def count(self, until_us: int) -> int:
        """Return how many records have arrived at or before ``until_us``."""
        elapsed = min(until_us, self._end - 1) - self._begin
        if elapsed < 0:
            return 0
        second, rest = divmod(elapsed, SECOND_US)
        return self._before(second) + bisect_right(self._times(second), rest)

    def time(self, index: int) -> int:
        """Return when record ``index`` arrives."""
        second, before = self._last
        if before > index:
            block = bisect_right(self._checkpoints, index) - 1
            second = block * self._STRIDE
            before = self._checkpoints[block]
        while self._begin + second * SECOND_US < self._end:
            times = self._times(second)
            if index < before + len(times):
                when = self._begin + second * SECOND_US + times[index - before]
                return when if when < self._end else NEVER
            second += 1
            before = self._before(second)
        return NEVER

    def phase(self, index: int) -> None:
        """Return None: the intervals are drawn."""
        del index


_KEPT = 32
"""The number of spells that are kept; only the recent past is queried."""


IN_FLIGHT = 5
"""``max.in.flight.requests.per.connection``: the most requests that a producer has in flight."""

TURNS = IN_FLIGHT + 1
"""The number of replications after which the remaining records are visible, their own included."""


class Visibility:
    """The visible records of one partition by time; append times are in microseconds."""

    __slots__ = ("_lag_us", "_replication_us", "_spells")

    def __init__(self, replication_us: int) -> None:
        self._replication_us = replication_us
        self._lag_us = replication_us
        self._spells: list[tuple[int, int, int]] = []
        """Start; append time visible at the start; additional delay since then."""

    @property
    def disturbed(self) -> bool:
        """Whether it ever stalled or lagged."""
        return bool(self._spells)

    @property
    def is_stalled(self) -> bool:
        """Whether the high watermark cannot advance."""
        return self._lag_us == NEVER

    def is_steady(self, appended_us: int) -> bool:
        """Return whether records appended from then on become visible at the present lag."""
        return not self._spells or (not self.is_stalled and appended_us > self._spells[-1][0])

    def as_of(self, now: int) -> int:
        """Return the append time up to which everything is visible at ``now``."""
        for begin, reached, lag in reversed(self._spells):
            if begin <= now:
                return max(reached, now - lag)
        return now - self._replication_us

    def when(self, appended_us: int) -> int:
        """Return when a record appended then becomes visible; ``NEVER`` if not known yet."""
        if self._spells and appended_us > self._spells[-1][0]:
            return min(appended_us + self._spells[-1][2], NEVER)
        visible = appended_us + self._replication_us
        for index, (begin, reached, lag) in enumerate(self._spells):
            if visible < begin:
                break
            if reached >= appended_us:
                return begin
            visible = appended_us + lag
            last = index + 1 == len(self._spells)
            if not last and visible < self._spells[index + 1][0]:
                break
        return min(visible, NEVER)

    def stall(self, now: int) -> None:
        """Stall: from now on no record becomes visible, nor those appended at this instant."""
        self._set_lag(now, NEVER, now - 1)

    def move(self, now: int, late_us: int = 0, in_flight: Sequence[int] = ()) -> None:
        """Advance the high watermark again from now on, later than usual by *late_us*.

        *late_us*: minus one replication time if the leader waits for no follower.
        *in_flight*: append times, rising, of the records that become visible first, one per
        replication.
        """
        lag_us = self._replication_us + late_us
        if not lag_us or not in_flight or not self.is_stalled:
            self._set_lag(now, lag_us)
            return
        for turn, appended_us in enumerate(in_flight):
            self._spells.append((now + turn * lag_us, appended_us, NEVER))
        self._set_lag(now + TURNS * lag_us, lag_us)

    def _set_lag(self, now: int, lag_us: int, max_us: int = NEVER) -> None:
        """Begin a spell now; of two that begin at the same instant, the later one holds."""
        if lag_us == self._lag_us:
            return
        reached = min(self.as_of(now), max_us)
        self._lag_us = lag_us
        self._spells = [spell for spell in self._spells if spell[0] < now]
        self._spells.append((now, max(reached, now - lag_us), lag_us))
        del self._spells[:-_KEPT]
