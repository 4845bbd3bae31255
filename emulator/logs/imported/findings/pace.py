"""How often a group rebalanced, when most, and why."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from emulator.logs.imported.findings.values import Pace, Reasons
from emulator.logs.imported.history.reasons import Explained

HOUR_MS: Final = 3_600_000
SHORTEST_FOR_A_RATE_MS: Final = HOUR_MS
"""Of less than an hour nothing is said about an hour: the forming of a group would make most of it."""


def pace_of(changes: Sequence[Explained], first_ms: int, last_ms: int) -> Pace:
    """Return the pace of a group that was seen from its first to its last record."""
    rebalances = sorted(
        (each for each in changes if each.is_rebalance), key=lambda each: each.change.place.at_ms
    )
    worst = _worst_hour(rebalances)
    active_ms = _active_ms(changes, last_ms)
    often = len(rebalances) * HOUR_MS / active_ms if active_ms >= SHORTEST_FOR_A_RATE_MS else None
    return Pace(
        first_ms=first_ms,
        last_ms=last_ms,
        active_ms=active_ms,
        rebalances=len(rebalances),
        an_hour=often,
        worst_hour=len(worst),
        worst_hour_from_ms=worst[0].change.place.at_ms if worst else None,
        reasons=_reasons(rebalances),
        worst_hour_reasons=_reasons(worst),
    )


def _worst_hour(rebalances: Sequence[Explained]) -> Sequence[Explained]:
    """Return the rebalances of the hour that has most, the first of those."""
    times = [each.change.place.at_ms for each in rebalances]
    worst: Sequence[Explained] = ()
    for number, at_ms in enumerate(times):
        end = bisect_right(times, at_ms + HOUR_MS)
        if end - number > len(worst):
            worst = rebalances[number:end]
    return worst


def _reasons(rebalances: Iterable[Explained]) -> Reasons:
    """Return how many rebalances each reason had, most first."""
    return tuple(Counter(each.reason for each in rebalances).most_common())


def _active_ms(changes: Sequence[Explained], last_ms: int) -> int:
    """Return for how long the group had members."""
    ends = [*(each.change.place.at_ms for each in changes[1:]), last_ms]
    return sum(
        max(end - each.change.place.at_ms, 0)
        for each, end in zip(changes, ends, strict=False)
        if each.change.members
    )
