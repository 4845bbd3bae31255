"""Many seeds of one scenario: how the figures are spread, and which seed is the worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from emulator.measure import Estimate, Expected, Finding, Metrics, summarise
from emulator.measure.catalogue import VALUES
from emulator.report.headings import heading
from emulator.report.subject import Subject
from emulator.report.wording import WIDTH, figure, paragraph

SHOWN = (
    "reprocessed",
    "lost",
    "partial",
    "rebalances",
    "standstill_max_s",
    "standstill_total_s",
    "takeover_first_s",
    "takeover_last_s",
    "moved",
    "overlap_records",
    "commits_refused",
    "lag_processed_peak",
    "drain_max_s",
)
"""The metrics a person looks at first; JSON has them all."""

UNITS = {metric.name: metric.unit for metric in VALUES}


@dataclass(frozen=True)
class Tally:
    """The results of many seeds, in their order."""

    seeds: Sequence[int]
    metrics: Sequence[Metrics]
    causes: Sequence[Mapping[str, int]]
    findings: Sequence[tuple[Finding, ...]]
    expectations: Sequence[Expected]

    @cached_property
    def worst_seed(self) -> int:
        """The seed that lost most; among equals, that repeated most, that stood still longest."""
        names = ("lost", "reprocessed", "standstill_total_s")
        costs = [tuple(run[name] for name in names) for run in self.metrics]
        return self.seeds[max(range(len(costs)), key=lambda at: (costs[at], -at))]


def seeds_screen(subject: Subject, tally: Tally, console: Console | None = None) -> None:
    """Print the summary of many seeds."""
    console = console or Console(width=WIDTH, highlight=False)
    for line in _above(subject, tally):
        console.print(Text(line))
    console.print(_table(tally))
    for line in _below(subject, tally):
        console.print(Text(line))


def _above(subject: Subject, tally: Tally) -> Iterator[str]:
    first, last = tally.seeds[0], tally.seeds[-1]
    yield from heading(subject, f"{len(tally.seeds)} seeds, {first} to {last}")
    yield ""


def _table(tally: Tally) -> Table:
    table = Table(box=box.MARKDOWN)
    table.add_column("figure")
    table.add_column("least", justify="right")
    table.add_column("half of the seeds up to", justify="right")
    table.add_column("95 in 100 up to", justify="right")
    table.add_column("most", justify="right")
    table.add_column("mean", justify="right")
    for name in SHOWN:
        summary = summarise([run[name] for run in tally.metrics])
        if name in SHOWN[3:] and not summary.maximum:
            continue
        table.add_row(
            f"{name} ({UNITS[name]})",
            figure(summary.minimum),
            within(summary.median),
            within(summary.p95),
            figure(summary.maximum),
            within(summary.mean),
        )
    return table


def within(estimate: Estimate) -> str:
    """Return a figure with the interval that holds the true one; open ends as dots.

    >>> within(Estimate(62, 60, None, 0.95)), within(Estimate(3, 3, 3, 0.95))
    ('62 (60 to …)', '3')
    """
    low, high = (
        "…" if end is None else figure(end) for end in (estimate.low, estimate.high)
    )
    value = figure(estimate.value)
    return value if value == low == high else f"{value} ({low} to {high})"


def _below(subject: Subject, tally: Tally) -> Iterator[str]:
    yield "In brackets: where the true figure lies, with 95 % confidence; … where the seeds are too few."
    yield from _causes(tally)
    if tally.expectations:
        yield from ("", "Expectations")
    for expected in tally.expectations:
        yield from paragraph(expected.message, "  ok      " if expected.ok else "  FAILED  ")
    yield from _findings(tally)
    command = f"rebalance run {subject.name} --seed {tally.worst_seed}{subject.options}"
    yield from ("", f"The worst seed is {tally.worst_seed}: {command}")


def _causes(tally: Tally) -> Iterator[str]:
    records, seeds = Counter[str](), Counter[str]()
    for causes in tally.causes:
        records.update(causes)
        seeds.update(causes.keys())
    if records:
        yield from ("", "Why")
    for cause, number in records.most_common():
        mean = figure(number / len(tally.seeds))
        yield f"{mean:>9}  records a run: {cause}, in {seeds[cause]} of {len(tally.seeds)} seeds"


def _findings(tally: Tally) -> Iterator[str]:
    """Yield each warning once, with the number of seeds it was seen in."""
    seen = Counter[tuple[str, str]]()
    for findings in tally.findings:
        seen.update({(finding.severity.value, finding.law.value) for finding in findings})
    if seen:
        yield ""
    for (severity, law), number in sorted(seen.items()):
        yield f"{severity}: {law}, in {number} of {len(tally.seeds)} seeds"
