"""Check a scenario's expectations of its metrics, over one run or over many seeds.

A bound names a metric (``lost``), an entry of a table (``reprocessed.by_cause[two owners at
once]``), or over seeds a statistic of either (``reprocessed.p95``; ``.mean``, ``.min``, ``.max``,
``.p50`` and any other percentile). A name without a statistic must hold in every run.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from assignors.values import dataclass
from emulator.metrics.catalogue import TABLES, VALUES, WITHOUT_VALUE, is_metric, unknown_metric
from emulator.metrics.metrics import Metrics

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}

OR_NONE = "none or "
"""Before a relation: a metric without a value meets the bound."""

SECONDS = "s"
"""The unit of metrics that are times."""

_TIMED = re.compile(r"\s*(.*?[\d.]+)\s*[a-z]+\s*")
"""A bound with the unit of a time."""

_STATISTIC = re.compile(r"(?P<metric>.+)\.(?P<statistic>mean|min|max|p\d{1,2}(?:\.\d+)?)")

Bound = tuple[str, float]
"""A relation of ``RELATIONS``, maybe after ``none or``, and the value on its right side."""

CutShort = Mapping[str, str]
"""The metrics that the end of a run cut short, each with the reason."""

MAY_FALL = frozenset({"backlog", "in_hand", "requests_per_s", "log_size", "log_size_records"})
"""Metrics whose value may be smaller in a longer run; the others can only grow."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One expectation and its outcome."""

    name: str
    """The metric, perhaps with a statistic."""

    relation: str
    """How the value is compared with the bound, such as ``<=``."""

    expected: float
    """The bound."""

    measured: float | None
    """Without a statistic, over several runs: the value with the largest violation. None: the
    metric has no value in some run."""

    ok: bool
    """Whether it holds."""

    message: str
    inconclusive: bool = False
    """Whether the run was too short to decide it; ``ok`` is then False."""

    why: str = ""
    """If so: what had not ended, as the verdict says it."""

    @property
    def undecided(self) -> str:
        """What is reported where the reason was said before."""
        return self.reported.partition(f": {self.why}")[0] if self.why else self.reported

    @property
    def reported(self) -> str:
        """The message, for places without a word before it: also says if it is inconclusive."""
        return f"inconclusive: {self.message}" if self.inconclusive else self.message


def is_expectable(name: str) -> bool:
    """Return whether *name* can have a bound."""
    return is_metric(split_name(name)[0])


def objection_to_bound(name: str, written: object) -> str:
    """Return why a bound cannot be compared with a metric: it is a time, the metric is none.

    *written*: the bound as in a file; empty: no objection.

    >>> objection_to_bound("reprocessed.p95", "< 10 s")
    'a time, but reprocessed is counted in records; write "< 10"'
    >>> objection_to_bound("downtime_max_s", "< 10 s")
    ''
    """
    metric = split_name(name)[0]
    timed = _TIMED.fullmatch(written) if isinstance(written, str) else None
    unit = _unit_of(metric)
    if timed is None or unit in ("", SECONDS):
        return ""
    counted = "a count" if unit == "count" else f"counted in {unit}"
    return f'a time, but {metric} is {counted}; write "{timed[1]}"'


def _unit_of(name: str) -> str:
    """Return the unit of a value, or of the entries of a table; empty for an unknown name."""
    table = name.partition("[")[0]
    return next((metric.unit for metric in (*VALUES, *TABLES) if metric.name == table), "")


def check_expectations(
    bounds: Mapping[str, Bound], runs: Sequence[Metrics], cut_short: Sequence[CutShort] = ()
) -> tuple[Expected, ...]:
    """Compare *bounds* with one run or several, in order of *bounds*.

    *cut_short*: for each run, the metrics whose final value it was too short to show. An
    expectation of such a metric is inconclusive, unless it is decided: a count can only grow.

    Raise KeyError for an unknown metric, with the closest match.
    """
    cuts = cut_short or [{} for _ in runs]
    return tuple(_check(name, bound, runs, cuts) for name, bound in bounds.items())


def _check(name: str, bound: Bound, runs: Sequence[Metrics], cuts: Sequence[CutShort]) -> Expected:
    metric, _ = split_name(name)
    if not is_metric(metric):
        raise KeyError(unknown_metric(metric))
    optional = bound[0].startswith(OR_NONE)
    reasons = [_reason(metric, cut) for cut in cuts]
    having = [at for at, run in enumerate(runs) if run.has(metric)]
    if len(having) < len(runs) and not (optional and having):
        missing = [reasons[at] for at in range(len(runs)) if at not in having]
        return _without_value(name, bound, missing, len(runs))
    values = [runs[at][metric] for at in having]
    plain = (bound[0].removeprefix(OR_NONE), bound[1])
    found = _compare(name, plain, values, [reasons[at] for at in having])
    return replace(found, relation=bound[0])


def _without_value(name: str, bound: Bound, reasons: Sequence[str], runs: int) -> Expected:
    """Return the outcome if a metric has no value in some run: it fails unless that is allowed."""
    relation, expected = bound
    metric = split_name(name)[0]
    where = "" if runs == 1 else f" in {len(reasons)} of {runs} runs"
    text = f"{name} has no value{where}: {WITHOUT_VALUE.get(metric, 'nothing to measure')}"
    found = Expected(name, relation, expected, None, relation.startswith(OR_NONE), text)
    cut = [reason for reason in reasons if reason]
    if cut:
        return _undecided(found, cut, runs)
    if found.ok:
        return found
    bound_text = f"{relation} {_plain(expected)}"
    allowed = f'; expected {bound_text} (to allow it: "{OR_NONE}{bound_text}")'
    return replace(found, message=text + allowed)


def _compare(name: str, bound: Bound, values: Sequence[float], reasons: Sequence[str]) -> Expected:
    """Compare the values of some runs; *reasons*: why each was too short, or empty."""
    metric, statistic = split_name(name)
    if statistic:
        measured = _statistic(statistic, values)
        expected = _check_statistic(name, bound, measured, len(values))
        open_runs = [reason for reason in reasons if reason]
        decided = _decided(metric, bound, measured)
    else:
        expected = _check_values(name, bound, values)
        open_runs = [
            reason
            for reason, value in zip(reasons, values, strict=True)
            if reason and not _decided(metric, bound, value)
        ]
        decided = not expected.ok and _any_decided(metric, bound, values, reasons)
    return expected if decided or not open_runs else _undecided(expected, open_runs, len(values))


def _any_decided(
    metric: str, bound: Bound, values: Sequence[float], reasons: Sequence[str]
) -> bool:
    """Return whether some run fails, and would also fail if it were longer."""
    relation, expected = bound
    return any(
        not RELATIONS[relation](value, expected) and (not reason or _decided(metric, bound, value))
        for value, reason in zip(values, reasons, strict=True)
    )


def _plain(value: float) -> str:
    """Return a number as a file has it: all digits of a whole one, six of others.

    >>> _plain(58904200), _plain(46.13612345), _plain(0.0)
    ('58904200', '46.1361', '0')
    """
    return f"{value:.0f}" if value == round(value) else f"{value:g}"


def _check_values(name: str, bound: Bound, values: Sequence[float]) -> Expected:
    relation, expected = bound
    worst = _worst(relation, expected, values)
    failed = sum(not RELATIONS[relation](value, expected) for value in values)
    text = f"{name} is {_plain(worst)}, expected {relation} {_plain(expected)}"
    if len(values) > 1:
        text += f" ({failed} of {len(values)} runs are outside)"
    return Expected(name, relation, expected, worst, failed == 0, text)


def _check_statistic(name: str, bound: Bound, measured: float, runs: int) -> Expected:
    relation, expected = bound
    ok = RELATIONS[relation](measured, expected)
    over = "one run" if runs == 1 else f"{runs} runs"
    text = f"{name} over {over} is {_plain(measured)}, expected {relation} {_plain(expected)}"
    return Expected(name, relation, expected, measured, ok, text)


def _reason(metric: str, cut: CutShort) -> str:
    """Return why a run was too short for a metric or a table of it; empty if it was not."""
    base = metric.partition("[")[0].partition(".")[0]
    return next((why for name, why in cut.items() if f"{name}_".startswith(f"{base}_")), "")


def _decided(metric: str, bound: Bound, measured: float) -> bool:
    """Return whether a longer run could not change the outcome.

    >>> _decided("lost", ("==", 0), 3), _decided("lost", ("==", 0), 0), _decided("lag", (">", 1), 2)
    (True, False, True)
    """
    relation, expected = bound
    if metric in MAY_FALL:
        return False
    if relation == "==":
        return measured > expected
    return RELATIONS[relation](measured, expected) == (relation in (">", ">="))


def _undecided(expected: Expected, reasons: Sequence[str], runs: int) -> Expected:
    where = "" if runs == 1 else f" (in {len(reasons)} of {runs} runs)"
    text = f"{expected.message}: {reasons[0]} at the end{where}"
    return replace(expected, ok=False, inconclusive=True, message=text, why=reasons[0])


def split_name(name: str) -> tuple[str, str]:
    """Split a name into metric and statistic; a metric's own name is never split.

    >>> split_name("reprocessed.p95"), split_name("lost")
    (('reprocessed', 'p95'), ('lost', ''))
    """
    match = None if is_metric(name) else _STATISTIC.fullmatch(name)
    return (match["metric"], match["statistic"]) if match else (name, "")


def _statistic(statistic: str, values: Sequence[float]) -> float:
    if statistic == "mean":
        return math.fsum(values) / len(values)
    if statistic in ("min", "max"):
        return min(values) if statistic == "min" else max(values)
    from emulator.metrics.distribution import order_statistic  # noqa: PLC0415  one run needs none

    return order_statistic(values, float(statistic[1:]) / 100)


def _worst(relation: str, expected: float, values: Sequence[float]) -> float:
    """Return the value that violates the relation most."""
    if relation in ("<", "<="):
        return max(values)
    if relation in (">", ">="):
        return min(values)
    return max(values, key=lambda value: abs(value - expected))
