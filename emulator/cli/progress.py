"""Show how far the work of a command is, and about how long the rest takes, on stderr.

On a terminal a bar, which is removed at the end; elsewhere a line after two seconds and one a minute.
A thread shows it, so that the work only stores how far it is. ``REBALANCE_PROGRESS=off`` shows nothing.
"""

from __future__ import annotations

import os
import sys
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from emulator.events import Event
    from emulator.scenario.model import Scenario

PATIENCE_S: Final = 1.0
"""Shorter work shows no bar."""

LINE_PATIENCE_S: Final = 2.0
"""Shorter work writes no line."""

ABOUT: Final = "about "
AT_MOST: Final = "at most "

TOLD_BY: Final = 0.01
"""The part of the work that has to be done before its pace tells the time left."""

BAR_EVERY_S: Final = 0.2
LINE_EVERY_S: Final = 60.0

SWITCH: Final = "REBALANCE_PROGRESS"
US_PER_S: Final = 1_000_000


class Progress:
    """How far the work in the ``with`` block is."""

    def __init__(self, what: str, *, expected_s: float | None = None, total: int = 0) -> None:
        """Begin; *what* is counted, up to *total* if that is known.

        *expected_s*: the estimated time, for as long as little is done.
        """
        self._what = what
        self._expected_s = expected_s
        self._began_s = self._moved_s = monotonic()
        self._done, self._total = 0.0, float(total)
        self._bound = ""
        """What the total is: ``about``, ``at most``; empty: it is exact."""

        self._bar: Bar | None = None
        self._ended = Signal()
        self._thread: Thread | None = None

    def show(self, done: float, total: float) -> None:
        """Note how much of the work is done; if it is less than before, further work has begun."""
        if done < self._done:
            self._began_s = monotonic()
        self._done, self._total, self._moved_s = done, max(done, total), monotonic()

    def expect(self, expected_s: float, total: float) -> None:
        """Note the estimated time and the amount of work, of which nothing is done yet."""
        self._expected_s, self._total, self._began_s = expected_s, float(total), monotonic()

    def begin(self, what: str) -> None:
        """Begin other work in the same block; nothing of it is done."""
        self._what, self._expected_s = what, None
        self._began_s, self._done, self._total = monotonic(), 0.0, 0.0

    def watch(self, event: Event, length: Length) -> None:
        """Note the simulated time of an event; events of the past do not change it."""
        if event.at_us > self._done * US_PER_S:
            is_later = event.at_us > length.expected_us < length.longest_us
            end_us = length.longest_us if is_later else length.expected_us
            if length.expected_us < length.longest_us:
                self._bound = AT_MOST if is_later else ABOUT
            self.show(event.at_us / US_PER_S, end_us / US_PER_S)

    def note(self, text: str) -> None:
        """Print a message above the bar; elsewhere than on a terminal, print nothing."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif sys.stderr.isatty():
            sys.stderr.write(f"{text}\n")

    def text(self) -> str:
        """Return how far the work is, such as ``12 of 40 runs (30%), about 2 min left``."""
        left_s = self._left_s()
        if not self._total and not left_s:
            return f"{self._what}: started"
        parts = [self._what]
        if self._total:
            share = self._done / self._total
            of = f"of {self._bound}{self._total:,.0f}"
            parts = [f"{self._what}: {self._done:,.0f} {of} ({share:.0%})"]
        if left_s:
            from emulator.report.wording import duration

            parts.append(f"about {duration(left_s)} left")
        return ", ".join(parts)

    def share(self) -> float | None:
        """Return the finished part of the work, between 0 and 1; None: unknown."""
        if self._done and self._total:
            return min(self._done / self._total, 1.0)
        if not self._expected_s:
            return None
        return min((monotonic() - self._began_s) / self._expected_s, 0.99)

    def _left_s(self) -> float:
        """Return the seconds left, in whole seconds; 0: unknown, or less than one."""
        now = monotonic()
        if self._bound == AT_MOST:
            return 0.0
        if self._done > self._total * TOLD_BY:
            whole_s = (self._moved_s - self._began_s) * self._total / self._done
        else:
            whole_s = self._expected_s or 0.0
        return float(max(0, round(self._began_s + whole_s - now)))

    # -- showing ---------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if os.environ.get(SWITCH) != "off":
            self._thread = Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        try:
            if sys.stderr.isatty():
                self._show_bar()
            else:
                self._write_lines()
        except (OSError, ValueError):
            return  # stderr is closed: nobody looks

    def _write_lines(self) -> None:
        wait_s = LINE_PATIENCE_S
        while not self._ended.wait(wait_s):
            sys.stderr.write(f"{self.text()}\n")
            sys.stderr.flush()
            wait_s = LINE_EVERY_S

    def _show_bar(self) -> None:
        if self._ended.wait(PATIENCE_S):
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            self._bar = bar
            task = bar.add_task(self.text(), total=None)
            while not self._ended.wait(BAR_EVERY_S):
                share = self.share()
                total = None if share is None else 1.0
                bar.update(task, description=self.text(), total=total, completed=share or 0.0)
            self._bar = None


class Length(NamedTuple):
    """The simulated time of a run."""

    expected_us: int
    """About that time if it ends when it has settled."""

    longest_us: int


def length_of(scenario: Scenario) -> Length:
    """Return the simulated time of a run."""
    from emulator.scenario.estimates.lifetimes import settled_us

    expected_us = settled_us(scenario) if scenario.until_settled else scenario.run_for
    return Length(expected_us, scenario.run_for)


def announce(scenario: Scenario, runs: int = 1, jobs: int | None = 1) -> float:
    """Return the estimated time of some runs in seconds; print warnings if it is long.

    *jobs*: processes; None: one for each CPU core.
    """
    from emulator.processes import cores
    from emulator.scenario.estimates.cpu_time import LONG_S, estimate

    expected = estimate(scenario)
    processes = min(jobs or cores(), runs)
    seconds = expected.cpu_s * runs / processes
    if seconds > LONG_S:
        from emulator.scenario.estimates.cost_text import notice

        sys.stderr.write(f"{notice(expected, runs, processes)}\n")
    sys.stderr.flush()
    return seconds


def overloads_of(scenario: Scenario) -> list[str]:
    """Return a sentence for each group to which more arrives than it can process."""
    from emulator.scenario.estimates.loads import loads_of

    overloads = [load for load in loads_of(scenario) if load.is_overload]
    if not overloads:
        return []
    from emulator.verdicts.lag import overload_text

    return [overload_text(load) for load in overloads]


def announce_overloads(scenario: Scenario) -> None:
    """Print the overloads of a scenario on stderr."""
    sys.stderr.writelines(f"overload: {text}\n" for text in overloads_of(scenario))
    sys.stderr.flush()
