"""Logs to import: small ones made here, and the kept real ones."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from emulator.logs.imports.pieces import Selection
from emulator.logs.imports.rows import Events, Origin
from emulator.logs.imports.tables import OF_TRANSACTIONS, plain

from ..offsets_log.segments import (
    NAME,
    PRODUCER,
    batch,
    bytes_of,
    commit,
    marker,
    raw_batch,
    segment_of,
    written,
)

__all__ = [
    "NAME",
    "PRODUCER",
    "batch",
    "bytes_of",
    "commit",
    "marker",
    "raw_batch",
    "segment_of",
    "written",
]

ORIGIN = Origin(3, "a.log")
Rows = dict[str, list[dict[str, Any]]]


def rows_in(data: bytes, selection: Selection | None = None) -> Rows:
    """Return the rows of all tables of some bytes, as values."""
    found: Rows = {"commits": [], OF_TRANSACTIONS: [], "groups": [], "gaps": [], "markers": []}
    for table, rows in Events(ORIGIN, selection or Selection()).of_bytes(data):
        is_commit = table in {"commits", OF_TRANSACTIONS}
        found[table] += (plain(rows) if is_commit else rows).to_pylist()
    return found


def known_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that are not null, also in its members."""
    return {
        name: [known_fields(each) if isinstance(each, dict) else each for each in value]
        if isinstance(value, list)
        else value
        for name, value in row.items()
        if value is not None
    }


def of_groups(table: pa.Table, *groups: str) -> list[dict[str, Any]]:
    """Return the rows of some groups in the order of the log."""
    rows = [row for row in table.to_pylist() if row["group"] in groups]
    return sorted(rows, key=lambda row: (row["log_partition"], row["log_offset"]))
