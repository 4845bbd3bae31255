"""Metrics as reports show them: labels, causes, takeover, lag recovery, tables as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from emulator.metrics.metrics import Metrics
from emulator.report.wording import WIDTH, duration, figure, joined, paragraph, width

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

NO_VALUE = "none"
"""A metric that has no value in any run."""

ALWAYS = {
    "reprocessed": "reprocessed (records)",
    "lost": "lost (records)",
    "rebalances": "rebalances",
    "downtime_max_s": "downtime, longest (s)",
    "downtime_total_s": "downtime, summed (s)",
}
"""The metrics that every such table shows, with their labels."""

IF_ANY = {
    "duplicates_avoided": "duplicates avoided (records)",
    "deduplicated": "recognised by the seen-set (records)",
    "not_deduplicated": "not recognised (records)",
    "copies_processed": "copies in the topic (records)",
    "aborted_processed": "of aborted transactions (records)",
    "compacted_unread": "compacted before they were read (records)",
    "forwarded": "forwarded (records)",
    "forwarded_again": "forwarded again (records)",
    "processed_by_both": "processed by both groups (records)",
    "processed_by_neither": "processed by neither group (records)",
    "handover_gap_max_s": "handover gap, longest (s)",
    "scaling_reversals": "scaling steps undone",
    "reprocessed_by_scaling": "reprocessed by scaling (records)",
    "replica_hours": "replica-hours",
    "useful_replicas_share": "replicas with a partition (share)",
    "monitor_misses": "standstills without an alarm",
    "monitor_delay_max_s": "alarm delay, longest (s)",
    "monitor_false_alarms": "false alarms",
    "rolled_back": "rolled back (records)",
    "results_undone": "results undone by a restore (records)",
    "store_wait_max_s": "wait for the offset store, longest (s)",
    "commit_round_max_s": "commit of all partitions, longest (s)",
    "truncated": "truncated (records)",
    "partial": "left in flight (records)",
    "unreadable_max_s": "unreadable, longest (s)",
    "commits_unavailable_max_s": "commits unavailable, longest (s)",
    "takeover_first_s": "takeover, first (s)",
    "takeover_last_s": "takeover, last (s)",
    "moved": "partitions moved",
    "overlap_records": "two owners (records)",
    "commits_refused": "commits refused",
    "commits_wrong_owner": "committed for another owner (offsets)",
    "lag_processed_peak": "lag, peak (records)",
    "lag_recovery_max_s": "lag recovery, longest (s)",
    "requests_per_s": "requests per second",
}
"""The metrics shown only if they are not zero in some run."""

AS_NEEDED = 1_000
"""A width at which no line of a table is wrapped, so that it can be pasted elsewhere."""


def shown(runs: Sequence[Metrics], lag_unit: str = "record") -> Iterator[tuple[str, str]]:
    """Yield the metrics to show, each with its label; *lag_unit*: what lag counts."""
    yield from ALWAYS.items()
    for name, label in IF_ANY.items():
        if any(run[name] for run in runs):
            yield name, labelled(name, label, lag_unit)


def labelled(name: str, label: str, lag_unit: str) -> str:
    """Return the label of a metric with the unit of lag: offsets where some of them hold no record.

    >>> labelled("lag_processed_peak", "lag, peak (records)", "offset")
    'lag, peak (offsets)'
    >>> labelled("lag_processed_area", "lag_processed_area (record-s)", "offset")
    'lag_processed_area (offset-s)'
    """
    return label.replace("(record", f"({lag_unit}") if name.startswith(LAG) else label


LAG = "lag_"
"""The beginning of the names of metrics of lag."""


def why(causes: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """Yield each cause over several seeds: mean records per run, number of seeds."""
    records, seeds = Counter[str](), Counter[str]()
    for found in causes:
        records.update(found)
        seeds.update(found.keys())
    for cause, number in records.most_common():
        mean = figure(number / len(causes))
        if len(causes) == 1:
            yield from paragraph(cause, f"{mean:>9}  ")
        else:
            text = f"per run: {cause}, in {seeds[cause]} of {len(causes)} seeds"
            yield from paragraph(text, f"{mean:>9}  ")


def as_lines(table: Table, width: int = AS_NEEDED) -> Iterator[str]:
    """Yield a table as lines of plain text, wrapped at *width* columns."""
    from rich.console import Console  # noqa: PLC0415  one run is shown without a table

    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as caught:
        console.print(table)
    yield from (line.rstrip() for line in caught.get().splitlines() if line.strip())


def fitted(table: Table) -> list[str]:
    """Return a table as lines that fit a narrow terminal: its rows as blocks of text if it is wider.

    A block has the first cell of its row as its first line, then each other cell behind the title of
    its column. A terminal of at least 100 columns, a file and a pipe get the table.
    """
    lines = list(as_lines(table))
    if width() >= WIDTH or max(map(len, lines), default=0) <= width():
        return lines
    return list(_blocks(table))


def _blocks(table: Table) -> Iterator[str]:
    titles = [str(column.header) for column in table.columns]
    rows = zip(*(column.cells for column in table.columns), strict=True)
    for first, *others in rows:
        named = zip(titles[1:], map(str, others), strict=True)
        parts = [f"{title} {cell}".strip() for title, cell in named if cell.strip()]
        head = f"{titles[0]} {first}".strip()
        yield from paragraph(head, "", "  ")
        yield from paragraph("; ".join(parts), "    ")


def cells(*values: str) -> list[Text]:
    """Return the cells of a row; nothing in them is markup."""
    from rich.text import Text  # noqa: PLC0415  one run is shown without a table

    return [Text(value) for value in values]


MAX_NAMED = 2
"""Faults named in a line; the others are counted."""


def takeover(metrics: Metrics) -> str:
    """Return the slowest takeover and its fault; empty if there was none."""
    rows = metrics.listings["takeovers"]
    if not rows:
        return ""
    first, last = (max(rows, key=itemgetter(name)) for name in ("first_s", "last_s"))
    text = f"first record by the next owner {duration(first['first_s'])} after {first['fault']}"
    text += f", last partition {duration(last['last_s'])}"
    if last["fault"] != first["fault"]:
        text += f" after {last['fault']}"
    return text if len(rows) == 1 else f"{text} (maximum over {len(rows)} faults)"


def lag_recovery(metrics: Metrics) -> str:
    """Return when lag was back at its level before the faults; empty if it never rose."""
    rows = metrics.listings["lag_recoveries"]
    left = list(dict.fromkeys(str(row["fault"]) for row in rows if not row["recovered"]))
    if left:
        return f"still above its level before {_named(left)} at the end"
    if not rows:
        return ""
    slowest = max(rows, key=itemgetter("recovery_s"))
    return f"back at its level before {slowest['fault']} after {duration(slowest['recovery_s'])}"


def _named(faults: list[str]) -> str:
    """Return the names of the first faults and the number of the others.

    >>> _named(["crash-1"]), _named(["a", "b", "c", "d"])
    ('crash-1', 'a, b and 2 others')
    """
    more = len(faults) - MAX_NAMED
    others = [f"{more} other{'s' if more > 1 else ''}"] if more > 0 else []
    return joined([*faults[:MAX_NAMED], *others])


ALL_SEEDS_ALIKE = (
    "All seeds gave the same figures: none of them depends on chance here. For a spread, give a "
    'fault a random time (between = ["70s", "80s"] instead of at), or give latencies or processing '
    "times a distribution."
)


RECORDS_ALIKE = (
    "All seeds reprocessed and lost the same records: a fault at a fixed time (at, a fixed gap) comes at the "
    'same point of a batch and between two commits. For a spread, write between = ["70s", "80s"] instead of at.'
)


def note_on_spread(runs: Sequence[Metrics]) -> Iterator[str]:
    """Yield a note if chance decides other figures, but not what is reprocessed or lost."""
    totals = {tuple(run[name] for name in ("reprocessed", "lost")) for run in runs}
    if len(runs) > 1 and len(totals) == 1 and any(map(any, totals)) and not all_alike(runs):
        yield from paragraph(RECORDS_ALIKE)


def all_alike(runs: Sequence[Metrics]) -> bool:
    """Return whether all runs have the same ledger totals and main figures for all seeds.

    The size of a log may differ: member ids are random.
    """
    return len(runs) > 1 and all(_figures(run) == _figures(runs[0]) for run in runs)


def _figures(run: Metrics) -> list[object]:
    by_cause = [run.tables.get(f"{name}.by_cause") for name in ("reprocessed", "lost")]
    values = [run.values.get(name) for name in (*ALWAYS, *IF_ANY) if name != "requests_per_s"]
    return [*by_cause, *values]


def note_if_alike(*columns: Sequence[Metrics]) -> Iterator[str]:
    """Yield a note if in no column any figure depends on the seed."""
    if all(map(all_alike, columns)):
        yield from paragraph(ALL_SEEDS_ALIKE)
