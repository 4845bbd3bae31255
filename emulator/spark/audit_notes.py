"""What tasks of an audit hand on: ranges, and beside them how many rows they read, or what is wrong.

Both travel as rows of the table of ranges, under numbers that no partition has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from emulator.logs.audit.auditing import Counts
from emulator.logs.audit.errors import AuditError
from emulator.logs.audit.ranges import RANGES

COUNTED: Final = -1
WRONG: Final = -2
"""Stand for a partition's number."""

RANGES_DDL: Final = (
    "topic string, partition int, consumer string, lo long, hi long, began_us long, "
    "first_us long, ended_us long"
)


def with_notes(chunks: Iterable[tuple[pa.RecordBatch, Counts]]) -> Iterator[pa.RecordBatch]:
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


def noted(partition: int, table: pa.Table) -> Counts | AuditError | None:
    """Sum up the notes of all tasks under one number; None if it is a partition's."""
    if partition == COUNTED:
        return Counts(sum(table["lo"].to_pylist()), sum(table["hi"].to_pylist()))
    if partition == WRONG:
        return AuditError(min(table["consumer"].to_pylist()))
    return None
