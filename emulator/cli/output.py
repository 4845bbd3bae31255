"""Print lines and JSON, and turn errors into one message.

Output goes to stdout as whole lines. A reader may close the pipe early (``| head``), and a disk may
be full.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Iterable

from emulator.errors import EmulatorError, RefusedError, shortened
from emulator.report.wording import visible

BAD_INPUT = 2
"""Exit status for input that cannot be used."""

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

NOT_USABLE = (
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.ENOTDIR,
    errno.EROFS,
)
"""Errors that are of the path that the user gave, wherever it is looked at first."""

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
    "files_in": "--files-in",
    "folder": "-o",
    "format": "--format",
    "group": "--group",
    "limit": "--limit",
    "max_file_size": "--max-file-size",
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
    return _write(_no_commands(visible("".join(f"{line}\n" for line in lines), styled=True)))


def say_commands(lines: Iterable[str]) -> bool:
    """Print lines that GitHub takes for commands; return as :func:`say`."""
    return _write(visible("".join(f"{line}\n" for line in lines)))


_COMMAND = re.compile(r"^([^\S\n]*)(?=::)|(?<=##)(?=\[)", re.MULTILINE)


def _no_commands(text: str) -> str:
    """Return a text in which GitHub sees none of its commands, which a title could be.

    ``ActionCommand`` of its runner: a line that begins with two colons, or ``##[`` anywhere.
    """
    if not on_github():
        return text
    return _COMMAND.sub(lambda found: f"{found[1] or ''}\\", text)


def on_github() -> bool:
    """Return whether GitHub's runner reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def say_all(lines: Iterable[str]) -> bool:
    """Print all lines at once; return whether the reader is still connected."""
    return say(*lines)


def say_report(lines: Iterable[str]) -> bool:
    """Print the lines of a report, in colour on a terminal; return as :func:`say_all`."""
    return say_all(map(coloured, lines) if has_colour() else lines)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes about the input on stderr."""
    for note in notes:
        sys.stderr.write(_no_commands(visible(shortened(f"note: {note}\n"))))


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


# -- colour ----------------------------------------------------------------------------------

RED, GREEN, YELLOW, BOLD = "\x1b[1;31m", "\x1b[32m", "\x1b[1;33m", "\x1b[1m"
PLAIN = "\x1b[0m"

COLOURS = (
    (
        re.compile(
            r"^  FAILED(?=  )|^PROBLEMS$|^OVERLOAD|^(internal )?error:|^Lost: .*|\b[\d,]+ lost(?=\.)"
        ),
        RED,
    ),
    (re.compile(r"^  inconclusive(?=  )|^INCONCLUSIVE:?|^warning:|^Reprocessed: .*"), YELLOW),
    (re.compile(r"^  ok(?=  )"), GREEN),
    (
        re.compile(
            r"^(What happened|Hints|Changes tried|Expectations|Figures|Causes, in records.*)$"
        ),
        BOLD,
    ),
)
"""Parts of the lines of reports, and their colours. No meaning is in the colour alone."""


def has_colour() -> bool:
    """Return whether stdout takes colours: a terminal, unless ``NO_COLOR`` is set.

    ``FORCE_COLOR`` means colours for a file or pipe, too; ``NO_COLOR`` overrides it. An empty
    variable is not set (no-color.org, force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def coloured(line: str) -> str:
    r"""Return a line of a report with its main words in colour.

    >>> coloured("  ok      lost is 0, expected == 0")
    '\x1b[32m  ok\x1b[0m      lost is 0, expected == 0'
    """
    for pattern, colour in COLOURS:
        line = pattern.sub(lambda found: f"{colour}{found[0]}{PLAIN}", line)  # noqa: B023  at once
    return line


# -- errors ----------------------------------------------------------------------------------


def message_of(error: Exception) -> str | None:
    """Return the message for the user; None for an internal error, which keeps its traceback."""
    if isinstance(error, EmulatorError):
        return _no_commands(visible(shortened(with_options(str(error)))))
    if isinstance(error, OSError) and error.errno in NOT_USABLE and error.filename is not None:
        return visible(shortened(f"{error.filename}: cannot be used: {error.strerror}"))
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
