"""The tables over all cells of a study: Pareto sets, and the sensitivity to each setting."""

from __future__ import annotations

from emulator.report.wording import counted, figure
from emulator.study.findings import Findings
from emulator.study.labels import label_of, name_of
from emulator.study.summary import Front


def front_title(findings: Findings, front: Front) -> str:
    """Return which metrics a Pareto set minimises, and how many of the cells are in it."""
    labels = ", ".join(label_of(metric, findings.plan) for metric in front.metrics)
    cells = counted(len(front.means), "cell")
    left = counted(len(front.left_out), "cell")
    without = f"; {left} left out as disqualified or failed" if front.left_out else ""
    return f"Pareto-optimal in {labels}: {len(front.cells)} of {cells} (means){without}"


def front_rows(findings: Findings, front: Front, most: int) -> list[tuple[str, ...]]:
    """Return the titles of the columns and a row for each Pareto-optimal cell, *most* of them."""
    labels = [label_of(metric, findings.plan) for metric in front.metrics]
    rows = [
        (name_of(findings.plan, cell), *map(figure, front.means[cell]))
        for cell in front.cells[:most]
    ]
    return [("cell", *labels), *rows]


SENSITIVITY_TITLES = ("metric", "setting", "share", "smallest mean, at", "largest mean, at")


def sensitivity_rows(findings: Findings) -> list[tuple[str, ...]]:
    """Return the titles of the columns and a row for each metric and setting."""
    rows = [
        (
            label_of(each.metric, findings.plan),
            each.axis,
            f"{each.share:.0%} ({each.low:.0%} to {each.high:.0%})",
            f"{figure(each.least_mean)}, {each.least}",
            f"{figure(each.most_mean)}, {each.most}",
        )
        for each in findings.influences
    ]
    return [SENSITIVITY_TITLES, *rows]
