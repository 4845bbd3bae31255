"""Playing a chunk: runs become rows. The same function for a loop, a process pool, and Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from emulator.events import Event
from emulator.events.parquet import row_of
from emulator.ledger.entries import Entry
from emulator.metrics.catalogue import VALUES
from emulator.playing import Run, run
from emulator.scenario.model import Scenario
from emulator.study.plan import Chunk
from emulator.study.schemas import ENTRIES, EVENTS

EVENT_ROWS = 65_536
"""Rows of events that are held in memory; then they are handed over."""

Rows = list[dict[str, Any]]
_VALUES = tuple(metric.name for metric in VALUES)


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk with all that is needed to play it anywhere."""

    chunk: Chunk
    scenario: Scenario
    metrics: tuple[str, ...]
    events: bool


@dataclass(slots=True)
class Played:
    """The rows of a chunk."""

    runs: Rows
    entries: Rows


def play_chunk(
    task: Task, hand_over: Callable[[pa.Table], None], begin: Callable[[int], None]
) -> Played:
    """Play the runs of a chunk; *hand_over* takes tables of their events, if they are wanted.

    *begin*: is told each seed before it is played. A run that fails, or that *begin* does not
    let begin, becomes a row with its error; its entries are left out.
    """
    played = Played([], [])
    for seed in range(task.chunk.first, task.chunk.first + task.chunk.runs):
        try:
            begin(seed)
            finished = _play(task, seed, hand_over)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this run's and told in its row
            played.runs.append({"seed": seed, "error": f"{type(error).__name__}: {error}"})
            continue
        played.runs.append(_row(finished, task.metrics))
        played.entries += [_entry(seed, entry) for entry in finished.ledger.entries]
    return played


def _play(task: Task, seed: int, hand_over: Callable[[pa.Table], None]) -> Run:
    if not task.events:
        return run(task.scenario, seed, keep_events=False)
    rows: list[tuple[Any, ...]] = []

    def keep(event: Event) -> None:
        rows.append((seed, *row_of(event)))
        if len(rows) >= EVENT_ROWS:
            hand_over(_events(rows))
            rows.clear()

    try:
        return run(task.scenario, seed, keep_events=False, sink=keep)
    finally:
        hand_over(_events(rows))


def _events(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(EVENTS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, EVENTS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=EVENTS)


def _row(finished: Run, metrics: Iterable[str]) -> dict[str, Any]:
    values = finished.metrics.values
    row: dict[str, Any] = {
        "seed": finished.seed,
        "digest": finished.digest,
        "findings": "; ".join(_findings(finished)) or None,
    }
    row.update((name, values[name]) for name in _VALUES)
    row.update((name, finished.metrics[name]) for name in metrics if name not in values)
    return row


def _findings(finished: Run) -> Iterator[str]:
    """Yield each broken law and warning once, in order."""
    seen = (f"{each.severity.value}: {each.law.value}" for each in finished.findings)
    yield from dict.fromkeys(seen)


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


def entries_table(rows: Rows) -> pa.Table:
    """Return ledger entries as a table."""
    return pa.Table.from_pylist(rows, ENTRIES)
