"""The canvas of a timeline: what has been drawn, and where the next part begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final

from assignors.values import dataclass
from emulator.report.pages.drawing import LABELS_WIDTH, TimeScale, across, shortened, text
from emulator.report.pages.history import Span
from emulator.report.pages.thinning import Piece
from emulator.report.wording import duration

TOP: Final = 30
"""Height in pixels of the part for the names of faults."""

BETWEEN: Final = 26
"""Height in pixels of the heading of a part."""


@dataclass(slots=True)
class Canvas:
    """What has been drawn: the figure, and the labels at its left."""

    scale: TimeScale
    moment: Callable[[int], str]
    drawn: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was reduced or left out, in sentences."""

    marked: dict[str, list[float]] = field(default_factory=dict)
    """Where each partition with marks has them, from left to right: names leave room for them."""

    bottom: float = TOP

    def label(self, y: float, content: str) -> None:
        """Add a label at the left; a long one loses its middle."""
        words = shortened(content)
        self.labels.append(text(LABELS_WIDTH - 6, y, words, class_="tick", text_anchor="end"))

    def heading(self, content: str) -> None:
        """Begin a part of the figure with its name."""
        self.bottom += BETWEEN
        self.labels.append(text(0, self.bottom - 8, content, class_="part"))

    def rect(
        self, begin_us: int, end_us: int, y: float, height: float, least: float = 0.5
    ) -> dict[str, str | float]:
        """Return the attributes of a rectangle between two times; *least*: its least width."""
        x = self.scale.x(begin_us)
        wide = max(self.scale.x(end_us) - x, least)
        return {"x": across(x), "y": y, "width": across(wide), "height": height}


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key by which ``billing-2`` precedes ``billing-10``."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]


def clipped_spans(spans: Sequence[Span], begin_us: int, end_us: int) -> list[Span]:
    """Return the parts of spans between two times."""
    return [
        Span(max(span.begin_us, begin_us), min(span.end_us, end_us), span.name)
        for span in spans
        if span.end_us >= begin_us and span.begin_us <= end_us
    ]


def times_of(canvas: Canvas, piece: Piece) -> str:
    """Return begin, end and length of a piece."""
    length = duration((piece.end_us - piece.begin_us) / 1e6)
    return f"{canvas.moment(piece.begin_us)} to {canvas.moment(piece.end_us)} ({length})"
