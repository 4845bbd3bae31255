"""Read an import's pieces on Spark: through our data sources, or through Spark's file systems.

The workers themselves open segments of this machine, and live logs; Spark opens remote segments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from emulator.logs.imports.client_settings import merged
from emulator.logs.imports.pieces import LogRange, Piece, Segment, Selection, segments_of
from emulator.logs.imports.reading import Task, keep, rows_of
from emulator.logs.imports.store import Receipt, receipt_of
from emulator.logs.imports.tables import OF_TRANSACTIONS, PENDING, TABLES, plain, with_outcome
from emulator.logs.remote_files import is_remote
from emulator.spark.session import results_of

if TYPE_CHECKING:
    from emulator.spark.session import Session


def read_on_spark(session: Session, tasks: Sequence[Task], part: Path) -> Iterator[Receipt]:
    """Read pieces and write their rows into a folder that all executors reach; yield the receipts.

    All tasks have the same selection. Raise SparkError if a piece cannot be read or written,
    LogFileError for a segment that Spark cannot read in pieces.
    """
    if not tasks:
        return

    def look(task: Task) -> Receipt | None:
        return receipt_of(part, task.piece.name, task.piece.key)

    yield from results_of(session, partial(_run, session, tasks, part.resolve()), tasks, look)


def _run(session: Session, tasks: Sequence[Task], part: Path) -> None:
    from emulator.spark.segment_reading import read_far  # noqa: PLC0415  only where Spark is used

    far = [task for task in tasks if is_remote(task.piece.path)]
    near = [task for task in tasks if not is_remote(task.piece.path)]
    if far:
        read_far(session, far, part)
    if near:
        _read_near(session, near, part)


def _read_near(session: Session, tasks: Sequence[Task], part: Path) -> None:
    first = tasks[0]
    options = {
        "into": str(part),
        "pieces": pieces_as_option([task.piece for task in tasks]),
        "group": json.dumps(first.selection.groups),
        **{KAFKA + key: value for key, value in first.settings.items()},
    }
    times = {"from_ms": first.selection.begin_ms, "to_ms": first.selection.end_ms}
    options |= {name: str(value) for name, value in times.items() if value is not None}
    for source in (SegmentsSource, OffsetsSource):
        session.spark.dataSource.register(source)
    name = OFFSETS if isinstance(first.piece, LogRange) else SEGMENTS
    session.spark.read.format(name).options(**options).load().collect()


SEGMENTS: Final = "rebalance_segments"
OFFSETS: Final = "rebalance_offsets"
KAFKA: Final = "kafka."
_NAMES = StructType([StructField("name", StringType())])


class SegmentsSource(DataSource):
    """Segment files."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return SEGMENTS

    def schema(self) -> StructType:
        """Return the columns of the requested table."""
        return _schema(self.options)

    def reader(self, schema: StructType) -> LogReader:
        """Return the reader that finds and reads the files."""
        del schema
        return LogReader(self.options, {}, Segment)


class OffsetsSource(DataSource):
    """The offsets topic of a live cluster."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return OFFSETS

    def schema(self) -> StructType:
        """Return the columns of the requested table."""
        return _schema(self.options)

    def reader(self, schema: StructType) -> LogReader:
        """Return the reader that finds and reads the partitions."""
        del schema
        given = {
            key.removeprefix(KAFKA): value
            for key, value in self.options.items()
            if key.startswith(KAFKA)
        }
        return LogReader(
            self.options, merged(given.get("bootstrap.servers", ""), [given]), LogRange
        )


class PieceOfLog(InputPartition):
    """The piece that one task reads."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(asdict(piece))
        self.piece = piece


class LogReader(DataSourceReader):
    """Finds the pieces of a log, and reads one in each task."""

    def __init__(
        self,
        options: Mapping[str, str],
        settings: Mapping[str, str],
        kind: type[Segment | LogRange],
    ) -> None:
        self._table = _table(options)
        self._into = options.get("into")
        self._path = options.get("path", "")
        self._pieces = options.get("pieces")
        self._selection = _selection(options)
        self._settings = settings
        self._kind = kind

    def partitions(self) -> Sequence[PieceOfLog]:
        """Return the pieces, the largest first."""
        if self._pieces is not None:
            found: list[Piece] = [self._kind(**each) for each in json.loads(self._pieces)]
        elif self._kind is Segment:
            found = [*segments_of([self._path])]
        else:
            from emulator.logs.imports.live import log_ranges  # noqa: PLC0415  of [live]

            found = [*log_ranges(self._settings, begin_ms=self._selection.begin_ms)]
        return [PieceOfLog(each) for each in sorted(found, key=lambda each: -each.size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece; in a worker."""
        if not isinstance(partition, PieceOfLog):
            return  # Spark's placeholder if there are no partitions
        task = Task(partition.piece, self._selection, self._settings)
        if self._into is not None:
            receipt = keep(task, Path(self._into))
            yield pa.RecordBatch.from_pydict({"name": [receipt.name]})
            return
        for table, rows in rows_of(task, task.events()):
            if table == OF_TRANSACTIONS and self._table == "commits":
                yield plain(with_outcome(rows, pa.array(np.full(len(rows), PENDING))))
            elif table == self._table:
                yield plain(rows) if table == "commits" else rows


def pieces_as_option(pieces: Sequence[Piece]) -> str:
    """Return the option ``pieces``."""
    return json.dumps([asdict(piece) for piece in pieces])


def _schema(options: Mapping[str, str]) -> StructType:
    return _NAMES if "into" in options else from_arrow_schema(TABLES[_table(options)])


def _table(options: Mapping[str, str]) -> str:
    table = options.get("table", "commits")
    if table not in TABLES:
        raise ValueError(f"no table {table!r}; there are {', '.join(TABLES)}")
    return table


def _selection(options: Mapping[str, str]) -> Selection:
    group = options.get("group")
    groups = json.loads(group) if group and group.startswith("[") else [group] if group else []
    return Selection(tuple(groups), _number(options, "from_ms"), _number(options, "to_ms"))


def _number(options: Mapping[str, str], name: str) -> int | None:
    text: Any = options.get(name)
    return None if text is None else int(text)
