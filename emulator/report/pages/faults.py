"""Draw faults and acts as numbered lines across a timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from emulator.report.cutting import counted_kinds
from emulator.report.pages.canvas import Canvas
from emulator.report.pages.drawing import (
    FIGURE_WIDTHS,
    WIDTH,
    Attributes,
    across,
    element,
    shown_at,
    text,
    title,
)
from emulator.report.pages.history import Moment
from emulator.report.pages.thinning import fairly
from emulator.report.wording import duration

MAX_LINES: Final = 60
"""Faults drawn as lines."""

FEW_LINES: Final = 20
"""With more faults than this their lines are pale, so that what they cross can be seen."""

BOLD: Final = 7
"""Pixels of a character of a number."""


def fault_lines(canvas: Canvas, faults: Sequence[Moment]) -> tuple[str, list[tuple[str, str]]]:
    """Return a numbered line for each fault, and the texts of the numbers."""
    scale = canvas.scale
    inside = [one for one in faults if scale.begin_us <= one.begin_us <= scale.end_us]
    shown, left_out = fairly(inside, MAX_LINES, _kind, lambda one: one.end_us - one.begin_us)
    if left_out:
        canvas.notes.append(
            f"{len(shown):,} of {len(inside):,} faults and acts are drawn. Left out: "
            f"{counted_kinds(map(_kind, left_out))}."
        )
    lines, named = [], []
    for place, fault in enumerate(shown, 1):
        x, label = scale.x(fault.begin_us), f"F{place}"
        length = duration((fault.end_us - fault.begin_us) / 1e6)
        lasted = f", for {length}" if fault.end_us > fault.begin_us else ""
        words = f"{canvas.moment(fault.begin_us)} {fault.text}{lasted}"
        line_at: Attributes = {"x1": across(x), "x2": across(x), "y1": 16, "y2": canvas.bottom}
        line = element("line", title(f"{label}: {words}"), **line_at)
        lines.append(element("g", line, class_="fault"))
        if fault.end_us > fault.begin_us:
            shape = canvas.rect(fault.begin_us, fault.end_us, 16, 4)
            lines.append(element("rect", class_="fault-length", **shape))
        named.append((label, words))
    names = fault_names([scale.x(fault.begin_us) for fault in shown])
    drawn = "".join(lines)
    if len(shown) > FEW_LINES:
        drawn = element("g", drawn, class_="pale")
    return "".join([drawn, *names]), named


def _kind(fault: Moment) -> str:
    """Return the verb of a fault or act."""
    return fault.verb


def fault_names(places: Sequence[float]) -> Iterator[str]:
    """Yield the numbers of faults; those close together have one label, from the first to the last."""
    widest = BOLD * len(_words(len(places) - 2, len(places) - 1))
    shown: dict[tuple[int, int, str], list[int]] = {}
    for width in FIGURE_WIDTHS:
        pixels = [x * width / WIDTH for x in places]
        for first, last in _clusters(pixels, widest, width):
            anchor = "end" if pixels[first] + widest / 2 > width else "middle"
            shown.setdefault((first, last, anchor), []).append(width)
    for (first, last, anchor), widths in sorted(shown.items()):
        kind = f"fault-name{shown_at(widths)}"
        place = across(places[first])
        yield text(place, 12, _words(first, last), class_=kind, text_anchor=anchor)


def _words(first: int, last: int) -> str:
    return f"F{first + 1}-F{last + 1}" if last > first else f"F{first + 1}"


def _clusters(places: Sequence[float], widest: float, width: float) -> Iterator[tuple[int, int]]:
    """Yield the first and the last fault of each label, so that no label covers another one."""
    free, begins = float("-inf"), list[int]()
    for at, place in enumerate(places):
        begin = place - (widest if place + widest / 2 > width else widest / 2)
        if begin >= free:
            free = begin + widest + 4
            begins.append(at)
    for first, after in pairwise([*begins, len(places)]):
        yield first, after - 1
