"""A journal of the run in progress, so that a run that kills its process is identified.

A process that is killed, for example by the kernel when memory runs out, cannot report an error.
Therefore each chunk has a hidden file beside its rows that holds the seed in progress. The next
attempt at the chunk counts a file that is left over as one death of that run. After three deaths
the run is not started again: it becomes a row with an error, like every failed run.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from types import FrameType
from typing import Any

from assignors.values import dataclass
from emulator.errors import EmulatorError

MAX_DEATHS = 3
"""Deaths after which a run is skipped."""


_TERMINATION_SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Signals that end a process on request; they do not count as a death."""


class ProcessDiedError(EmulatorError):
    """A process that executed runs was killed."""


class KillsItsProcessError(Exception):
    """A run is skipped, since its process died in earlier attempts."""


_WIDTH = 20
"""Digits of a written seed: all seeds are equally long, so that overwriting one is atomic."""


@dataclass(slots=True)
class Attempts:
    """The journal of a chunk: deaths by seed, and the run in progress."""

    file: int
    deaths: Counter[int] = field(default_factory=Counter)
    died: bool = False
    """Whether another process died during the run in progress: the journal stays for it."""

    def begin(self, seed: int) -> None:
        """Write the seed of the run that begins; raise KillsItsProcessError after too many deaths."""
        if self.deaths[seed] >= MAX_DEATHS:
            raise KillsItsProcessError(
                f"its process died {MAX_DEATHS} times during this run; memory may have run out"
            )
        lines = [
            f"{seed:<{_WIDTH}}",
            *(f"{one} {times}" for one, times in sorted(self.deaths.items())),
        ]
        text = "\n".join(lines).encode()
        os.pwrite(self.file, text, 0)
        os.ftruncate(self.file, len(text))


def path_of(rows: Path) -> Path:
    """Return the journal's file, beside a chunk's rows."""
    return rows.with_name(f".{rows.stem}.at")


@contextmanager
def attempts_at(rows: Path) -> Iterator[Attempts]:
    """Open the journal of a chunk, with the deaths of earlier attempts; delete it at the end.

    *rows*: the file of the chunk's runs. The journal stays only if the process is killed, or if the
    process that executes the runs for it has ``died``.
    """
    path = path_of(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    deaths = _deaths(path)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        attempts = Attempts(file, deaths)
        with _deleted_at_the_end(path, attempts):
            yield attempts
    finally:
        os.close(file)


def _deaths(path: Path) -> Counter[int]:
    """Return the number of deaths by seed; an unreadable journal counts as none."""
    found = Counter[int]()
    with suppress(OSError, ValueError, IndexError):
        current, *before = path.read_text().splitlines()
        found.update({int(line.split()[0]): int(line.split()[1]) for line in before})
        found[int(current)] += 1
    return found


@contextmanager
def _deleted_at_the_end(path: Path, attempts: Attempts) -> Iterator[None]:
    """Delete a journal at the end of the block or on a termination signal; only deaths leave it."""
    before: dict[int, Any] = {}

    def end(number: int, frame: FrameType | None) -> None:
        path.unlink(missing_ok=True)
        if callable(before[number]):
            before[number](number, frame)
            return
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    if threading.current_thread() is threading.main_thread():
        for number in _TERMINATION_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, end) or signal.SIG_DFL
    try:
        yield
    finally:
        if not attempts.died:
            path.unlink(missing_ok=True)
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupted_seed(rows: Path) -> int | None:
    """Return the seed of the run during which a process died; None if no journal is left."""
    try:
        return int(path_of(rows).read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
