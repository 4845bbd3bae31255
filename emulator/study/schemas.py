"""The columns of a study's tables.

``runs`` has a row for each run: its seed, its digest, every value of the metrics' catalogue, the
entries of tables that the study asks for, and the error if it failed (then nothing else).
``entries`` has a row for each entry of the ledgers, ``events`` one for each event. The cell is not
among the columns but in the folder's name (``cell=3``), as Spark, DuckDB and pyarrow read it.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from emulator.events.parquet import COLUMNS
from emulator.metrics.catalogue import VALUES

WHOLE_UNITS = frozenset({"records", "count", "partitions", "bytes"})
"""Of metrics that are whole numbers."""

ENTRIES = pa.schema(
    [
        ("seed", pa.int64()),
        ("id", pa.string()),
        ("kind", pa.string()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("count", pa.int64()),
        ("cause", pa.string()),
        ("detail", pa.string()),
        ("fault", pa.string()),
        ("verb", pa.string()),
        ("first_owner", pa.string()),
        ("first_generation", pa.int64()),
        ("first_at_us", pa.int64()),
        ("second_owner", pa.string()),
        ("second_generation", pa.int64()),
        ("second_at_us", pa.int64()),
    ]
)

EVENTS = pa.schema(
    [
        ("seed", pa.int64()),
        *(
            (name, pa.string() if name == "kind" else kind)
            for name, kind in COLUMNS
            if name != "clock"
        ),
    ]
)


def runs_schema(metrics: Iterable[str]) -> pa.Schema:
    """Return the columns of ``runs``; *metrics*: those the study asks for."""
    values = {metric.name: _type_of(metric.unit) for metric in VALUES}
    asked = {name: pa.float64() for name in metrics if name not in values}
    return pa.schema(
        [
            ("seed", pa.int64()),
            ("error", pa.string()),
            ("digest", pa.string()),
            ("findings", pa.string()),
            *values.items(),
            *asked.items(),
        ]
    )


def _type_of(unit: str) -> pa.DataType:
    return pa.int64() if unit in WHOLE_UNITS else pa.float64()
