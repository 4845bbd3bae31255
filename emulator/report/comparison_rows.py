"""The same runs under many settings: one table with a row for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from rich import box
from rich.table import Table
from rich.text import Text

from emulator.metrics.distribution import summarise
from emulator.report.chance import no_chance
from emulator.report.comparison_screen import Column, missed
from emulator.report.figures_shown import as_lines, cells, why
from emulator.report.headings import heading
from emulator.report.wording import WIDTH, figure, paragraph, width

ALWAYS = {
    "reprocessed": "again",
    "lost": "lost",
    "rebalances": "rebalances",
}
IF_DIFFERENT = {
    "truncated": "gone",
    "duplicates_avoided": "avoided",
    "drop_outs": "rejoined",
    "evictions": "evicted",
    "standstill_max_s": "still (s)",
    "unreadable_max_s": "unread (s)",
    "uncommittable_max_s": "uncommitted (s)",
    "lag_processed_peak": "peak lag",
    "commits_refused": "refused",
}
"""Metrics and what heads their columns; the latter where rows differ, as many as there is room."""

LEGEND = {
    "again": "records processed again",
    "gone": "records gone from the log before they were processed",
    "avoided": "records not processed again thanks to a commit thought to have failed",
    "rejoined": "consumers that let go of the group and joined anew",
    "evicted": "members that a coordinator removed",
    "still (s)": "longest stand-still of one partition",
    "unread (s)": "longest time without anything new to read of one partition",
    "uncommitted (s)": "longest time without a coordinator that takes commits",
    "peak lag": "most records unprocessed",
    "refused": "commits refused",
}


def rows_screen(seeds: Sequence[int], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the lines of a comparison with a row for each of *columns*."""
    several = len(seeds) > 1
    named = f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}" if several else f"seed {seeds[0]}"
    yield from heading(columns[0].subject, named)
    yield ""
    shown, left_out = _shown(columns, width())
    yield from _table(columns, shown)
    yield ""
    told = [f"{label}: {LEGEND[label]}" for label in shown.values() if label in LEGEND]
    if several:
        told.append(f"means of {len(seeds)} seeds")
    if left_out:
        told.append(f"rows also differ in {', '.join(left_out)} (--json)")
    yield from paragraph("; ".join(told))
    if several:
        yield from no_chance(*(column.metrics for column in columns))
    yield from missed(columns)
    for column in columns:
        if causes := list(why(column.causes)):
            yield from ("", f"Why, in records, {column.name}", *causes)
    yield from _changes(columns)


def rows_table(columns: Sequence[Column]) -> list[str]:
    """Return the lines of the table alone, at most 100 columns wide, to be pasted elsewhere."""
    return _table(columns, _shown(columns, WIDTH)[0])


def _shown(columns: Sequence[Column], most: int) -> tuple[dict[str, str], list[str]]:
    """Return the metrics worth a column, each with its label, and those there is no room for."""
    shown, left_out = dict(ALWAYS), []
    for name, label in IF_DIFFERENT.items():
        if not _differs(name, columns):
            continue
        wider = {**shown, name: label}
        if max(map(len, _table(columns, wider))) <= most:
            shown = wider
        else:
            left_out.append(name)
    return shown, left_out


def _differs(name: str, columns: Sequence[Column]) -> bool:
    """Say whether the rows do not all show the same of a metric."""
    return len({figure(_mean(name, column)) for column in columns}) > 1


def _mean(name: str, column: Column) -> float:
    return summarise([run[name] for run in column.metrics]).mean.value


def _table(columns: Sequence[Column], shown: Mapping[str, str]) -> list[str]:
    table = Table(box=box.MARKDOWN)
    table.add_column("")
    for label in shown.values():
        table.add_column(Text(label), justify="right")
    for column in columns:
        table.add_row(*cells(column.name, *(figure(_mean(name, column)) for name in shown)))
    return list(as_lines(table))


def _changes(columns: Sequence[Column]) -> Iterator[str]:
    """Say how to run one row alone."""
    changed = [column for column in columns if column.overrides]
    if changed:
        yield from ("", "What each row changes, to be given to rebalance run or explain")
    for column in changed:
        options = " ".join(f"--set {quote(change)}" for change in column.overrides)
        yield from paragraph(options, f"  {column.name}: ", "      ")
