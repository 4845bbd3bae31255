"""Events as a Parquet file: flat columns for what queries ask, the rest as JSON.

========== ================================================================================
column     what it holds
========== ================================================================================
row        counts all events of a run from 0
id         counts the control events of a run from 0; null: a data event
at_us      microseconds since the run began
clock      the same as a time of day; only if the scenario has a ``start``
cause      id of the control event that made this one happen, if one did
kind       the name of a class of :mod:`emulator.events`
consumer   which process, if one is concerned
group      which consumer group
generation of that group
topic      with ``partition``: which partition
partition
first      first offset of a range that was processed, skipped or discarded
next       the offset after its last
rest       every other field of the event, as a JSON object
========== ================================================================================

The file's metadata carry ``schema_version``, ``kafka``, the scenario's title and hash, the seed,
the settings in force, and the assignors that intentionally assign a partition to several members. Rows are written in groups, so memory does not grow with the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from emulator.events import Event, PartlyProcessed, values_of
from emulator.parquet_file import ParquetOutput

ROWS = 16_384
"""Rows of one group of the file, and all that is held in memory."""

COLUMNS = (
    ("row", pa.int64()),
    ("id", pa.int64()),
    ("at_us", pa.int64()),
    ("clock", pa.timestamp("us", "UTC")),
    ("cause", pa.int64()),
    ("kind", pa.dictionary(pa.int8(), pa.string())),
    ("consumer", pa.string()),
    ("group", pa.string()),
    ("generation", pa.int32()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("first", pa.int64()),
    ("next", pa.int64()),
    ("rest", pa.string()),
)

SHARED_ASSIGNORS = "shared_assignors"
"""The key of the metadata with the assignors that intentionally assign a partition to several members."""

Row = tuple[Any, ...]
"""The values of all columns, in their order."""


class EventFile:
    """Writes events to a Parquet file in a ``with`` block; the file is complete or absent.

    Raises OSError from the constructor if the file cannot be written. Until the end of the ``with``
    block the rows are in a temporary file beside it, which is then renamed.
    """

    def __init__(
        self, path: Path, metadata: Mapping[str, str], start: datetime | None = None
    ) -> None:
        self._schema = _schema(metadata, start)
        self._start = start
        self._rows: list[Row] = []
        self._output = ParquetOutput(path, self._schema)

    def write(self, event: Event) -> None:
        """Write one event; raise OSError if there is no space for it."""
        self._rows.append(row_of(event, self._start))
        if len(self._rows) >= ROWS:
            self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Rename the file to its final name; after an error, also in these steps, remove it."""
        try:
            if error is None:
                self._flush()
                self._output.finish()
        finally:
            self._output.discard()

    def _flush(self) -> None:
        if not self._rows:
            return
        self._output.write(_table(self._schema, self._rows))
        self._rows.clear()


def table_of(events: Iterable[Event], start: datetime | None) -> pa.Table:
    """Return events as an Arrow table with the columns of the file."""
    rows = [row_of(event, start) for event in events]
    schema = _schema({}, start)
    return _table(schema, rows) if rows else schema.empty_table()


def _schema(metadata: Mapping[str, str], start: datetime | None) -> pa.Schema:
    columns = [column for column in COLUMNS if start is not None or column[0] != "clock"]
    return pa.schema(columns, metadata=dict(metadata))


def _table(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    columns = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def row_of(event: Event, start: datetime | None = None) -> Row:
    """Return an event as a row of the table; with a clock time if the run has a *start*."""
    what = event.what
    rest = values_of(what)
    topic, partition = _partition_of(rest)
    if isinstance(what, PartlyProcessed):
        rest["first"], rest["next_offset"] = rest.pop("offset"), what.offset + 1
    clock = () if start is None else (start + timedelta(microseconds=event.at_us),)
    return (
        event.row,
        event.id,
        event.at_us,
        *clock,
        event.cause,
        type(what).__name__,
        rest.pop("consumer", None),
        rest.pop("group", None),
        rest.pop("generation", None),
        topic,
        partition,
        rest.pop("first", None),
        rest.pop("next_offset", None),
        json.dumps(rest),
    )


def _partition_of(rest: dict[str, Any]) -> tuple[str | None, int | None]:
    """Remove the topic and the partition number from an event's fields and return them, if any."""
    partition = rest.pop("partition", None)
    return partition if partition is not None else (rest.pop("topic", None), None)
