"""The tables of an import.

``commits`` has a row for each committed offset and each deletion of one: ``log_partition``, the
columns of :mod:`emulator.logs.offsets_log.columns`, and ``transaction``. ``groups`` has a row for each
record about a group that is no commit, ``gaps`` one for each stretch that could not be read.

Commits of a transaction count only if it was committed. None is left out: ``transaction`` is

=============  ====================================================================================
null           outside transactions; live: or committed, as clients do not show the difference
``committed``  the producer's next marker says so
``aborted``    the producer's next marker says so; live: consumers are not given the record
``pending``    what was read has no marker behind it
``undecided``  live: not below the last stable offset, so that it may be of an open transaction
=============  ====================================================================================

Rows of one log partition are sorted by log offset within a file, except those of transactions,
which are in a separate file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.logs.offsets_log.columns import SCHEMA

NO_PARTITION: Final = -1
"""As ``log_partition``: the name of a segment's folder and file does not contain it."""

COMMITTED: Final = "committed"
ABORTED: Final = "aborted"
PENDING: Final = "pending"
UNDECIDED: Final = "undecided"

COUNTING: Final = (None, COMMITTED, UNDECIDED)
"""Values of ``transaction`` of the commits that a coordinator answers with. Of those undecided most
are of no transaction, and so they are counted with these."""


def _plain(field: pa.Field) -> pa.Field:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return pa.field(field.name, kind)


COMMITS: Final = pa.schema(
    [("log_partition", pa.int32()), *map(_plain, SCHEMA), ("transaction", pa.string())]
)

ASSIGNED: Final = pa.struct([("topic", pa.string()), ("partitions", pa.list_(pa.int32()))])
"""Partitions of one topic: its name in a classic group, its id in one of the newer protocols; of a
streams group the id of a subtopology."""

MEMBER: Final = pa.struct(
    [
        ("member_id", pa.string()),
        ("instance_id", pa.string()),
        ("client_id", pa.string()),
        ("client_host", pa.string()),
        ("session_timeout_ms", pa.int32()),
        ("rebalance_timeout_ms", pa.int32()),
        ("topics", pa.list_(pa.string())),
        ("assignment", pa.list_(ASSIGNED)),
    ]
)
"""The fields of a member in a record; null if the record has none."""

GROUPS: Final = pa.schema(
    [
        ("log_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("group", pa.string()),
        ("record_type", pa.int16()),
        ("kind", pa.string()),
        ("is_tombstone", pa.bool_()),
        ("epoch", pa.int32()),
        ("member_id", pa.string()),
        ("members", pa.list_(MEMBER)),
        ("protocol", pa.string()),
        ("leader", pa.string()),
        ("state", pa.string()),
    ]
)
"""``timestamp``: of the record, epoch ms. ``kind``: the record's name without Key and Value, such as
``GroupMetadata``. ``epoch``: the generation of a classic group, of other records the epoch they
carry. ``members``: a classic generation has them all, a record about one member has that one, a
tombstone and any other record null. ``protocol``: the assignor. ``state``: of a classic group
``Empty`` or ``Stable``, of a member in words such as ``stable``; null where the record has none."""

GAPS: Final = pa.schema(
    [
        ("log_partition", pa.int32()),
        ("source", pa.string()),
        ("position", pa.int64()),
        ("length", pa.int64()),
        ("reason", pa.string()),
    ]
)
"""``source``: the file, or the broker's topic and partition. ``position`` and ``length``: in bytes of
the file, gunzipped; live: in log offsets. Of a single record that cannot be read in a batch that
can, the log offset and 0 bytes; the reason says so."""

TABLES: Final = {"commits": COMMITS, "groups": GROUPS, "gaps": GAPS}
"""By the name of their folder."""

FILLED: Final = {
    "commits": ("timestamp", "log_offset", "group", "topic", "partition", "is_tombstone"),
    "groups": ("timestamp", "log_offset", "group", "record_type", "kind", "is_tombstone"),
}
"""Columns of a table that have a value in every row."""


_OF_EPOCHS: Final = pa.array([2, 3, 11, 17], pa.int16())
"""Types of records that begin a generation, classic, consumer, share and streams."""


def columns_problem(found: pa.Schema, wanted: pa.Schema) -> str | None:
    """Return what is wrong with the columns of a file; None: it has all that are wanted."""
    types = {field.name: field.type for field in found}
    for field in wanted:
        if field.name not in types:
            return f"there is no column {field.name!r}"
        kind, needed = _kind(types[field.name]), _kind(field.type)
        if kind != needed:
            return f"column {field.name!r} must hold {needed}, and holds {kind}"
    return None


def _kind(type_: pa.DataType) -> str:
    """Return the kind of a column in words: a library that rewrites a table may change the type."""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return "text"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return "lists"
    return "whole numbers" if pa.types.is_integer(type_) else str(type_)


def empty_cells_problem(rows: pa.Table | pa.RecordBatch, columns: Iterable[str]) -> str | None:
    """Return the first column with an empty cell, in words; None: each row is complete.

    A commit that is no tombstone has an offset, and a record of a generation has its number.
    """
    names = rows.schema.names
    for name in columns:
        if name in names and rows.column(name).null_count:
            return f"column {name!r} has an empty cell"
    if "record_type" in names and _lacks(
        rows, "epoch", pc.is_in(rows.column("record_type"), _OF_EPOCHS)
    ):
        return "a record of a generation has no epoch"
    if "offset" in names and _lacks(rows, "offset", pa.scalar(True)):
        return "a commit has no offset"
    return None


def _lacks(rows: pa.Table | pa.RecordBatch, column: str, which: Any) -> bool:
    """Return whether a column of a row that is no tombstone is empty; *which*: the rows to look at."""
    living = pc.and_(pc.invert(rows.column("is_tombstone")), which)
    return bool(pc.any(pc.and_(pc.is_null(rows.column(column)), living)).as_py())


# -- rows while they are collected and written ----------------------------------------------------

MARKERS: Final = pa.schema(
    [("log_offset", pa.int64()), ("producer_id", pa.int64()), ("is_committed", pa.bool_())]
)
"""Ends of transactions; temporary, used to decide which commits count."""

OF_TRANSACTIONS: Final = "of_transactions"
"""Commits whose ``transaction`` is not known yet; rows as those of ``commits``."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
WRITTEN: Final = pa.schema(
    [COMMITS.field("log_partition"), *SCHEMA, pa.field("transaction", _TEXT)]
)
"""``COMMITS`` with its text dictionary-encoded, as it is written: half the time."""

Rows = tuple[str, pa.RecordBatch]
"""The name of a table, and some rows of it: also ``markers`` and ``OF_TRANSACTIONS``."""


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
