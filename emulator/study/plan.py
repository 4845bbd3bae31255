"""What a study plays: cells (settings and a protocol), and chunks of their runs. Pure.

Every cell has the same seeds, so differences between cells are paired. How runs are cut into
chunks depends on the study alone, never on who plays them or how many cores there are: the same
study gives the same files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulator.scenario.estimate import estimate
from emulator.scenario.manifest import scenario_hash
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError
from emulator.study.axes import Choice, choice_at, choices
from emulator.study.model import Study, Vary
from emulator.world.draws import draw, stream_key

MOST_CELLS = 100_000
EVENTS_A_CHUNK = 500_000
"""About a second or two of work: long beside what a file costs, short beside a study."""

CHUNKS = 32
"""A study has at least so many if it has the runs: work for several cores."""

US_PER_EVENT = 4
"""About what one event of the estimate costs, on one core of a usual machine."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A cell before its scenario is loaded."""

    number: int
    protocol: str
    point: tuple[Choice, ...]

    @property
    def overrides(self) -> tuple[str, ...]:
        """What the axes change, in their order."""
        return tuple(text for choice in self.point for text in choice.overrides)

    @property
    def name(self) -> str:
        """The cell in words."""
        words = [f"{choice.axis}={choice.label}" for choice in self.point]
        return ", ".join([*words, self.protocol])


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of settings and a protocol, with the scenario it plays."""

    settings: Settings
    scenario: Scenario
    scenario_hash: str
    chunk_runs: int

    @property
    def number(self) -> int:
        """Counts the cells from 0."""
        return self.settings.number


@dataclass(frozen=True, slots=True)
class Chunk:
    """Runs of one cell that are played, and kept, together."""

    cell: int
    first: int
    """The first seed; the others follow it."""

    runs: int

    @property
    def name(self) -> str:
        """Of its files; sorts as its seeds do."""
        return f"seeds-{self.first:019d}-{self.runs}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a study plays."""

    study: Study
    cells: tuple[Cell, ...]

    @property
    def runs(self) -> int:
        """How many runs the first round has."""
        return len(self.cells) * self.study.seeds.count

    @property
    def work_s(self) -> float:
        """About how long one core needs for the first round."""
        events = sum(estimate(cell.scenario).events for cell in self.cells)
        return events * self.study.seeds.count * US_PER_EVENT / 1e6

    def chunks(self, begin: int, end: int) -> Iterator[Chunk]:
        """Yield the chunks of the seeds from *begin* up to *end*, counted from the first.

        They come seed by seed before cell by cell: an early look at a study sees all its cells.
        """
        tables = [list(_cut(cell, self.study.seeds.first, begin, end)) for cell in self.cells]
        for layer in itertools.zip_longest(*tables):
            yield from (chunk for chunk in layer if chunk is not None)


def settings_of(study: Study, name: str = "study") -> list[Settings]:
    """Return every cell's settings; raise ScenarioError if an axis makes no sense."""
    points = _points(study, name)
    pairs = itertools.product(points, study.protocols)
    return [Settings(number, protocol, point) for number, (point, protocol) in enumerate(pairs)]


def make_plan(
    study: Study,
    protocols: Mapping[str, Sequence[str]],
    load: Callable[[Sequence[str]], Scenario],
    name: str = "study",
) -> Plan:
    """Return the plan of a study.

    *protocols*: the overrides that each of the study's protocols stands for. *load*: what makes a
    scenario of overrides. Raise ScenarioError, before anything is played, if a cell cannot be.
    """
    cells = []
    settings = settings_of(study, name)
    runs = len(settings) * study.seeds.count
    for each in settings:
        scenario = load([*study.set, *protocols[each.protocol], *each.overrides])
        cells.append(Cell(each, scenario, scenario_hash(scenario), _chunk_runs(scenario, runs)))
    return Plan(study, tuple(cells))


def _chunk_runs(scenario: Scenario, runs: int) -> int:
    by_work = EVENTS_A_CHUNK // max(estimate(scenario).events, 1)
    return max(1, min(by_work, runs // CHUNKS))


def _cut(cell: Cell, first: int, begin: int, end: int) -> Iterator[Chunk]:
    for place in range(begin, end, cell.chunk_runs):
        yield Chunk(cell.number, first + place, min(cell.chunk_runs, end - place))


def _points(study: Study, name: str) -> list[tuple[Choice, ...]]:
    if study.latin_hypercube is not None:
        points, seed = study.latin_hypercube.points, study.latin_hypercube.seed
        columns = [_checked(axis, name, lambda a: latin(a, points, seed)) for axis in study.vary]
        return list(zip(*columns, strict=True))
    levels = [_checked(axis, name, choices) for axis in study.vary]
    count = len(study.protocols)
    for level in levels:
        count *= len(level)
    if count > MOST_CELLS:
        reason = f"{count:,} combinations; allowed are {MOST_CELLS:,}. latin_hypercube takes fewer"
        raise ScenarioError(name, [Problem("vary", reason)])
    return list(itertools.product(*levels))


def latin(axis: Vary, points: int, seed: int) -> tuple[Choice, ...]:
    """Return a Latin hypercube's values of one axis: one in each of its equal parts.

    Which point lies in which part, and where in it, is drawn by address: (seed, axis, point).
    """
    order, place = (stream_key(seed, f"study {what}", axis.name) for what in ("order", "place"))
    part = sorted(range(points), key=lambda point: (draw(order, point), point))
    shares = [0.0] * points
    for rank, point in enumerate(part):
        shares[point] = (rank + draw(place, point)) / points
    return tuple(choice_at(axis, share) for share in shares)


def _checked(
    axis: Vary, name: str, make: Callable[[Vary], tuple[Choice, ...]]
) -> tuple[Choice, ...]:
    try:
        return make(axis)
    except ValueError as error:
        raise ScenarioError(name, [Problem(f"vary[{axis.name}]", str(error))]) from None
