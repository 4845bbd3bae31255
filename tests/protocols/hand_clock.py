"""Time that a test moves by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timed(Protocol):
    """What has timers, and stands at some time."""

    now_us: int
    timers: dict[str, int]


def advance(timed: Timed, ms: float, wake: Callable[[str], None]) -> None:
    """Let time pass; timers run out in order of deadline, then name."""
    until = timed.now_us + round(ms * 1_000)
    while timed.timers:
        deadline, name = min((deadline, name) for name, deadline in timed.timers.items())
        if deadline > until:
            break
        del timed.timers[name]
        timed.now_us = max(timed.now_us, deadline)
        wake(name)
    timed.now_us = until
