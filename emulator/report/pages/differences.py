"""Draw paired differences as points with intervals, one scale for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from emulator.report.pages.drawing import (
    FIGURE_WIDTHS,
    LABELS_WIDTH,
    Attributes,
    across,
    element,
    figure_of,
    shown_at,
    text,
    title,
)
from emulator.report.pages.page import Chart
from emulator.report.wording import difference, figure

WIDTH: Final = 1_000
"""The width of the figure, in units of its computation."""

ROW: Final = 18
HEAD: Final = 26
LINE: Final = 12
"""Heights in pixels of a row, of a metric's heading, and of a further line of a name."""

NAME_WIDTH: Final = 16
"""Characters of a line of a variant's name beside its row."""

CHARACTER: Final = 12
"""The width of a digit in a label of a wide font, where the figure is 550 pixels wide."""

GAP: Final = 12
"""Space between the end of an interval and its label, and between the label and the edge."""


class Difference(NamedTuple):
    """The mean difference of a metric between a variant and the first one."""

    metric: str
    variant: str
    mean: float
    low: float
    high: float


def draw_differences(differences: Sequence[Difference], base: str, ends: str) -> Chart:
    """Return the differences as a chart: to the left of the middle is less than with *base*.

    *ends*: the words for the ends of each difference.
    """
    labels, drawn, y = [], [], 4.0
    room = 2 * GAP + CHARACTER * max((len(_words(one)) for one in differences), default=0)
    metrics = dict.fromkeys(one.metric for one in differences)
    for metric in metrics:
        mine = [one for one in differences if one.metric == metric]
        most = max(abs(value) for one in mine for value in (one.mean, one.low, one.high))
        if not most:
            continue
        drawn.append(text(4, y + 16, metric, class_="part"))
        y += HEAD
        for one in mine:
            lines = wrap(one.variant, NAME_WIDTH)
            height = ROW + LINE * (len(lines) - 1)
            for place, line in enumerate(lines):
                at = {"class_": "tick", "text_anchor": "end"}
                labels.append(text(LABELS_WIDTH - 6, y + 12 + LINE * place, line, **at))
            drawn.append(_row(one, y + height / 2, (WIDTH / 2 - room) / most))
            y += height
    middle = element("line", x1="50%", x2="50%", y1=4, y2=y, class_="axis")
    name = f"Differences from {base}, paired by seed"
    has_intervals = any(one.low != one.high for one in differences)
    whiskers = f" Whiskers: {ends}." if has_intervals else ""
    parts = figure_of("".join(labels), middle + "".join(drawn), y + 4, name)
    return Chart(
        title=name,
        caption=(
            f"Left of the line: less than with {base}; right: more.{whiskers} "
            "Each metric has a scale of its own; metrics without a difference are left out."
        ),
        labels=parts[0],
        figure=parts[1],
    )


def _words(one: Difference) -> str:
    """Return a difference with its interval."""
    words = difference(one.mean)
    if one.low == one.high:
        return words
    return f"{words} ({figure(one.low)} to {figure(one.high)})"


def _row(one: Difference, y: float, scale: float) -> str:
    """Return the bar, interval, point and label of a difference; *scale*: pixels for each unit."""

    def x_of(value: float) -> float:
        return WIDTH / 2 + value * scale

    def line(begin: float, end: float, kind: str) -> str:
        ends = {"x1": across(x_of(begin)), "x2": across(x_of(end))}
        return element("line", y1=y, y2=y, class_=kind, **ends)

    low, high, words = one.low, one.high, _words(one)
    bar, whisker = line(0, one.mean, "curve processed"), line(low, high, "axis")
    place: Attributes = {"cx": across(x_of(one.mean)), "cy": y, "r": 4}
    point = element("circle", title(f"{one.variant}: {words}"), **place)
    at_right = one.mean >= 0
    ends = x_of(low), x_of(high), x_of(one.mean)
    edge = max(ends) + GAP if at_right else min(ends) - GAP
    side = {
        "class_": shown_at(FIGURE_WIDTHS[1:]).strip(),
        "text_anchor": "start" if at_right else "end",
    }
    label = text(across(edge), y + 4, words, **side)
    return bar + whisker + element("g", point, class_="mark") + label
