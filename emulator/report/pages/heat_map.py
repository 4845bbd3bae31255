"""Draw a heat map as SVG: shades of one scale, the values written in the cells, frames around some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from emulator.report.pages.charts import (
    ABOVE,
    HEIGHT,
    Axis,
    chart_of,
    horizontal_axis,
    vertical_title,
)
from emulator.report.pages.drawing import (
    CHARACTER,
    LABELS_WIDTH,
    WIDTH,
    Attributes,
    across,
    element,
    shortened,
    shown_from,
    text,
    title,
)
from emulator.report.pages.page import Chart, swatch
from emulator.report.wording import figure


class HeatMap(NamedTuple):
    """Values by row and column; None: there is none."""

    title: str
    caption: str
    across: Axis
    up: Axis
    values: Sequence[Sequence[float | None]]
    scale: tuple[float, float]
    """Of the colours; the same for all panels of a metric."""

    marked: frozenset[tuple[int, int]] = frozenset()
    """Rows and columns of the cells with a frame."""


HEAT_STEPS: Final = 8


def draw_heat_map(heat: HeatMap) -> Chart:
    """Return a heat map as SVG, with its values written in the cells."""
    wide = WIDTH / max(len(heat.across.ticks), 1)
    tall = HEIGHT / max(len(heat.up.ticks), 1)
    drawn, labels = [], [vertical_title(heat.up.title)]
    for row, (_, name) in enumerate(heat.up.ticks):
        y = ABOVE + HEIGHT - (row + 1) * tall
        middle = {"class_": "tick", "text_anchor": "end"}
        labels.append(text(LABELS_WIDTH - 6, y + tall / 2 + 4, shortened(name), **middle))
        for column, value in enumerate(heat.values[row]):
            if value is not None:
                drawn.append(_cell(column * wide, y, wide, tall, value, heat.scale))
            if (row, column) in heat.marked:
                place = {"x": across(column * wide + 5), "width": across(wide - 10)}
                drawn.append(_frame(y + 3, tall - 6, **place))
    axis, below = horizontal_axis(heat.across, lambda value: value * wide)
    drawn += axis
    parts = "".join(labels), "".join(drawn)
    return chart_of(heat.title, heat.caption, *parts, _heat_legend(heat), below)


def _cell(
    x: float, y: float, wide: float, tall: float, value: float, scale: tuple[float, float]
) -> str:
    step = _heat_step(value, scale)
    shape: Attributes = {
        "x": across(x + 0.5),
        "y": y + 0.5,
        "width": across(wide - 1),
        "height": tall - 1,
    }
    words = figure(value)
    drawn = element("rect", title(words), class_=f"heat{step}", **shape)
    kind = shown_from(CHARACTER * len(words) * WIDTH / wide)
    if kind is None:
        return drawn
    at_middle = across(x + wide / 2)
    return drawn + text(at_middle, y + tall / 2 + 4, words, class_=f"in-heat{step}{kind}")


def _frame(y: float, tall: float, **place: str | float) -> str:
    shape = {"y": y, "height": tall, **place}
    return "".join(element("rect", class_=kind, **shape) for kind in ("best-halo", "best"))


def _heat_step(value: float, scale: tuple[float, float]) -> int:
    low, high = scale
    if high <= low:
        return 0
    return min(int((value - low) / (high - low) * HEAT_STEPS), HEAT_STEPS - 1)


def _heat_legend(heat: HeatMap) -> list[tuple[str, str]]:
    low, high = heat.scale
    ends = ((0, f"from {figure(low)}"), (HEAT_STEPS - 1, f"to {figure(high)}"))
    box = {"x": 1, "y": 1, "width": 26, "height": 12}
    legend: list[tuple[str, str]] = [
        (swatch(element("rect", class_=f"heat{step} edged", **box)), words) for step, words in ends
    ]
    if heat.marked:
        legend.append((swatch(_frame(1, 12, x=1, width=26)), "best cell"))
    return legend
