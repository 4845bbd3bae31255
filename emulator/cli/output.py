"""Print lines, JSON and progress, and turn errors into one message.

Output goes to stdout as whole lines. A reader may close the pipe early (``| head``), and a disk may
be full. Progress is one line on stderr, shown only on a terminal.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Iterable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from emulator.errors import EmulatorError, RefusedError, shortened

if TYPE_CHECKING:
    from emulator.events import Event

BAD_INPUT = 2
"""Exit status for input that cannot be used."""

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

PATIENCE_S = 1.0
"""Shorter work shows no progress."""

EVERY_S = 0.2
EVENTS_BETWEEN_CHECKS = 2_048

US_PER_S = 1_000_000

OPTIONS = {
    "allow_large": "--yes",
    "begin": "--from",
    "begins": "--begins",
    "bootstrap": "--bootstrap",
    "columns": "--column",
    "commits": "--commits",
    "config": "--config",
    "end": "--to",
    "ends": "--ends",
    "engine": "--engine",
    "expect": "--expect",
    "folder": "-o",
    "format": "--format",
    "group": "--group",
    "jobs": "--jobs",
    "master": "--master",
    "offsets_retention": "--offsets-retention",
    "output": "-o",
    "overrides": "--set",
    "overwrite": "--force",
    "seeds": "--seeds",
    "settings": "--set",
    "sources": "SOURCE",
    "t_end": "--t-end",
    "time_unit": "--time-unit",
    "variants": "--with",
}
"""The option of each argument of the library, whose messages name arguments in backquotes."""

_ARGUMENT = re.compile(f"`({'|'.join(OPTIONS)})(?:=([^`]*))?`")


# -- lines and JSON --------------------------------------------------------------------------


def say(*lines: str) -> bool:
    """Print lines; return whether the reader is still connected.

    A reader that has closed the pipe (``| head``) is no error: the rest is dropped, and the exit
    status of the command does not change. Raise RefusedError if the disk is full.
    """
    return _write("".join(f"{line}\n" for line in lines))


def say_all(lines: Iterable[str]) -> bool:
    """Print all lines at once; return whether the reader is still connected."""
    return say(*lines)


def say_json(document: object) -> bool:
    """Print one line of JSON in ASCII."""
    return say(json.dumps(document))


def flush() -> None:
    """Flush stdout."""
    _write("")


def _write(text: str) -> bool:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return False
    except OSError as error:
        _discard_output()
        raise RefusedError(f"The output cannot be written: {error.strerror}") from None
    return True


def _discard_output() -> None:
    """Send what is still in the buffer, and everything after it, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def open_streams() -> None:
    """Open the standard streams that are closed (``<&-``), and let no character fail to print.

    Characters that the terminal cannot show are printed as question marks.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            opened = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115  stays open
            setattr(sys, name, opened)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


# -- errors ----------------------------------------------------------------------------------


def message_of(error: Exception) -> str | None:
    """Return the message for the user; None for an internal error, which keeps its traceback."""
    if isinstance(error, EmulatorError):
        return shortened(with_options(str(error)))
    if isinstance(error, MemoryError):
        return "Memory ran out. Shorten run_for, or take fewer partitions, members or --jobs"
    return None


def with_options(message: str) -> str:
    """Return a message of the library with the options in place of the names of arguments.

    >>> with_options("`commits=log`: no such file; give `time_unit`")
    '--commits log: no such file; give --time-unit'
    """
    return _ARGUMENT.sub(
        lambda found: " ".join([OPTIONS[found[1]], *filter(None, [found[2]])]), message
    )


# -- progress --------------------------------------------------------------------------------


class Progress:
    """One line on stderr, rewritten as work goes on and removed at the end of the ``with`` block."""

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
        """Whether stderr is a terminal."""
        return self._seen

    def show(self, done: float, total: float) -> None:
        """Show how much of the work is done and, if wanted, about how long the rest will take."""
        if self._seen and monotonic() >= self._next_s:
            left = f", {self._left(done, total)} left" if self._time_left and done else ""
            self._write(f"{self._what}: {done:,.0f} of {total:,.0f} ({done / total:.0%}){left}")

    def _left(self, done: float, total: float) -> str:
        from emulator.report.wording import duration

        return duration((monotonic() - self._began_s) * (total / done - 1))

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
        """Show the simulated time of every n-th event."""
        self._events += 1
        if self._events % EVENTS_BETWEEN_CHECKS == 0:
            self.show(event.at_us / US_PER_S, total_us / US_PER_S)

    def _write(self, text: str) -> None:
        self._next_s = monotonic() + EVERY_S
        sys.stderr.write(f"\r{text:{self._width}}")
        sys.stderr.flush()
        self._width = len(text)
