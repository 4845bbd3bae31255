"""Run a chunk and return its rows, and the schemas of the tables that hold them.

``runs`` has one row per run: seed, digest, findings, why it is disqualified, every metric of the
catalogue, the entries of table metrics that the study names, and the error of a failed run (then
nothing else). A metric without a value, such as the takeover of a run in which nothing was taken
over, is null. ``entries`` has one row per ledger entry, ``events`` one per event. The cell is not a
column but part of the folder's name (``cell=3``), as Spark, DuckDB and pyarrow read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from assignors.values import dataclass
from emulator.events import Event
from emulator.events.parquet import COLUMNS, row_of
from emulator.ledger.entries import Entry
from emulator.metrics.catalogue import VALUES
from emulator.playing import Run, run
from emulator.scenario.model import Scenario
from emulator.study.plan import Chunk
from emulator.verdicts.disqualifying import reasons_of

DISQUALIFIED = "disqualified"
"""The column with the reasons for which a run must not be called best, a line each."""

EVENT_ROWS = 65_536
"""Rows of events that are buffered before they are written."""

Rows = list[dict[str, Any]]
_VALUES = tuple(metric.name for metric in VALUES)


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk with all that is needed to run it in any process."""

    chunk: Chunk
    scenario: Scenario
    metrics: tuple[str, ...]
    events: bool
    """Whether events are stored."""

    work_s: float = 0.0
    """Estimated CPU time of all runs; 0: unknown."""


@dataclass(slots=True)
class Played:
    """The rows of a chunk."""

    runs: Rows
    entries: Rows


def play_chunk(
    task: Task, write_events: Callable[[pa.Table], None], begin: Callable[[int], None]
) -> Played:
    """Run all seeds of a chunk and return their rows.

    *write_events* receives tables of events, if the task stores them. *begin* is called with each
    seed before its run. A run that fails, or whose *begin* raises, becomes a row with its error
    and has no entries.
    """
    played = Played([], [])
    for seed in range(task.chunk.first, task.chunk.first + task.chunk.runs):
        try:
            begin(seed)
            finished = _play(task, seed, write_events)
        except Exception as error:  # noqa: BLE001  any error is recorded in the row of its run
            played.runs.append(failed_row(seed, error))
            continue
        played.runs.append(_row(finished, task.metrics))
        played.entries += [_entry(seed, entry) for entry in finished.ledger.entries]
    return played


def failed_row(seed: int, error: Exception) -> dict[str, Any]:
    """Return the row of a run that failed."""
    return {"seed": seed, "error": f"{type(error).__name__}: {error}"}


def _play(task: Task, seed: int, write_events: Callable[[pa.Table], None]) -> Run:
    if not task.events:
        return run(task.scenario, seed, keep_events=False)
    rows: list[tuple[Any, ...]] = []

    def keep(event: Event) -> None:
        rows.append((seed, *row_of(event)))
        if len(rows) >= EVENT_ROWS:
            write_events(_events(rows))
            rows.clear()

    try:
        return run(task.scenario, seed, keep_events=False, sink=keep)
    finally:
        write_events(_events(rows))


def _events(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(EVENTS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, EVENTS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=EVENTS)


def _row(finished: Run, metrics: Iterable[str]) -> dict[str, Any]:
    values = finished.metrics.plain_values()
    row: dict[str, Any] = {
        "seed": finished.seed,
        "digest": finished.digest,
        "findings": "; ".join(_findings(finished)) or None,
        DISQUALIFIED: _disqualified(finished),
    }
    row.update((name, values[name]) for name in _VALUES)
    row.update((name, finished.metrics[name]) for name in metrics if name not in values)
    return row


def _findings(finished: Run) -> Iterator[str]:
    """Yield each violated law and each warning once, in order."""
    seen = (f"{each.severity.value}: {each.law.value}" for each in finished.findings)
    yield from dict.fromkeys(seen)


def _disqualified(finished: Run) -> str | None:
    """Return a line for each reason for which a run must not be called best."""
    return "\n".join(map(": ".join, reasons_of(finished.verdicts).items())) or None


def _entry(seed: int, entry: Entry) -> dict[str, Any]:
    first, second, root = entry.first_owner, entry.second_owner, entry.root
    return {
        "seed": seed,
        "id": entry.id,
        "kind": entry.kind.value,
        "group": entry.group,
        "topic": entry.topic,
        "partition": entry.partition,
        "first": entry.first,
        "last": entry.last,
        "count": entry.count,
        "cause": entry.cause.value if entry.cause else None,
        "detail": entry.detail,
        "fault": root.id if root else None,
        "verb": root.verb if root else None,
        "first_owner": first.consumer if first else None,
        "first_generation": first.generation if first else None,
        "first_at_us": first.at_us if first else None,
        "second_owner": second.consumer if second else None,
        "second_generation": second.generation if second else None,
        "second_at_us": second.at_us if second else None,
    }


def runs_table(rows: Rows, metrics: Iterable[str]) -> pa.Table:
    """Return runs as a table; *metrics*: those that the study names."""
    return pa.Table.from_pylist(rows, runs_schema(metrics))


def entries_table(rows: Rows) -> pa.Table:
    """Return ledger entries as a table."""
    return pa.Table.from_pylist(rows, ENTRIES)


WHOLE_UNITS = frozenset({"records", "count", "partitions", "bytes"})
"""Units of metrics that are integers."""

ENTRIES = pa.schema(
    [
        ("seed", pa.int64()),
        ("id", pa.string()),
        ("kind", pa.string()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("count", pa.int64()),
        ("cause", pa.string()),
        ("detail", pa.string()),
        ("fault", pa.string()),
        ("verb", pa.string()),
        ("first_owner", pa.string()),
        ("first_generation", pa.int64()),
        ("first_at_us", pa.int64()),
        ("second_owner", pa.string()),
        ("second_generation", pa.int64()),
        ("second_at_us", pa.int64()),
    ]
)

EVENTS = pa.schema(
    [
        ("seed", pa.int64()),
        *(
            (name, pa.string() if name == "kind" else kind)
            for name, kind in COLUMNS
            if name != "clock"
        ),
    ]
)


def runs_schema(metrics: Iterable[str]) -> pa.Schema:
    """Return the schema of ``runs``; *metrics*: those that the study names."""
    values = {metric.name: _type_of(metric.unit) for metric in VALUES}
    asked = {name: pa.float64() for name in metrics if name not in values}
    return pa.schema(
        [
            ("seed", pa.int64()),
            ("error", pa.string()),
            ("digest", pa.string()),
            ("findings", pa.string()),
            (DISQUALIFIED, pa.string()),
            *values.items(),
            *asked.items(),
        ]
    )


def _type_of(unit: str) -> pa.DataType:
    return pa.int64() if unit in WHOLE_UNITS else pa.float64()
