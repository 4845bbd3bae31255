"""Names of owners on a timeline: inside their pieces, beside the marks of ledger entries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from emulator.report.pages.canvas import Canvas
from emulator.report.pages.drawing import (
    CHARACTER,
    FIGURE_WIDTHS,
    WIDTH,
    TimeScale,
    across,
    shown_from,
    text,
)
from emulator.report.pages.marks import Mark
from emulator.report.pages.thinning import Piece

NEAR: Final = 4.0
"""Thousandths of the width; a mark so close before a piece would cover the name in it."""

BESIDE_MARK: Final = 12
"""Pixels between the middle of a mark and a name."""

BESIDE_END: Final = 4
"""Pixels between an end of a piece and a name."""


def places_of(scale: TimeScale, marks: Iterable[Mark]) -> dict[str, list[float]]:
    """Return where each partition has marks, from left to right."""
    places: dict[str, list[float]] = {}
    for mark in sorted(marks, key=lambda mark: mark.at_us):
        places.setdefault(mark.partition, []).append(scale.x(mark.at_us))
    return places


def owner_name(canvas: Canvas, row: str, piece: Piece, y: float) -> str:
    """Return the name of an owner inside its piece: between marks, where there is room.

    That is the first place with room in the narrowest figure, or else the one with most room.
    """
    fits = list(_fits(canvas, row, piece))
    least = min(FIGURE_WIDTHS)
    wide, x, dx = next((fit for fit in fits if fit[0] <= least), min(fits))
    kind = shown_from(wide)
    return "" if kind is None else text(across(x), y, piece.owner, dx=dx, class_=f"owner{kind}")


def _fits(canvas: Canvas, row: str, piece: Piece) -> Iterator[tuple[float, float, int]]:
    """Yield each place between two marks: the width that a figure needs, where, pixels behind it."""
    x, end = canvas.scale.x(piece.begin_us), canvas.scale.x(piece.end_us)
    marks = canvas.marked.get(row, [])
    marks = marks[bisect_left(marks, x - NEAR) : bisect_right(marks, end)]
    begins = [(x, BESIDE_END), *((max(mark, x), BESIDE_MARK) for mark in marks)]
    ends = [*((mark, BESIDE_MARK) for mark in marks), (end, BESIDE_END)]
    name = CHARACTER * len(piece.owner)
    for (begin, before), (stop, after) in zip(begins, ends, strict=True):
        yield (before + name + after) * WIDTH / max(stop - begin, 1), begin, before
