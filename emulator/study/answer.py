"""The answer of a study that has a goal: the best of the cells that were tried.

Nobody chooses what is given (a work time, a batch size that others decide): for each of its values,
and for each protocol, the cells in which all that is expected holds are put in order, and the
first one is the best: by means, the second thing sought deciding where the first is equal. Cells
whose paired differences to it may be nothing are told with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from emulator.metrics.checks import Expected, check_expectations, split_name
from emulator.metrics.distribution import compare
from emulator.metrics.metrics import Metrics
from emulator.scenario.model import Bound
from emulator.study.model import Goal
from emulator.study.pareto import is_beaten
from emulator.study.plan import Cell, Settings
from emulator.study.results import CellResults

UNSURE = 0.05
"""What a confidence of 95 % leaves open."""

Place = tuple[str, ...]
"""The labels of what is given, and the protocol."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The best of some cells that differ only in what is chosen."""

    given: Place
    """Labels of the axes that are given, in their order."""

    protocol: str
    """Empty where the cells are of all protocols."""

    tried: tuple[int, ...]
    keeping: tuple[int, ...]
    """Cells in which no run failed and all that is expected holds."""

    ahead: tuple[int, ...]
    """The best of those, and after it the ones that the seeds cannot tell from it."""

    instead: tuple[int, ...]
    """Those that have less than the best of something that was sought, and are beaten by none."""

    worst: int | None
    """Of all, the one with the most of what was to be least; None: that is no metric."""

    @property
    def best(self) -> int | None:
        """The best cell; None: what is expected holds in none."""
        return self.ahead[0] if self.ahead else None


def answers(results: Sequence[CellResults], goal: Goal | None) -> list[Answer]:
    """Return the best cell for each value of what is given, under each protocol."""
    by_place: dict[tuple[Place, str], list[CellResults]] = {}
    for each in _told(results):
        settings = each.cell.settings
        by_place.setdefault((_given(settings), settings.protocol), []).append(each)
    if goal is None:
        return []
    return [_answer(cells, goal, *place) for place, cells in by_place.items()]


def best_of_all(results: Sequence[CellResults], goal: Goal | None) -> Answer | None:
    """Return the best cell of a study; None if something is given, or there is no goal."""
    told = _told(results)
    if goal is None or not told or _given(told[0].cell.settings):
        return None
    return _answer(told, goal, (), "")


def _told(results: Iterable[CellResults]) -> list[CellResults]:
    return [each for each in results if each.seeds]


def _given(settings: Settings) -> Place:
    return tuple(choice.label for choice in settings.point if choice.given)


def _answer(results: Sequence[CellResults], goal: Goal, given: Place, protocol: str) -> Answer:
    keeping = [each for each in results if not each.failed and outside(each, goal) == 0]
    axes = ranks_of(results)
    ahead = _ahead(keeping, goal, axes)
    return Answer(
        given=given,
        protocol=protocol,
        tried=tuple(each.cell.number for each in results),
        keeping=tuple(each.cell.number for each in keeping),
        ahead=tuple(each.cell.number for each in ahead),
        instead=tuple(each.cell.number for each in _instead(ahead, keeping, goal, axes)),
        worst=None if goal.least[0] in axes else _worst(results, goal.least[0]).cell.number,
    )


def outside(each: CellResults, goal: Goal) -> int:
    """Return how many things that are expected do not hold in a cell, or in one of its runs."""
    return sum(not _held(each, name, bound).ok for name, bound in goal.expect.items())


def measured(each: CellResults, name: str, bound: Bound) -> float:
    """Return what the runs of a cell came to, of what is expected."""
    return _held(each, name, bound).measured


def _held(each: CellResults, name: str, bound: Bound) -> Expected:
    metric, _ = split_name(name)
    runs = [Metrics({metric: value}) for value in each.values[metric]]
    (expected,) = check_expectations({name: (bound.relation, bound.value)}, runs)
    return expected


def surely(runs: int, among: int = 1) -> float:
    """Return the share of all seeds that keep, with 95 % confidence, what each of some runs kept.

    One-sided, exact (Clopper and Pearson). *among*: how many cells the one was picked out of, each
    of them a chance to keep it by luck (Bonferroni).

    >>> [round(surely(runs), 2) for runs in (10, 50)], round(surely(10, among=40), 2)
    ([0.74, 0.94], 0.51)
    """
    return math.pow(UNSURE / among, 1 / runs)


# -- the order of cells ------------------------------------------------------------------------

Ranks = Mapping[str, Mapping[str, float]]


def ranks_of(results: Sequence[CellResults]) -> Ranks:
    """Return a number for each value of each axis: its own, or its place where it is a name."""
    found: dict[str, dict[str, float]] = {}
    for each in results:
        for choice in each.cell.settings.point:
            ranks = found.setdefault(choice.axis, {})
            number = float(len(ranks)) if choice.number is None else choice.number
            ranks.setdefault(choice.label, number)
    return found


def _ahead(keeping: Sequence[CellResults], goal: Goal, axes: Ranks) -> Sequence[CellResults]:
    """Return the best cell, then those that the seeds do not tell from it in anything sought."""
    if not keeping:
        return []
    best = min(keeping, key=lambda each: (*_cost(each, goal, axes), each.cell.number))
    others = [each for each in keeping if each is not best]
    return [best, *(each for each in others if _is_like(best, each, goal, axes))]


def _is_like(best: CellResults, other: CellResults, goal: Goal, axes: Ranks) -> bool:
    return not any(
        axes[name][label_on(best.cell, name)] != axes[name][label_on(other.cell, name)]
        if name in axes
        else differ(best, other, name)
        for name in goal.least
    )


def _worst(cells: Sequence[CellResults], metric: str) -> CellResults:
    return max(cells, key=lambda each: (fmean(each.values[metric]), -each.cell.number))


def _instead(
    ahead: Sequence[CellResults], keeping: Sequence[CellResults], goal: Goal, axes: Ranks
) -> Iterator[CellResults]:
    """Yield the rest of the Pareto set of what was sought; of equal cells the first."""
    costs = [_cost(each, goal, axes) for each in keeping]
    seen = {_cost(each, goal, axes) for each in ahead}
    all_costs = np.array(costs)
    for place, (each, cost) in enumerate(zip(keeping, costs, strict=True)):
        if cost not in seen and not is_beaten(all_costs, place):
            seen.add(cost)
            yield each


def _cost(each: CellResults, goal: Goal, axes: Ranks) -> tuple[float, ...]:
    return tuple(
        axes[name][label_on(each.cell, name)] if name in axes else fmean(each.values[name])
        for name in goal.least
    )


def less(first: CellResults, second: CellResults, goal: Goal, axes: Ranks) -> list[str]:
    """Return what of all that is sought the first of two cells has less of.

    *axes*: the ranks of all cells' values.
    """
    costs = zip(goal.least, _cost(first, goal, axes), _cost(second, goal, axes), strict=True)
    return [name for name, one, other in costs if one < other]


def label_on(cell: Cell, axis: str) -> str:
    """Return the value of an axis in a cell."""
    return next(choice.label for choice in cell.settings.point if choice.axis == axis)


def differ(first: CellResults, second: CellResults, metric: str) -> bool:
    """Say whether a metric's mean differs between two cells, paired by seed, with confidence."""
    before, after = first.by_seed(metric), second.by_seed(metric)
    both = [seed for seed in before if seed in after]
    if not both:
        return False
    mean = compare([before[seed] for seed in both], [after[seed] for seed in both]).mean
    return mean.low is not None and mean.high is not None and not mean.low <= 0 <= mean.high
