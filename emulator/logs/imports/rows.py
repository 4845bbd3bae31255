"""Rows of all tables from the records of one log, in one pass and bounded memory.

Commits are decoded by :mod:`emulator.logs.offsets_log.columns`; other records are decoded one by
one and collected until they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from assignors.values import dataclass
from emulator.logs.imports.group_rows import KINDS, Row, group_row
from emulator.logs.imports.pieces import Selection
from emulator.logs.imports.tables import (
    GAPS,
    GROUPS,
    MARKERS,
    OF_TRANSACTIONS,
    Rows,
    with_partition,
)
from emulator.logs.offsets_log.columns import Runs, record_batches, runs_of
from protocols.offsets_topic.records import (
    Key,
    MalformedRecordError,
    Record,
    UnknownKey,
    UnknownValue,
    decode_value,
)
from protocols.offsets_topic.records.markers import ControlType, EndTxnMarker
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.header import BadBatch
from protocols.offsets_topic.segments.reader import Gap, gap_of
from protocols.offsets_topic.segments.record import RecordFields
from protocols.offsets_topic.segments.resync import LIMITS, Limits
from protocols.offsets_topic.segments.transactions import read_marker

_MAX_ROWS: Final = 4_096
_MAX_BYTES: Final = 2**22
"""Maximum bytes of the records of collected rows; both limits bound the memory."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of rows."""

    log_partition: int
    source: str
    """The name in the table ``gaps``."""


class Collected:
    """Rows that are collected until they are written; implements ``Beside``."""

    def __init__(self, origin: Origin, selection: Selection) -> None:
        self.unknown_parts = 0
        self.counts = Counter[str]()
        """Number of rows taken by :meth:`taken`, by table."""

        self.group_names = set[str]()
        """Ids of the groups that have other records than commits."""

        self.times_ms: tuple[int, int] | None = None
        """Times of the first and the last row, epoch ms; None: there are no rows."""

        self._origin = origin
        self._selection = selection
        self._rows: dict[str, list[Row]] = {"groups": [], "gaps": [], "markers": []}
        self._bytes = 0

    # -- implementation of Beside ------------------------------------------------------------

    def gap(self, gap: Gap) -> None:
        """Add a gap: bytes that are not batches."""
        self.gap_at(gap.position, gap.size, gap.reason)

    def record(self, log_offset: int, reason: str) -> None:
        """Add a record that cannot be read."""
        self.gap_at(log_offset, 0, f"the record of log offset {log_offset}: {reason}")

    def gap_at(self, position: int, length: int, reason: str) -> None:
        """Add an unreadable part of the source."""
        place = {"log_partition": self._origin.log_partition, "source": self._origin.source}
        self._rows["gaps"].append(
            {**place, "position": position, "length": length, "reason": reason}
        )

    def marker(self, batch: Batch) -> None:
        """Add the end of a transaction."""
        try:
            marker = read_marker(batch)
        except BadBatch as error:
            self.gap(gap_of(batch, error))
            return
        if isinstance(marker, EndTxnMarker):
            row = {"log_offset": batch.header.base_offset, "producer_id": batch.header.producer_id}
            is_committed = marker.control_type is ControlType.COMMIT
            self._rows["markers"].append({**row, "is_committed": is_committed})

    def other(self, key: Key, fields: RecordFields, place: int) -> None:
        """Add a record about a group, if it is requested."""
        log_offset, timestamp = fields.offsets[place], fields.timestamps[place]
        if isinstance(key, UnknownKey):
            self.record(log_offset, f"a record of type {key.record_type}, unknown to Kafka 4.4.0")
            return
        if not self._selection.takes(key[0], timestamp):
            return
        data = fields.values[place]
        try:
            value = None if data is None else decode_value(key.record_type, data)
        except MalformedRecordError as error:
            self.record(log_offset, str(error))
            return
        if isinstance(value, UnknownValue):
            problem = f"version {value.value_version} of {KINDS[key.record_type]}"
            self.record(log_offset, f"{problem}, unknown to Kafka 4.4.0")
            return
        self._keep(group_row(Record(key, value), log_offset, timestamp), len(data or b""))

    def _keep(self, row: Row, size: int) -> None:
        self._rows["groups"].append({"log_partition": self._origin.log_partition, **row})
        self.group_names.add(row["group"])
        self.seen(row["timestamp"], row["timestamp"])
        self._bytes += size

    def seen(self, first_ms: int, last_ms: int) -> None:
        """Extend the range of times by those of some rows."""
        first, last = self.times_ms or (first_ms, last_ms)
        self.times_ms = min(first, first_ms), max(last, last_ms)

    # -- taking rows -------------------------------------------------------------------------

    @property
    def is_much(self) -> bool:
        """Return whether the rows should be written now to bound the memory."""
        return self._bytes > _MAX_BYTES or any(
            len(rows) >= _MAX_ROWS for rows in self._rows.values()
        )

    def taken(self) -> list[tuple[str, pa.RecordBatch]]:
        """Return and clear all rows by their table, including ``markers``."""
        schemas = {"groups": GROUPS, "gaps": GAPS, "markers": MARKERS}
        taken = []
        for table, rows in self._rows.items():
            if rows:
                taken.append((table, pa.RecordBatch.from_pylist(rows, schemas[table])))
                self.counts[table] += len(rows)
                rows.clear()
        self._bytes = 0
        return taken


class Events:
    """The rows of one stream, to be iterated once."""

    def __init__(self, origin: Origin, selection: Selection) -> None:
        self.collected = Collected(origin, selection)
        self.commits = 0
        """Number of rows so far by table, those of transactions included."""

        self.group_names = self.collected.group_names
        """Ids of all groups with rows."""

        self.transactions = Counter[str]()
        """Number of commits by value of ``transaction``, where it is known at once."""

        self._origin = origin
        self._selection = selection

    def of_bytes(self, source: bytes | BinaryIO, limits: Limits = LIMITS) -> Iterator[Rows]:
        """Yield the rows of a segment; no bytes raise an error."""
        return self.of_runs(runs_of(source, limits, self.collected))

    def of_runs(self, runs: Runs) -> Iterator[Rows]:
        """Yield the rows of records that arrive in groups."""
        for batch in record_batches(runs, self.collected):
            if batch is not None:
                yield from self._commits(self._selection.of_commits(batch))
            elif self.collected.is_much:
                yield from self.collected.taken()
        yield from self.collected.taken()

    def _commits(self, batch: pa.RecordBatch) -> Iterator[Rows]:
        if not batch.num_rows:
            return
        self.commits += batch.num_rows
        times = batch.column("timestamp").to_numpy()
        self.collected.seen(int(times.min()), int(times.max()))
        groups = batch.column("group")
        used = np.unique(groups.indices.to_numpy())
        self.group_names.update(groups.dictionary.take(pa.array(used)).to_pylist())
        rows = with_partition(batch, self._origin.log_partition)
        transactional = batch.column("producer_id").to_numpy() >= 0
        if not transactional.any():
            yield "commits", rows
            return
        if not transactional.all():
            yield "commits", rows.filter(pa.array(~transactional))
        yield OF_TRANSACTIONS, rows.filter(pa.array(transactional))
