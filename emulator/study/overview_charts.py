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
    category_axis,
    value_axis_of,
)
from emulator.study.findings import Findings
from emulator.study.labels import label_of, name_of
from emulator.study.summary import Front

BEST = "best cell"
"""The name of the rings around the best cells of an answer."""


def front_chart(findings: Findings, front: Front) -> Plot:
    """Return the cells by the metrics of a Pareto set, the best cells of the answer ringed."""

    def points(cells: Iterable[int]) -> list[Point]:
        plan = findings.plan
        means = ((cell, front.means[cell]) for cell in cells)
        found = [Point(mean[0], mean[1], text=name_of(plan, cell)) for cell, mean in means]
        return sorted(found, key=lambda point: (point.x, -point.y))

    best = points(front.cells)
    beaten = (cell for cell in front.means if cell not in {*front.cells, *front.left_out})
    optimal = (
        Curve("Pareto-optimal", 1, best, steps=True)
        if len(front.metrics) == 2
        else Dots("Pareto-optimal", 1, best)
    )
    drawn: list[Curve | Dots | Rings] = [
        Dots("dominated", 5, points(beaten), hollow=True),
        Dots("left out: disqualified or failed", 6, points(front.left_out), hollow=True),
        optimal,
        Rings(BEST, points(c for c in front.means if c in findings.best_cells)),
    ]
    first, second, *more = (label_of(metric, findings.plan) for metric in front.metrics)
    also = f" Also minimised, but not drawn: {', '.join(more)}." if more else ""
    return Plot(
        title=f"{first} and {second}",
        caption="Each point is a cell, at its means; the lower and the farther left, the better."
        + also
        + _left_out(front),
        x=value_axis_of(first, [mean[0] for mean in front.means.values()]),
        y=value_axis_of(second, [mean[1] for mean in front.means.values()]),
        series=[each for each in drawn if each.points],
    )


def _left_out(front: Front) -> str:
    """Return a sentence if cells may not be called best."""
    return " Cells with a disqualified or failed run are left out of the set." * bool(
        front.left_out
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
        title="What the variance of each metric comes from",
        caption="The part of the variance of a metric between cells that one setting explains alone. Parts "
        "need not add up to 100 %: the rest depends on several settings together, or is chance. "
        "Whisker: 95 % confidence interval.",
        x=category_axis("", axes),
        y=Axis("share of the variance", 0, 1, percent),
        series=series,
    )
