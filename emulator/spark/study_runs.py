"""Run a study's chunks on Spark: executors return rows, and the driver writes them to its folder.

Executors need no access to the folder of the study. Chunks are divided into jobs of a few seconds,
two of which are in progress at a time: the driver holds the rows of few chunks, and an interrupted
study loses no more than these.

The rows of a table travel as Arrow streams, so the driver writes the same files as a process of its
machine. If a job's process is killed, the job is divided until the run that kills it is known.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from assignors.own_code import Permissions, allow, allowed
from assignors.values import dataclass
from emulator.spark.errors import WorkerDiedError, translated_errors
from emulator.study.attempts import KillsItsProcessError, attempts_at
from emulator.study.plan import Chunk
from emulator.study.rows import Task, entries_table, failed_row, play_chunk, runs_table
from emulator.study.store import (
    ENTRIES_FOLDER,
    EVENTS_FOLDER,
    RUNS,
    path_of,
    receive,
    seed_in_progress,
    write_runs,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.spark.session import Session
    from emulator.spark.study_output import StudyOutput

JOBS_AT_ONCE: Final = 2
"""Jobs in progress: while the last tasks of one end, free cores work on the next."""

JOB_S: Final = 4.0
"""Estimated seconds of work of one job, for each core."""

JOB_STORED_S: Final = 80.0
"""The same for all cores if events are stored: the driver receives those of a job together."""

ROWS: Final = "chunk long, name string, rows binary"
"""Part of a table of a chunk, as an Arrow stream."""

KEPT: Final = ". Complete chunks stay; the same command continues from there"

Tables = list[tuple[str, pa.Table]]


def play_on_spark(
    session: Session,
    tasks: Sequence[Task],
    folder: Path,
    *,
    folders: Sequence[Path] = (),
    output: StudyOutput | None = None,
) -> Iterator[Chunk]:
    """Run chunks and write them to *folder*, which only the driver needs; yield each complete one.

    *folders*: of the scenario, which may hold the user's own assignors. *output*: where Spark writes all
    rows; *folder* gets the runs only. Raise SparkError if a task fails,
    WorkerDiedError if a run kills its process (the seed in progress is then in the folder), OSError
    if the folder cannot be written.
    """
    suspects = [task for task in tasks if seed_in_progress(folder, task.chunk) is not None]
    others = [task for task in tasks if task not in suspects]
    player = _Player(session, folder, allowed(folders), output)
    try:
        for task in suspects:
            yield player.play_by_seed(task)
        yield from player.play(jobs_of(others, session.cores))
    except BaseException:
        session.cancel()
        raise


def jobs_of(tasks: Sequence[Task], cores: int) -> Iterator[list[Task]]:
    """Divide chunks into jobs of about JOB_S, and at most JOB_STORED_S if events are stored."""
    job, work_s = list[Task](), 0.0
    for task in tasks:
        max_s = JOB_S * cores
        if job and work_s + task.work_s > (min(max_s, JOB_STORED_S) if task.events else max_s):
            yield job
            job, work_s = [], 0.0
        job.append(task)
        work_s += task.work_s
    if job:
        yield job


@dataclass(frozen=True, slots=True)
class _Player:
    """Runs jobs on Spark, and writes the rows that they return."""

    session: Session
    folder: Path
    permissions: Permissions
    """The modules with the user's own assignors."""

    output: StudyOutput | None

    def play(self, jobs: Iterator[list[Task]]) -> Iterator[Chunk]:
        """Run jobs, some at a time and in order; yield each chunk that is complete."""
        running = deque[tuple[list[Task], Future[list[Tables]]]]()
        with ThreadPoolExecutor(JOBS_AT_ONCE, "job") as threads:
            try:
                while True:
                    while len(running) < JOBS_AT_ONCE and (job := next(jobs, None)):
                        running.append((job, threads.submit(self._run, job)))
                    if not running:
                        return
                    yield from self._finish(*running.popleft())
            except BaseException:
                self.session.cancel()
                raise

    def _finish(self, job: list[Task], played: Future[list[Tables]]) -> Iterator[Chunk]:
        try:
            results = played.result()
        except WorkerDiedError:
            yield from self._divide(job)
            return
        for task, tables in zip(job, results, strict=True):
            self._receive(task, tables)
            yield task.chunk

    def _receive(self, task: Task, tables: Tables) -> None:
        if self.output is None:
            receive(task, self.folder, tables)
        else:
            runs = pa.concat_tables(table for name, table in tables if name == RUNS)
            write_runs(self.folder, task.chunk, runs.combine_chunks())

    def _divide(self, job: list[Task]) -> Iterator[Chunk]:
        """Run both halves of a job whose process was killed, down to a single chunk."""
        if len(job) == 1:
            yield self.play_by_seed(job[0])
            return
        half = len(job) // 2
        for part in (job[:half], job[half:]):
            played = Future[list[Tables]]()
            try:
                played.set_result(self._run(part))
            except WorkerDiedError as error:
                played.set_exception(error)
            yield from self._finish(part, played)

    def play_by_seed(self, task: Task) -> Chunk:
        """Run a chunk with one job for each seed, so that a run that kills its process is known.

        Raise WorkerDiedError for this run, unless it has been attempted too often: then it becomes
        a row with an error.
        """
        first, tables = task.chunk.first, Tables()
        with attempts_at(path_of(self.folder, RUNS, task.chunk)) as attempts:
            for seed in range(first, first + task.chunk.runs):
                try:
                    attempts.begin(seed)
                    chunk = replace(task.chunk, first=seed, runs=1)
                    tables += self._tables(self._frame([replace(task, chunk=chunk)]))[0]
                except KillsItsProcessError as error:
                    tables.append((RUNS, runs_table([failed_row(seed, error)], task.metrics)))
                except WorkerDiedError:
                    attempts.died = True
                    raise
            if self.output is not None:
                self._write(task.chunk, tables)
            self._receive(task, tables)
        return task.chunk

    def _write(self, chunk: Chunk, tables: Tables) -> None:
        """Write a chunk whose rows the driver holds to the output of Spark."""
        assert self.output is not None
        rows = [(0, name, encoded(table)) for name, table in tables]
        with translated_errors(KEPT):
            frame = self.session.spark.createDataFrame(rows, ROWS)
            with self.output.written(frame, [chunk]):
                pass

    def _run(self, job: list[Task]) -> list[Tables]:
        """Run the chunks of a job; return the tables that the driver needs, chunk by chunk."""
        frame = self._frame(job)
        if self.output is None:
            return self._tables(frame)
        with (
            translated_errors(KEPT),
            self.output.written(frame, [task.chunk for task in job]) as runs,
        ):
            return self._tables(runs)

    def _frame(self, job: list[Task]) -> DataFrame:
        """Return a data frame that runs the chunks of a job."""
        given = pickle.dumps((job, self.permissions), protocol=pickle.HIGHEST_PROTOCOL)
        tasks = min(self.session.tasks, len(job))
        places = self.session.spark.range(0, len(job), 1, tasks)
        return places.mapInArrow(partial(play_chunks, given), ROWS)

    def _tables(self, frame: DataFrame) -> list[Tables]:
        with translated_errors(KEPT):
            rows = frame.collect()
        return [
            [(row["name"], decoded(row["rows"])) for row in chunk]
            for _, chunk in groupby(rows, key=lambda row: row["chunk"])
        ]


def decoded(stream: bytes) -> pa.Table:
    """Return the table of an Arrow stream."""
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()


# -- in the executors --------------------------------------------------------------------------


def play_chunks(given: bytes, places: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the chunks of a job at some places of its list, and yield their rows."""
    job, permissions = pickle.loads(given)  # noqa: S301  the driver made it, above
    allow(permissions)
    for batch in places:
        for place in batch.column(0).to_pylist():
            for name, stream in _streams(job[place]):
                row = {"chunk": [place], "name": [name], "rows": [stream]}
                yield pa.RecordBatch.from_pydict(row)


def _streams(task: Task) -> Iterator[tuple[str, bytes]]:
    """Run a chunk; yield parts of its tables, events first."""
    events = list[bytes]()
    played = play_chunk(task, lambda table: events.append(encoded(table)), lambda _: None)
    for stream in events:
        yield EVENTS_FOLDER, stream
    yield ENTRIES_FOLDER, encoded(entries_table(played.entries))
    yield RUNS, encoded(runs_table(played.runs, task.metrics))


def encoded(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream
