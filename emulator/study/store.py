"""The folder of a study: its files, how they are written and read, and its manifest.

========================================  ==========================================================
``manifest.json``                         the study, its cells, seeds, settings in force, versions
``runs/cell=3/seeds-…-250.parquet``       the runs of a chunk
``entries/cell=3/seeds-…-250.parquet``    the entries of their ledgers
``events/cell=3/seeds-…-250.parquet``     their events, if the study stores them
========================================  ==========================================================

The files hold no time, host or engine: the same study gives the same bytes again, with every
engine. Files are written under another name and renamed; the runs of a chunk are renamed last, so
a chunk is complete when its runs exist. Processes of this machine write their own chunks; rows from
executors of Spark come to the driver, which writes them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

import assignors
import emulator
import protocols
from emulator.errors import EmulatorError
from emulator.metrics.catalogue import VALUES
from emulator.output_files import LOCK, delete_temporary, is_temporary, only_writer, put
from emulator.parquet_file import ParquetOutput, opened_parquet
from emulator.scenario.resolution import consumer_settings, members_of
from emulator.scenario.writing import dump, manifest
from emulator.study.attempts import attempts_at, interrupted_seed
from emulator.study.plan import Chunk, Plan, metrics_of
from emulator.study.rows import (
    ENTRIES,
    EVENTS,
    Task,
    entries_table,
    play_chunk,
    runs_table,
)
from emulator.versions import KAFKA, SCHEMA_VERSION

RUNS, ENTRIES_FOLDER, EVENTS_FOLDER = "runs", "entries", "events"
MANIFEST = "manifest.json"
METADATA = {"schema_version": str(SCHEMA_VERSION), "kafka": KAFKA}


class OtherStudyError(EmulatorError):
    """The folder of a study has other content, which the message names."""


def path_of(folder: Path, table: str, chunk: Chunk) -> Path:
    """Return the file of a chunk's rows in a table."""
    return folder / table / f"cell={chunk.cell}" / f"{chunk.name}.parquet"


def is_done(folder: Path, chunk: Chunk) -> bool:
    """Return whether a chunk is complete."""
    return path_of(folder, RUNS, chunk).exists()


def keep(task: Task, folder: Path) -> int:
    """Run a chunk and write its files; return the number of failed runs.

    Running it again writes the same bytes. Raise OSError if a file cannot be written; then the
    chunk is not complete.
    """
    with attempts_at(path_of(folder, RUNS, task.chunk)) as attempts:
        with _event_sink(folder, task) as write_events:
            played = play_chunk(task, write_events, attempts.begin)
        runs = runs_table(played.runs, task.metrics)
        _write_rows(folder, task.chunk, entries_table(played.entries), runs)
    return sum("error" in row for row in played.runs)


def receive(task: Task, folder: Path, tables: Iterable[tuple[str, pa.Table]]) -> None:
    """Write the rows of a chunk that was run elsewhere, to the same bytes as ``keep``.

    *tables*: parts of ``runs``, ``entries`` and ``events``, by name and in order. Raise OSError if
    a file cannot be written; then the chunk is not complete.
    """
    parts: dict[str, list[pa.Table]] = {ENTRIES_FOLDER: [], RUNS: []}
    with _event_sink(folder, task) as write_events:
        for name, table in tables:
            (write_events if name == EVENTS_FOLDER else parts[name].append)(table)
    entries = pa.concat_tables(parts[ENTRIES_FOLDER] or [ENTRIES.empty_table()])
    runs = pa.concat_tables(parts[RUNS])
    _write_rows(folder, task.chunk, entries.combine_chunks(), runs.combine_chunks())


def write_runs(folder: Path, chunk: Chunk, runs: pa.Table) -> None:
    """Write the runs of a chunk whose other tables are elsewhere; raise OSError if impossible."""
    _write(path_of(folder, RUNS, chunk), runs)


@contextmanager
def writing(folder: Path, manifest: dict[str, Any]) -> Iterator[None]:
    """Create the folder of a study, or check that an existing one belongs to it; hold its lock.

    Raise OtherStudyError if it has other content, FolderInUseError if another process writes to it,
    OSError if it cannot be written.
    """
    text = json.dumps(manifest, indent=1, default=str) + "\n"
    _refuse_other(folder, manifest)
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder, folder / LOCK):
        _refuse_other(folder, manifest)
        put(folder / MANIFEST, text.encode())
        yield


def _refuse_other(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise OtherStudyError if a folder has content, and not that of this study."""
    path = folder / MANIFEST
    if path.exists():
        _refuse_other_manifest(path, manifest)
    elif folder.exists() and not all(map(is_temporary, folder.iterdir())):
        raise OtherStudyError("it contains files, but no study")


def _refuse_other_manifest(path: Path, manifest: dict[str, Any]) -> None:
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise OtherStudyError(f"its {MANIFEST} cannot be read") from None
    if there.get("study_key") == manifest["study_key"]:
        return
    same_title = there.get("title") == manifest["title"]
    differing = next((key for key in ("code", "kafka") if there.get(key) != manifest[key]), None)
    if same_title and differing == "code":
        raise OtherStudyError("it was written by another version of the emulator")
    content = "another version of this study" if same_title else f"the study {there.get('title')!r}"
    raise OtherStudyError(f"it contains {content}")


def delete_partial_files(folder: Path) -> None:
    """Delete the partial files of killed processes; no process may be writing to the folder."""
    delete_temporary(folder)
    for table in (RUNS, ENTRIES_FOLDER, EVENTS_FOLDER):
        for ending in ("part", "at"):
            for part in (folder / table).glob(f"cell=*/.*.{ending}"):
                part.unlink(missing_ok=True)


def seed_in_progress(folder: Path, chunk: Chunk) -> int | None:
    """Return the seed during which the process of a chunk was killed; None if it was not."""
    return interrupted_seed(path_of(folder, RUNS, chunk))


def read(
    folder: Path, table: str, columns: list[str], cells: int
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the number of each cell that has rows, and its rows in order of their seeds."""
    for number in range(cells):
        files = sorted((folder / table / f"cell={number}").glob("seeds-*.parquet"))
        if files:
            parts = [opened_parquet(path).read(columns=columns) for path in files]
            yield number, pa.concat_tables(parts)


# -- writing -----------------------------------------------------------------------------------


@contextmanager
def _event_sink(folder: Path, task: Task) -> Iterator[Callable[[pa.Table], None]]:
    """Return a function that writes tables of events; it does nothing if none are stored."""
    if not task.events:
        yield lambda _: None
        return
    path = path_of(folder, EVENTS_FOLDER, task.chunk)
    path.parent.mkdir(parents=True, exist_ok=True)
    with ParquetOutput(path, EVENTS, METADATA) as output:
        yield output.write


def _write_rows(folder: Path, chunk: Chunk, entries: pa.Table, runs: pa.Table) -> None:
    """Write the runs of a chunk last: it is complete when they exist."""
    _write(path_of(folder, ENTRIES_FOLDER, chunk), entries)
    _write(path_of(folder, RUNS, chunk), runs)


def _write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with ParquetOutput(path, table.schema, METADATA) as output:
        output.write(table)


# -- the manifest ------------------------------------------------------------------------------


DECIDING = (
    *("events", "ledger", "metrics", "scenario", "world"),
    *("playing.py", "study/plan.py", "study/rows.py"),
)
"""Parts of ``emulator`` on which the rows of a run depend."""

REPORT_KEYS = frozenset({"title", "question", "metrics", "pareto", "goal"})
"""Keys of a study file that change the report only, since rows hold every metric."""

VALUE_NAMES = frozenset(metric.name for metric in VALUES)


def study_manifest(plan: Plan) -> dict[str, Any]:
    """Return the manifest; equal ``study_key`` means that rows can share a folder."""
    study = plan.study.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    cells = [
        {
            "cell": cell.number,
            "name": cell.settings.name,
            "protocol": cell.settings.protocol,
            "settings": {choice.axis: choice.label for choice in cell.settings.point},
            "overrides": list(cell.settings.overrides),
            "scenario_hash": cell.scenario_hash,
        }
        for cell in plan.cells
    ]
    first = plan.cells[0].scenario
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "version": emulator.__version__,
        "code": code_digest(),
        "own_assignors": plugin_assignors(plan),
        "title": plan.study.title,
        "study": study,
        "cells": cells,
        "scenario": dump(first),
        "settings": manifest(first)["settings"],
    }
    return {"study_key": _key(document, plan), **document}


def _key(document: dict[str, Any], plan: Plan) -> str:
    """Return a digest (16 hexadecimal digits) of everything on which the rows depend."""
    study = {name: value for name, value in document["study"].items() if name not in REPORT_KEYS}
    columns = [name for name in metrics_of(plan) if name not in VALUE_NAMES]
    deciding = {**document, "title": "", "study": study, "columns": sorted(columns)}
    text = json.dumps(deciding, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:16]


def plugin_assignors(plan: Plan) -> dict[str, str]:
    """Return a digest of the source of each module with a plug-in assignor, by module name.

    The modules are loaded: the scenarios of the cells have been checked.
    """
    modules = {
        name.partition(":")[0]
        for cell in plan.cells
        for group, member in members_of(cell.scenario)
        for name in consumer_settings(group, member).partition_assignment_strategy
        if ":" in name
    }
    found = {}
    for name in sorted(modules):
        source = getattr(sys.modules.get(name), "__file__", None)
        if source is not None:
            found[name] = sha256(Path(source).read_bytes()).hexdigest()[:16]
    return found


def code_digest() -> str:
    """Return a digest of the source files on which the rows of a run depend."""
    digest = sha256()
    base = Path(emulator.__file__).parent
    packages = [Path(assignors.__file__).parent, Path(protocols.__file__).parent]
    for root in [*packages, *(base / name for name in DECIDING)]:
        for path in sorted([root] if root.is_file() else root.rglob("*.py")):
            digest.update(f"{path.relative_to(root.parent)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
