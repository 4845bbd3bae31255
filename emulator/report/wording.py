"""Format numbers, times, offset ranges, lists and paragraphs for reports of at most 100 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from shutil import get_terminal_size
from textwrap import wrap

WIDTH = 100
"""The largest number of columns of a report."""

NARROWEST = 40
"""The smallest number of columns of a report, also on a narrower terminal."""


UNWRAPPED = 1_000
"""Columns of a text that a browser wraps."""

_for_file: ContextVar[int] = ContextVar("_for_file", default=0)
"""The columns of the text that is being made, if it goes into a file; 0: it does not."""


@contextmanager
def file_width(columns: int = WIDTH) -> Iterator[None]:
    """Make reports as wide as in a file, on any terminal; also a decorator of functions.

    Pages and other files contain the text of a report: the same run gives the same bytes.
    """
    token = _for_file.set(columns)
    try:
        yield
    finally:
        _for_file.reset(token)


def width() -> int:
    """Return the number of columns of a report: of the terminal or ``COLUMNS``, at most 100.

    A file or a pipe has 100.
    """
    if columns := _for_file.get():
        return columns
    columns = get_terminal_size((WIDTH, 0)).columns
    return min(max(columns, NARROWEST), WIDTH)


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, in the singular or the plural.

    >>> counted(1, "record"), counted(12345, "record"), counted(0, "entry", "entries")
    ('1 record', '12,345 records', '0 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def figure(value: float) -> str:
    """Return a number for a table: whole if it is whole or at least 100, else three digits.

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


def duration(seconds: float) -> str:
    """Return a time rounded to three digits or to its two largest units.

    >>> duration(0.25), duration(45.123), duration(303), duration(7500), duration(0)
    ('250 ms', '45.1 s', '5 min 3 s', '2 h 5 min', '0 s')

    The unit is chosen after rounding:

    >>> duration(0.0009996), duration(0.9996), duration(59.96), duration(3599.7), duration(172799)
    ('1 ms', '1 s', '1 min', '1 h', '2 d')
    """
    if seconds == 0:
        return "0 s"
    for unit, scale in (("us", 1_000_000), ("ms", 1_000)):
        value = float(f"{seconds * scale:.3g}")
        if value < 1_000:
            return f"{value:g} {unit}"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    if round(seconds) < 3600:
        return _two_units(round(seconds), 60, "min", "s")
    if round(seconds / 60) < 2880:
        return _two_units(round(seconds / 60), 60, "h", "min")
    return _two_units(round(seconds / 3600), 24, "d", "h")


def _two_units(number: int, per: int, large: str, small: str) -> str:
    many, rest = divmod(number, per)
    return f"{many} {large} {rest} {small}" if rest else f"{many} {large}"


def copies_text(copies: int) -> str:
    """Return what copies in a topic mean: the producer wrote them."""
    return (
        f"{counted(copies, 'processed record')} that the producer had written twice, beside those of the "
        "ledger; its enable.idempotence=true prevents them, no setting of the group"
    )


def aborted_text(records: int) -> str:
    """Return what records of aborted transactions mean: the producer took them back."""
    return (
        f"{counted(records, 'processed record')} of transactions that were aborted; "
        "isolation.level=read_committed skips them"
    )


def compacted_text(records: int) -> str:
    """Return what compaction removed before a group had read it: no loss, but values it never saw."""
    return (
        f"{counted(records, 'record')} removed before the group had processed them: newer ones of their keys "
        "were read instead; no loss by the group"
    )


def offset_range(first: int, next_offset: int) -> str:
    """Return a range of offsets with its size.

    >>> offset_range(80, 100), offset_range(7, 8), offset_range(7, 7)
    ('80..99 (20 records)', '7 (1 record)', 'no records')
    """
    count = next_offset - first
    if count == 0:
        return "no records"
    offsets = f"{first}" if count == 1 else f"{first}..{next_offset - 1}"
    return f"{offsets} ({count} record{'s' if count > 1 else ''})"


def paragraph(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Wrap a text to the width of a report.

    *first*: prefix of the first line; *rest*: prefix of the others, blanks by default.
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


def joined(words: list[str]) -> str:
    """Join words with commas and "and".

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_STYLE = re.compile(r"\x1b(?=\[(0|1|32|1;3[13])m)")
"""The styles of ``emulator.cli.output``; any other one, such as hidden text, is from an input."""


def visible(text: str, *, styled: bool = False) -> str:
    r"""Return text in which control characters and marks of text direction are written as escapes.

    They would move the cursor of a terminal, or show other words than are there. Line feeds and
    tabs stay; with *styled*, the escape sequences of colours stay, too.

    >>> print(visible("a\u202eb\x1b[2J"))
    a\u202eb\u001b[2J
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(
        lambda found: (
            found[0] if styled and _STYLE.match(text, found.start()) else f"\\u{ord(found[0]):04x}"
        ),
        text,
    )


def printable(text: str) -> str:
    r"""Return text of a log with control characters escaped, safe for a terminal.

    >>> print(printable("a group\nof \x1b[31mtwo\x1b[0m lines"))
    a group\nof \x1b[31mtwo\x1b[0m lines
    """
    shown = (each if each.isprintable() else repr(each)[1:-1] for each in text)
    return text if text.isprintable() else "".join(shown)
