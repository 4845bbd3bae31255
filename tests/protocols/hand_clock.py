"""Time that a test moves by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

MAX_AT_ONCE = 1_000
"""More timers than any test needs at one instant."""


class EndlessTimersError(BaseException):
    """A timer is set again at its own deadline.

    No ``Exception``, so that Hypothesis fails at once: each attempt to shrink would be as long.
    """


class Timed(Protocol):
    """An object with timers and a current time."""

    now_us: int
    timers: dict[str, int]


def advance(timed: Timed, ms: float, wake: Callable[[str], None]) -> None:
    """Let time pass; timers fire in order of deadline, then name.

    Raise EndlessTimersError if they fire without end at one instant.
    """
    fired = 0
    until = timed.now_us + round(ms * 1_000)
    while timed.timers:
        deadline, name = min((deadline, name) for name, deadline in timed.timers.items())
        if deadline > until:
            break
        del timed.timers[name]
        fired = fired + 1 if deadline <= timed.now_us else 0
        if fired == MAX_AT_ONCE:
            raise EndlessTimersError(f"{name} at {timed.now_us} us")
        timed.now_us = max(timed.now_us, deadline)
        wake(name)
    timed.now_us = until
