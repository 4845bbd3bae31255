"""The machine's clock: captures are the one part of the project that reads it."""

from __future__ import annotations

import time


def now_us() -> int:
    """Return microseconds since 1970."""
    return time.time_ns() // 1_000


def sleep_us(us: int) -> None:
    """Sleep for a time; not at all if it is negative."""
    if us > 0:
        time.sleep(us / 1e6)
