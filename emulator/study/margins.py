"""How far a cell is from values that are worse: its neighbours on each axis that can be chosen.

A neighbour is the next smaller or larger value that was tried, with all other settings equal. It is
worse if it is not feasible, or if an objective is larger there; objectives that are axes
do not count, since they only decide between cells that are otherwise as good. A Latin hypercube has
no neighbours: its values hardly repeat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from assignors.values import dataclass
from emulator.metrics.catalogue import is_metric
from emulator.metrics.distribution import compare, mean
from emulator.study.model import Goal
from emulator.study.plan import Choice
from emulator.study.summary import CellResults


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The next value on one side of a cell."""

    cell: int
    label: str
    number: float
    worse_in: str | None
    """The objective that is larger, the empty text if it is not feasible; None: it is as
    good."""

    @property
    def is_worse(self) -> bool:
        """Whether the value is worse."""
        return self.worse_in is not None


@dataclass(frozen=True, slots=True)
class Margin:
    """A cell's value on an axis, and its neighbours; None at an end of what was tried."""

    axis: str
    label: str
    number: float
    below: Neighbour | None
    above: Neighbour | None
    smallest: tuple[Neighbour, Neighbour] | None = None
    """If the next smaller value is as good: the smallest that is, and the one below it, which is worse."""

    largest: tuple[Neighbour, Neighbour] | None = None
    """The same on the other side."""

    others: tuple[str, ...] = ()
    """What its neighbours have in common: the other settings that vary, and the protocol if that does."""

    @property
    def edges(self) -> int:
        """The number of sides on which the next value is worse."""
        return sum(each is not None and each.is_worse for each in (self.below, self.above))

    @property
    def open_sides(self) -> int:
        """The number of sides on which no value was tried."""
        return (self.below, self.above).count(None)


Margins = Callable[[CellResults], tuple[Margin, ...]]
"""Returns the margins of a cell, in order of the axes."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """The cells of a study, and which of them are worse than another."""

    lines: Mapping[tuple[object, ...], Sequence[CellResults]]
    """Cells that differ on one axis, by its value."""

    feasible: Collection[int]
    metrics: Sequence[str]
    """The objectives that are no axes."""

    several_protocols: bool


def margins_among(results: Sequence[CellResults], feasible: Collection[int], goal: Goal) -> Margins:
    """Return the function that finds the margins of cells among *results*.

    *feasible*: the numbers of the feasible cells.
    """
    tried = _Tried(
        lines=_lines(results),
        feasible=feasible,
        metrics=[name for name in goal.least if is_metric(name)],
        several_protocols=len({each.cell.settings.protocol for each in results}) > 1,
    )
    return lambda cell: tuple(_margins(tried, cell))


def _lines(results: Sequence[CellResults]) -> dict[tuple[object, ...], list[CellResults]]:
    """Return the cells by line along an axis, the smallest value first."""
    lines = defaultdict[tuple[object, ...], list[tuple[float, CellResults]]](list)
    for each in results:
        for place, choice in _numbered(each):
            lines[_line(each, place)].append((choice.number or 0.0, each))
    for line in lines.values():
        line.sort(key=lambda item: item[0])
    return {common: [each for _, each in line] for common, line in lines.items()}


def _margins(tried: _Tried, cell: CellResults) -> Iterator[Margin]:
    """Yield the margins of a cell on the axes on which other values were tried."""
    for place, choice in _numbered(cell):
        line = tried.lines[_line(cell, place)]
        at = next(number for number, each in enumerate(line) if each is cell)
        smaller, larger = (
            [_neighbour(tried, cell, each, place) for each in side]
            for side in (line[:at][::-1], line[at + 1 :])
        )
        if smaller or larger:
            yield Margin(
                choice.axis,
                choice.label,
                choice.number or 0.0,
                below=next(iter(smaller), None),
                above=next(iter(larger), None),
                smallest=_edge(smaller),
                largest=_edge(larger),
                others=_others(cell, place, with_protocol=tried.several_protocols),
            )


def _neighbour(tried: _Tried, cell: CellResults, other: CellResults, place: int) -> Neighbour:
    """Return another cell of a line as seen from *cell*; *place*: the axis on which they differ."""
    choice = other.cell.settings.point[place]
    worse = next((name for name in tried.metrics if is_larger(cell, other, name)), None)
    if other.cell.number not in tried.feasible:
        worse = ""
    return Neighbour(other.cell.number, choice.label, choice.number or 0.0, worse)


def _edge(outwards: Sequence[Neighbour]) -> tuple[Neighbour, Neighbour] | None:
    """Return the last value that is as good and the first that is worse; None: there is no such pair."""
    for good, worse in pairwise(outwards):
        if good.is_worse:
            return None
        if worse.is_worse:
            return good, worse
    return None


def _numbered(each: CellResults) -> Iterator[tuple[int, Choice]]:
    """Yield the axes of a cell that can be chosen and have numbers, with their positions."""
    for place, choice in enumerate(each.cell.settings.point):
        if choice.number is not None and not choice.given:
            yield place, choice


def _line(each: CellResults, place: int) -> tuple[object, ...]:
    """Return what the cells of a line along an axis have in common."""
    settings = each.cell.settings
    others = tuple(choice.label for at, choice in enumerate(settings.point) if at != place)
    return place, settings.protocol, others


def _others(each: CellResults, place: int, *, with_protocol: bool) -> tuple[str, ...]:
    """Return the other settings of a cell, as ``name=value``, and its protocol."""
    settings = each.cell.settings
    axes = [f"{one.axis}={one.label}" for at, one in enumerate(settings.point) if at != place]
    return (*axes, settings.protocol) if with_protocol else tuple(axes)


def is_larger(cell: CellResults, other: CellResults, metric: str) -> bool:
    """Return whether a metric is larger in the other cell, paired by seed.

    That is: in some seeds, and smaller in none; or the 95 % interval of the mean difference is above 0;
    or the other mean is above the 95 % interval of the cell's mean. The first finds the edge where one
    run in twenty fails, which hardly moves the mean; the last, a cell so noisy that its difference is
    not significant, which is no proof that it is as good.
    """
    first, second = cell.by_seed(metric), other.by_seed(metric)
    both = [seed for seed in first if seed in second]
    if not both:
        return False
    found = compare([first[seed] for seed in both], [second[seed] for seed in both])
    if not found.less:
        return found.more > 0
    if found.mean.low is not None and found.mean.low > 0:
        return True
    own = mean(cell.known(metric))
    return own.high is not None and fmean(other.known(metric)) > own.high
