"""Periods between two heartbeats: shorter than those with them, and ended by each of them."""

from __future__ import annotations

from emulator.world.kernel import Kernel
from emulator.world.periods.skip import Period, Skip
from emulator.world.periods.state import beats_move

FAR = 20
"""The periods with heartbeats before the next fault from which on one of them is played to know it."""

MAX_SKIPS = 10
"""The skips of short periods behind one of few periods with heartbeats: other requests end those early."""

BEFORE_US = 1_000
"""How long before the end of a skip, as a rule a heartbeat, a short period best ends.

Members are elsewhere for some time after a heartbeat: a period that ends in that time is missed.
"""

MAX_MISSED = 5
"""The ends of a short period, one after the other, at which the run may be elsewhere."""


class ShortPeriods:
    """Decides when periods between heartbeats are searched for, and how long one is known."""

    def __init__(self, kernel: Kernel, expected_us: int, short_us: int | None) -> None:
        """Take the length of periods with heartbeats and of those without; None: there are none."""
        self._kernel = kernel
        self._expected_us, self.short_us = expected_us, short_us
        self._skips_left = 0
        """The number of skips for which short periods are preferred."""

        self._missed = 0
        """How often the run was elsewhere at the end of a known one, one after the other."""

        self._limit_us: int | None = None
        """What ended the last skip of a short period happened then; None: none since a disturbance."""

        self._is_moved = False
        """Whether a short period has been searched for that ends just before such a limit."""

    @property
    def wanted_us(self) -> int | None:
        """After which time a short period may end; None: those with heartbeats are searched for.

        To know one with heartbeats takes longer, but it is skipped as far as the next fault.
        """
        return self.short_us if self._skips_left > 0 or self._is_near else None

    @property
    def _is_near(self) -> bool:
        return self._kernel.limit_us() - self._kernel.now < FAR * self._expected_us

    def is_short(self, period: Period) -> bool:
        """Return whether heartbeats are no part of this period."""
        is_shorter = period.adds.later_us < self._expected_us
        return is_shorter and not beats_move(period.end, period.moving)

    def is_unwanted(self, period: Period) -> bool:
        """Return whether one with heartbeats is searched for instead of this one."""
        return self.wanted_us is None and self.is_short(period)

    def next_us(self, wanted_us: int) -> int:
        """Return after which time a short period of that length is to begin."""
        if self._limit_us is None:
            return wanted_us
        return wanted_us - (self._kernel.now - self._limit_us + BEFORE_US) % wanted_us

    def disturbed(self) -> None:
        """Note a disturbance: the heartbeats after it come at other times."""
        self._limit_us, self._is_moved = None, False

    def is_missed_too_often(self) -> bool:
        """Note that the run is elsewhere at the end of the known one; return whether that was too often.

        The first time is: another point of the same period is better.
        """
        self._missed += 1
        if self._is_moved and self._missed <= MAX_MISSED:
            return False
        self._is_moved = True
        self._missed = 0
        return True

    def ends_us(self, period: Period, after_us: int) -> int:
        """Return when a known period ends next, the short one after that time."""
        if not self.is_short(period):
            return self._kernel.now + self._expected_us
        length_us = period.adds.later_us
        return after_us + length_us - (after_us - period.end.at_us) % length_us

    def note(self, skip: Skip) -> bool:
        """Note a skip; return whether short ones are searched for instead of the period skipped."""
        self._missed = 0
        if self.is_short(skip.period):
            self._limit_us = skip.ends_us
            self._skips_left -= 1
            return False
        if self.short_us is None or (skip.times >= FAR and not self._is_near):
            return False
        self._skips_left = MAX_SKIPS
        return True
