"""The same runs under several settings: one table, to be pasted into a design review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from emulator.metrics.distribution import Comparison, compare, summarise
from emulator.metrics.metrics import Metrics
from emulator.report.chance import no_chance
from emulator.report.figures_shown import as_lines, cells, shown, why
from emulator.report.headings import heading, in_force
from emulator.report.subject import Subject
from emulator.report.wording import difference, figure, paragraph, width

_DECIMALS = 9
"""What floating point leaves of an interval without width lies below these."""

Rows = Sequence[tuple[str, str]]
"""Metrics, each with its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One setting, and what came of it, seed by seed."""

    name: str
    subject: Subject
    metrics: Sequence[Metrics]
    causes: Sequence[Mapping[str, int]]
    overrides: Sequence[str] = ()
    """``path=value``: what was changed of the scenario."""

    missed: Sequence[str] = ()
    """What was to strike and did not, seed after seed: such a column shows runs without it."""


def comparison_screen(seeds: Sequence[int], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the lines of a comparison; differences are to the first column."""
    first = columns[0]
    several = len(seeds) > 1
    named = f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}" if several else f"seed {seeds[0]}"
    yield next(heading(first.subject, named))
    yield ""
    for column in columns:
        for group, base in zip(column.subject.groups, first.subject.groups, strict=True):
            text = in_force(group, None if column is first else base)
            yield from paragraph(f"{column.name}: {text}", "", "  ")
        others = other_changes(column, first)
        if others:
            yield from paragraph(f"{column.name}: {', '.join(others)}", "", "  ")
    yield ""
    for table in _tables(columns):
        yield from table
    if several:
        yield from paragraph(
            f"Means of {len(seeds)} seeds. Differences are to {first.name}, seed by seed, with "
            "the interval that holds the true mean with 95 % confidence."
        )
        yield from no_chance(*(column.metrics for column in columns))
    yield from missed(columns)
    yield from _causes(columns)


def missed(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a warning for each fault that never struck in some column."""
    for column in columns:
        for what, times in Counter(column.missed).items():
            runs = f"in {times} of {len(column.metrics)} runs"
            yield from paragraph(f"{column.name}: {what} ({runs})", "warning: ", "         ")


def other_changes(column: Column, first: Column) -> list[str]:
    """Return what a column changes of the first one that no list of settings says."""
    if column is first:
        return []
    said = (".settings", ".static=")
    return [
        one
        for one in column.overrides
        if one not in first.overrides and not any(word in one for word in said)
    ]


def _tables(columns: Sequence[Column]) -> Iterator[list[str]]:
    """Yield one table; several, each with the first column, where one would be too wide."""
    rows = list(shown([run for column in columns for run in column.metrics]))
    first, *rest = columns
    while rest:
        several = next(n for n in range(len(rest), 0, -1) if n == 1 or _fits(first, rest[:n], rows))
        if len(rest) < len(columns) - 1:
            yield [""]
        yield _table([first, *rest[:several]], rows)
        rest = rest[several:]


def _fits(first: Column, rest: Sequence[Column], rows: Rows) -> bool:
    return max(map(len, _table([first, *rest], rows))) <= width()


def _table(columns: Sequence[Column], rows: Rows) -> list[str]:
    table = Table(box=box.MARKDOWN)
    table.add_column("")
    for at, column in enumerate(columns):
        table.add_column(Text(column.name), justify="right")
        if at:
            table.add_column("difference", justify="right")
    for name, label in rows:
        table.add_row(*cells(label, *_row(name, columns)))
    return list(as_lines(table))


def _row(name: str, columns: Sequence[Column]) -> Iterator[str]:
    base = [run[name] for run in columns[0].metrics]
    for at, column in enumerate(columns):
        values = [run[name] for run in column.metrics]
        yield figure(summarise(values).mean.value)
        if at:
            yield paired(compare(base, values))


def paired(comparison: Comparison) -> str:
    """Return the mean of paired differences, with half the width of its interval."""
    mean = comparison.mean
    text = difference(mean.value)
    half = 0.0 if mean.high is None else round(mean.high - mean.value, _DECIMALS)
    return f"{text} ± {figure(half)}" if half else text


def _causes(columns: Sequence[Column]) -> Iterator[str]:
    for column in columns:
        if causes := list(why(column.causes)):
            yield from ("", f"Why, in records, {column.name}", *causes)
