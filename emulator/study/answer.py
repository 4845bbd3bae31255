"""The answer of a study with a goal: the best of the cells that were tried.

Cells are compared separately for each value of the given axes (a work time, a batch size: inputs
that the operator cannot choose) and for each protocol. The best cell is the feasible one, that is,
one that meets every constraint and of which no run is disqualified, with the smallest mean of the
first objective; further objectives decide between equal means: the least cell. Cells that do not differ
significantly from it are reported with it, but a wide interval is no proof that a cell is as good: it
has to be one that would not count as a worse neighbour (:func:`emulator.study.margins.is_larger`), so
its mean lies within the interval of the least one. Among the cells that are as good, the one with the fewest worse neighbours is called the
best, then the one with the fewest sides on which nothing was tried: the seeds cannot tell them apart,
but a value next to a worse one, or to nothing, is at risk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np

from assignors.values import dataclass
from emulator.metrics.catalogue import is_metric
from emulator.metrics.checks import Expected, check_expectations, split_name
from emulator.metrics.distribution import compare
from emulator.metrics.metrics import Metrics
from emulator.scenario.model import Bound
from emulator.study.margins import Margin, Margins, is_larger, margins_among
from emulator.study.model import Goal
from emulator.study.plan import Cell, Settings
from emulator.study.summary import CellResults, is_dominated

SIGNIFICANCE = 0.05
"""One minus the confidence of every interval."""

Labels = tuple[str, ...]
"""Labels of the given axes' values, in order of the axes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The best of the cells that have the same given values (and the same protocol)."""

    given: Labels
    protocol: str
    """Empty where cells of all protocols are compared."""

    tried: tuple[int, ...]
    """All cells that were compared, by number."""

    feasible: tuple[int, ...]
    """Cells without a failed or disqualified run in which every constraint holds."""

    ties: tuple[int, ...]
    """The best cell, then the others that do not differ significantly from the least one in any
    objective."""

    as_good: tuple[int, ...]
    """The ties that are as good as the least cell, the best one first."""

    least: int | None
    """The feasible cell with the smallest means; None if no cell is feasible."""

    alternatives: tuple[int, ...]
    """The other Pareto-optimal cells: better than the best one in some objective."""

    worst: int | None
    """The cell with the largest mean of the first objective; None if that is an axis or has no
    value."""

    margins: tuple[Margin, ...] = ()
    """The neighbours of the best cell, on each axis that has some."""

    @property
    def best(self) -> int | None:
        """The best cell; None if no cell is feasible."""
        return self.ties[0] if self.ties else None


def answers(results: Sequence[CellResults], goal: Goal | None) -> list[Answer]:
    """Return one answer for each value of the given axes and each protocol; none without a goal."""
    if goal is None:
        return []
    groups: dict[tuple[Labels, str], list[CellResults]] = {}
    for each in _with_runs(results):
        settings = each.cell.settings
        groups.setdefault((_given(settings), settings.protocol), []).append(each)
    return [_answer(cells, goal, *key) for key, cells in groups.items()]


def best_of_all(results: Sequence[CellResults], goal: Goal | None) -> Answer | None:
    """Return the answer over all cells; None if an axis is given, or without a goal."""
    cells = _with_runs(results)
    if goal is None or not cells or _given(cells[0].cell.settings):
        return None
    return _answer(cells, goal, (), "")


def _with_runs(results: Iterable[CellResults]) -> list[CellResults]:
    return [each for each in results if each.seeds]


def _given(settings: Settings) -> Labels:
    return tuple(choice.label for choice in settings.point if choice.given)


def _answer(results: Sequence[CellResults], goal: Goal, given: Labels, protocol: str) -> Answer:
    feasible = [each for each in results if each.may_be_best and violations(each, goal) == 0]
    axes = ranks_of(results)
    numbers = {each.cell.number for each in feasible}
    margins = margins_among(results, numbers, goal)
    least = min(feasible, key=lambda each: _order(each, goal, axes), default=None)
    ties, as_good = _ties(least, feasible, goal, axes, margins) if least else ([], [])
    return Answer(
        given=given,
        protocol=protocol,
        tried=tuple(each.cell.number for each in results),
        feasible=tuple(each.cell.number for each in feasible),
        ties=tuple(each.cell.number for each in ties),
        as_good=tuple(each.cell.number for each in as_good),
        least=least.cell.number if least else None,
        alternatives=tuple(each.cell.number for each in _alternatives(ties, feasible, goal, axes)),
        worst=None if goal.least[0] in axes else _worst(results, goal.least[0]),
        margins=margins(ties[0]) if ties else (),
    )


# -- constraints -------------------------------------------------------------------------------


def violations(each: CellResults, goal: Goal) -> int:
    """Return how many constraints do not hold in a cell, or in one of its runs."""
    return sum(not _check(each, name, bound).ok for name, bound in goal.expect.items())


def measured_value(each: CellResults, name: str, bound: Bound) -> float | None:
    """Return the figure of a cell that is compared with a constraint's bound; None: it has none."""
    return _check(each, name, bound).measured


def _check(each: CellResults, name: str, bound: Bound) -> Expected:
    metric, _ = split_name(name)
    runs = [_metrics(metric, value) for value in each.values[metric]]
    (expected,) = check_expectations({name: (bound.relation, bound.value)}, runs)
    return expected


def _metrics(name: str, value: float | None) -> Metrics:
    without = frozenset({name} if value is None else ())
    return Metrics({name: value or 0.0}, without_value=without)


def guaranteed_share(runs: int, among: int = 1) -> float:
    """Return the share of all seeds that meet a constraint, with 95 % confidence, if all *runs* do.

    This is the one-sided Clopper-Pearson bound for *runs* successes of *runs*. *among*: the number
    of cells from which the cell was selected; each could have met the constraint by chance, so the
    significance level is divided by it (Bonferroni).

    >>> [round(guaranteed_share(runs), 2) for runs in (10, 50)]
    [0.74, 0.94]
    >>> round(guaranteed_share(10, among=40), 2)
    0.51
    """
    return math.pow(SIGNIFICANCE / among, 1 / runs)


# -- the order of cells ------------------------------------------------------------------------

Ranks = Mapping[str, Mapping[str, float]]
"""By axis and label: the value as a number, or its position in the file if it is a name."""


def ranks_of(results: Sequence[CellResults]) -> Ranks:
    """Return the ranks of all values of all axes."""
    found: dict[str, dict[str, float]] = {}
    for each in results:
        for choice in each.cell.settings.point:
            ranks = found.setdefault(choice.axis, {})
            number = float(len(ranks)) if choice.number is None else choice.number
            ranks.setdefault(choice.label, number)
    return found


def _order(each: CellResults, goal: Goal, axes: Ranks) -> tuple[float, ...]:
    return (*_cost(each, goal, axes), each.cell.number)


def _ties(
    least: CellResults, feasible: Sequence[CellResults], goal: Goal, axes: Ranks, margins: Margins
) -> tuple[list[CellResults], list[CellResults]]:
    """Return the cells that do not differ from the least one, and those of them that are as good.

    The best cell, which is the most robust of those as good, is the first of both.
    """
    tied = [each for each in feasible if each is least or _is_tied(least, each, goal, axes)]
    as_good = [each for each in tied if each is least or _is_as_good(least, each, goal)]

    def risk(each: CellResults) -> tuple[int, int]:
        found = margins(each)
        return sum(margin.edges for margin in found), sum(margin.open_sides for margin in found)

    best = min(as_good, key=lambda each: (*risk(each), *_order(each, goal, axes)))
    return _first(best, tied), _first(best, as_good)


def _first(best: CellResults, cells: Iterable[CellResults]) -> list[CellResults]:
    return [best, *(each for each in cells if each is not best)]


def _is_tied(least: CellResults, other: CellResults, goal: Goal, axes: Ranks) -> bool:
    return not any(
        axes[name][label_on(least.cell, name)] != axes[name][label_on(other.cell, name)]
        if name in axes
        else differ_significantly(least, other, name)
        for name in goal.least
    )


def _is_as_good(least: CellResults, tied: CellResults, goal: Goal) -> bool:
    """Return whether no metric that is minimised is larger in a tied cell."""
    return not any(is_larger(least, tied, name) for name in goal.least if is_metric(name))


def _worst(cells: Sequence[CellResults], metric: str) -> int | None:
    """Return the cell with the largest mean; None if no run has a value."""
    known = [each for each in cells if each.known(metric)]
    means = [(fmean(each.known(metric)), -each.cell.number) for each in known]
    return -max(means)[1] if means else None


def _alternatives(
    ties: Sequence[CellResults], feasible: Sequence[CellResults], goal: Goal, axes: Ranks
) -> Iterator[CellResults]:
    """Yield the other Pareto-optimal cells; of cells with equal costs only the first."""
    costs = [_cost(each, goal, axes) for each in feasible]
    seen = {_cost(each, goal, axes) for each in ties}
    all_costs = np.array(costs)
    for row, (each, cost) in enumerate(zip(feasible, costs, strict=True)):
        if cost not in seen and not is_dominated(all_costs, row):
            seen.add(cost)
            yield each


def _cost(each: CellResults, goal: Goal, axes: Ranks) -> tuple[float, ...]:
    return tuple(
        axes[name][label_on(each.cell, name)] if name in axes else _mean(each, name)
        for name in goal.least
    )


def _mean(each: CellResults, metric: str) -> float:
    """Return the mean of a metric; infinite if no run has a value: such a cell shows nothing."""
    known = each.known(metric)
    return fmean(known) if known else math.inf


def smaller_in(first: CellResults, second: CellResults, goal: Goal, axes: Ranks) -> list[str]:
    """Return the objectives in which the first of two cells is better.

    *axes*: the ranks of all cells' values.
    """
    costs = zip(goal.least, _cost(first, goal, axes), _cost(second, goal, axes), strict=True)
    return [name for name, one, other in costs if one < other]


def label_on(cell: Cell, axis: str) -> str:
    """Return the label of a cell's value on an axis."""
    return next(choice.label for choice in cell.settings.point if choice.axis == axis)


def differ_significantly(first: CellResults, second: CellResults, metric: str) -> bool:
    """Return whether the 95 % interval of the mean paired difference excludes 0.

    A cell with values differs from one without.
    """
    before, after = first.by_seed(metric), second.by_seed(metric)
    both = [seed for seed in before if seed in after]
    if not both:
        return bool(before) != bool(after)
    found = compare([before[seed] for seed in both], [after[seed] for seed in both]).mean
    return found.low is not None and found.high is not None and not found.low <= 0 <= found.high
