"""Cutting a big file of text into spans of whole rows, which many may read at the same time.

JSON lines are cut at newlines. In CSV a newline may be within a value, and whether it is depends on
all quotes before it. So stretches of the file are looked at first, each on the supposition that it
begins outside of a value, and on the one that it begins within; then, from the first stretch on,
it is known which of the two holds. That is one more reading, which parses nothing. A file whose
quotes do not stand as RFC 4180 has them stays whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from emulator.logs.audit.columns import Array
from emulator.logs.audit.csv_layout import QUOTE, CsvLayout, quotes_in
from emulator.logs.audit.text import pieces_of

LOOK_BYTES: Final = 1 << 23
"""Text that is looked at at once."""

Span = tuple[int, int]
"""From where to where, in bytes."""


class Seen(NamedTuple):
    """What a look at a stretch of CSV finds; pairs: beginning outside of a value, and within."""

    begin: int
    quotes: int
    is_sound: tuple[bool, bool]
    """Whether quotes open values only where values begin."""

    row_begin: tuple[int | None, int | None]
    """Where the first row begins behind an end of another one in the stretch."""


def stretches_of(begin: int, length: int, size: int) -> list[Span]:
    """Cut a file, from where its rows begin, into stretches of about a size."""
    count = max(1, (length - begin) // size)
    borders = [begin + (length - begin) * number // count for number in range(count + 1)]
    return list(pairwise(borders))


def lines_cut(path: Path, stretches: Sequence[Span]) -> list[Span]:
    """Move the borders of stretches behind the next newline."""
    begins = [stretches[0][0]]
    for begin, _ in stretches[1:]:
        found = _behind_newline(path, max(begin, begins[-1]), stretches[-1][1])
        if found is not None:
            begins.append(found)
    return _spans(begins, stretches[-1][1])


def _behind_newline(path: Path, begin: int, end: int) -> int | None:
    at = begin - 1
    for piece in pieces_of(path, at, end, 1 << 16):
        place = piece.find(b"\n")
        if place >= 0:
            return at + place + 1
        at += len(piece)
    return None


def look(path: Path, stretch: Span, layout: CsvLayout, size: int = LOOK_BYTES) -> Seen:
    """Look at the quotes of a stretch."""
    at, quotes, before = stretch[0], 0, _byte_before(path, stretch[0])
    sound, row_begin = [True, True], list[int | None]([None, None])
    for piece in pieces_of(path, *stretch, size):
        found = quotes_in(piece) if QUOTE in piece else np.array([], np.int64)
        for within in (0, 1):
            # Whether the piece begins within a value, and so its first quote closes one.
            open_ = (within + quotes) % 2
            sound[within] &= layout.stand_well(piece, found, open_, before)
            if sound[within] and row_begin[within] is None:
                end = _first_end(piece, found, open_, layout)
                row_begin[within] = None if end is None else at + end
        at, quotes, before = at + len(piece), quotes + len(found), piece[-1]
    return Seen(stretch[0], quotes, (sound[0], sound[1]), (row_begin[0], row_begin[1]))


def _byte_before(path: Path, at: int) -> int:
    return next((piece[0] for piece in pieces_of(path, at - 1, at, 1)), ord("\n"))


def _first_end(piece: bytes, quotes: Array, open_: int, layout: CsvLayout) -> int | None:
    """Return where the first row ends in a piece; *open_*: 1 if that begins within a value."""
    begin = 0
    while (place := piece.find(layout.newline, begin)) >= 0:
        before = int(np.searchsorted(quotes, place))
        if (before + open_) % 2 == 0:
            return place + 1
        if before == len(quotes):
            return None
        begin = int(quotes[before])
    return None


def rows_cut(seen: Iterable[Seen], end: int) -> list[Span] | None:
    """Return spans of whole rows of a file that was looked at; None if it must stay whole."""
    begins, within = list[int](), 0
    for stretch in seen:
        if not stretch.is_sound[within]:
            return None
        begin = stretch.row_begin[within] if begins else stretch.begin
        if begin is not None and begin not in begins[-1:]:
            begins.append(begin)
        within ^= stretch.quotes % 2
    return None if within else _spans(begins, end)


def _spans(begins: Sequence[int], end: int) -> list[Span]:
    return [span for span in pairwise([*begins, end]) if span[0] < span[1]]
