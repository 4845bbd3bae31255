"""The results of each cell, and what is computed of them: summaries, differences, Pareto sets.

Intervals are those of :mod:`emulator.metrics.distribution`: order statistics for quantiles,
Student's t for means. All figures depend on the rows only, not on the engine that wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from assignors.values import dataclass
from emulator.metrics.distribution import Comparison, Estimate, Summary, compare, summarise
from emulator.study.model import Until
from emulator.study.plan import Cell, Plan, metrics_of
from emulator.study.rows import DISQUALIFIED
from emulator.study.store import RUNS, read
from emulator.verdicts.disqualifying import Disqualified, summed

Against = Literal["protocol", "settings"]
Row = dict[str, object]


# -- results -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CellResults:
    """The metrics of a cell's successful runs, and the number and first error of the failed ones."""

    cell: Cell
    seeds: tuple[int, ...]
    values: dict[str, tuple[float | None, ...]]
    """Values by metric, in order of the seeds; None: the metric has no value in that run."""

    failed: int
    error: str
    """The error of the first failed run; empty if none failed."""

    first_failed: int | None
    """The seed of the first failed run."""

    disqualified: tuple[Disqualified, ...] = ()
    """Why the cell must not be called best; empty: it may be."""

    @property
    def may_be_best(self) -> bool:
        """Return whether no run of the cell failed, or is disqualified."""
        return not self.failed and not self.disqualified

    def by_seed(self, metric: str) -> dict[int, float]:
        """Return a metric's value by seed; seeds in which it has none are left out."""
        pairs = zip(self.seeds, self.values[metric], strict=True)
        return {seed: value for seed, value in pairs if value is not None}

    def known(self, metric: str) -> tuple[float, ...]:
        """Return a metric's values in the runs that have one."""
        return tuple(self.by_seed(metric).values())


def read_results(folder: Path, plan: Plan) -> list[CellResults]:
    """Return the results of all cells that have runs, in order of their numbers."""
    metrics = metrics_of(plan)
    columns = ["seed", "error", DISQUALIFIED, *metrics]
    tables = read(folder, RUNS, columns, len(plan.cells))
    return [_results(plan.cells[number], table.to_pydict(), metrics) for number, table in tables]


def _results(cell: Cell, columns: dict[str, list[object]], metrics: Sequence[str]) -> CellResults:
    errors, seeds = columns["error"], columns["seed"]
    fine = [place for place, error in enumerate(errors) if error is None]
    failed = [place for place, error in enumerate(errors) if error is not None]
    return CellResults(
        cell=cell,
        seeds=tuple(int(str(seeds[place])) for place in fine),
        values={name: tuple(_number(columns[name][place]) for place in fine) for name in metrics},
        failed=len(failed),
        error=str(errors[failed[0]]) if failed else "",
        first_failed=int(str(seeds[failed[0]])) if failed else None,
        disqualified=summed(_reasons(columns[DISQUALIFIED][place]) for place in fine),
    )


def _reasons(stored: object) -> dict[str, str]:
    """Return the reasons of a run that its row holds."""
    found = (line.partition(": ") for line in str(stored or "").splitlines())
    return {reason: sentence for reason, _, sentence in found}


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))


# -- summaries and paired differences ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CellSummary:
    """The summary of one metric in one cell."""

    cell: int
    metric: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of one metric between a cell and a reference cell, paired by seed."""

    cell: int
    reference: int
    against: Against
    """Kind of reference. ``protocol``: the same settings under the first protocol. ``settings``: the
    first value of every axis that is not given, under the same protocol."""

    metric: str
    comparison: Comparison


def summaries(results: Sequence[CellResults], metrics: Sequence[str]) -> list[CellSummary]:
    """Return the summary of every metric in every cell where some run has a value of it."""
    return [
        CellSummary(each.cell.number, metric, summarise(known))
        for each in results
        for metric in metrics
        if (known := each.known(metric))
    ]


def differences(results: Sequence[CellResults], metrics: Sequence[str]) -> list[Difference]:
    """Return the differences of every cell to its references, over the seeds that both have."""
    by_point = {_point(each): each for each in results}
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


def _point(result: CellResults) -> tuple[str, tuple[str, ...]]:
    settings = result.cell.settings
    return settings.protocol, tuple(choice.label for choice in settings.point)


def _references(
    result: CellResults,
    results: Sequence[CellResults],
    by_point: Mapping[tuple[str, tuple[str, ...]], CellResults],
) -> Iterator[tuple[Against, CellResults]]:
    protocol, point = _point(result)
    first_protocol, first_point = _point(results[0])
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


def rules_not_met(results: Sequence[CellResults], rules: Sequence[Until]) -> list[str]:
    """Return, for each rule that some cell does not meet, the metric and the cell farthest off."""
    found = []
    for rule in rules:
        widths = [(_excess(each, rule), each.cell.number, each) for each in results if each.seeds]
        excess, _, worst = max(widths, default=(0.0, 0, None))
        if excess > 1 and worst is not None:
            found.append(f"{rule.metric} {rule.statistic} in {worst.cell.settings.name}")
    return found


def _excess(result: CellResults, rule: Until) -> float:
    """Return the half-width of the interval over the allowed one; infinite if an end is open.

    0 if no run has a value: more runs would not make an interval of none narrower.
    """
    if not (known := result.known(rule.metric)):
        return 0.0
    found = estimate_of(summarise(known), rule.statistic)
    if found.low is None or found.high is None:
        return float("inf")
    half_width = max(found.high - found.value, found.value - found.low)
    share, absolute = rule.within.share or 0.0, rule.within.absolute or 0.0
    allowed = max(abs(found.value) * share, absolute)
    return half_width / allowed if allowed else (0.0 if half_width == 0 else float("inf"))


def estimate_of(summary: Summary, statistic: str) -> Estimate:
    """Return one of a summary's statistics by its name."""
    estimate: Estimate = getattr(summary, statistic)
    return estimate


# -- Pareto sets -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Front:
    """The Pareto set of the cells for some metrics, all of which are minimised."""

    metrics: tuple[str, ...]
    means: dict[int, tuple[float, ...]]
    """The means of each cell, in order of the metrics."""

    cells: tuple[int, ...]
    """The Pareto-optimal cells, sorted by the first metric."""

    left_out: tuple[int, ...]
    """Cells that may not be called best: they are not Pareto-optimal and dominate no other cell."""


def front(results: Sequence[CellResults], metrics: tuple[str, ...]) -> Front:
    """Return the Pareto set for the means of some metrics, of the cells that have all of them.

    A downtime of 0 in a cell whose members died must dominate nothing.
    """
    with_runs = [each for each in results if all(each.known(name) for name in metrics)]
    all_means = {
        each.cell.number: tuple(float(np.mean(each.known(name))) for name in metrics)
        for each in with_runs
    }
    rivals = [each.cell.number for each in with_runs if each.may_be_best]
    costs = np.array([all_means[number] for number in rivals])
    optimal = [number for row, number in enumerate(rivals) if not is_dominated(costs, row)]
    return Front(
        metrics=metrics,
        means=all_means,
        cells=tuple(sorted(optimal, key=lambda number: (all_means[number], number))),
        left_out=tuple(number for number in all_means if number not in rivals),
    )


def is_dominated(costs: np.ndarray[tuple[int, int], np.dtype[np.float64]], row: int) -> bool:
    """Return whether a row of costs is dominated: another row is nowhere larger, somewhere smaller."""
    as_good = (costs <= costs[row]).all(axis=1)
    better = (costs < costs[row]).any(axis=1)
    return bool((as_good & better).any())


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
