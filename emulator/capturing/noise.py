"""How much the machine disturbed a run: late threads, slow work, slow commits."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.capturing.clock import now_us, sleep_us

PROBE_US = 10_000
"""The probe sleeps this long and sees how late it wakes up."""

QUIET_LATE_MS = 10.0
"""99th percentile of the probe's lateness on a quiet machine."""

QUIET_WORK_MS = 15.0
"""99th percentile of what work took beyond its nominal time."""

QUIET_COMMIT_MS = 30.0
"""Median round trip of a commit."""


@dataclass(slots=True)
class Probe:
    """Measures how late a sleeping thread wakes up, in a thread of its own."""

    late_us: list[int] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to measure."""
        self._thread = threading.Thread(target=self._run, name="noise", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the measurement."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            before = now_us()
            sleep_us(PROBE_US)
            self.late_us.append(now_us() - before - PROBE_US)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def figures(times_us: Sequence[float]) -> dict[str, float | int] | None:
    """Return the number, median, tail and maximum of times, in milliseconds; None if empty."""
    if not times_us:
        return None
    p50, p99 = percentile(times_us, 0.5), percentile(times_us, 0.99)
    return {
        "n": len(times_us),
        "p50": round(p50 / 1e3, 3),
        "p99": round(p99 / 1e3, 3),
        "max": round(max(times_us) / 1e3, 3),
    }


def noise_json(
    late_us: Sequence[int],
    beyond_work_us: Iterable[float],
    commits_us: Iterable[float],
    load: float,
) -> dict[str, Any]:
    """Return the noise of a run, and whether it was noisy, with the reasons.

    The load of a processor is noted only: work of a lower priority raises it and delays nothing.
    """
    measured: Mapping[str, dict[str, float | int] | None] = {
        "thread_late_ms": figures(late_us),
        "work_beyond_ms": figures(list(beyond_work_us)),
        "commit_ms": figures(list(commits_us)),
    }
    limits = (
        ("thread_late_ms", "p99", QUIET_LATE_MS),
        ("work_beyond_ms", "p99", QUIET_WORK_MS),
        ("commit_ms", "p50", QUIET_COMMIT_MS),
    )
    why = [
        f"{name} {part} is {found[part]:g}, above {most:g}"
        for name, part, most in limits
        if (found := measured[name]) is not None and found[part] > most
    ]
    return {**measured, "load": round(load, 2), "noisy": bool(why), "why": why}
