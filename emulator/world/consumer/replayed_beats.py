"""Replay when the heartbeat thread of a classic client really sent its heartbeats.

Each heartbeat is due an interval after the one before, so the lateness of all of them adds up, and differs
from member to member. After a fault, milliseconds of it decide whose heartbeat is the first to learn of a
rebalance.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.world.draws import Sampler

_CLOCK_US = 1_000
"""A log has whole milliseconds: a heartbeat may have been due that much after its time in the log."""

_LATEST_US = 500_000
"""A heartbeat that comes later than this belongs to another sleep of the thread."""


def as_sent(sent_us: tuple[int, ...], late: Sampler) -> Sampler:
    """Return the lateness (us) of a heartbeat by the time when it is due.

    *sent_us*: when real heartbeats were sent, in order; *late*: the lateness of all others.

    >>> lateness = as_sent((1_004_000, 2_005_000), lambda due_us: 7)
    >>> [lateness(due_us) for due_us in (1_000_000, 2_004_000, 2_005_500, 3_005_000)]
    [4000, 1000, 0, 7]
    """

    def late_us(due_us: int) -> int:
        at = bisect_left(sent_us, due_us - _CLOCK_US)
        if at < len(sent_us) and sent_us[at] <= due_us + _LATEST_US:
            return max(0, sent_us[at] - due_us)
        return late(due_us)

    return late_us
