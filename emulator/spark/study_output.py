"""The output of a study at a URI, such as ``s3a://bucket/study``: Spark writes the rows.

========================================  ==========================================================
``manifest.json``                         as in a folder of this machine
``runs/cell=3/chunk=seeds-…-250/``        the runs of a chunk; ``entries`` and ``events`` likewise
``summary.parquet``, ``report.html``, …   the tables and the page of the report
========================================  ==========================================================

Writing a chunk again replaces its folder, and the runs of a job are written last, so a chunk is
complete when its runs exist. Files outside of the tables of rows are copied by the driver with
Hadoop's file systems, which have the configuration and the credentials of the Spark session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import RefusedError
from emulator.spark.segment_finding import NEEDS_JAR, in_time, reason_of_file_error
from emulator.study.findings import TABLES
from emulator.study.plan import Chunk, Plan, metrics_of
from emulator.study.rows import ENTRIES, EVENTS, runs_schema
from emulator.study.store import (
    ENTRIES_FOLDER,
    EVENTS_FOLDER,
    MANIFEST,
    RUNS,
    write_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from emulator.spark.session import Session

FETCHED_ROWS: Final = 100_000
"""About as many runs are fetched at a time."""

CELL, CHUNK = "cell", "chunk"
PLACE: Final = [pa.field(CELL, pa.int64()), pa.field(CHUNK, pa.string())]
"""Columns that name the folder of a row."""

Result = TypeVar("Result")


class StudyOutput:
    """The output of a study at a URI, and the folder of this machine that holds its runs.

    Methods raise RefusedError if the file system of the URI cannot be used.
    """

    def __init__(self, session: Session, uri: str, folder: Path, plan: Plan) -> None:
        self._session = session
        self._uri = uri.rstrip("/")
        self._folder = folder
        self._plan = plan
        self._schemas: Mapping[str, pa.Schema] = {
            EVENTS_FOLDER: EVENTS,
            ENTRIES_FOLDER: ENTRIES,
            RUNS: runs_schema(metrics_of(plan)),
        }
        self._lock = Lock()
        if not hasattr(session.spark, "_jvm"):
            raise RefusedError(
                f"`folder={uri}`: Spark Connect has no access to file systems from here; give a folder of "
                "this machine, to which the rows are sent"
            )

    # -- files of the driver -------------------------------------------------------------------

    def fetch_manifest(self) -> None:
        """Copy the manifest, if there is one; raise RefusedError if there are other files."""
        self._call(self._fetch_manifest)

    def resume(self) -> None:
        """Write the manifest, and copy the runs of complete chunks to the folder."""
        self._call(lambda: self._copy(self._folder / MANIFEST))
        if self._call(lambda: self._file_system.exists(self._path(RUNS))):
            self._fetch_runs()

    def publish(self) -> None:
        """Copy the tables and the page of the report; delete tables that now have no rows."""
        self._call(self._publish)

    def _fetch_manifest(self) -> None:
        system = self._file_system
        if system.exists(self._path(MANIFEST)):
            local = self._jvm.Path((self._folder / MANIFEST).as_uri())
            system.copyToLocalFile(False, self._path(MANIFEST), local, True)
        elif system.exists(self._path("")) and system.listStatus(self._path("")):
            raise RefusedError(
                f"`folder={self._uri}`: it contains files, but no study; take another folder"
            )

    def _publish(self) -> None:
        for name in TABLES:
            if not (self._folder / f"{name}.parquet").exists():
                self._file_system.delete(self._path(f"{name}.parquet"), False)
        for path in sorted(self._folder.iterdir()):
            if path.is_file():
                self._copy(path)

    def _copy(self, path: Path) -> None:
        local = self._jvm.Path(path.as_uri())
        self._file_system.copyFromLocalFile(False, True, local, self._path(path.name))

    @property
    def _jvm(self) -> Any:
        java: Any = self._session.spark._jvm  # noqa: SLF001  Spark has no other way
        return java.org.apache.hadoop.fs

    @property
    def _file_system(self) -> Any:
        context: Any = self._session.spark.sparkContext
        system = self._path("").getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        system.setWriteChecksum(False)
        return system

    def _path(self, name: str) -> Any:
        return self._jvm.Path(f"{self._uri}/{name}")

    def _call(self, call: Callable[[], Result]) -> Result:
        with translated_output_errors(self._uri):
            return in_time(self._session, self._uri, call)

    # -- rows ----------------------------------------------------------------------------------

    @contextmanager
    def written(self, frame: DataFrame, chunks: Sequence[Chunk]) -> Iterator[DataFrame]:
        """Write the rows of some chunks; yield the part of *frame* that holds their runs.

        *frame*: ``chunk`` (the position in *chunks*), ``name`` of the table, and ``rows``, a stream.
        """
        from pyspark import StorageLevel  # noqa: PLC0415  only where Spark is used

        held = frame.persist(StorageLevel.DISK_ONLY)
        try:
            held.count()
            with self._lock, translated_output_errors(self._uri):
                for name, schema in self._schemas.items():
                    if name != EVENTS_FOLDER or self._plan.study.events:
                        self._write(held.where(held["name"] == name), name, schema, chunks)
            yield held.where(held["name"] == RUNS)
        finally:
            held.unpersist()

    def _write(
        self, streams: DataFrame, name: str, schema: pa.Schema, chunks: Sequence[Chunk]
    ) -> None:
        places = [(chunk.cell, chunk.name) for chunk in chunks]
        rows = streams.mapInArrow(partial(rows_of, places), _spark_schema(schema))
        writer = rows.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.partitionBy(CELL, CHUNK).parquet(f"{self._uri}/{name}")

    def _fetch_runs(self) -> None:
        """Copy the runs of complete chunks to the folder, a bounded number at a time."""
        seeds, schema = self._plan.study.seeds, self._schemas[RUNS]
        step = max(1, FETCHED_ROWS // (seeds.most or seeds.count))
        with translated_output_errors(self._uri):
            reader = self._session.spark.read.schema(_spark_schema(schema))
            runs = reader.parquet(f"{self._uri}/{RUNS}")
            for first in range(0, len(self._plan.cells), step):
                some = runs.where(runs[CELL].between(first, first + step - 1)).toArrow()
                for chunk, rows in _by_chunk(some):
                    if rows.num_rows == chunk.runs:
                        write_runs(self._folder, chunk, rows.select(schema.names).cast(schema))


def _by_chunk(rows: pa.Table) -> Iterator[tuple[Chunk, pa.Table]]:
    """Divide rows by their chunks, in order of the seeds."""
    ordered = rows.sort_by([(name, "ascending") for name in (CELL, CHUNK, "seed")])
    places = ordered.select([CELL, CHUNK])
    for place in places.group_by([CELL, CHUNK]).aggregate([]).to_pylist():
        same = pc.and_(pc.equal(ordered[CELL], place[CELL]), pc.equal(ordered[CHUNK], place[CHUNK]))
        _, first, runs = place[CHUNK].split("-")
        yield Chunk(place[CELL], int(first), int(runs)), ordered.filter(same).combine_chunks()


def _spark_schema(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  only where it is used

    return from_arrow_schema(pa.schema([*schema, *PLACE]))


@contextmanager
def translated_output_errors(uri: str) -> Iterator[None]:
    """Turn what Spark and its file systems say of a URI into a RefusedError."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        reason = reason_of_file_error(error, "cannot be used", NEEDS_JAR)
        raise RefusedError(f"`folder={uri}`: {reason}") from None


# -- in the executors --------------------------------------------------------------------------


def rows_of(
    places: Sequence[tuple[int, str]], streams: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn streams of rows into rows, with the cell and the chunk of each."""
    for batch in streams:
        for row in batch.to_pylist():
            with pa.ipc.open_stream(row["rows"]) as reader:
                for rows in reader:
                    yield _placed(rows, *places[row["chunk"]])


def _placed(rows: pa.RecordBatch, cell: int, chunk: str) -> pa.RecordBatch:
    columns = [pa.repeat(pa.scalar(value), len(rows)) for value in (cell, chunk)]
    schema = pa.schema([*rows.schema, *PLACE])
    return pa.RecordBatch.from_arrays([*rows.columns, *columns], schema=schema)
