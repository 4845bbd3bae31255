"""A log's bytes or records as rows of all tables, in one pass and bounded memory.

Commits go through the columnar decoder of :mod:`emulator.logs.offsets_log.columns`; what that passes
over is decoded record by record beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from emulator.logs.imported.reading.collected import Collected, Origin
from emulator.logs.imported.reading.selection import Selection
from emulator.logs.imported.tables import COMMITS
from emulator.logs.offsets_log.columns import SCHEMA, Runs, record_batches, runs_of
from protocols.offsets_topic.segments.resync import LIMITS, Limits

OF_TRANSACTIONS: Final = "of_transactions"
"""Commits whose ``transaction`` is not known yet; rows as those of ``commits``."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
WRITTEN: Final = pa.schema(
    [COMMITS.field("log_partition"), *SCHEMA, pa.field("transaction", _TEXT)]
)
"""``COMMITS`` with its text dictionary-encoded, as it is written: half the time."""

Rows = tuple[str, pa.RecordBatch]
"""The name of a table, and some rows of it: also ``markers`` and ``OF_TRANSACTIONS``."""


class Events:
    """The rows of one stream, to be walked once."""

    def __init__(self, origin: Origin, selection: Selection) -> None:
        self.collected = Collected(origin, selection)
        self.commits = 0
        """Rows so far, of transactions too."""

        self.group_names = self.collected.group_names
        """Of all groups that there are rows of."""

        self.transactions = Counter[str]()
        """Commits by ``transaction``, where that is known at once."""

        self._origin = origin
        self._selection = selection

    def of_bytes(self, source: bytes | BinaryIO, limits: Limits = LIMITS) -> Iterator[Rows]:
        """Yield the rows of a segment; no bytes raise an error."""
        return self.of_runs(runs_of(source, limits, self.collected))

    def of_runs(self, runs: Runs) -> Iterator[Rows]:
        """Yield the rows of records that are given some at a time."""
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


def with_partition(batch: pa.RecordBatch, log_partition: int) -> pa.RecordBatch:
    """Return rows of ``WRITTEN``, outside transactions."""
    partitions = pa.array(np.full(batch.num_rows, log_partition, np.int32))
    nothing = pa.nulls(batch.num_rows, _TEXT)
    return pa.RecordBatch.from_arrays([partitions, *batch.columns, nothing], schema=WRITTEN)


def with_outcome(rows: pa.RecordBatch, outcomes: pa.Array) -> pa.RecordBatch:
    """Return rows of ``WRITTEN`` with another ``transaction``."""
    columns = [*rows.columns[:-1], outcomes.cast(pa.string()).dictionary_encode()]
    return pa.RecordBatch.from_arrays(columns, schema=WRITTEN)


def plain(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of ``WRITTEN`` as rows of ``COMMITS``."""
    columns = [column.cast(field.type) for column, field in zip(rows.columns, COMMITS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=COMMITS)
