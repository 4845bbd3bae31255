"""Arrivals at a rate that changes, as arithmetic in integers.

The produced amount is the integral of the rate. Record ``k`` arrives when it reaches ``k + 1``. Amounts
are counted in units in which every rate and every slope is a whole number, so that counts and times
agree to the microsecond, however long the run is.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

from emulator.scenario.estimates.periods import per_microsecond
from emulator.scenario.tables.rates import Segments
from emulator.world.cluster.partitions.arrivals import NEVER


class _Line(NamedTuple):
    """The amount produced in one segment: ``even * x + bend * x * x`` units after x microseconds."""

    even: int
    bend: int

    def amount(self, elapsed_us: int) -> int:
        """Return the units produced so long after the beginning of the segment."""
        return (self.even + self.bend * elapsed_us) * elapsed_us

    def elapsed_us(self, amount: int) -> int:
        """Return the least time after which so many units, more than 0, are produced; they are."""
        if not self.bend:
            return -(-amount // self.even)
        root = math.isqrt(max(self.even**2 + 4 * self.bend * amount, 0))
        found = max((root - self.even) // (2 * self.bend), 0)
        while self.amount(found) < amount:
            found += 1
        while self.amount(found - 1) >= amount:
            found -= 1
        return found


class Varying:
    """A rate that changes: in each segment constant, or a straight line."""

    __slots__ = ("_before", "_begin", "_begins", "_end", "_every", "_first", "_lines", "_unit")

    def __init__(
        self, segments: Segments, factor: float, begin_us: int, end_us: int, stagger: Fraction
    ) -> None:
        """Produce from *begin_us* to *end_us*; *factor*: on all rates.

        *stagger*: the part of the first record that is produced when it begins.
        """
        parts, self._every = segments
        self._begins = [part.begin_us for part in parts]
        rates = [
            (per_microsecond(p.first * factor), per_microsecond(p.last * factor)) for p in parts
        ]
        lengths = [*(end - begin for begin, end in pairwise(self._begins)), 0]
        lengths[-1] = 0 if self._every is None else self._every - self._begins[-1]
        sloped = [2 * n for n, (first, last) in zip(lengths, rates, strict=True) if first != last]
        whole = math.lcm(*(rate.denominator for pair in rates for rate in pair))
        self._unit = whole * math.lcm(*sloped) if sloped else whole
        self._lines = [
            _line(self._unit, *pair, length) for pair, length in zip(rates, lengths, strict=True)
        ]
        amounts = (line.amount(length) for line, length in zip(self._lines, lengths, strict=True))
        self._before = [0, *accumulate(amounts)]
        """The units before each segment; the last: of a whole period, if there is one."""

        self._begin, self._end = begin_us, end_us
        self._first = self._produced(begin_us) - int(stagger * self._unit)

    def _produced(self, at_us: int) -> int:
        """Return the units from 0 to a time."""
        cycles, rest = (0, at_us) if self._every is None else divmod(at_us, self._every)
        number = bisect_right(self._begins, rest) - 1
        inside = self._lines[number].amount(rest - self._begins[number])
        return cycles * self._before[-1] + self._before[number] + inside

    def _place(self, index: int) -> tuple[int, int, int] | None:
        """Return cycle and segment of a record, and its units in the segment; None: it never arrives."""
        target = self._first + (index + 1) * self._unit
        cycle = 0
        if self._every is not None:
            if not self._before[-1]:
                return None
            cycle = max(-(-target // self._before[-1]) - 1, 0)
            target -= cycle * self._before[-1]
        number = min(bisect_left(self._before, target), len(self._lines)) - 1
        left = target - self._before[number]
        return (cycle, number, left) if self._lines[number] != (0, 0) else None

    def count(self, until_us: int) -> int:
        """Return how many records have arrived at or before ``until_us``."""
        until_us = min(until_us, self._end - 1)
        if until_us < self._begin:
            return 0
        return (self._produced(until_us) - self._first) // self._unit

    def time(self, index: int) -> int:
        """Return when record ``index`` arrives; ``NEVER`` if it does not."""
        place = self._place(index)
        if place is None:
            return NEVER
        cycle, number, left = place
        begin = cycle * (self._every or 0) + self._begins[number]
        when = begin + self._lines[number].elapsed_us(left)
        return when if when < self._end else NEVER

    def phase(self, index: int) -> int | None:
        """Return the segment and the rounded rest, as one number; None: its rate rises or falls.

        The rule holds until the next segment begins, which ends every period of the run.
        """
        place = self._place(index)
        if place is None:
            return -1
        _, number, left = place
        line = self._lines[number]
        return None if line.bend else -left % line.even * len(self._lines) + number


def _line(unit: int, first: Fraction, last: Fraction, length_us: int) -> _Line:
    if first == last:
        return _Line(int(first * unit), 0)
    return _Line(int(first * unit), int((last - first) * unit / (2 * length_us)))
