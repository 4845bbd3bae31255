"""A study's folder: what is in it, what is missing, and files that are whole or not there.

========================================  ==========================================================
``manifest.json``                         the study, its cells, seeds, settings in force, versions
``runs/cell=3/seeds-…-250.parquet``       a chunk's runs
``entries/cell=3/seeds-…-250.parquet``    the entries of their ledgers
``events/cell=3/seeds-…-250.parquet``     their events, if the study keeps them
========================================  ==========================================================

Nothing in it tells when, where or by whom it was played: the same study, played again or by
another engine, gives the same bytes. A chunk is done when its runs are there: they take their
name last. Whoever plays a chunk writes it, so on a cluster all executors must reach the folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.errors import EmulatorError
from emulator.output_files import put
from emulator.parquet_file import COMPRESSION, ParquetOutput
from emulator.study.attempts import attempts_at, left_behind
from emulator.study.plan import Chunk
from emulator.study.rows import Task, entries_table, play_chunk
from emulator.study.schemas import EVENTS, runs_schema
from emulator.versions import KAFKA, SCHEMA_VERSION

RUNS, ENTRIES_FOLDER, EVENTS_FOLDER = "runs", "entries", "events"
MANIFEST = "manifest.json"


class OtherStudyError(EmulatorError):
    """The folder holds something else; the message says what."""


def path_of(folder: Path, table: str, chunk: Chunk) -> Path:
    """Return the file of a chunk's rows in a table."""
    return folder / table / f"cell={chunk.cell}" / f"{chunk.name}.parquet"


def is_done(folder: Path, chunk: Chunk) -> bool:
    """Say whether a chunk has been played and kept."""
    return path_of(folder, RUNS, chunk).exists()


def keep(task: Task, folder: Path) -> int:
    """Play a chunk and keep it; return how many of its runs failed.

    Whoever plays it a second time writes the same bytes. Raise OSError if it cannot be written;
    then none of its files has its name, or all but the last.
    """
    chunk = task.chunk
    metadata = {"schema_version": str(SCHEMA_VERSION), "kafka": KAFKA}
    events, rows = (path_of(folder, table, chunk) for table in (EVENTS_FOLDER, RUNS))
    with attempts_at(rows) as attempts:
        with _event_sink(events, metadata, wanted=task.events) as take:
            played = play_chunk(task, take, attempts.begin)
        _write(path_of(folder, ENTRIES_FOLDER, chunk), entries_table(played.entries), metadata)
        _write(rows, pa.Table.from_pylist(played.runs, runs_schema(task.metrics)), metadata)
    return sum("error" in row for row in played.runs)


def begin(folder: Path, manifest: dict[str, Any]) -> None:
    """Make the folder of a study, or take up the one that is there.

    Raise OtherStudyError if something else is in it, OSError if it cannot be written.
    """
    text = json.dumps(manifest, indent=1, default=str) + "\n"
    path = folder / MANIFEST
    if path.exists():
        _refuse_other(path, manifest)
    elif folder.exists() and any(folder.iterdir()):
        raise OtherStudyError("there are files in it that are no study's")
    folder.mkdir(parents=True, exist_ok=True)
    put(path, text.encode())


def _refuse_other(path: Path, manifest: dict[str, Any]) -> None:
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise OtherStudyError(f"its {MANIFEST} cannot be read") from None
    if there.get("study_key") == manifest["study_key"]:
        return
    same_title = there.get("title") == manifest["title"]
    differing = next((key for key in ("code", "kafka") if there.get(key) != manifest[key]), None)
    if same_title and differing == "code":
        raise OtherStudyError("it was begun by another version of the emulator")
    what = "an earlier form of this study" if same_title else f"the study {there.get('title')!r}"
    raise OtherStudyError(f"it holds {what}")


def tidy(folder: Path) -> None:
    """Take away what was being written when somebody was killed; nobody else is at work."""
    for table in (RUNS, ENTRIES_FOLDER, EVENTS_FOLDER):
        for ending in ("part", "at"):
            for part in (folder / table).glob(f"cell=*/.*.{ending}"):
                part.unlink(missing_ok=True)


def at_work(folder: Path, chunk: Chunk) -> int | None:
    """Return the seed that was being played when the process of a chunk was killed, if it was."""
    return left_behind(path_of(folder, RUNS, chunk))


def read(
    folder: Path, table: str, columns: list[str], cells: int
) -> Iterator[tuple[int, pa.Table]]:
    """Yield each cell's number and its rows of a table, in order of their seeds."""
    for number in range(cells):
        files = sorted((folder / table / f"cell={number}").glob("seeds-*.parquet"))
        if files:
            parts = [pq.ParquetFile(path).read(columns=columns) for path in files]
            yield number, pa.concat_tables(parts)


# -- writing -----------------------------------------------------------------------------------


@contextmanager
def _event_sink(
    path: Path, metadata: dict[str, str], *, wanted: bool
) -> Iterator[Callable[[pa.Table], None]]:
    """Give what takes tables of events, if they are wanted; the file takes its name at the end."""
    if not wanted:
        yield lambda _: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with ParquetOutput(path, EVENTS.with_metadata(metadata)) as output:
        yield output.write


def _write(path: Path, table: pa.Table, metadata: dict[str, str]) -> None:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink, table.schema.with_metadata(metadata), compression=COMPRESSION
    ) as out:
        out.write_table(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, sink.getvalue().to_pybytes())
