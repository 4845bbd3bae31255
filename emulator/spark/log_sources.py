"""Offsets logs as data sources of Spark's, in Python: segment files, and live clusters.

``rebalance_segments`` has a Spark partition for each file, ``rebalance_offsets`` one for each
partition of the topic. Both are read batch by batch in a Python worker.

============= ======================================================================================
option        what it says
============= ======================================================================================
``table``     whose rows are wanted: ``commits`` (the default), ``groups``, ``gaps``
``path``      of segments: a path, a pattern, a folder, a URI; as ``load(path)`` gives it
``kafka.…``   of a live cluster: settings of librdkafka's, ``kafka.bootstrap.servers`` at least
``group``     a pattern of groups that are wanted, or a JSON list of them
``from_ms``   epoch ms of the first record that is wanted
``to_ms``     epoch ms behind the last one
``pieces``    what is there to read, found already: a JSON list
``into``      a folder that all executors reach: each worker writes all tables of its partition
              there, in one pass, and gives back a row with its name
============= ======================================================================================

Workers open files themselves, at a URI through pyarrow: a data source in Python cannot ask Spark for
bytes. ``rebalance import`` on Spark can (:mod:`emulator.spark.segment_reading`).

A worker sees one file, and the marker of a transaction may be in the next one: here, commits of
transactions in files are all ``pending``. ``rebalance import`` decides them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from emulator.logs.imported.reading.client_settings import merged
from emulator.logs.imported.reading.events_of import OF_TRANSACTIONS, plain, with_outcome
from emulator.logs.imported.reading.segments import Segment, segments_of
from emulator.logs.imported.reading.selection import Selection
from emulator.logs.imported.reading.stretch import Stretch
from emulator.logs.imported.reading.work import Piece, Task, keep, rows_of
from emulator.logs.imported.tables import PENDING, TABLES

SEGMENTS: Final = "rebalance_segments"
OFFSETS: Final = "rebalance_offsets"
KAFKA: Final = "kafka."
_NAMES = StructType([StructField("name", StringType())])


class SegmentsSource(DataSource):
    """Segment files."""

    @classmethod
    def name(cls) -> str:
        """Return what ``format`` calls it."""
        return SEGMENTS

    def schema(self) -> StructType:
        """Return the columns of the table that is asked for."""
        return _schema(self.options)

    def reader(self, schema: StructType) -> LogReader:
        """Return who finds and reads the files."""
        del schema
        return LogReader(self.options, {}, Segment)


class OffsetsSource(DataSource):
    """The offsets topic of a live cluster."""

    @classmethod
    def name(cls) -> str:
        """Return what ``format`` calls it."""
        return OFFSETS

    def schema(self) -> StructType:
        """Return the columns of the table that is asked for."""
        return _schema(self.options)

    def reader(self, schema: StructType) -> LogReader:
        """Return who asks for the partitions and reads them."""
        del schema
        given = {
            key.removeprefix(KAFKA): value
            for key, value in self.options.items()
            if key.startswith(KAFKA)
        }
        return LogReader(self.options, merged(given.get("bootstrap.servers", ""), [given]), Stretch)


class PieceOfLog(InputPartition):
    """What one task reads."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(asdict(piece))
        self.piece = piece


class LogReader(DataSourceReader):
    """Finds the pieces of a log, and reads one in each task."""

    def __init__(
        self,
        options: Mapping[str, str],
        settings: Mapping[str, str],
        kind: type[Segment | Stretch],
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
            from emulator.logs.imported.reading.broker import stretches_of  # noqa: PLC0415  of [live]

            found = [*stretches_of(self._settings, begin_ms=self._selection.begin_ms)]
        return [PieceOfLog(each) for each in sorted(found, key=lambda each: -each.size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece; in a worker."""
        if not isinstance(partition, PieceOfLog):
            return  # what Spark puts in the place of no partitions at all
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
