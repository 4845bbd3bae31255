"""One line on stderr that says how far long work is; silent where nobody looks."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Self

from emulator.events import Event
from emulator.scenario.units import US_PER_S, format_span

PATIENCE_S = 1.0
"""Work that is over sooner shows nothing."""

EVERY_S = 0.2
EVENTS_BETWEEN_LOOKS = 2_048


class Progress:
    """A line that is written over again and again, and taken away at the end."""

    def __init__(self, what: str, *, time_left: bool = False) -> None:
        self._what = what
        self._time_left = time_left
        self._seen = sys.stderr.isatty()
        self._began_s = monotonic()
        self._next_s = self._began_s + PATIENCE_S
        self._width = 0
        self._events = 0

    @property
    def seen(self) -> bool:
        """Whether there is a terminal to show it."""
        return self._seen

    def tell(self, done: float, total: float) -> None:
        """Say how much is done and, if that is wanted, about how long the rest will take."""
        if self._seen and monotonic() >= self._next_s:
            left = f", {self._left(done, total)} left" if self._time_left and done else ""
            self._show(f"{self._what}: {done:,.0f} of {total:,.0f} ({done / total:.0%}){left}")

    def _left(self, done: float, total: float) -> str:
        return format_span(int((monotonic() - self._began_s) * (total / done - 1) * US_PER_S))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._width:
            sys.stderr.write(f"\r{'':{self._width}}\r")
            sys.stderr.flush()

    def watch(self, event: Event, total_us: int) -> None:
        """Look at the time of an event now and then."""
        self._events += 1
        if self._events % EVENTS_BETWEEN_LOOKS == 0:
            self.tell(event.at_us / 1e6, total_us / 1e6)

    def _show(self, text: str) -> None:
        self._next_s = monotonic() + EVERY_S
        sys.stderr.write(f"\r{text:{self._width}}")
        sys.stderr.flush()
        self._width = len(text)
