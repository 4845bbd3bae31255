"""Draw charts as SVG: curves with bands, points with whiskers, bars, rings.

Each series has a colour and also a dash and a marker of its own. The legend is text beside the
chart, so that it covers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from assignors.values import dataclass
from emulator.report.pages.drawing import (
    LINE,
    MARKERS,
    WIDTH,
    Attributes,
    TimeScale,
    across,
    element,
    figure_of,
    fill_of,
    name_labels,
    number,
    shown_at,
    stretched,
    text,
    tick_labels,
    title,
    value_axis,
    value_ticks,
)
from emulator.report.pages.page import Chart, swatch
from emulator.report.wording import figure

HEIGHT: Final = 300
BELOW: Final = 44
ABOVE: Final = 14
"""Pixels of a chart: its height, and the parts for the horizontal axis and above."""

BESIDE: Final = 24
"""The part of the width left free at each side, for points at the ends of an axis."""

STYLES: Final = 8
"""The number of colours of series."""


class Axis(NamedTuple):
    """An axis: its title, its ends, and its ticks with their labels."""

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    is_log: bool = False
    is_category: bool = False

    def share(self, value: float) -> float:
        """Return where a value is: 0 at the low end, 1 at the high end."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5


def value_axis_of(name: str, values: Sequence[float]) -> Axis:
    """Return a linear axis from 0, or from the least value if that is negative."""
    high, low = max([*values, 0.0]), min([*values, 0.0])
    span = high - low or 1.0
    ticks = value_ticks(span)
    step = ticks[1] if len(ticks) > 1 else span
    low = math.floor(low / step) * step
    places = [low + step * place for place in range(round((high - low) // step) + 1)]
    return Axis(name, low, max(high, low + step), [(at, figure(at)) for at in places])


def category_axis(name: str, labels: Sequence[str]) -> Axis:
    """Return an axis of names; the place of the n-th is n + 0.5."""
    ticks = [(place + 0.5, label) for place, label in enumerate(labels)]
    return Axis(name, 0, max(len(labels), 1), ticks, is_category=True)


def time_axis(begin_ms: int, end_ms: int) -> Axis:
    """Return an axis of times since 1970 in milliseconds, labelled in UTC."""
    scale = TimeScale(begin_ms * 1_000, max(end_ms, begin_ms + 1) * 1_000, 1)
    ticks = [at_us // 1_000 for at_us in scale.ticks(7)]
    if end_ms - begin_ms > _DAY_MS:
        digits = "minutes"
    else:
        digits = "milliseconds" if any(at % 1_000 for at in ticks) else "seconds"
    return Axis(
        "time (UTC)",
        begin_ms,
        max(end_ms, begin_ms + 1),
        [(at, _time(at, digits)) for at in ticks],
    )


_DAY_MS: Final = 86_400_000


def _time(at_ms: int, digits: str) -> str:
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415  only charts over time

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
    except OverflowError:  # outside the calendar, as times in a log may be
        return f"{at_ms} ms"
    if digits == "minutes":
        return f"{moment:%m-%d %H:%M}"
    return moment.time().isoformat(digits)


class Point(NamedTuple):
    """A point, with an interval around its value, and a tool tip."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    text: str = ""


class Bar(NamedTuple):
    """A bar between two places, from a base to a value, with an interval around the value."""

    begin: float
    end: float
    base: float
    value: float
    low: float | None = None
    high: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Points connected by lines; with intervals, a band behind them."""

    name: str
    style: int
    points: Sequence[Point]
    steps: bool = False
    """Whether a value holds until the next point."""

    markers: bool = True


@dataclass(frozen=True, slots=True)
class Dots:
    """Points that are not connected."""

    name: str
    """Empty: not in the legend."""

    style: int
    points: Sequence[Point]
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars of one colour."""

    name: str
    style: int
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Rings:
    """Circles around points of other series, which they mark."""

    name: str
    points: Sequence[Point]


Series = Curve | Dots | Bars | Rings


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A chart that is not drawn yet."""

    title: str
    caption: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    bounds: Sequence[float] = ()
    """Values with a line across."""

    bands: Sequence[tuple[float, float]] = ()
    """Parts of the horizontal axis that are shaded."""


def draw_plot(plot: Plot) -> Chart:
    """Return a plot as SVG."""

    def x_of(value: float) -> float:
        return BESIDE + plot.x.share(value) * (WIDTH - 2 * BESIDE)

    def y_of(value: float) -> float:
        return ABOVE + (1 - min(max(plot.y.share(value), 0), 1)) * HEIGHT

    place = x_of, y_of
    words = dict(plot.y.ticks)
    lines, labels = value_axis([at for at, _ in plot.y.ticks], y_of, lambda at: words[at])
    axis, below = horizontal_axis(plot.x, x_of)
    drawn = [lines, *axis]
    for begin, end in plot.bands:
        shape = {"x": across(x_of(begin)), "width": across(max(x_of(end) - x_of(begin), 1))}
        drawn.append(element("rect", class_="rebalance", y=ABOVE, height=HEIGHT, **shape))
    drawn += [_DRAWERS[type(series)](series, *place) for series in plot.series]
    for bound in plot.bounds:
        y = y_of(bound)
        drawn.append(element("line", x1=0, x2="100%", y1=y, y2=y, class_="bound"))
    titles = vertical_title(plot.y.title)
    return chart_of(
        plot.title, plot.caption, titles + labels, "".join(drawn), legend_of(plot.series), below
    )


def chart_of(
    heading: str,
    caption: str,
    labels: str,
    drawn: str,
    legend: Sequence[tuple[str, str]],
    below: float,
) -> Chart:
    """Return a chart; *labels* and *drawn*: SVG of its two parts, *below*: the height of its axis."""
    parts = figure_of(labels, drawn, ABOVE + HEIGHT + below, heading)
    return Chart(heading, caption, *parts, legend)


def vertical_title(words: str) -> str:
    """Return the title of a vertical axis, for the column of labels."""
    turned = f"rotate(-90 14 {ABOVE + HEIGHT / 2})"
    place = {"transform": turned, "text_anchor": "middle", "class_": "part"}
    return text(14, ABOVE + HEIGHT / 2, words, **place)


def horizontal_axis(axis: Axis, x_of: Callable[[float], float]) -> tuple[list[str], float]:
    """Return ticks and title of a horizontal axis, and its height.

    Names are on several lines where they would overlap; of values some are left out.
    """
    y = ABOVE + HEIGHT
    drawn = [element("line", x1=0, x2="100%", y1=y, y2=y, class_="axis")]
    for value, _ in axis.ticks:
        x = across(x_of(value))
        drawn.append(element("line", x1=x, x2=x, y1=y, y2=y + 4, class_="axis"))
    ticks = [(x_of(value), label) for value, label in axis.ticks]
    if not axis.is_category:
        at = text("50%", y + 39, axis.title, class_="part", text_anchor="middle")
        return [*drawn, *tick_labels(ticks, y + 21), at], BELOW
    names, lines = name_labels(ticks, y + 21)
    for number_ in sorted({*lines.values()}):
        widths = [width for width, each in lines.items() if each == number_]
        kind = f"part{shown_at(widths)}"
        height = y + 39 + LINE * (number_ - 1)
        names.append(text("50%", height, axis.title, class_=kind, text_anchor="middle"))
    return [*drawn, *names], BELOW + LINE * (max(lines.values()) - 1)


def legend_of(series: Sequence[Series]) -> list[tuple[str, str]]:
    """Return a swatch and a name for each named series."""
    return [(_swatch(each), each.name) for each in series if each.name]


def _swatch(series: Series) -> str:
    if isinstance(series, Bars):
        box: Attributes = {"x": 1, "y": 1, "width": 26, "height": 12}
        return swatch(element("rect", fill=fill_of(series.style), class_="piece", **box))
    if isinstance(series, Rings):
        return swatch(_ring(14, 7, 5.5))
    line = element("polyline", points="0,7 28,7", class_=_line_class(series.style))
    if isinstance(series, Curve) and not series.markers:
        return swatch(line)
    dot = _marker(series.style, 14, 7, hollow=isinstance(series, Dots) and series.hollow)
    return swatch((line if isinstance(series, Curve) else "") + dot)


def _line_class(style: int) -> str:
    """Return the classes of a line: a colour and a dash, and thick when these repeat."""
    return f"curve l{style % STYLES}" + (" again" if style >= STYLES else "")


Place = Callable[[float], float]


def _draw_curve(curve: Curve, x_of: Place, y_of: Place) -> str:
    banded = [point for point in curve.points if point.low is not None and point.high is not None]
    drawn = []
    if len(banded) > 1:
        upper = [(point.x, point.high or 0.0) for point in banded]
        lower = [(point.x, point.low or 0.0) for point in reversed(banded)]
        area = " ".join(f"{number(x_of(x))},{number(y_of(y))}" for x, y in [*upper, *lower])
        drawn.append(element("polygon", points=area, class_=f"band f{curve.style % STYLES}"))
    places = [(x_of(point.x), y_of(point.y)) for point in curve.points]
    if curve.steps:
        places = list(_stairs(places))
    line = " ".join(f"{number(x)},{number(y)}" for x, y in places)
    drawn.append(element("polyline", points=line, class_=_line_class(curve.style)))
    lines = stretched("".join(drawn), ABOVE + HEIGHT + BELOW)
    if not curve.markers:
        return lines
    return lines + _draw_dots(Dots("", curve.style, curve.points), x_of, y_of)


def _stairs(places: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    for before, after in pairwise(places):
        yield before
        yield after[0], before[1]
    yield from places[-1:]


def _draw_dots(dots: Dots, x_of: Place, y_of: Place) -> str:
    drawn = []
    for point in dots.points:
        x, y = across(x_of(point.x)), y_of(point.y)
        drawn.append(_marker(dots.style, x, y, hollow=dots.hollow, tip=point.text))
    return "".join(drawn)


def _marker(style: int, x: str | float, y: float, *, hollow: bool, tip: str = "") -> str:
    kind = f"dot h{style % STYLES}" if hollow else f"dot f{style % STYLES}"
    shape = f"#k{(style + style // STYLES) % len(MARKERS)}"
    return element("use", title(tip) if tip else "", href=shape, x=x, y=y, class_=kind)


def _draw_bars(bars: Bars, x_of: Place, y_of: Place) -> str:
    drawn = []
    for bar in bars.bars:
        x, top, bottom = x_of(bar.begin), y_of(bar.value), y_of(bar.base)
        wide = across(max(x_of(bar.end) - x - 0.5, 0.5))
        shape: Attributes = {"x": across(x), "width": wide, "y": min(top, bottom)}
        tip = title(bar.text) if bar.text else ""
        height = max(abs(bottom - top), 0.5)
        drawn.append(
            element("rect", tip, height=height, fill=fill_of(bars.style), class_="piece", **shape)
        )
        if bar.low is not None and bar.high is not None and bar.low != bar.high:
            middle = across((x + x_of(bar.end)) / 2)
            ends = {"y1": y_of(bar.low), "y2": y_of(bar.high)}
            kinds = ("whisker-halo", "whisker")
            drawn += [element("line", x1=middle, x2=middle, class_=kind, **ends) for kind in kinds]
    return "".join(drawn)


def _draw_rings(rings: Rings, x_of: Place, y_of: Place) -> str:
    return "".join(_ring(across(x_of(one.x)), y_of(one.y), 8, one.text) for one in rings.points)


def _ring(x: str | float, y: float, radius: float, tip: str = "") -> str:
    return element("circle", title(tip) if tip else "", cx=x, cy=y, r=radius, class_="best")


_DRAWERS: Final[dict[type, Callable[..., str]]] = {
    Curve: _draw_curve,
    Dots: _draw_dots,
    Bars: _draw_bars,
    Rings: _draw_rings,
}
