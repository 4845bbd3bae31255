"""Numbers, times and paragraphs as people read them; 100 columns, with or without colour."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import wrap

WIDTH = 100
"""Columns of a report at most."""

NARROWEST = 40
"""A report is no narrower, whatever the terminal is."""


def width() -> int:
    """Return how many columns a report has: those of the terminal or of ``COLUMNS``, at most 100.

    A file or a pipe has 100.
    """
    columns = get_terminal_size((WIDTH, 0)).columns
    return min(max(columns, NARROWEST), WIDTH)


def counted(number: int, one: str, many: str = "") -> str:
    """Name a number of things.

    >>> counted(1, "record"), counted(12345, "record"), counted(0, "entry", "entries")
    ('1 record', '12,345 records', '0 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def figure(value: float) -> str:
    """Return a number short enough for a table: whole where it is whole, else three digits.

    >>> figure(1234567), figure(0.04512), figure(45.12345), figure(1181.4), figure(3.0)
    ('1,234,567', '0.0451', '45.1', '1,181', '3')
    """
    if value == int(value) or abs(value) >= 100:
        return f"{round(value):,}"
    return f"{value:.3g}"


def difference(value: float) -> str:
    """Return a number with its sign.

    >>> difference(62), difference(-3.25), difference(0)
    ('+62', '-3.25', '0')
    """
    return figure(value) if value <= 0 else f"+{figure(value)}"


def span(seconds: float) -> str:
    """Return about how long a time is.

    >>> span(0.25), span(45.123), span(303), span(7500), span(0), span(59.96)
    ('250 ms', '45.1 s', '5 min 3 s', '2 h 5 min', '0 s', '60.0 s')
    """
    if seconds >= 3600:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.1f} s" if seconds else "0 s"
    return f"{seconds * 1000:.3g} ms"


def paragraph(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Break a text into lines as wide as a report, which is at most 100 columns.

    *first* begins the first line, *rest* the others (as many blanks by default).
    """
    rest = " " * len(first) if rest is None else rest
    return wrap(
        text,
        width(),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def listed(words: list[str]) -> str:
    """Join words as a sentence does.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def printable(text: str) -> str:
    r"""Return what a log says as a terminal can be trusted with it.

    >>> print(printable("a group\nof \x1b[31mtwo\x1b[0m lines"))
    a group\nof \x1b[31mtwo\x1b[0m lines
    """
    shown = (each if each.isprintable() else repr(each)[1:-1] for each in text)
    return text if text.isprintable() else "".join(shown)
