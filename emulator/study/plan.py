"""The plan of a study: the values of its axes, its cells, and the chunks of their runs.

A cell is a combination of settings and a protocol. All cells have the same seeds, so differences
between cells are paired. How runs are divided into chunks depends on the study only, not on the
engine or the number of cores: the same study gives the same files.

Both ends of a range have the same unit; values between them are rounded to three digits, so that
tables stay readable and times are whole milliseconds, as Kafka's settings require.

The random numbers of a Latin hypercube are addressed (seed, axis, point) like all others of the
emulator, and do not come from SciPy: its samples depend on the version of SciPy and on the other
axes, and an interrupted study must find the same points again.
"""

from __future__ import annotations

import enum
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assignors.values import dataclass
from emulator.metrics.catalogue import is_metric
from emulator.metrics.checks import split_name
from emulator.scenario.estimates.cpu_time import estimate
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError
from emulator.scenario.toml import toml_value
from emulator.scenario.units import (
    US_PER_MS,
    US_PER_S,
    format_duration,
    format_number,
    parse_duration,
    parse_rate,
)
from emulator.scenario.writing import scenario_hash
from emulator.study.model import Level, Study, Vary
from emulator.world.draws import draw, stream_key

MAX_CELLS = 100_000
CHUNK_S = 4.0
"""CPU time of a chunk: much longer than writing a file, much shorter than a study."""

CHUNKS = 32
"""The least number of chunks of a study with enough runs, so that several cores have work."""

# -- the values of an axis ---------------------------------------------------------------------


_DIGITS = re.compile(r"\d+(\.\d+)?")

DEFAULT_STEPS = 5
"""The number of values of a range without ``steps``."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of one axis."""

    axis: str
    label: str
    """The value as shown in tables."""

    overrides: tuple[str, ...]
    """``path=value``, one for each key that the value changes."""

    number: float | None
    """The value in seconds, records per second, or as it is; None if the value is a name."""

    given: bool = False
    """Whether the axis is given, that is, not chosen by the operator."""


class Unit(enum.StrEnum):
    """The unit of the values of a range."""

    TIME = "time"
    """Microseconds."""

    RATE = "rate"
    """Per second."""

    WHOLE = "whole"
    NUMBER = "number"


_IN_WORDS = {unit: unit.value for unit in Unit} | {Unit.WHOLE: "whole number"}


@dataclass(frozen=True, slots=True)
class Range:
    """A range of values with one unit."""

    low: float
    high: float
    unit: Unit
    scale: str

    def at(self, share: float) -> float | int:
        """Return the value at *share* (0 to 1) of the range, rounded to three digits.

        >>> Range(5_000_000, 120_000_000, Unit.TIME, "log").at(0.5)
        24500000
        """
        if share <= 0 or share >= 1:
            exact = self.low if share <= 0 else self.high
        elif self.scale == "log":
            exact = math.exp(math.log(self.low) * (1 - share) + math.log(self.high) * share)
        else:
            exact = self.low * (1 - share) + self.high * share
        return _rounded(exact, self.unit)


def choices(axis: Vary) -> tuple[Choice, ...]:
    """Return the values of an axis in a grid; raise ValueError if its range is invalid."""
    if axis.values is not None:
        return tuple(_choice(axis, value) for value in axis.values)
    span = range_of(axis)
    steps = axis.steps or DEFAULT_STEPS
    values = dict.fromkeys(span.at(step / (steps - 1)) for step in range(steps))
    return tuple(_choice_in_unit(axis, value, span.unit) for value in values)


def choice_at(axis: Vary, share: float) -> Choice:
    """Return the value at *share* of an axis; 0 <= *share* < 1."""
    if axis.values is not None:
        return _choice(axis, axis.values[int(share * len(axis.values))])
    span = range_of(axis)
    return _choice_in_unit(axis, span.at(share), span.unit)


def range_of(axis: Vary) -> Range:
    """Return the range of an axis; raise ValueError if its ends are not in order or have two units."""
    (low, unit), (high, other) = _measured(axis.from_), _measured(axis.to)
    if {unit, other} == {Unit.WHOLE, Unit.NUMBER}:
        unit = other = Unit.NUMBER
    if unit != other:
        raise ValueError(
            f"from is a {_IN_WORDS[unit]}, to is a {_IN_WORDS[other]}; both need the same unit"
        )
    if low >= high:
        raise ValueError("from is not below to")
    if axis.scale == "log" and low <= 0:
        raise ValueError('scale = "log" needs a from above 0')
    return Range(low, high, unit, axis.scale)


def _measured(end: Any) -> tuple[float, Unit]:
    match end:
        case bool():
            pass
        case int():
            return end, Unit.WHOLE
        case float() if math.isfinite(end):
            return end, Unit.NUMBER
        case str() if "/" in end:
            return parse_rate(end), Unit.RATE
        case str():
            return parse_duration(end), Unit.TIME
    raise ValueError('a range goes from number to number, from "5s" to "2min", or "1/s" to "9/s"')


def _rounded(exact: float, unit: Unit) -> float | int:
    digits = 2 - math.floor(math.log10(abs(exact))) if exact else 0
    if unit is Unit.WHOLE:
        return round(exact)
    if unit is not Unit.TIME:
        return round(exact, digits)
    coarse = round(round(exact, digits))
    return coarse - coarse % US_PER_MS if coarse > US_PER_MS else coarse


def _choice_in_unit(axis: Vary, value: float | int, unit: Unit) -> Choice:
    if unit is Unit.TIME:
        return _choice(axis, format_duration(int(value)))
    if unit is Unit.RATE:
        return _choice(axis, f"{format_number(value)}/s")
    return _choice(axis, value)


def _choice(axis: Vary, value: Any) -> Choice:
    if isinstance(value, Level):
        return Choice(axis.name, value.name, value.set, _number(value.name), axis.given)
    overrides = tuple(f"{path}={toml_value(value)}" for path in axis.set)
    label = value if isinstance(value, str) else toml_value(value)
    return Choice(axis.name, label, overrides, _number(value), axis.given)


def _number(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case int() | float():
            return float(value)
        case str():
            return _number_in(value)
    return None


def _number_in(text: str) -> float | None:
    """Return the number in a text: a rate per second, a time in seconds, or a plain number."""
    if _DIGITS.fullmatch(text):
        return float(text)
    try:
        return parse_rate(text) if "/" in text else parse_duration(text) / US_PER_S
    except ValueError:
        return None


# -- cells and chunks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings and the protocol of a cell."""

    number: int
    protocol: str
    point: tuple[Choice, ...]

    @property
    def overrides(self) -> tuple[str, ...]:
        """The overrides of all axes, in order of the axes."""
        return tuple(text for choice in self.point for text in choice.overrides)

    @property
    def name(self) -> str:
        """The settings and the protocol as text."""
        words = [f"{choice.axis}={choice.label}" for choice in self.point]
        return ", ".join([*words, self.protocol])


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of settings and a protocol, with its scenario."""

    settings: Settings
    scenario: Scenario
    scenario_hash: str
    chunk_runs: int
    run_s: float
    """Estimated CPU time of one run."""

    @property
    def number(self) -> int:
        """The cell's number, from 0."""
        return self.settings.number


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive seeds of one cell that are run, and stored, together."""

    cell: int
    first: int
    """The first seed."""

    runs: int

    @property
    def name(self) -> str:
        """The stem of the names of the chunk's files; they sort in order of the seeds."""
        return f"seeds-{self.first:019d}-{self.runs}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A study with all its cells."""

    study: Study
    cells: tuple[Cell, ...]

    @property
    def runs(self) -> int:
        """The number of runs of the first round."""
        return len(self.cells) * self.study.seeds.count

    @property
    def lag_unit(self) -> str:
        """What lag counts: offsets, if some of them hold no record in a cell."""
        topics = (topic for cell in self.cells for topic in cell.scenario.topic)
        return "offset" if any(topic.has_gaps for topic in topics) else "record"

    @property
    def work_s(self) -> float:
        """The estimated CPU time of the first round in seconds."""
        return sum(cell.run_s for cell in self.cells) * self.study.seeds.count

    def chunks(self, begin: int, end: int) -> Iterator[Chunk]:
        """Yield the chunks of the seeds number *begin* (from 0) to *end* (exclusive).

        The first chunks of all cells come before the second ones, so that early results cover all
        cells.
        """
        tables = [list(_cut(cell, self.study.seeds.first, begin, end)) for cell in self.cells]
        for layer in itertools.zip_longest(*tables):
            yield from (chunk for chunk in layer if chunk is not None)


def metrics_of(plan: Plan) -> tuple[str, ...]:
    """Return every metric that the study names, each once."""
    study = plan.study
    asked = [*study.metrics, *(rule.metric for rule in study.until)]
    if study.goal is not None:
        asked += [name for name in study.goal.least if is_metric(name)]
        asked += [split_name(name)[0] for name in study.goal.expect]
    return tuple(dict.fromkeys([*asked, *(name for front in study.pareto for name in front)]))


def settings_of(study: Study, name: str = "study") -> list[Settings]:
    """Return the settings of every cell; raise ScenarioError if an axis is invalid."""
    points = _points(study, name)
    pairs = itertools.product(points, study.protocols)
    return [Settings(number, protocol, point) for number, (point, protocol) in enumerate(pairs)]


def make_plan(
    study: Study,
    protocols: Mapping[str, Sequence[str]],
    load: Callable[[Sequence[str]], Scenario],
    name: str = "study",
    in_study: Callable[[ScenarioError, Settings], ScenarioError] = lambda error, _: error,
) -> Plan:
    """Return the plan of a study, with the scenario of every cell loaded and checked.

    *protocols*: the overrides of each of the study's protocols. *load*: returns the scenario for
    overrides. *in_study*: returns the error of a cell as one of the study file. Raise ScenarioError
    if an axis or the scenario of a cell is invalid.
    """
    cells = []
    settings = settings_of(study, name)
    runs = len(settings) * study.seeds.count
    for each in settings:
        try:
            scenario = load([*study.set, *protocols[each.protocol], *each.overrides])
        except ScenarioError as error:
            raise in_study(error, each) from None
        run_s = estimate(scenario).cpu_s
        cells.append(Cell(each, scenario, scenario_hash(scenario), _chunk_runs(run_s, runs), run_s))
    return Plan(study, tuple(cells))


def _chunk_runs(run_s: float, runs: int) -> int:
    return max(1, min(int(CHUNK_S / run_s), runs // CHUNKS))


def _cut(cell: Cell, first: int, begin: int, end: int) -> Iterator[Chunk]:
    for start in range(begin, end, cell.chunk_runs):
        yield Chunk(cell.number, first + start, min(cell.chunk_runs, end - start))


def _points(study: Study, name: str) -> list[tuple[Choice, ...]]:
    if study.latin_hypercube is not None:
        points, seed = study.latin_hypercube.points, study.latin_hypercube.seed
        columns = [
            _checked(axis, name, lambda a: latin_hypercube(a, points, seed)) for axis in study.vary
        ]
        return list(zip(*columns, strict=True))
    levels = [_checked(axis, name, choices) for axis in study.vary]
    count = len(study.protocols)
    for level in levels:
        count *= len(level)
    if count > MAX_CELLS:
        reason = f"{count:,} combinations; allowed are {MAX_CELLS:,}. Use latin_hypercube"
        raise ScenarioError(name, [Problem("vary", reason)])
    return list(itertools.product(*levels))


def latin_hypercube(axis: Vary, points: int, seed: int) -> tuple[Choice, ...]:
    """Return a Latin hypercube's values on one axis: one in each of *points* equal intervals."""
    order, place = (stream_key(seed, f"study {name}", axis.name) for name in ("order", "place"))
    permutation = sorted(range(points), key=lambda point: (draw(order, point), point))
    shares = [0.0] * points
    for interval, point in enumerate(permutation):
        shares[point] = (interval + draw(place, point)) / points
    return tuple(choice_at(axis, share) for share in shares)


def _checked(
    axis: Vary, name: str, make: Callable[[Vary], tuple[Choice, ...]]
) -> tuple[Choice, ...]:
    try:
        return make(axis)
    except ValueError as error:
        raise ScenarioError(name, [Problem(f"vary[{axis.name}]", str(error))]) from None
