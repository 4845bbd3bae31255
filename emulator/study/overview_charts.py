"""The charts over all cells of a study: Pareto sets, and the sensitivity to each setting."""

from __future__ import annotations

from collections.abc import Iterable

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
from emulator.study.findings import Findings
from emulator.study.labels import label_of
from emulator.study.summary import Front

BEST = "best cell"
"""The name of the rings around the best cells of an answer."""


def front_chart(findings: Findings, front: Front, best_cells: frozenset[int]) -> Plot:
    """Return the cells by the metrics of a Pareto set, the best cells of the answer ringed."""
    names = {cell.number: cell.settings.name for cell in findings.plan.cells}

    def points(cells: Iterable[int]) -> list[Point]:
        found = [
            Point(front.means[cell][0], front.means[cell][1], text=names[cell]) for cell in cells
        ]
        return sorted(found, key=lambda point: (point.x, -point.y))

    best = points(front.cells)
    others = Dots(
        "dominated", 5, points(c for c in front.means if c not in front.cells), hollow=True
    )
    optimal: Series = (
        Curve("Pareto-optimal", 1, best, steps=True)
        if len(front.metrics) == 2
        else Dots("Pareto-optimal", 1, best)
    )
    ringed = [Rings(BEST, points(c for c in front.means if c in best_cells))] if best_cells else []
    first, second, *more = (label_of(metric, findings.plan) for metric in front.metrics)
    also = f" Also minimised: {', '.join(more)}." if more else ""
    return Plot(
        title=f"{first} and {second}",
        caption=f"Each point is the means of a cell; both metrics are minimised.{also}",
        x=value_axis_of(first, [mean[0] for mean in front.means.values()]),
        y=value_axis_of(second, [mean[1] for mean in front.means.values()]),
        series=[others, optimal, *ringed],
    )


def sensitivity_chart(findings: Findings) -> Plot:
    """Return the share of each setting in the variance of each metric."""
    metrics = findings.plan.study.metrics
    axes = list(dict.fromkeys(each.axis for each in findings.influences))
    wide = 0.8 / len(metrics)
    series = []
    for number, metric in enumerate(metrics):
        bars = []
        for each in findings.influences:
            if each.metric == metric:
                begin = axes.index(each.axis) + 0.1 + number * wide
                tip = f"{label_of(metric, findings.plan)}, {each.axis}: {each.share:.0%}"
                bars.append(Bar(begin, begin + wide, 0, each.share, each.low, each.high, tip))
        series.append(Bars(label_of(metric, findings.plan), number, bars))
    percent = [(tenth / 10, f"{tenth * 10} %") for tenth in range(0, 11, 2)]
    return Plot(
        title="Sensitivity",
        caption="Main effect of each setting; whiskers: 95 % confidence interval.",
        x=category_axis("", axes),
        y=Axis("share of the variance", 0, 1, percent),
        series=series,
    )
