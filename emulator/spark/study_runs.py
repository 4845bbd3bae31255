"""Playing a study's chunks on Spark: a row goes in for each chunk, a row comes back.

Each task gets many chunks, since a task costs as much as many short runs. The worker that plays a
chunk writes its files, so rows never pass through the driver; a retried task writes the same bytes
again.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from emulator.spark.session import results_of
from emulator.study.plan import Chunk
from emulator.study.rows import Task
from emulator.study.store import is_done, keep

if TYPE_CHECKING:
    from emulator.spark.session import Session

GIVEN = pa.schema([("folder", pa.string()), ("path", pa.list_(pa.string())), ("task", pa.binary())])
RETURNED = "cell long, first long, runs long, failed long"


def play_on_spark(
    session: Session, tasks: Sequence[Task], folder: Path, *, folders: Sequence[Path] = ()
) -> Iterator[Chunk]:
    """Play and keep chunks; yield each once it is there. All executors must reach *folder*.

    *folders*: where executors look for assignors of the user's own. Raise SparkError if a chunk
    cannot be kept.
    """
    if not tasks:
        return

    def look(chunk: Chunk) -> Chunk | None:
        return chunk if is_done(folder, chunk) else None

    job = partial(_run, session, tasks, folder.resolve(), folders)
    yield from results_of(session, job, [task.chunk for task in tasks], look)


def _run(session: Session, tasks: Sequence[Task], folder: Path, folders: Sequence[Path]) -> None:
    rows = {
        "folder": [str(folder)] * len(tasks),
        "path": [[str(each) for each in folders]] * len(tasks),
        "task": [pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL) for task in tasks],
    }
    given = session.spark.createDataFrame(pa.Table.from_pydict(rows, GIVEN))
    shared = given.repartition(min(session.tasks, len(tasks)))
    shared.mapInArrow(play_batches, RETURNED).collect()


def play_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Play the chunks of a task, in a worker."""
    for batch in batches:
        for row in batch.to_pylist():
            sys.path.extend(folder for folder in row["path"] if folder not in sys.path)
            task: Task = pickle.loads(row["task"])  # noqa: S301  the driver made it, above
            failed, chunk = keep(task, Path(row["folder"])), task.chunk
            done = {"cell": [chunk.cell], "first": [chunk.first], "runs": [chunk.runs]}
            yield pa.RecordBatch.from_pydict({**done, "failed": [failed]})
