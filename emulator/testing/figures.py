"""Figures of one run or of many, which a test compares with its bounds.

A comparison with a figure holds if it holds in every run, as for a bound in ``[expect]``; a
statistic (``run.reprocessed.p95``) is one number over all runs. Every comparison that fails is kept
as a :class:`Claim`, from which the report of the test says what was measured, and by which a smaller
scenario is recognised as failing, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, NamedTuple, Protocol

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.metrics.catalogue import TABLES
from emulator.metrics.checks import RELATIONS, check_expectations, is_expectable, split_name
from emulator.report.wording import figure
from emulator.scenario.problems import hint
from emulator.testing.playing import PlayedSeed
from emulator.verdicts.findings import cut_short

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {**RELATIONS, "!=": operator.ne}


class Checked(NamedTuple):
    """Whether a comparison holds, and what was measured."""

    ok: bool
    message: str
    inconclusive: bool = False
    """Whether the runs were too short to decide it."""


class Source(Protocol):
    """How a figure is read from runs."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics it follows from: a run that is too short for them cannot decide it."""

    def values(self, played: PlayedSeed) -> tuple[float, ...]:
        """Return the values of one run, statistics left aside."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A comparison that a test made and that failed."""

    message: str
    holds: Callable[[Sequence[PlayedSeed]], bool]
    """Whether it holds for other runs; True if no other run can be compared."""

    excess: Callable[[PlayedSeed], float]
    """How far a run is outside the bound; 0: it is inside."""

    bound: tuple[str, str] | None = None
    """The same as a key and value of ``[expect]``, if it can be written so."""


@dataclass(frozen=True, slots=True)
class MetricSource:
    """A metric, an entry of a table, or a statistic of either, by its name in ``[expect]``."""

    name: str

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metric, without its statistic."""
        return (split_name(self.name)[0],)

    def values(self, played: PlayedSeed) -> tuple[float, ...]:
        """Return the value of one run."""
        return (played.metrics[self.metrics[0]],)


ALSO: Final = {"surge": "restart"}
"""By verb of a step: the verb that means it, too."""


@dataclass(frozen=True, slots=True)
class RebalancesSource:
    """The number of rebalances that each fault or act with a verb or id caused."""

    what: str

    @property
    def name(self) -> str:
        """The call in the test."""
        return f"rebalances_per({self.what!r})"

    @property
    def metrics(self) -> tuple[str, ...]:
        """All rebalances."""
        return ("rebalances",)

    def values(self, played: PlayedSeed) -> tuple[float, ...]:
        """Return one number for each such fault or act of one run."""
        return tuple(
            played.rebalances[fault]
            for fault, verb in played.verbs.items()
            if self.what in (fault, verb, ALSO.get(verb))
        )


def check(source: Source, runs: Sequence[PlayedSeed], relation: str, expected: float) -> Checked:
    """Compare a figure of some runs with a bound: metrics as ``[expect]`` does."""
    if not isinstance(source, MetricSource) or relation not in RELATIONS:
        return _check_values(source, runs, relation, expected)
    bounds = {source.name: (relation, float(expected))}
    cut = [cut_short(played.verdicts) for played in runs]
    (found,) = check_expectations(bounds, [played.metrics for played in runs], cut)
    return Checked(found.ok, found.reported, found.inconclusive)


def _check_values(
    source: Source, runs: Sequence[PlayedSeed], relation: str, expected: float
) -> Checked:
    """Compare every value of every run with a bound; raise RefusedError if there is none.

    A run has no value of ``rebalances_per("restart")`` if nothing is restarted in it, as in a
    scenario from which the search for the smallest one has removed the restart.
    """
    holds = COMPARISONS[relation]
    values = [value for played in runs for value in source.values(played)]
    if not values:
        raise RefusedError(f"{source.name} has no value in these runs: nothing can be compared")
    outside = [value for value in values if not holds(value, expected)]
    worst = max(outside, key=lambda value: abs(value - expected), default=None)
    shown = figure(values[0] if worst is None else worst)
    text = f"{source.name} is {shown}, expected {relation} {figure(expected)}"
    if len(values) > 1:
        text += f" ({len(outside)} of {len(values)} values are outside)"
    reasons = () if outside else _too_short(source, runs)
    return (
        Checked(False, f"{text}, but {reasons[0]}", True) if reasons else Checked(not outside, text)
    )


def _too_short(source: Source, runs: Sequence[PlayedSeed]) -> tuple[str, ...]:
    """Return why runs were too short to decide a comparison."""
    cuts = [cut_short(played.verdicts) for played in runs]
    return tuple(cut[name] for cut in cuts for name in source.metrics if name in cut)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Figure:
    """A figure of all runs of a test; comparisons with a number hold if they hold in every run."""

    source: Source
    runs: tuple[PlayedSeed, ...]
    claims: list[Claim] = field(default_factory=list)
    """Receives each comparison that failed."""

    @property
    def values(self) -> tuple[float, ...]:
        """The value of each run, in the order of the seeds."""
        return tuple(value for played in self.runs for value in self.source.values(played))

    def __getattr__(self, name: str) -> Any:
        """Return a statistic (``p95``, ``mean``, ``min``, ``max``): a :class:`Figure`.

        A name such as ``by_cause`` returns a :class:`FigureTable`.
        """
        __tracebackhide__ = True
        full = f"{self.source.name}.{name}"
        if any(full == table.name for table in TABLES):
            return FigureTable(full, self.runs, self.claims)
        if isinstance(self.source, MetricSource) and is_expectable(full):
            return Figure(MetricSource(full), self.runs, self.claims)
        tables = [table.name.removeprefix(f"{self.source.name}.") for table in TABLES]
        near = hint(name, [*tables, "mean", "min", "max", "p50", "p95", "p99"])
        raise AttributeError(f"{self.source.name} has no {name!r}{near}")

    def __lt__(self, expected: float) -> bool:
        return self.compare("<", expected)

    def __le__(self, expected: float) -> bool:
        return self.compare("<=", expected)

    def __eq__(self, expected: object) -> bool:
        return isinstance(expected, int | float) and self.compare("==", expected)

    def __ne__(self, expected: object) -> bool:
        return not isinstance(expected, int | float) or self.compare("!=", expected)

    def __ge__(self, expected: float) -> bool:
        return self.compare(">=", expected)

    def __gt__(self, expected: float) -> bool:
        return self.compare(">", expected)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        __tracebackhide__ = True
        raise RefusedError(f"{self.source.name} is a figure; compare it: {self.source.name} == 0")

    def __float__(self) -> float:
        __tracebackhide__ = True
        if len(self.values) != 1:
            raise RefusedError(
                f"{self.source.name} has {len(self.values)} values, one for each run; take a "
                f"statistic such as {self.source.name}.max, or .values"
            )
        return float(self.values[0])

    def __repr__(self) -> str:
        """Return the value, or the smallest and the largest."""
        low, high = min(self.values), max(self.values)
        ends = figure(low) if low == high else f"{figure(low)} to {figure(high)}"
        return f"<{self.source.name}: {ends}>"

    def compare(self, relation: str, expected: float) -> bool:
        """Return whether a comparison holds; keep it if it does not."""
        found = check(self.source, self.runs, relation, expected)
        if not found.ok:
            self.claims.append(_claim(self.source, relation, expected, found.message))
        return found.ok


def _claim(source: Source, relation: str, expected: float, message: str) -> Claim:
    holds_for = COMPARISONS[relation]

    def holds(runs: Sequence[PlayedSeed]) -> bool:
        """Return whether it holds or is inconclusive: no smaller scenario explains that."""
        found = check(source, runs, relation, expected)
        return found.ok or found.inconclusive

    def excess(played: PlayedSeed) -> float:
        values = source.values(played)
        return max(
            (abs(each - expected) for each in values if not holds_for(each, expected)), default=0
        )

    writable = isinstance(source, MetricSource) and relation in RELATIONS
    bound = (source.name, f"{relation} {expected:g}") if writable else None
    return Claim(message, holds, excess, bound)


REFLECTED: Mapping[str, str] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def comparison_message(relation: str, left: object, right: object) -> str | None:
    """Return what was measured in a comparison; None if it is not one of a figure and a number."""
    if isinstance(right, Figure):
        relation, left, right = REFLECTED.get(relation, relation), right, left
    if not isinstance(left, Figure) or relation not in COMPARISONS:
        return None
    if not isinstance(right, int | float):
        return None
    return check(left.source, left.runs, relation, right).message


@dataclass(frozen=True, slots=True)
class FigureTable:
    """The entries of a table, such as ``run.reprocessed.by_cause["two owners at once"]``."""

    name: str
    runs: tuple[PlayedSeed, ...]
    claims: list[Claim] = field(default_factory=list, repr=False)

    def __getitem__(self, entry: str) -> Figure:
        """Return the figure of one entry; an entry that no run has is 0."""
        return Figure(MetricSource(f"{self.name}[{entry}]"), self.runs, self.claims)

    def keys(self) -> list[str]:
        """Return the entries that at least one run has, in alphabetical order."""
        return sorted({key for played in self.runs for key in played.metrics.tables[self.name]})
