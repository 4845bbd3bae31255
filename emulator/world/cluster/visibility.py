"""The position of a high watermark that may stall or lag, as arithmetic.

Undisturbed, all that was appended by ``now - replication`` is visible at ``now``. While the high
watermark is stalled nothing becomes visible; while it lags, everything becomes visible later.

Producers that want their records acknowledged by all wait with it. Of the few requests that they
may have in flight a leader takes one at a time, each when the one before is safe; all the rest
comes behind them. So when a high watermark moves again, it passes one request after the other
first: the first polls bring single records of each partition. (Real producers share these few
among the partitions of a leader: in the capture coordinator-kill two were for one, three for the
other. Here each partition has them for itself; it is a matter of milliseconds.)
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.world.cluster.arrivals import NEVER

_KEPT = 32
"""The number of spells that are kept: only the recent past is asked for."""


IN_FLIGHT = 5
"""``max.in.flight.requests.per.connection``: the most requests that a producer has in flight."""

TURNS = IN_FLIGHT + 1
"""The number of replications after which the remaining records are visible, their own included."""


class Visibility:
    """What is visible when, of one partition; append times in and out are microseconds."""

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

    def as_of(self, now: int) -> int:
        """Return the append time up to which everything is visible at ``now``."""
        for begin, reached, lag in reversed(self._spells):
            if begin <= now:
                return max(reached, now - lag)
        return now - self._replication_us

    def when(self, appended_us: int) -> int:
        """Return when a record appended then becomes visible; ``NEVER`` if not known yet."""
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
        self._go_on(now, NEVER, now - 1)

    def move(self, now: int, late_us: int = 0, under_way: Sequence[int] = ()) -> None:
        """Move the high watermark again from now on, later than usual by *late_us*.

        *late_us*: minus a replication where there is none to wait for: then all comes at once.
        *under_way*: when the records were appended that come first, one a replication; rising.
        """
        lag_us = self._replication_us + late_us
        if not lag_us or not under_way or not self.is_stalled:
            self._go_on(now, lag_us)
            return
        for turn, appended_us in enumerate(under_way):
            self._spells.append((now + turn * lag_us, appended_us, NEVER))
        self._go_on(now + TURNS * lag_us, lag_us)

    def _go_on(self, now: int, lag_us: int, most_us: int = NEVER) -> None:
        if lag_us == self._lag_us:
            return
        reached = min(self.as_of(now), most_us)
        self._lag_us = lag_us
        self._spells = [spell for spell in self._spells if spell[0] <= now]
        self._spells.append((now, max(reached, now - lag_us), lag_us))
        del self._spells[:-_KEPT]
