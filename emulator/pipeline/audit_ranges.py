"""An audit on Spark: rows become ranges where they are read, then each partition is looked at.

Only ranges are shuffled, never rows, so that a partition with most of the rows is no trouble. Of
files that every executor can open, workers read row groups themselves; other tables come through
Spark. What a look at a partition finds comes back pickled, and so does what is wrong with a log.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from emulator.audit.auditing import Counts, Look, Terms, ranges_of, ranges_of_rows
from emulator.audit.errors import AuditError
from emulator.audit.mapping import Mapped, map_columns
from emulator.audit.ranges import RANGES, CutsOf, PartitionName
from emulator.audit.reading import CHUNK_ROWS, Part, Source, parts_of
from emulator.audit.rows import rows_of
from emulator.audit.times import unit_of
from emulator.pipeline.errors import reason_in
from emulator.pipeline.jobs import told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.pipeline.session import Session

Found = TypeVar("Found")

SETTINGS: Final = {"spark.sql.execution.arrow.maxRecordsPerBatch": "65536"}
"""Of a session that audits: its rows are narrow."""

COUNTED: Final = -1
WRONG: Final = -2
"""Stand for a partition's number in rows that tell how many were read, or what is wrong."""

RANGES_DDL: Final = (
    "topic string, partition int, consumer string, lo long, hi long, began_us long, "
    "first_us long, ended_us long"
)
FOUND_DDL: Final = "found binary"
_FOUND: Final = pa.schema([("found", pa.binary())])
_GIVEN: Final = pa.schema([("part", pa.binary())])


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A log that only Spark can reach."""

    names: tuple[str, ...]
    """Addresses, or names of tables."""

    format: str | None
    wanted: Mapping[str, str]
    unit: str | None


class OnSpark:
    """Audits with a Spark session."""

    def __init__(self, session: Session, log: Source | SparkTable, terms: Terms) -> None:
        """Read *log*, whose files every executor must reach."""
        self._session = session
        self._log = log
        self._terms = terms
        self._counts = Counts(0, 0)

    def look(self, look: Look[Found], cuts_of: CutsOf | None) -> Iterator[Found]:
        """Read the log; yield what *look* finds of each partition."""

        def looked_at(table: pa.Table) -> pa.Table:
            return _looked_at(look, table)

        with told():
            ranges = self._ranges(cuts_of).groupBy("topic", "partition")
            found = ranges.applyInArrow(looked_at, FOUND_DDL)
            for row in found.toLocalIterator():
                value = pickle.loads(row["found"])  # noqa: S301  a worker of this job made it
                if isinstance(value, AuditError):
                    raise value
                if not isinstance(value, Counts):
                    yield value
                elif cuts_of is None:
                    self._counts = value

    def counts(self) -> Counts:
        """Return what became of the rows of the first reading."""
        return self._counts

    def _ranges(self, cuts_of: CutsOf | None) -> DataFrame:
        if isinstance(self._log, Source):
            return self._of_files(self._log, cuts_of)
        return self._of_table(self._log, cuts_of)

    def _of_files(self, source: Source, cuts_of: CutsOf | None) -> DataFrame:
        tasks = self._session.tasks
        parts = parts_of(source, max(CHUNK_ROWS, (source.rows or 0) // tasks))
        rows = {"part": [pickle.dumps(_absolute(part)) for part in parts]}
        given = self._session.spark.createDataFrame(pa.Table.from_pydict(rows, _GIVEN))
        shared = given.repartition(min(tasks, len(parts)))
        return shared.mapInArrow(partial(_read_parts, source, self._terms, cuts_of), RANGES_DDL)

    def _of_table(self, table: SparkTable, cuts_of: CutsOf | None) -> DataFrame:
        rows = self._opened(table)
        mapped = map_columns(rows.columns, table.wanted, ", ".join(table.names))
        chosen = rows.select(*mapped.columns)
        unit = "us" if mapped.events else self._unit(chosen, mapped, table)
        return chosen.mapInArrow(partial(_encode, mapped, unit, self._terms, cuts_of), RANGES_DDL)

    def _opened(self, table: SparkTable) -> DataFrame:
        from pyspark.errors import PySparkException  # noqa: PLC0415  only where Spark is used

        read = self._session.spark.read
        try:
            if table.format == "table":
                tables = [read.table(name) for name in table.names]
                whole = tables[0]
                for more in tables[1:]:
                    whole = whole.unionByName(more)
                return whole
            names, kind = list(table.names), table.format or _format(table.names[0])
            if kind == "csv":
                return read.csv(names, header=True)
            return read.json(names) if kind == "json" else read.parquet(*names)
        except PySparkException as error:
            raise AuditError(f"{table.names[0]}: cannot be read: {reason_in(str(error))}") from None

    def _unit(self, rows: DataFrame, mapped: Mapped, table: SparkTable) -> str:
        first = rows.select(mapped.end).limit(1).toArrow()
        if not first.num_rows:
            raise AuditError(f"{table.names[0]}: empty: there is no row to audit")
        return unit_of(first.column(0).combine_chunks(), mapped.end, table.unit)


def on_spark(session: Session, log: Source | SparkTable, terms: Terms) -> OnSpark:
    """Return the engine of a session."""
    return OnSpark(session, log, terms)


def _absolute(part: Part) -> Part:
    """Name its file so that workers find it, who are in folders of their own."""
    return replace(part, file=replace(part.file, path=part.file.path.absolute()))


def _format(name: str) -> str:
    return next((kind for kind in ("csv", "json") if f".{kind}" in name.lower()), "parquet")


# -- in the workers ----------------------------------------------------------------------------


def _read_parts(
    source: Source, terms: Terms, cuts_of: CutsOf | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read parts of files into ranges."""
    parts: Iterator[Part] = (
        pickle.loads(each)  # noqa: S301  the driver made it, above
        for batch in batches
        for each in batch.column("part").to_pylist()
    )
    chunks = (ranges_of(source, part, terms, cuts_of) for part in parts)
    yield from _told(chain.from_iterable(chunks))


def _encode(
    mapped: Mapped,
    unit: str,
    terms: Terms,
    cuts_of: CutsOf | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Make ranges of the rows of a table."""
    where = "in a task of Spark"
    yield from _told(
        ranges_of_rows(rows_of(chunk, mapped, unit, where), terms, cuts_of)
        for chunk in _chunks(batches)
    )


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches into chunks as long as those of files."""
    held, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= CHUNK_ROWS:
            yield pa.concat_batches(held)
            held, rows = [], 0
    if held:
        yield pa.concat_batches(held)


def _told(chunks: Iterable[tuple[pa.RecordBatch, Counts]]) -> Iterator[pa.RecordBatch]:
    """Yield ranges; at the end how many rows they came from, or what is wrong with the log."""
    rows = late = 0
    try:
        for ranges, counts in chunks:
            yield ranges
            rows, late = rows + counts.rows, late + counts.late
    except AuditError as error:
        yield _note(WRONG, str(error))
    else:
        yield _note(COUNTED, "", rows, late)


def _note(kind: int, text: str, *numbers: int) -> pa.RecordBatch:
    lo, hi = numbers or (0, 0)
    columns = [[""], [kind], [text], [lo], [hi], [0], [0], [0]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RANGES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RANGES)


def _looked_at(look: Look[Any], table: pa.Table) -> pa.Table:
    """Look at all ranges of one partition, or sum up the notes."""
    name = PartitionName(table["topic"][0].as_py(), table["partition"][0].as_py())
    found: Any
    if name.partition == COUNTED:
        found = Counts(sum(table["lo"].to_pylist()), sum(table["hi"].to_pylist()))
    elif name.partition == WRONG:
        found = AuditError(min(table["consumer"].to_pylist()))
    else:
        try:
            found = look(name, table)
        except AuditError as error:
            found = error
    return pa.Table.from_pydict({"found": [pickle.dumps(found)]}, _FOUND)
