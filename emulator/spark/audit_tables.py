"""Logs that only Spark reaches: tables, and files at addresses such as s3a://logs/.

Rows of tables and of Parquet files come through Spark's own readers. Text comes through Spark as
lines and is parsed like local files, with the same rows and errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from assignors.values import dataclass
from emulator.logs.audit.columns import unit_of
from emulator.logs.audit.csv_text import LONGEST_HEADER, layout_in
from emulator.logs.audit.passes import Counts, Terms, ranges_of_rows
from emulator.logs.audit.ranges import CutsOf
from emulator.logs.audit.reading import CHUNK_ROWS, format_of
from emulator.logs.audit.rows import Mapped, map_columns, rows_of
from emulator.logs.audit.text import Batches, csv_batches, json_batches
from emulator.logs.errors import AuditError
from emulator.spark.audit_files import RANGES_DDL, with_notes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.spark.session import Session

FIRST_LINES: Final = 10_000
"""Bytes of text from which the columns and the unit of times are determined."""

NO_FILE_SYSTEM: Final = (
    "Spark has no file system for this address: start it with the connector, for example "
    "with spark-submit --packages"
)
_NO_FILE_SYSTEM: Final = re.compile(r"FileSystem not found|No FileSystem for scheme")

NEVER_CUT: Final = str(1 << 50)
"""Size of a Spark partition, large enough that each file is one."""


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A log that only Spark can reach."""

    names: tuple[str, ...]
    """Addresses, or names of tables."""

    format: str | None
    wanted: Mapping[str, str]
    unit: str | None

    @property
    def kind(self) -> str:
        """The format, given or by the file name extension."""
        return self.format or format_of(self.names[0].rstrip("/")) or "parquet"


@dataclass(frozen=True, slots=True)
class Opened:
    """A log whose columns are known."""

    rows: DataFrame
    """For text: lines, with the files that contain them."""

    kind: str
    mapped: Mapped
    unit: str


def opened(session: Session, table: SparkTable) -> Opened:
    """Determine the columns of a log and the unit of its times; raise AuditError if it is invalid."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        if table.kind in ("json", "csv"):
            return _text(session, table)
        return _table(session, table)
    except (PySparkException, Py4JJavaError) as error:
        names = ", ".join(table.names)
        raise AuditError(f"{names}: cannot be read: {_reason(str(error))}") from None


def _reason(text: str) -> str:
    """Return the message of Spark or its file systems, without the stack trace, and a remedy."""
    lines = [line for line in text.partition("JVM stacktrace")[0].splitlines() if line.strip()]
    called = len(lines) > 1 and lines[1].startswith(": ")  # our call; then follows the exception
    reason = lines[called].strip(": ").partition(" SQLSTATE")[0]
    return f"{reason} ({NO_FILE_SYSTEM})" if _NO_FILE_SYSTEM.search(reason) else reason


def ranges_of_table(log: Opened, terms: Terms, cuts_of: CutsOf | None) -> DataFrame:
    """Return the ranges of rows or lines, computed by workers."""
    encode = partial(_encode, log.kind, log.mapped, log.unit, terms, cuts_of)
    return log.rows.mapInArrow(encode, RANGES_DDL)


# -- tables ------------------------------------------------------------------------------------


def _table(session: Session, table: SparkTable) -> Opened:
    read = session.spark.read
    if table.kind == "table":
        rows, *more = [read.table(name) for name in table.names]
        for each in more:
            rows = rows.unionByName(each)
    else:
        rows = read.parquet(*table.names)
    mapped = map_columns(rows.columns, table.wanted, ", ".join(table.names))
    chosen = rows if mapped.events else rows.select(*mapped.columns)
    first = chosen.limit(1).toArrow()
    return Opened(chosen, table.kind, mapped, _unit(first, mapped, table))


def _unit(first: pa.Table, mapped: Mapped, table: SparkTable) -> str:
    if not first.num_rows:
        raise AuditError(f"{table.names[0]}: empty: it contains no row")
    if mapped.events:
        return "us"
    return unit_of(first.column(mapped.end).combine_chunks(), mapped.end, table.unit)


def rows_in_order(log: Opened) -> pa.Table:
    """Return the events of a run, by their row."""
    fetched = log.rows.toArrow()
    if log.kind in ("json", "csv"):
        parsed = _batches_of(log.kind, None, iter(fetched.to_batches()))
        tables = [pa.Table.from_batches([batch]) for batch, _ in parsed]
        fetched = pa.concat_tables(tables, promote_options="permissive")
    return fetched.sort_by("row")


# -- text --------------------------------------------------------------------------------------


def _text(session: Session, table: SparkTable) -> Opened:
    """Read lines; those of a CSV file in one task, since a value may contain newlines."""
    if table.kind == "csv":
        for name in ("maxPartitionBytes", "openCostInBytes"):
            session.spark.conf.set(f"spark.sql.files.{name}", NEVER_CUT)
    read = session.spark.read.option("recursiveFileLookup", "true").option("lineSep", "\n")
    lines = read.text(list(table.names)).selectExpr(
        "cast(value as binary) as line", "_metadata.file_path as file"
    )
    first = lines.limit(FIRST_LINES).toArrow().to_batches()
    rows = next((batch for batch, _ in _batches_of(table.kind, None, iter(first))), None)
    if rows is None:
        raise AuditError(f"{table.names[0]}: empty: it contains no row")
    mapped = map_columns(rows.schema.names, table.wanted, table.names[0])
    unit = _unit(pa.Table.from_batches([rows]), mapped, table)
    shared = lines.coalesce(session.tasks) if table.kind == "csv" else lines
    return Opened(shared, table.kind, mapped, unit)


def _batches_of(kind: str, mapped: Mapped | None, batches: Iterator[pa.RecordBatch]) -> Batches:
    """Parse lines, file by file."""
    for file, runs in groupby(_runs(batches), key=lambda run: run[0]):
        pieces = (piece for _, piece in runs)
        if kind == "json":
            yield from json_batches(file, pieces, None)
        else:
            yield from _csv_of(file, pieces, mapped)


def _runs(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, bytes]]:
    """Yield each file with a piece of text that joins its lines."""
    for batch in batches:
        files, lines, begin = pc.run_end_encode(batch.column("file")), batch.column("line"), 0
        for file, end in zip(files.values.to_pylist(), files.run_ends.to_pylist(), strict=True):
            own = pa.ListArray.from_arrays([begin, end], lines)
            yield file, pc.binary_join(own, b"\n")[0].as_py() + b"\n"
            begin = end


def _csv_of(file: str, pieces: Iterator[bytes], mapped: Mapped | None) -> Batches:
    head = b""
    while len(head) < LONGEST_HEADER and (piece := next(pieces, b"")):
        head += piece
    layout = layout_in(head, file)
    if layout is None:
        return
    before = head.count(b"\n", 0, layout.begin)

    def all_pieces() -> Iterator[bytes]:
        yield head[layout.begin :]
        yield from pieces

    yield from csv_batches(file, all_pieces(), layout, mapped, lambda: before)


# -- in the workers ----------------------------------------------------------------------------


def _encode(
    kind: str,
    mapped: Mapped,
    unit: str,
    terms: Terms,
    cuts_of: CutsOf | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Make ranges of the rows of a table, or of lines."""
    is_text = kind in ("json", "csv")
    read = _batches_of(kind, mapped, batches) if is_text else _of_table(batches)
    yield from with_notes(_ranges(read, mapped, unit, terms, cuts_of))


def _ranges(
    batches: Batches, mapped: Mapped, unit: str, terms: Terms, cuts_of: CutsOf | None
) -> Iterator[tuple[pa.RecordBatch, Counts]]:
    for batch, where in batches:
        yield ranges_of_rows(rows_of(batch, mapped, unit, where), terms, cuts_of)


def _of_table(batches: Iterator[pa.RecordBatch]) -> Batches:
    """Join batches into chunks as long as those of files."""
    held, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= CHUNK_ROWS:
            yield pa.concat_batches(held), _in_a_table
            held, rows = [], 0
    if held:
        yield pa.concat_batches(held), _in_a_table


def _in_a_table(row: int | None) -> str:
    """Return the position of a row of a table: only its number within a task."""
    return "in a task of Spark" if row is None else f"in a task of Spark, row {row + 1:,} of these"
