"""Many seeds of one scenario: the distribution of its figures, and the seed with the most cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.table import Table

from assignors.values import dataclass
from emulator.metrics.checks import Expected
from emulator.metrics.distribution import Estimate, Summary, summarise
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics, values_of
from emulator.report.figures import cells, fitted, note_if_alike, note_on_spread, shown, why
from emulator.report.screens.verdict import inconclusive_seeds, outcome
from emulator.report.subject import Subject, heading, overload_lines, seeds_named
from emulator.report.wording import counted, duration, figure, paragraph
from emulator.verdicts.verdict import Verdict

IN_BRACKETS = "In brackets: the 95 % confidence interval; … if there are too few seeds for a bound."


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The results of many seeds, in their order."""

    seeds: Sequence[int]
    metrics: Sequence[Metrics]
    causes: Sequence[Mapping[str, int]]
    findings: Sequence[tuple[Finding, ...]]
    expectations: Sequence[Expected]
    verdicts: Sequence[tuple[Verdict, ...]] = ()

    @property
    def worst_seed(self) -> int:
        """The seed with the most loss, then the most reprocessing, then the most downtime."""
        costs = [_costs(run) for run in self.metrics]
        return self.seeds[max(range(len(costs)), key=lambda at: (costs[at], -at))]


def _costs(run: Metrics) -> tuple[float, ...]:
    return run["lost"], run["reprocessed"], run["downtime_total_s"]


def opening(subject: Subject, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the lines that are known before the runs: what is in force, and overloads."""
    yield from heading(subject, seeds_named(seeds))
    yield from overload_lines(subject)


def results(subject: Subject, tally: Tally) -> Iterator[str]:
    """Yield the lines of the summary below the opening."""
    yield ""
    yield from inconclusive_seeds(tally.verdicts)
    yield from fitted(_table(tally, subject.lag_unit))
    yield from list(note_if_alike(tally.metrics)) or paragraph(IN_BRACKETS)
    yield from note_on_spread(tally.metrics)
    if causes := list(why(tally.causes)):
        yield from ("", "Causes, in records", *causes)
    if tally.expectations:
        yield from ("", "Expectations")
    for expected in tally.expectations:
        yield from paragraph(expected.message, outcome(expected))
    yield from _findings(tally)
    command = f"rebalance run {subject.name} --seed {tally.worst_seed}{subject.options}"
    yield from ("", *paragraph(f"{_worst(tally)}: {command}"))


def _worst(tally: Tally) -> str:
    """Return which seed is the worst, with the figures that decide."""
    worst = tally.metrics[tally.seeds.index(tally.worst_seed)]
    figures = (
        f"{counted(round(worst['lost']), 'record')} lost, {worst['reprocessed']:,.0f} reprocessed, "
        f"{duration(worst['downtime_total_s'])} of downtime summed over partitions"
    )
    alike = len({_costs(run) for run in tally.metrics}) == 1
    order = "as in every seed" if alike else "compared in this order"
    return f"The worst seed is {tally.worst_seed} ({figures}; {order})"


def _table(tally: Tally, lag_unit: str) -> Table:
    table = Table(box=box.MARKDOWN)
    table.add_column("")
    for title in ("minimum", "median", "p95", "maximum", "mean"):
        table.add_column(title, justify="right")
    for name, label in shown(tally.metrics, lag_unit):
        table.add_row(*cells(label, *_row(summarise(values_of(tally.metrics, name)))))
    return table


def _row(summary: Summary) -> list[str]:
    least, most = figure(summary.minimum), figure(summary.maximum)
    if summary.minimum == summary.maximum:
        return [least] * 5
    return [least, within(summary.median), within(summary.p95), most, figure(summary.mean.value)]


def within(estimate: Estimate) -> str:
    """Return a figure with its confidence interval; an open end is shown as dots.

    >>> within(Estimate(62, 60, None, 0.95)), within(Estimate(3, 3, 3, 0.95))
    ('62 (60 to …)', '3')
    """
    value = figure(estimate.value)
    ends = ["…" if end is None else figure(end) for end in (estimate.low, estimate.high)]
    if set(ends) <= {"…"} or set(ends) == {value}:
        return value
    return f"{value} ({ends[0]} to {ends[1]})"


def _findings(tally: Tally) -> Iterator[str]:
    """Yield each warning once, with the number of seeds that have it."""
    seen = Counter[tuple[str, str]]()
    for findings in tally.findings:
        seen.update({(finding.severity.value, finding.law.value) for finding in findings})
    if seen:
        yield ""
    for (severity, law), number in sorted(seen.items()):
        yield from paragraph(f"{severity}: {law}, in {number} of {len(tally.seeds)} seeds")
