"""The same runs with several settings: a table with a column, or with a row, for each setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from shlex import quote

from rich import box
from rich.table import Table
from rich.text import Text

from emulator.metrics.distribution import Comparison, compare, summarise
from emulator.metrics.metrics import pairs_of, values_of
from emulator.report.bands import beside_means, few_seeds, with_band
from emulator.report.comparison.columns import DISQUALIFIED, Column, any_disqualified, reason_rows
from emulator.report.comparison.ranking import ranking_lines
from emulator.report.figures import (
    NO_VALUE,
    as_lines,
    cells,
    fitted,
    note_if_alike,
    shown,
    why,
)
from emulator.report.subject import heading, in_force, seeds_named, title_lines
from emulator.report.wording import WIDTH, difference, figure, paragraph, width

Rows = Sequence[tuple[str, str]]
"""Metrics, each with its label."""


def comparison_screen(seeds: Sequence[int], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the lines of a comparison; differences are to the first column."""
    first = columns[0]
    several = len(seeds) > 1
    yield from title_lines(first.subject, seeds_named(seeds))
    yield ""
    for column in columns:
        for text in settings_of(column, first):
            yield from paragraph(f"{column.name}: {text}", "", "  ")
        others = other_changes(column, first)
        if others:
            yield from paragraph(f"{column.name}: {', '.join(others)}", "", "  ")
    yield ""
    for table in _tables(columns):
        yield from table
    if several:
        yield from paragraph(
            f"Means of {len(seeds)} seeds. Differences are from {first.name}, seed by seed, with "
            f"{beside_means(len(seeds))}{few_seeds(len(seeds))}."
        )
        yield from note_if_alike(*(column.metrics for column in columns))
    yield from missed(columns)
    yield from _ranking(columns)
    yield from _causes(columns)
    yield from _commands(seeds[0], columns)


def settings_of(column: Column, first: Column) -> Iterator[str]:
    """Yield the settings of each group of a column; where the first column has it, what differs."""
    bases = {} if column is first else {base.id: base for base in first.subject.groups}
    for group in column.subject.groups:
        yield in_force(group, bases.get(group.id))


def _ranking(columns: Sequence[Column]) -> Iterator[str]:
    """Yield which settings are disqualified and why, and the order of the others."""
    if any_disqualified(columns):
        yield from ("", *ranking_lines(columns))


def _commands(seed: int, columns: Sequence[Column]) -> Iterator[str]:
    """Yield the command that plays each changed column alone, an option a line."""
    changed = [column for column in columns if column.overrides]
    if changed:
        yield from ("", "One column alone")
    for column in changed:
        options = [f"--set {quote(change)}" for change in column.overrides]
        words = [f"rebalance run {column.subject.name}", f"--seed {seed}", *options]
        yield f"  {column.name}:"
        yield from (f"    {word} \\" for word in words[:-1])
        yield f"    {words[-1]}"


def missed(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a warning for each fault that did not fire in some column."""
    for column in columns:
        for what, times in Counter(column.missed).items():
            runs = f"in {times} of {len(column.metrics)} runs"
            yield from paragraph(f"{column.name}: {what} ({runs})", "warning: ", "         ")


def other_changes(column: Column, first: Column) -> list[str]:
    """Return the changes of a column that its list of settings does not contain."""
    if column is first:
        return []
    listed = (".settings", ".static=")
    return [
        one
        for one in column.overrides
        if one not in first.overrides and not any(word in one for word in listed)
    ]


def _tables(columns: Sequence[Column]) -> Iterator[list[str]]:
    """Yield one table, or several with the first column in each if one would be too wide."""
    rows = list(shown([run for column in columns for run in column.metrics], lag_unit_of(columns)))
    first, *rest = columns
    if width() < WIDTH and not all(_fits(first, [each], rows) for each in rest):
        yield fitted(_table(columns, rows))
        return
    while rest:
        several = next(n for n in range(len(rest), 0, -1) if n == 1 or _fits(first, rest[:n], rows))
        if len(rest) < len(columns) - 1:
            yield ["", f"The other columns, again beside {first.name}", ""]
        yield fitted(_table([first, *rest[:several]], rows))
        rest = rest[several:]


def lag_unit_of(columns: Sequence[Column]) -> str:
    """Return what lag counts in a comparison: offsets if some of them hold no record in a column."""
    units = {column.subject.lag_unit for column in columns}
    return "offset" if "offset" in units else "record"


def _fits(first: Column, rest: Sequence[Column], rows: Rows) -> bool:
    return _width_of(_table([first, *rest], rows)) <= width()


def _width_of(table: Table) -> int:
    return max(map(len, as_lines(table)))


def _table(columns: Sequence[Column], rows: Rows) -> Table:
    table = Table(box=box.MARKDOWN)
    table.add_column("")
    for at, column in enumerate(columns):
        table.add_column(Text(column.name), justify="right")
        if at:
            table.add_column("difference", justify="right")
    for label, (of_first, *said) in reason_rows(columns):
        table.add_row(*cells(label, of_first, *chain.from_iterable((each, "") for each in said)))
    for name, label in rows:
        table.add_row(*cells(label, *_row(name, columns)))
    return table


def _row(name: str, columns: Sequence[Column]) -> Iterator[str]:
    first = columns[0].metrics
    for at, column in enumerate(columns):
        having = [run[name] for run in column.metrics if run.has(name)]
        yield figure(summarise(having).mean.value) if having else NO_VALUE
        if at:
            before, after = pairs_of(name, first, column.metrics)
            yield paired(compare(before, after)) if before else NO_VALUE


def paired(comparison: Comparison) -> str:
    """Return the mean of paired differences with its interval, or with the range of few."""
    return with_band(comparison, difference)


def _causes(columns: Sequence[Column]) -> Iterator[str]:
    for column in columns:
        if causes := list(why(column.causes)):
            yield from ("", f"Causes, in records, {column.name}", *causes)


ROW_ALWAYS = {
    "reprocessed": "reprocessed",
    "lost": "lost",
    "rebalances": "rebalances",
}
ROW_IF_DIFFERENT = {
    "monitor_misses": "no alarm",
    "monitor_false_alarms": "false alarms",
    "scaling_reversals": "steps undone",
    "replica_hours": "replica-hours",
    "rolled_back": "rolled back",
    "results_undone": "results undone",
    "store_wait_max_s": "store wait (s)",
    "commit_round_max_s": "commit round (s)",
    "truncated": "truncated",
    "duplicates_avoided": "avoided",
    "deduplicated": "recognised",
    "not_deduplicated": "not recognised",
    "copies_processed": "copies",
    "aborted_processed": "aborted",
    "compacted_unread": "compacted unread",
    "drop_outs": "dropped out",
    "evictions": "removed",
    "downtime_max_s": "downtime (s)",
    "unreadable_max_s": "unreadable (s)",
    "commits_unavailable_max_s": "no commits (s)",
    "lag_processed_peak": "peak lag",
    "commits_refused": "refused",
    "takeover_last_s": "takeover (s)",
    "lag_recovery_max_s": "lag recovery (s)",
}
"""Metrics with their column titles; the latter are shown if rows differ and if there is room."""

LEGEND = {
    "reprocessed": "records processed more than once",
    "truncated": "records truncated from the log before they were processed",
    "avoided": "records not reprocessed because a commit without an answer was accepted",
    "recognised": "duplicates that the seen-set recognised",
    "not recognised": "those that it did not recognise",
    "copies": "processed copies in the topic",
    "aborted": "processed records of aborted transactions",
    "compacted unread": "records that compaction removed before they were processed",
    "dropped out": "consumers that dropped out of the group",
    "removed": "members that a coordinator removed",
    "downtime (s)": "longest time of one partition without an owner",
    "unreadable (s)": "longest time of one partition without new readable records",
    "no commits (s)": "longest time in which commits were unavailable",
    "takeover (s)": "from a fault until the next owner of its last partition works",
    "lag recovery (s)": "from a fault until lag is back at its level",
    "peak lag": "largest number of unprocessed records",
    "refused": "commits refused",
    "no alarm": "standstills of a partition that a monitor missed",
    "false alarms": "alarms of a monitor while nothing was stuck",
    "steps undone": "steps of the autoscaler that undo a recent one",
    "rolled back": "records whose transaction the database rolled back",
    "store wait (s)": "longest time that a commit waited in the queue of its store",
}


def rows_screen(seeds: Sequence[int], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the lines of a comparison with a row for each of *columns*."""
    several = len(seeds) > 1
    yield from heading(columns[0].subject, seeds_named(seeds))
    yield ""
    shown, left_out = _shown(columns, width() if width() == WIDTH else None)
    yield from _row_tables(columns, shown)
    yield ""
    notes = [f"{label}: {LEGEND[label]}" for label in shown.values() if label in LEGEND]
    if several:
        notes.append(f"means of {len(seeds)} seeds")
    if left_out:
        notes.append(f"rows also differ in {', '.join(left_out)} (--json)")
    yield from paragraph("; ".join(notes))
    if several:
        yield from note_if_alike(*(column.metrics for column in columns))
    yield from missed(columns)
    yield from _ranking(columns)
    for column in columns:
        if causes := list(why(column.causes)):
            yield from ("", f"Causes, in records, {column.name}", *causes)
    yield from _changes(columns)


def rows_table(columns: Sequence[Column]) -> list[str]:
    """Return the lines of the table alone: 100 columns wide, or more if settings are disqualified."""
    return list(as_lines(_rows_table(columns, _shown(columns, WIDTH)[0])))


def _shown(columns: Sequence[Column], most: int | None) -> tuple[dict[str, str], list[str]]:
    """Return the metrics to show with their labels, and those without room; None: there is room.

    The reasons that disqualify a setting take no metric its place.
    """
    shown, left_out = dict(ROW_ALWAYS), []
    for name, label in ROW_IF_DIFFERENT.items():
        if not _differs(name, columns):
            continue
        wider = {**shown, name: label}
        if most is None or _width_of(_rows_table(columns, wider, marked=False)) <= most:
            shown = wider
        else:
            left_out.append(name)
    return shown, left_out


def _differs(name: str, columns: Sequence[Column]) -> bool:
    """Return whether rows differ in a metric as it is shown."""
    return len({figure(_mean(name, column)) for column in columns}) > 1


def _mean(name: str, column: Column) -> float:
    return summarise(values_of(column.metrics, name)).mean.value


def _row_tables(columns: Sequence[Column], shown: Mapping[str, str]) -> Iterator[str]:
    """Yield the table, or two if the reasons leave no room for all metrics."""
    whole = _rows_table(columns, shown)
    if width() < WIDTH or _width_of(whole) <= WIDTH:
        yield from fitted(whole)
        return
    others = {name: label for name, label in shown.items() if name not in ROW_ALWAYS}
    yield from as_lines(_rows_table(columns, ROW_ALWAYS))
    yield ""
    yield from as_lines(_rows_table(columns, others, marked=False))


def _rows_table(
    columns: Sequence[Column], shown: Mapping[str, str], *, marked: bool = True
) -> Table:
    """Return a row for each setting; *marked*: with the reasons for which some are disqualified."""
    table = Table(box=box.MARKDOWN)
    table.add_column("")
    if with_marks := marked and any_disqualified(columns):
        table.add_column(DISQUALIFIED)
    for label in shown.values():
        table.add_column(Text(label), justify="right")
    for column in columns:
        marks = [column.mark] if with_marks else []
        figures = (figure(_mean(name, column)) for name in shown)
        table.add_row(*cells(column.name, *marks, *figures))
    return table


def _changes(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the options that run one row alone."""
    changed = [column for column in columns if column.overrides]
    if changed:
        yield from ("", "Options of each row for rebalance run or explain")
    for column in changed:
        options = " ".join(f"--set {quote(change)}" for change in column.overrides)
        yield from paragraph(options, f"  {column.name}: ", "      ")
