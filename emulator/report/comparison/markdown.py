"""A comparison as Markdown, for example for a design review: one table of any width."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from emulator.metrics.catalogue import VALUES
from emulator.metrics.distribution import Comparison, compare, summarise
from emulator.report.bands import beside_means
from emulator.report.comparison.columns import DISQUALIFIED, Column, any_disqualified
from emulator.report.comparison.ranking import order_text, reasons, shared_overload
from emulator.report.comparison.table import (
    Rows,
    lag_unit_of,
    missed,
    other_changes,
    paired,
    settings_of,
)
from emulator.report.figures import (
    ALL_SEEDS_ALIKE,
    ALWAYS,
    IF_ANY,
    all_alike,
    labelled,
)
from emulator.report.subject import seeds_named
from emulator.report.wording import figure, visible

_LABELS = {**ALWAYS, **IF_ANY}
_LEGEND = (
    "Each figure is a mean over the seeds. In brackets: the difference from {first}, seed by seed, "
    "with {band}; bold if the 95 % confidence interval does not contain zero."
)
_LEGEND_OF_ONE = "In brackets: the difference from {first}. One seed, so there are no intervals."


def comparison_markdown(
    seeds: Sequence[int], columns: Sequence[Column], *, transposed: bool
) -> Iterator[str]:
    """Yield the lines of a comparison; *transposed*: a row for each setting, a column for each metric.

    The table shows the main metrics, then all others that are not equal in all runs; a transposed
    table shows the main metrics only, because of its width.
    """
    first, several = columns[0], len(seeds) > 1
    rows, alike = _rows(columns)
    yield from _head(seeds, columns)
    yield from _by_setting(columns, rows) if transposed else _by_metric(columns, rows)
    yield ""
    yield (_LEGEND if several else _LEGEND_OF_ONE).format(
        first=_plain(first.name), band=beside_means(len(seeds))
    )
    if all(all_alike(column.metrics) for column in columns):
        yield ALL_SEEDS_ALIKE
    if alike and not transposed:
        equal = ", ".join(f"`{name}` {figure(first.metrics[0][name])}" for name in alike)
        yield f"Equal in all runs: {equal}."
    if any(column.missed for column in columns):
        yield from ("", " ".join(_plain(line.strip()) for line in missed(columns)))
    if any_disqualified(columns):
        said = [*shared_overload(columns), *reasons(columns)]
        yield from ("", *(f"- {_plain(reason)}" for reason in said))
        yield from ("", _plain(order_text(columns)))
    yield from _causes(columns)


def _head(seeds: Sequence[int], columns: Sequence[Column]) -> Iterator[str]:
    first = columns[0]
    subject = first.subject
    yield f"## {_plain(subject.title)}"
    yield ""
    yield f"Apache Kafka {subject.kafka}, emulated: {subject.run_for} long, {seeds_named(seeds)}."
    yield ""
    for column in columns:
        facts = settings_of(column, first)
        facts_and_changes = [*facts, *(f"`{change}`" for change in other_changes(column, first))]
        yield f"- **{_plain(column.name)}**: {_plain('; '.join(facts_and_changes))}"
    yield ""


def _rows(columns: Sequence[Column]) -> tuple[Rows, list[str]]:
    """Return the metrics in which runs differ, with labels, and the names of the others."""
    runs = [run for column in columns for run in column.metrics]
    unit = lag_unit_of(columns)
    units = {metric.name: metric.unit for metric in VALUES}
    names = [*_LABELS, *(name for name in units if name not in _LABELS)]
    alike = {name for name in names if len({run[name] for run in runs}) == 1} - ALWAYS.keys()
    differing = [
        (name, labelled(name, _LABELS.get(name) or f"`{name}` ({units[name]})", unit))
        for name in names
        if name not in alike
    ]
    return differing, [name for name in names if name in alike]


# -- the table -------------------------------------------------------------------------------------


def _by_metric(columns: Sequence[Column], rows: Rows) -> Iterator[str]:
    yield _line("", *(_plain(column.name) for column in columns))
    yield f"|---{'|---:' * len(columns)}|"
    if any_disqualified(columns):
        yield _line(DISQUALIFIED, *(_plain(column.mark) for column in columns))
    for name, label in rows:
        yield _line(label, *(_cell(name, column, columns[0]) for column in columns))


def _by_setting(columns: Sequence[Column], metrics: Rows) -> Iterator[str]:
    rows = [(name, label) for name, label in metrics if name in _LABELS]
    marked = [DISQUALIFIED] if any_disqualified(columns) else []
    yield _line("", *marked, *(label for _, label in rows))
    yield f"|---{'|---' * len(marked)}{'|---:' * len(rows)}|"
    for column in columns:
        marks = [_plain(column.mark)] if marked else []
        cells = (_cell(name, column, columns[0]) for name, _ in rows)
        yield _line(_plain(column.name), *marks, *cells)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(name: str, column: Column, first: Column) -> str:
    """Return a mean, and its difference from the first column if there is one."""
    values = [run[name] for run in column.metrics]
    mean = figure(summarise(values).mean.value)
    comparison = compare([run[name] for run in first.metrics], values)
    if column is first or comparison.equal == comparison.runs:
        return mean
    pair = paired(comparison)
    return f"{mean} (**{pair}**)" if _leaves_out_zero(comparison) else f"{mean} ({pair})"


def _leaves_out_zero(comparison: Comparison) -> bool:
    low, high = comparison.mean.low, comparison.mean.high
    return low is not None and high is not None and (low > 0 or high < 0)


# -- causes ----------------------------------------------------------------------------------------


def _causes(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a table of causes in records per run."""
    totals = [_total(column) for column in columns]
    known = Counter[str]()
    for total in totals:
        known.update(total)
    if not known:
        return
    yield from ("", "Causes of reprocessing and loss, in records per run:", "")
    yield _line("", *(_plain(column.name) for column in columns))
    yield f"|---{'|---:' * len(columns)}|"
    for cause, _ in known.most_common():
        yield _line(
            cause,
            *(
                figure(total[cause] / len(column.causes))
                for total, column in zip(totals, columns, strict=True)
            ),
        )


def _total(column: Column) -> Counter[str]:
    total = Counter[str]()
    for causes in column.causes:
        total.update(causes)
    return total


def _plain(text: str) -> str:
    """Return text with the characters escaped that end a cell, or mean something in Markdown."""
    return re.sub(r"[|*`\[\]]", r"\\\g<0>", visible(text)).replace("<", "&lt;")
