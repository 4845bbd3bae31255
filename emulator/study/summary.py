"""What a study says of each cell: quantiles and means with intervals, and paired differences.

The intervals are those of :mod:`emulator.metrics.distribution`: order statistics for quantiles,
Student's t for means. The numbers depend on the rows alone, not on who played them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from emulator.metrics.distribution import Comparison, Estimate, Summary, compare, summarise
from emulator.study.model import Until
from emulator.study.results import CellResults

Against = Literal["protocol", "settings"]
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One metric in one cell."""

    cell: int
    metric: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric in one cell, seed by seed against another cell."""

    cell: int
    reference: int
    against: Against
    """``protocol``: the same settings under the first protocol. ``settings``: the first value of
    every axis that is chosen, under the same protocol; what is given stays."""

    metric: str
    comparison: Comparison


def summaries(results: Sequence[CellResults], metrics: Sequence[str]) -> list[CellSummary]:
    """Return every metric of every cell that has at least one run."""
    return [
        CellSummary(each.cell.number, metric, summarise(each.values[metric]))
        for each in results
        for metric in metrics
        if each.seeds
    ]


def differences(results: Sequence[CellResults], metrics: Sequence[str]) -> list[Difference]:
    """Return the paired differences of every cell to its references, over the seeds both have."""
    by_point = {_place(each): each for each in results}
    found = []
    for each in results:
        for against, reference in _references(each, results, by_point):
            for metric in metrics:
                first, second = _paired(reference, each, metric)
                if first:
                    numbers = each.cell.number, reference.cell.number
                    compared = compare(first, second)
                    found.append(Difference(*numbers, against, metric, compared))
    return found


def _place(result: CellResults) -> tuple[str, tuple[str, ...]]:
    settings = result.cell.settings
    return settings.protocol, tuple(choice.label for choice in settings.point)


def _references(
    result: CellResults,
    results: Sequence[CellResults],
    by_point: Mapping[tuple[str, tuple[str, ...]], CellResults],
) -> Iterator[tuple[Against, CellResults]]:
    protocol, point = _place(result)
    first_protocol, first_point = _place(results[0])
    choices = zip(result.cell.settings.point, first_point, strict=True)
    first_point = tuple(choice.label if choice.given else first for choice, first in choices)
    if protocol != first_protocol and (first_protocol, point) in by_point:
        yield "protocol", by_point[first_protocol, point]
    if point != first_point and (protocol, first_point) in by_point:
        yield "settings", by_point[protocol, first_point]


def _paired(
    first: CellResults, second: CellResults, metric: str
) -> tuple[list[float], list[float]]:
    before, after = first.by_seed(metric), second.by_seed(metric)
    both = [seed for seed in before if seed in after]
    return [before[seed] for seed in both], [after[seed] for seed in both]


# -- stopping rules ----------------------------------------------------------------------------


def unmet(results: Sequence[CellResults], rules: Sequence[Until]) -> list[str]:
    """Return, for each rule that does not hold in every cell yet, the worst cell in words."""
    told = []
    for rule in rules:
        widths = [(_excess(each, rule), each.cell.number, each) for each in results if each.seeds]
        excess, _, worst = max(widths, default=(0.0, 0, None))
        if excess > 1 and worst is not None:
            told.append(f"{rule.metric} {rule.statistic} in {worst.cell.settings.name}")
    return told


def _excess(result: CellResults, rule: Until) -> float:
    """Return how many times too wide an interval is; open ends are too wide."""
    found = estimate_of(summarise(result.values[rule.metric]), rule.statistic)
    if found.low is None or found.high is None:
        return float("inf")
    reach = max(found.high - found.value, found.value - found.low)
    share, absolute = rule.within.share or 0.0, rule.within.absolute or 0.0
    allowed = max(abs(found.value) * share, absolute)
    return reach / allowed if allowed else (0.0 if reach == 0 else float("inf"))


def estimate_of(summary: Summary, statistic: str) -> Estimate:
    """Return one of a summary's figures by its name."""
    estimate: Estimate = getattr(summary, statistic)
    return estimate


# -- as rows -----------------------------------------------------------------------------------


def summary_row(each: CellSummary) -> Row:
    """Return a summary as one flat row."""
    summary = each.summary
    row: Row = {"cell": each.cell, "metric": each.metric, "runs": summary.runs}
    row |= {"minimum": float(summary.minimum), "maximum": float(summary.maximum)}
    for name in ("mean", "median", "p95", "p99"):
        row |= _ends(name, estimate_of(summary, name))
    return row


def difference_row(each: Difference) -> Row:
    """Return a difference as one flat row."""
    compared = each.comparison
    row: Row = {
        "cell": each.cell,
        "reference": each.reference,
        "against": each.against,
        "metric": each.metric,
        "runs": compared.runs,
        "less": compared.less,
        "equal": compared.equal,
        "more": compared.more,
    }
    return row | _ends("mean", compared.mean) | _ends("median", compared.median)


def _ends(name: str, estimate: Estimate) -> Row:
    low, high = estimate.low, estimate.high
    return {
        name: float(estimate.value),
        f"{name}_low": None if low is None else float(low),
        f"{name}_high": None if high is None else float(high),
    }
