"""The metrics that reports over several runs show, in the words people use for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from emulator.metrics.metrics import Metrics
from emulator.report.wording import figure

ALWAYS = {
    "reprocessed": "processed again (records)",
    "lost": "lost (records)",
    "rebalances": "rebalances",
    "standstill_max_s": "stand-still, longest (s)",
    "standstill_total_s": "stand-still, summed (s)",
}
"""The metrics every such table has, and what people call them."""

IF_ANY = {
    "duplicates_avoided": "repeats avoided (records)",
    "truncated": "gone from the log (records)",
    "partial": "cut off (records)",
    "unreadable_max_s": "unreadable, longest (s)",
    "uncommittable_max_s": "no commits, longest (s)",
    "takeover_first_s": "takeover, first (s)",
    "takeover_last_s": "takeover, last (s)",
    "moved": "partitions moved",
    "overlap_records": "by two owners (records)",
    "commits_refused": "commits refused",
    "lag_processed_peak": "lag, peak (records)",
    "drain_max_s": "catching up (s)",
    "requests_per_s": "requests a second",
}
"""Shown only if some run has any."""

AS_NEEDED = 1_000
"""Columns for a table whose lines stay whole, so that it can be pasted elsewhere."""


def shown(runs: Sequence[Metrics]) -> Iterator[tuple[str, str]]:
    """Yield the metrics worth a row, each with its label."""
    yield from ALWAYS.items()
    for name, label in IF_ANY.items():
        if any(run[name] for run in runs):
            yield name, label


def why(causes: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """Yield each cause over several seeds: how many records a run, in how many seeds."""
    records, seeds = Counter[str](), Counter[str]()
    for found in causes:
        records.update(found)
        seeds.update(found.keys())
    for cause, number in records.most_common():
        mean = figure(number / len(causes))
        if len(causes) == 1:
            yield f"{mean:>9}  {cause}"
        else:
            yield f"{mean:>9}  a run: {cause}, in {seeds[cause]} of {len(causes)} seeds"


def as_lines(table: Table, width: int = AS_NEEDED) -> Iterator[str]:
    """Yield a table as lines of plain text; what is too wide for *width* columns is broken."""
    console = Console(width=width, no_color=True, highlight=False)
    with console.capture() as caught:
        console.print(table)
    yield from (line.rstrip() for line in caught.get().splitlines() if line.strip())


def cells(*values: str) -> list[Text]:
    """Return the cells of a row; nothing in them is markup."""
    return [Text(value) for value in values]
