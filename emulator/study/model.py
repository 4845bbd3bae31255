"""The study file as checked values, and the functions that read it.

A study varies settings of one scenario (``[[vary]]``), runs every cell with the same seeds, and
names the metrics of its report. ``loads`` and ``load`` report all errors of a file at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from emulator.input_files import is_there
from emulator.metrics.catalogue import VALUES, is_metric, unknown_metric
from emulator.metrics.checks import is_expectable, objection_to_bound
from emulator.scenario import short_forms
from emulator.scenario.lines import Place, closest_line, key_lines
from emulator.scenario.load import read_toml, text_of
from emulator.scenario.model import Bound
from emulator.scenario.part import NotEmpty, Part, wrong_value
from emulator.scenario.problems import Problem, ScenarioError, hint, listed, refuse

MAX_SEED = 2**63
"""The exclusive upper bound of seeds: the range of integers in Parquet and Spark."""

MAX_RUNS_A_CELL = 1_000_000

LONGEST_NAME = 200

ESSENTIALS = "a study has at least a title, a scenario, seeds and metrics"

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

Name = Annotated[
    str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(short_forms.title)
]
"""The heading of a column or a row, shown as it is written."""

MetricName = Annotated[str, AfterValidator(_metric)]


def _expectable(name: str) -> str:
    if not is_expectable(name):
        raise ValueError(unknown_metric(name))
    return name


def _in_units(bounds: object) -> object:
    """Refuse bounds that are times for metrics that are none."""
    given = bounds.items() if isinstance(bounds, dict) else ()
    wrong = [(name, bound, objection_to_bound(name, bound)) for name, bound in given]
    if any(reason for _, _, reason in wrong):
        raise refuse("expect", [((n,), bound, reason) for n, bound, reason in wrong if reason])
    return bounds


class Seeds(Part):
    """The seeds of every cell."""

    count: int = Field(ge=1, le=MAX_RUNS_A_CELL)
    first: int = Field(0, ge=0, lt=MAX_SEED - MAX_RUNS_A_CELL)
    most: int | None = Field(None, ge=1, le=MAX_RUNS_A_CELL)
    """The maximum with ``[[until]]``, even if a rule is not met."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.most is not None and self.most < self.count:
            raise ValueError("most is below count")
        return self


class Level(Part):
    """A named value of an axis that sets several keys."""

    name: Name
    set: Annotated[NotEmpty[str], BeforeValidator(_one_or_many)]
    """``path=value``, as in ``--set``."""


def _level(value: Any) -> Any:
    """Return a Level for a table with ``set``; other tables are plain values."""
    named = isinstance(value, dict) and "set" in value
    return Level.model_validate(value) if named else value


class Vary(Part):
    """One axis: a key of the scenario, and its values."""

    name: Name
    set: Texts = ()
    """Paths, as in ``--set``; several keys get the same value."""

    values: tuple[Annotated[Any, BeforeValidator(_level)], ...] | None = None
    from_: Any = Field(None, alias="from")
    to: Any = None
    steps: int | None = Field(None, ge=2, le=10_000)
    scale: Literal["linear", "log"] = "linear"

    given: bool = False
    """Whether the operator cannot choose the value (such as a work time): then each value has its own
    answer."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        ranged = self.from_ is not None and self.to is not None
        if (self.values is not None) == ranged:
            raise ValueError('give either "values", or "from" and "to"')
        if self.values is not None and not self.values:
            raise ValueError("values is empty; at least one is needed")
        _refuse_twice(self.values or ())
        named = [isinstance(value, Level) for value in self.values or ()]
        if not self.set and not (named and all(named)):
            raise ValueError('"set" is missing: the path of the key that varies')
        return self


def _refuse_twice(values: tuple[Any, ...]) -> None:
    """Raise ValueError if two values of an axis have the same name, or are the same."""
    shown = [value.name if isinstance(value, Level) else repr(value) for value in values]
    twice = next((each for each, count in Counter(shown).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two of its values are {twice}; give each once")


class LatinHypercube(Part):
    """A Latin hypercube sample of all axes, instead of every combination."""

    points: int = Field(ge=2, le=100_000)
    seed: int = Field(0, ge=0, lt=2**64)


class Within(Part):
    """The largest half-width of an interval: a share of the figure, or absolute."""

    share: float | None = Field(None, gt=0)
    absolute: float | None = Field(None, gt=0)


class Until(Part):
    """A stopping rule: the precision of a statistic that every cell must reach."""

    metric: MetricName
    statistic: Statistic = "mean"
    within: Annotated[Within, BeforeValidator(_within)]


class Goal(Part):
    """The objectives, which are minimised, and the constraints."""

    least: Annotated[NotEmpty[str], BeforeValidator(_one_or_many)]
    """Metrics (their means) and axes; a later one decides between cells that are equal in the earlier."""

    expect: Annotated[
        dict[
            Annotated[str, AfterValidator(_expectable)],
            Annotated[Bound, BeforeValidator(short_forms.bound)],
        ],
        BeforeValidator(_in_units),
    ] = Field(default_factory=dict)
    """Constraints, as in a scenario; one without a statistic must hold in every run."""


class Study(Part):
    """The content of a study file."""

    title: Annotated[str, AfterValidator(short_forms.title)] = Field(min_length=1)
    question: str = ""
    scenario: str = Field(min_length=1)
    """A name of the catalogue, or a path relative to the study file."""

    set: Texts = ()
    """Overrides ``path=value`` for all cells."""

    seeds: Annotated[Seeds, BeforeValidator(_counted)]
    protocols: Annotated[NotEmpty[str], BeforeValidator(_one_or_many)] = ("as-written",)
    metrics: Annotated[NotEmpty[MetricName], BeforeValidator(_one_or_many)]
    """The metrics of the report; the rows hold every metric."""

    vary: tuple[Vary, ...] = ()
    latin_hypercube: LatinHypercube | None = None
    until: tuple[Until, ...] = ()
    pareto: tuple[Annotated[tuple[MetricName, ...], Field(min_length=2, max_length=4)], ...] = ()
    """Sets of metrics, all minimised, of which the Pareto-optimal cells are reported."""

    goal: Goal | None = None
    """With a goal, the report begins with the best cell."""

    events: bool = False
    """Whether every event of every run is stored."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for kind, names in (
            ("axes", [axis.name for axis in self.vary]),
            ("protocols", list(self.protocols)),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"two {kind} are called {twice!r}")
        if self.until and self.seeds.most is None:
            raise ValueError("[[until]] needs seeds.most: seeds = { count = 100, most = 2000 }")
        if self.latin_hypercube is not None and not self.vary:
            raise ValueError("latin_hypercube needs at least one [[vary]]")
        return self

    @model_validator(mode="after")
    def _has_axes_of_their_own_name(self) -> Self:
        """Refuse an axis that is called like a metric: an objective of that name would be either."""
        for number, axis in enumerate(self.vary):
            if is_metric(axis.name):
                reason = f"{axis.name!r} is a metric; give the axis another name"
                raise refuse("Study", [(("vary", number, "name"), axis.name, reason)])
        return self

    @model_validator(mode="after")
    def _has_known_objectives(self) -> Self:
        chosen = [axis.name for axis in self.vary if not axis.given]
        for name in self.goal.least if self.goal else ():
            if name not in chosen and not is_metric(name):
                near = hint(name, [*chosen, *(metric.name for metric in VALUES)])
                reason = (
                    f"{name!r} is not a metric or an axis that can be chosen{near}; "
                    f"axes are {listed(chosen) or 'none'}"
                )
                raise refuse("Study", [(("goal", "least"), name, reason)])
        return self


FOLDER = Path(__file__).parent.parent / "studies"
"""The folder of the built-in studies."""


def names() -> list[str]:
    """Return the names of the built-in studies."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def path_of(name: str) -> Path:
    """Return the file of a study, given its path or the name of a built-in study.

    Raise ScenarioError if there is neither.
    """
    path = Path(name)
    if path.suffix or len(path.parts) != 1 or is_there(path):
        return path
    if name in names():
        return FOLDER / f"{name}.toml"
    near = hint(name, names()) or f"; there are {listed(names())}"
    raise ScenarioError(
        name, [Problem("", f"no such file, and no built-in study of that name{near}")]
    )


def load(path: Path) -> Study:
    """Read a study file; raise ScenarioError with all errors in it."""
    return loads(text_of(str(path)), str(path))


def loads(text: str, name: str = "study") -> Study:
    """Read the text of a study file; *name* is used in errors."""
    document = _tuples(read_toml(text, name, ESSENTIALS))
    try:
        return Study.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        lines = key_lines(text)
        found = [_problem(dict(each), document, lines) for each in error.errors(include_url=False)]
        problems = sorted(dict.fromkeys(found), key=lambda problem: problem.line or 0)
        raise ScenarioError(name, problems) from None


def _tuples(value: Any) -> Any:
    match value:
        case list():
            return tuple(map(_tuples, value))
        case dict():
            return {key: _tuples(below) for key, below in value.items()}
    return value


def _problem(details: dict[str, Any], document: Any, lines: Mapping[Place, int]) -> Problem:
    steps = [step for step in details["loc"] if not str(step).startswith("=")]
    line = closest_line(tuple(steps), lines)
    return Problem(_path(steps, document), _reason(details, steps), line=line)


def _path(place: list[str | int], document: Any) -> str:
    """Return the path of a key: axes by name, other items of lists by number."""
    path, node = "", document
    for step in place:
        node = _step(node, step)
        if isinstance(step, int):
            named = node.get("name") if isinstance(node, dict) else None
            path += f"[{named if named and isinstance(named, str) else step}]"
        else:
            path += f".{step}" if path else step
    return path


def _step(node: Any, step: str | int) -> Any:
    try:
        return node[step]
    except (LookupError, TypeError):
        return None


_EXAMPLES: dict[str | int, str] = {
    "title": '"how long a session?"',
    "scenario": '"member-crashes"',
    "seeds": "20",
    "metrics": '["reprocessed", "lost"]',
}
"""What a key that each study needs may have as its value."""


def _reason(details: dict[str, Any], place: list[str | int]) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if place == ["seeds"] and kind.startswith("model"):
        return "wrong type; allowed is a whole number, or a table { count, first, most }"
    if kind == "missing" and len(place) == 1 and place[0] in _EXAMPLES:
        return f"is missing; write for example {place[0]} = {_EXAMPLES[place[0]]}"
    if value_wrong := wrong_value(kind, context):
        return value_wrong
    if kind == "extra_forbidden":
        known = _known(place)
        return f"unknown key{hint(place[-1], known) or f'; allowed here are {listed(known)}'}"
    if kind == "literal_error":
        return f"unknown value; allowed is {context['expected']}"
    return str(context.get("error") or details["msg"])


def _known(place: list[str | int]) -> list[str]:
    """Return the allowed keys of the table that contains a key."""
    table: Any = {"vary": Vary, "values": Level}.get(
        next((str(step) for step in reversed(place[:-1]) if isinstance(step, str)), ""), Study
    )
    if table is Study and len(place) > 1:
        field = Study.model_fields[str(place[0])].annotation
        table = next((one for one in _models(field)), Study)
    return [field.alias or name for name, field in table.model_fields.items()]


def _models(annotation: Any) -> list[Any]:
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [one for argument in getattr(annotation, "__args__", ()) for one in _models(argument)]
