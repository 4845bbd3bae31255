"""A study as values: what a study file says, checked.

A study varies settings of one scenario (``[[vary]]``), plays every cell under the same seeds, and
says which metrics it is about. ``emulator.study.load`` reads the file.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from emulator.metrics.checks import is_expectable
from emulator.metrics.metrics import is_metric, unknown_metric
from emulator.scenario import spelling
from emulator.scenario.model import Bound
from emulator.scenario.part import NotEmpty, Part
from emulator.scenario.problems import listed

MOST_SEED = 2**63
"""Seeds of a study are below: Parquet's and Spark's whole numbers end there."""

MOST_RUNS_A_CELL = 1_000_000

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)\s*%")

Statistic = Literal["mean", "median", "p95", "p99"]


def _one_or_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _metric(name: str) -> str:
    if not is_metric(name):
        raise ValueError(unknown_metric(name))
    return name


def _counted(value: object) -> object:
    return {"count": value} if isinstance(value, int) and not isinstance(value, bool) else value


def _within(value: object) -> object:
    """Read ``"5%"`` as a share of the figure; a number is in the metric's own unit."""
    match value:
        case str():
            match = _PERCENT.fullmatch(value.strip())
            if match is None:
                raise ValueError('not understood; allowed is a share such as "5%", or a number')
            return {"share": float(match[1]) / 100}
        case bool():
            pass
        case int() | float():
            return {"absolute": float(value)}
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_one_or_many)]
"""One text, or a list of them."""

MetricName = Annotated[str, AfterValidator(_metric)]


def _expectable(name: str) -> str:
    if not is_expectable(name):
        raise ValueError(unknown_metric(name))
    return name


class Seeds(Part):
    """Which seeds every cell is played with."""

    count: int = Field(ge=1, le=MOST_RUNS_A_CELL)
    first: int = Field(0, ge=0, lt=MOST_SEED - MOST_RUNS_A_CELL)
    most: int | None = Field(None, ge=1, le=MOST_RUNS_A_CELL)
    """With ``[[until]]``: no more than so many, even if a rule does not hold yet."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.most is not None and self.most < self.count:
            raise ValueError("most is below count")
        return self


class Level(Part):
    """One value of an axis that changes several keys, with a name of its own."""

    name: str = Field(min_length=1)
    set: Annotated[NotEmpty[str], BeforeValidator(_one_or_many)]
    """``path=value``, as ``--set`` has it."""


def _level(value: Any) -> Any:
    """Tell a level from an inline table that is a value itself."""
    named = isinstance(value, dict) and "set" in value
    return Level.model_validate(value) if named else value


class Vary(Part):
    """One axis: a key of the scenario, and the values it takes."""

    name: str = Field(min_length=1)
    set: Texts = ()
    """Paths, as ``--set`` has them; several take the same value."""

    values: tuple[Annotated[Any, BeforeValidator(_level)], ...] | None = None
    from_: Any = Field(None, alias="from")
    to: Any = None
    steps: int | None = Field(None, ge=2, le=10_000)
    scale: Literal["linear", "log"] = "linear"

    given: bool = False
    """Nobody chooses it, such as a work time: the answer is told for each of its values."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        ranged = self.from_ is not None and self.to is not None
        if (self.values is not None) == ranged:
            raise ValueError('say its values by "values", or by "from" and "to"')
        if self.values is not None and not self.values:
            raise ValueError("values is empty; at least one is needed")
        named = [isinstance(value, Level) for value in self.values or ()]
        if not self.set and not (named and all(named)):
            raise ValueError('"set" is missing: the path of the key that varies')
        return self


class LatinHypercube(Part):
    """Points spread over all axes at once, instead of every combination."""

    points: int = Field(ge=2, le=100_000)
    seed: int = Field(0, ge=0, lt=2**64)


class Within(Part):
    """How wide an interval may be, to either side of its figure."""

    share: float | None = Field(None, gt=0)
    absolute: float | None = Field(None, gt=0)


class Until(Part):
    """A stopping rule: how well a figure must be known in every cell."""

    metric: MetricName
    statistic: Statistic = "mean"
    within: Annotated[Within, BeforeValidator(_within)]


class Goal(Part):
    """What makes a cell the best one: the least of something, where all that is expected holds."""

    least: Annotated[NotEmpty[str], BeforeValidator(_one_or_many)]
    """Metrics (their means) and axes; the second decides where cells are equal in the first."""

    expect: dict[
        Annotated[str, AfterValidator(_expectable)],
        Annotated[Bound, BeforeValidator(spelling.bound)],
    ] = Field(default_factory=dict)
    """Bounds as a scenario has them: without a statistic, every run must keep them."""


class Study(Part):
    """What a study file says."""

    title: str = Field(min_length=1)
    question: str = ""
    scenario: str = Field(min_length=1)
    """A name of the catalogue, or a file, beside the study's."""

    set: Texts = ()
    """``path=value`` for all cells."""

    seeds: Annotated[Seeds, BeforeValidator(_counted)]
    protocols: Annotated[NotEmpty[str], BeforeValidator(_one_or_many)] = ("as-written",)
    metrics: Annotated[NotEmpty[MetricName], BeforeValidator(_one_or_many)]
    """What is summed up; every value of a run is kept all the same."""

    vary: tuple[Vary, ...] = ()
    latin_hypercube: LatinHypercube | None = None
    until: tuple[Until, ...] = ()
    pareto: tuple[Annotated[tuple[MetricName, ...], Field(min_length=2, max_length=4)], ...] = ()
    """Sets of metrics, less being better: which cells no other one beats in all of them."""

    goal: Goal | None = None
    """With one, the report begins with the best of what was tried."""

    events: bool = False
    """Keep every event of every run, too."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        for what, names in (
            ("axes", [axis.name for axis in self.vary]),
            ("protocols", list(self.protocols)),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"two {what} are called {twice!r}")
        if self.until and self.seeds.most is None:
            raise ValueError("[[until]] needs seeds.most: seeds = { count = 100, most = 2000 }")
        if self.latin_hypercube is not None and not self.vary:
            raise ValueError("latin_hypercube needs something to [[vary]]")
        return self

    @model_validator(mode="after")
    def _has_a_goal_within_reach(self) -> Self:
        chosen = [axis.name for axis in self.vary if not axis.given]
        for name in self.goal.least if self.goal else ():
            if name not in chosen and not is_metric(name):
                raise ValueError(
                    f"goal.least: {name!r} is no metric and no axis that is chosen; "
                    f"axes are {listed(chosen) or 'none'}"
                )
        return self
