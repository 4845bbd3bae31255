"""The charts of each metric of a study: curves with intervals, heat maps, bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from emulator.metrics.checks import split_name
from emulator.metrics.distribution import MIN_RUNS, Summary
from emulator.report.pages.charts import (
    Axis,
    Bar,
    Bars,
    Curve,
    Dots,
    Plot,
    Point,
    Rings,
    Series,
    category_axis,
    value_axis_of,
)
from emulator.report.pages.heat_map import HeatMap
from emulator.report.wording import figure
from emulator.study.findings import Findings
from emulator.study.labels import label_of
from emulator.study.overview_charts import BEST
from emulator.study.plan import Cell, Settings

MAX_CURVES = 8

LOG_FROM = 12.0
"""Ratio of the ends of an axis from which it is logarithmic."""


Picture = Plot | HeatMap


def pictures_of_metrics(findings: Findings) -> Iterator[Picture]:
    """Yield the curves, heat maps and bars, the metrics in the order of the study's file."""
    many = [axis for axis in range(len(_point(findings))) if len(_labels(findings, axis)) > 1]
    for metric in findings.plan.study.metrics:
        for axis in many:
            yield _curves(findings, metric, axis, [other for other in many if other != axis])
        if len(many) > 1 and findings.plan.study.latin_hypercube is None:
            yield from _heat_maps(findings, metric, many)
        elif not many:
            yield _bars(findings, metric)


def _point(findings: Findings) -> Sequence[Any]:
    return findings.plan.cells[0].settings.point


def _labels(findings: Findings, place: int) -> list[str]:
    cells = sorted(findings.plan.cells, key=lambda cell: _number(cell.settings, place))
    return list(dict.fromkeys(cell.settings.point[place].label for cell in cells))


def _number(settings: Settings, place: int) -> float:
    number = settings.point[place].number
    return 0.0 if number is None else number


# -- curves ------------------------------------------------------------------------------------


def _curves(findings: Findings, metric: str, place: int, others: Sequence[int]) -> Plot:
    axis = _point(findings)[place].axis
    rows = [each for each in findings.summaries if each.metric == metric]
    by_line: dict[str, list[tuple[Cell, Summary]]] = {}
    for row in rows:
        cell = findings.plan.cells[row.cell]
        by_line.setdefault(_line(findings, cell, others), []).append((cell, row.summary))
    spread = findings.plan.study.latin_hypercube is not None
    x_axis = _x_axis(findings, place, axis)
    series: list[Series] = []
    best: list[Point] = []
    for number, (name, points) in enumerate(list(by_line.items())[:MAX_CURVES]):
        points.sort(key=lambda point: _number(point[0].settings, place))
        at = [_x(cell.settings, place, x_axis) for cell, _ in points]
        series += _line_of(at, points, name, number, spread=spread)
        best += _rings(findings, at, points)
    series += [Rings(BEST, best)] if best else []
    bounds = list(_bounds(findings, metric))
    y_axis = _y_axis(label_of(metric, findings.plan), series, bounds)
    return Plot(
        title=f"{label_of(metric, findings.plan)} over {axis}",
        caption=_caption(len(by_line), spread=spread, bounded=bool(bounds)) + _cut(series, y_axis),
        x=x_axis,
        y=y_axis,
        series=series,
        bounds=bounds,
    )


def _caption(lines: int, *, spread: bool, bounded: bool) -> str:
    if spread:
        return "Each point is the mean of a cell over its seeds; the other settings vary from point to point."
    left = lines - MAX_CURVES
    more = f" {left} more curves are in summary.parquet." if left > 0 else ""
    more = f" Dotted line: a bound of the goal.{more}" if bounded else more
    return f"Line: mean; band: {_BAND}; hollow: p95.{more}"


_BAND: Final = (
    f"its 95 % confidence interval; of fewer than {MIN_RUNS} runs, their smallest and largest value"
)

CUT: Final = 1.5
"""How many times as high as the largest value an interval is shown."""


def _cut(series: Sequence[Series], axis: Axis) -> str:
    """Return a sentence if an interval is higher than the axis."""
    points = (point for each in series if isinstance(each, Curve) for point in each.points)
    is_cut = any(point.high is not None and point.high > axis.high for point in points)
    return " Intervals higher than the figure are cut off: few seeds." if is_cut else ""


def _y_axis(name: str, series: Sequence[Series], bounds: Sequence[float] = ()) -> Axis:
    """Return a vertical axis on which all values are, and intervals up to :data:`CUT` times as high.

    With two or three seeds an interval may be so wide that the values would be a line at the bottom.
    """
    values, ends = list(bounds), list[float]()
    for each in series:
        points = each.bars if isinstance(each, Bars) else each.points
        for point in points:
            values.append(point.value if isinstance(point, Bar) else point.y)
            ends += [end for end in (point.low, point.high) if end is not None]
    most = CUT * max(values, default=0.0)
    return value_axis_of(name, [*values, *(min(end, most) if most > 0 else end for end in ends)])


def _bounds(findings: Findings, metric: str) -> Iterator[float]:
    """Yield each bound that the goal has for a metric."""
    goal = findings.plan.study.goal
    for name, bound in goal.expect.items() if goal else ():
        if split_name(name)[0] == metric:
            yield bound.value


def _line(findings: Findings, cell: Cell, others: Sequence[int]) -> str:
    """Return the name of a cell's curve: its protocol, and its values on all other axes."""
    if findings.plan.study.latin_hypercube is not None:
        return cell.settings.protocol
    words = [f"{cell.settings.point[at].axis}={cell.settings.point[at].label}" for at in others]
    several = len(findings.plan.study.protocols) > 1 or not words
    return ", ".join([*([cell.settings.protocol] if several else []), *words])


def _line_of(
    at: Sequence[float],
    points: Sequence[tuple[Cell, Summary]],
    name: str,
    number: int,
    *,
    spread: bool,
) -> list[Series]:
    means = []
    for x, (cell, summary) in zip(at, points, strict=True):
        low, high = (None, None) if spread else _interval(summary)
        means.append(Point(x, summary.mean.value, low, high, _tip(cell, summary)))
    if spread:
        return [Dots(name, number, means)]
    p95 = [
        Point(x, summary.p95.value, text=f"p95: {figure(summary.p95.value)}")
        for x, (_, summary) in zip(at, points, strict=True)
    ]
    return [Curve(name, number, means), Dots("", number, p95, hollow=True)]


def _rings(
    findings: Findings, at: Sequence[float], points: Sequence[tuple[Cell, Summary]]
) -> Iterator[Point]:
    """Yield the best cells among the points of a curve."""
    best = findings.best_cells
    for x, (cell, summary) in zip(at, points, strict=True):
        if cell.number in best:
            yield Point(x, summary.mean.value, text=f"{BEST}: {_tip(cell, summary)}")


def _tip(cell: Cell, summary: Summary) -> str:
    return f"{cell.settings.name}: {figure(summary.mean.value)}"


def _interval(summary: Summary) -> tuple[float, float]:
    return _low_end(summary), summary.band[1]


def _low_end(summary: Summary) -> float:
    """Return the lower end of the band; at least 0 if no run has a negative value."""
    low = summary.band[0]
    return max(low, 0.0) if summary.minimum >= 0 else low


def _x(settings: Settings, place: int, axis: Axis) -> float:
    choice = settings.point[place]
    if choice.number is not None and not axis.is_category:
        return choice.number
    return next(at for at, label in axis.ticks if label == choice.label)


def _x_axis(findings: Findings, place: int, axis: str) -> Axis:
    """Return an x axis with the labels of the settings as ticks."""
    cells = [cell.settings for cell in findings.plan.cells]
    numbers = {settings.point[place].number: settings.point[place].label for settings in cells}
    if None in numbers:
        return category_axis(axis, _labels(findings, place))
    known = sorted(number for number in numbers if number is not None)
    wide = known[0] > 0 and known[-1] / known[0] >= LOG_FROM
    shown = known if len(known) <= 12 else known[:: len(known) // 6]
    return Axis(axis, known[0], known[-1], [(one, numbers[one]) for one in shown], is_log=wide)


# -- heat maps, bars ---------------------------------------------------------------------------


def _heat_maps(findings: Findings, metric: str, axes: Sequence[int]) -> Iterator[Picture]:
    """Yield a heat map of the first two axes for each protocol, with one scale of colours."""
    across, up, *others = axes
    x, y = _labels(findings, across), _labels(findings, up)
    names = _point(findings)[across].axis, _point(findings)[up].axis
    panels = [
        _means(findings, metric, across, up, protocol) for protocol in findings.plan.study.protocols
    ]
    known = [value for means in panels for line in means for value in line if value is not None]
    scale = (min(known, default=0.0), max(known, default=0.0))
    alike = "; the colours have the same scale for each protocol" if len(panels) > 1 else ""
    for protocol, means in zip(findings.plan.study.protocols, panels, strict=True):
        yield HeatMap(
            title=f"{label_of(metric, findings.plan)} over {names[0]} and {names[1]}"
            + (f": {protocol}" if len(panels) > 1 else ""),
            caption=f"{_averaged(findings, others)}{alike}."
            + (" Framed: the best cell." if findings.answers else ""),
            across=category_axis(names[0], x),
            up=category_axis(names[1], y),
            values=means,
            scale=scale,
            marked=_marked(findings, across, up, protocol),
        )


def _averaged(findings: Findings, others: Sequence[int]) -> str:
    """Return what each field of a heat map is the mean of."""
    names = " and ".join(_point(findings)[axis].axis for axis in others)
    return f"Mean of all runs, over all values of {names}" if others else "Mean of all runs"


def _marked(findings: Findings, across: int, up: int, protocol: str) -> frozenset[tuple[int, int]]:
    """Return the row and column of each best cell of a protocol."""
    x, y = _labels(findings, across), _labels(findings, up)
    settings = [findings.plan.cells[cell].settings for cell in findings.best_cells]
    return frozenset(
        (y.index(each.point[up].label), x.index(each.point[across].label))
        for each in settings
        if each.protocol == protocol
    )


def _means(
    findings: Findings, metric: str, across: int, up: int, protocol: str
) -> list[list[float | None]]:
    """Return the means of a metric by the labels of two axes, of one protocol."""
    x, y = _labels(findings, across), _labels(findings, up)
    sums, counts = np.zeros((len(y), len(x))), np.zeros((len(y), len(x)))
    for row in findings.summaries:
        settings = findings.plan.cells[row.cell].settings
        if row.metric == metric and settings.protocol == protocol:
            place = y.index(settings.point[up].label), x.index(settings.point[across].label)
            sums[place] += row.summary.mean.value
            counts[place] += 1
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return [[None if np.isnan(value) else float(value) for value in line] for line in means]


def _bars(findings: Findings, metric: str) -> Plot:
    rows = [each for each in findings.summaries if each.metric == metric]
    bars = []
    for place, row in enumerate(rows):
        mean = row.summary.mean
        name = findings.plan.cells[row.cell].settings.name
        tip = f"{name}: {figure(mean.value)}"
        bars.append(Bar(place + 0.2, place + 0.8, 0, mean.value, *row.summary.band, tip))
    names = [findings.plan.cells[row.cell].settings.name for row in rows]
    series = [Bars("", 0, bars)]
    return Plot(
        title=label_of(metric, findings.plan),
        caption=f"Bar: mean; whisker: {_BAND}.",
        x=category_axis("", names),
        y=_y_axis(label_of(metric, findings.plan), series),
        series=series,
    )
