"""Which run of a chunk is at work: written down before it begins, so one that kills its process is found.

A process that is killed, such as by a system that has no memory left, can say nothing more. What it
wrote down stays, as a hidden file beside the chunk's rows; whoever plays the chunk again counts it.
A run whose process has died three times while it was at work is not begun again: it becomes a row
with its error, as other runs do that fail.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from emulator.errors import EmulatorError

MOST_DEATHS = 3
"""Of a run's processes. Where Spark tries a task four times, the fourth time goes past it."""


_WISHES = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals by which somebody ends a process: a command that is broken off, a terminal that closes."""


class ProcessDiedError(EmulatorError):
    """A process that played was killed; the message says what is known of it."""


class KillsItsProcessError(Exception):
    """A run is not begun, since its process has died before, again and again."""


_WIDTH = 20
"""Of a seed as it is written: so what is written over another one is whole at any moment."""


@dataclass(slots=True)
class Attempts:
    """The runs of a chunk that were at work when their process died, and which one is now."""

    file: int
    deaths: Counter[int] = field(default_factory=Counter)

    def begin(self, seed: int) -> None:
        """Write down that a run begins; raise KillsItsProcessError if it had better not."""
        if self.deaths[seed] >= MOST_DEATHS:
            raise KillsItsProcessError(
                f"its process died {MOST_DEATHS} times while it was played; perhaps memory ran out"
            )
        lines = [
            f"{seed:<{_WIDTH}}",
            *(f"{one} {times}" for one, times in sorted(self.deaths.items())),
        ]
        text = "\n".join(lines).encode()
        os.pwrite(self.file, text, 0)
        os.ftruncate(self.file, len(text))


def path_of(rows: Path) -> Path:
    """Return the file beside a chunk's rows."""
    return rows.with_name(f".{rows.stem}.at")


@contextmanager
def attempts_at(rows: Path) -> Iterator[Attempts]:
    """Go on with what earlier attempts at a chunk wrote down; take it away when this one ends.

    *rows*: where the chunk's runs will be. It stays only if the process is killed.
    """
    path = path_of(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    deaths = _deaths(path)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with _taken_away_at_the_end(path):
            yield Attempts(file, deaths)
    finally:
        os.close(file)


def _deaths(path: Path) -> Counter[int]:
    """Return how often a process died in the midst of each run; what cannot be read counts not."""
    found = Counter[int]()
    with suppress(OSError, ValueError, IndexError):
        at_work, *before = path.read_text().splitlines()
        found.update({int(line.split()[0]): int(line.split()[1]) for line in before})
        found[int(at_work)] += 1
    return found


@contextmanager
def _taken_away_at_the_end(path: Path) -> Iterator[None]:
    """Take a file away however work ends, but by SIGKILL: other signals are somebody's wish."""
    before: dict[int, Any] = {}

    def end(number: int, frame: FrameType | None) -> None:
        path.unlink(missing_ok=True)
        if callable(before[number]):
            before[number](number, frame)
            return
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    if threading.current_thread() is threading.main_thread():
        for number in _WISHES:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, end) or signal.SIG_DFL
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        for number, handler in before.items():
            signal.signal(number, handler)


def left_behind(rows: Path) -> int | None:
    """Return the seed of the run that a process had in hand when it died; None: no such process."""
    try:
        return int(path_of(rows).read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
