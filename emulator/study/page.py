"""The page of a study and its pictures: curves with intervals, heat maps, Pareto sets, sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import emulator
from emulator.metrics.checks import split_name
from emulator.metrics.distribution import Summary
from emulator.report.page import COLOURS, Figure, Page, Picture, Section, render
from emulator.report.wording import counted, figure
from emulator.study.answer_text import answer_table, label_of, sentences
from emulator.study.findings import Findings
from emulator.study.plan import Cell, Settings
from emulator.study.screen import study_screen
from emulator.study.summary import Front
from emulator.versions import KAFKA

DASHES = ("solid", "dash", "dot", "dashdot")
"""Line styles, so that curves with equal values are distinguishable."""

MOST_CURVES = 8
LOG_FROM = 12.0
"""Ratio of the ends of an axis from which it is logarithmic."""


def study_page(findings: Findings) -> str:
    """Return the report of a study as an HTML page; the same findings give the same bytes."""
    study = findings.plan.study
    return render(
        Page(
            title=study.title,
            question=study.question,
            facts=_facts(findings),
            answer=list(sentences(findings)),
            table=answer_table(findings),
            sections=[Section(pictures=list(pictures(findings)))],
            text="\n".join(study_screen(findings)),
        )
    )


def _facts(findings: Findings) -> str:
    parts = [
        f"scenario {findings.plan.study.scenario}",
        counted(findings.runs, "run"),
        counted(len(findings.results), "cell"),
        *([f"{counted(findings.failed, 'run')} failed"] if findings.failed else []),
        f"Apache Kafka {KAFKA}",
        f"rebalance-emulator {emulator.__version__}",
    ]
    return " | ".join(parts)


def pictures(findings: Findings) -> Iterator[Picture]:
    """Yield the pictures of a study, the metrics in the order of its file."""
    many = [axis for axis in range(len(_point(findings))) if len(_labels(findings, axis)) > 1]
    for metric in findings.plan.study.metrics:
        for axis in many:
            yield _curves(findings, metric, axis, [other for other in many if other != axis])
        if len(many) > 1 and findings.plan.study.latin_hypercube is None:
            yield from _heat_maps(findings, metric, many[0], many[1])
        elif not many:
            yield _bars(findings, metric)
    for front in findings.fronts:
        yield _front(findings, front)
    if findings.influences:
        yield _sensitivity(findings)


def _point(findings: Findings) -> Sequence[Any]:
    return findings.plan.cells[0].settings.point


def _labels(findings: Findings, place: int) -> list[str]:
    cells = sorted(findings.plan.cells, key=lambda cell: _number(cell.settings, place))
    return list(dict.fromkeys(cell.settings.point[place].label for cell in cells))


def _number(settings: Settings, place: int) -> float:
    number = settings.point[place].number
    return 0.0 if number is None else number


# -- curves ------------------------------------------------------------------------------------


def _curves(findings: Findings, metric: str, place: int, others: Sequence[int]) -> Picture:
    axis = _point(findings)[place].axis
    rows = [each for each in findings.summaries if each.metric == metric]
    by_line: dict[str, list[tuple[Cell, Summary]]] = {}
    for row in rows:
        cell = findings.plan.cells[row.cell]
        by_line.setdefault(_line(findings, cell, others), []).append((cell, row.summary))
    spread = findings.plan.study.latin_hypercube is not None
    data: list[Figure] = []
    for number, (name, points) in enumerate(list(by_line.items())[:MOST_CURVES]):
        points.sort(key=lambda point: _number(point[0].settings, place))
        data += _line_of(points, place, name, number, spread=spread)
    layout = _layout(axis, label_of(metric)) | {"xaxis": _x_axis(findings, place, axis)}
    layout |= {"shapes": list(_bounds(findings, metric))}
    left = len(by_line) - MOST_CURVES
    more = f" {left} more curves are in summary.parquet." if left > 0 else ""
    if layout["shapes"]:
        more = f" Dotted line: a bound of the goal.{more}"
    caption = (
        "Each point is the mean of a cell over its seeds; the other settings vary from point to point."
        if spread
        else f"Line: mean; band: its 95 % confidence interval; circles: p95.{more}"
    )
    return Picture(f"{label_of(metric)} over {axis}", caption, {"data": data, "layout": layout})


def _bounds(findings: Findings, metric: str) -> Iterator[Figure]:
    """Yield a horizontal line at each bound that the goal has for a metric."""
    goal = findings.plan.study.goal
    for name, bound in goal.expect.items() if goal else ():
        if split_name(name)[0] == metric:
            across: Figure = {"type": "line", "xref": "paper", "x0": 0, "x1": 1}
            look = {"line": {"color": "#1d2329", "width": 1, "dash": "dot"}}
            yield {**across, "y0": bound.value, "y1": bound.value, **look}


def _line(findings: Findings, cell: Cell, others: Sequence[int]) -> str:
    """Return the name of a cell's curve: its protocol, and its values on all other axes."""
    if findings.plan.study.latin_hypercube is not None:
        return cell.settings.protocol
    words = [f"{cell.settings.point[at].axis}={cell.settings.point[at].label}" for at in others]
    several = len(findings.plan.study.protocols) > 1 or not words
    return ", ".join([*([cell.settings.protocol] if several else []), *words])


def _line_of(
    points: Sequence[tuple[Cell, Summary]], place: int, name: str, number: int, *, spread: bool
) -> list[Figure]:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    x = [_x(cell.settings, place) for cell, _ in points]
    means = [summary.mean for _, summary in points]
    middle = [mean.value for mean in means]
    base: Figure = {"type": "scatter", "x": x, "legendgroup": name}
    base["line"] = {"color": colour, "dash": dash}
    if spread:
        marks = {"mode": "markers", "marker": {"color": colour, "size": 6}}
        return [{**base, **marks, "y": middle, "name": name}]
    low = [_low_end(summary) for _, summary in points]
    high = [mean.value if mean.high is None else mean.high for mean in means]
    hidden = {"mode": "lines", "showlegend": False, "hoverinfo": "skip", "line": {"width": 0}}
    fill = {"fill": "tonexty", "fillcolor": f"{colour}30"}
    dots = {"mode": "markers", "marker": {"color": colour, "symbol": "circle-open"}}
    p95 = [summary.p95.value for _, summary in points]
    return [
        {**base, **hidden, "y": low},
        {**base, **hidden, **fill, "y": high},
        {**base, "mode": "lines+markers", "y": middle, "name": name},
        {**base, **dots, "y": p95, "name": f"{name}, p95", "showlegend": False},
    ]


def _low_end(summary: Summary) -> float:
    """Return the lower end of the band; at least 0 if no run has a negative value."""
    mean = summary.mean
    low = mean.value if mean.low is None else mean.low
    return max(low, 0.0) if summary.minimum >= 0 else low


def _x(settings: Settings, place: int) -> float | str:
    choice = settings.point[place]
    return choice.label if choice.number is None else choice.number


def _x_axis(findings: Findings, place: int, axis: str) -> Figure:
    """Return an x axis with the labels of the settings as ticks."""
    cells = [cell.settings for cell in findings.plan.cells]
    numbers = {settings.point[place].number: settings.point[place].label for settings in cells}
    title: Figure = {"title": {"text": axis}}
    if None in numbers:
        return {**title, "type": "category"}
    known = sorted(number for number in numbers if number is not None)
    wide = known[0] > 0 and known[-1] / known[0] >= LOG_FROM
    kind = {"type": "log" if wide else "linear"}
    shown = known if len(known) <= 12 else known[:: len(known) // 6]
    return {**title, **kind, "tickvals": shown, "ticktext": [numbers[one] for one in shown]}


# -- heat maps, bars ---------------------------------------------------------------------------


def _heat_maps(findings: Findings, metric: str, across: int, up: int) -> Iterator[Picture]:
    """Yield a heat map for each protocol: means over all other axes."""
    x, y = _labels(findings, across), _labels(findings, up)
    names = _point(findings)[across].axis, _point(findings)[up].axis
    for protocol in findings.plan.study.protocols:
        sums, counts = np.zeros((len(y), len(x))), np.zeros((len(y), len(x)))
        for row in findings.summaries:
            settings = findings.plan.cells[row.cell].settings
            if row.metric == metric and settings.protocol == protocol:
                place = y.index(settings.point[up].label), x.index(settings.point[across].label)
                sums[place] += row.summary.mean.value
                counts[place] += 1
        means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        z = [[None if np.isnan(value) else float(value) for value in line] for line in means]
        text = [["" if value is None else figure(value) for value in line] for line in z]
        shades = {"colorscale": "Viridis", "texttemplate": "%{text}"}
        data = [{"type": "heatmap", "x": x, "y": y, "z": z, "text": text, **shades}]
        layout = _layout(*names)
        layout["xaxis"] |= {"type": "category"}
        layout["yaxis"] |= {"type": "category"}
        title = f"{label_of(metric)} over {names[0]} and {names[1]}: {protocol}"
        yield Picture(title, "Mean of all runs.", {"data": data, "layout": layout})


def _bars(findings: Findings, metric: str) -> Picture:
    rows = [each for each in findings.summaries if each.metric == metric]
    names = [findings.plan.cells[row.cell].settings.name for row in rows]
    means = [row.summary.mean for row in rows]
    reach = [0.0 if mean.high is None else mean.high - mean.value for mean in means]
    bars: Figure = {"type": "bar", "x": names, "y": [mean.value for mean in means]}
    bars |= {"error_y": {"type": "data", "array": reach}, "marker": {"color": COLOURS[0]}}
    caption = "Bar: mean; whisker: its 95 % confidence interval."
    layout = _layout("", label_of(metric))
    return Picture(label_of(metric), caption, {"data": [bars], "layout": layout})


# -- Pareto sets and sensitivity --------------------------------------------------------------------------


def _front(findings: Findings, front: Front) -> Picture:
    names = {cell.number: cell.settings.name for cell in findings.plan.cells}
    dominated = [cell for cell in front.means if cell not in front.cells]
    data = []
    for cells, title, look in (
        (dominated, "dominated", {"mode": "markers", "marker": {"color": "#9aa5ad"}}),
        (
            list(front.cells),
            "Pareto-optimal",
            {
                "mode": "lines+markers" if len(front.metrics) == 2 else "markers",
                "marker": {"color": COLOURS[1], "size": 9},
                "line": {"color": COLOURS[1], "shape": "hv", "width": 1},
            },
        ),
    ):
        x, y = ([front.means[cell][at] for cell in cells] for at in (0, 1))
        text = [names[cell] for cell in cells]
        data.append({"type": "scatter", "x": x, "y": y, "text": text, "name": title, **look})
    first, second, *more = map(label_of, front.metrics)
    also = f" Also minimised: {', '.join(more)}." if more else ""
    caption = f"Each point is the means of a cell; both metrics are minimised.{also}"
    layout = _layout(first, second)
    return Picture(f"{first} and {second}", caption, {"data": data, "layout": layout})


def _sensitivity(findings: Findings) -> Picture:
    data = []
    for number, metric in enumerate(findings.plan.study.metrics):
        mine = [each for each in findings.influences if each.metric == metric]
        bars = {"type": "bar", "name": label_of(metric), "x": [each.axis for each in mine]}
        shares = [each.share for each in mine]
        reach = {
            "type": "data",
            "array": [max(each.high - each.share, 0.0) for each in mine],
            "arrayminus": [max(each.share - each.low, 0.0) for each in mine],
        }
        colour = {"marker": {"color": COLOURS[number % len(COLOURS)]}}
        data.append({**bars, "y": shares, "error_y": reach, **colour})
    layout = _layout("", "share of the variance between cells") | {"barmode": "group"}
    layout["yaxis"] |= {"range": [0, 1], "tickformat": ".0%"}
    caption = "Main effect of each setting; whiskers: 95 % confidence interval."
    return Picture("Sensitivity", caption, {"data": data, "layout": layout})


def _layout(x: str, y: str) -> Figure:
    return {
        "template": {"layout": {"colorway": list(COLOURS)}},
        "margin": {"t": 20, "r": 20},
        "hovermode": "closest",
        "xaxis": {"title": {"text": x}, "gridcolor": "#e6e6e6"},
        "yaxis": {"title": {"text": y}, "gridcolor": "#e6e6e6", "rangemode": "tozero"},
        "plot_bgcolor": "#ffffff",
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }
