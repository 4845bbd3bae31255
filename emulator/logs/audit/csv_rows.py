"""Rows of CSV as batches: only the columns that are asked for."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv

from emulator.logs.audit.csv_layout import CsvLayout
from emulator.logs.audit.mapping import Mapped

ROW_IN_ERROR = re.compile(r"Row #(\d+): ")
"""How a refused row is named, from 1."""


def parsed(text: bytes, layout: CsvLayout, mapped: Mapped | None) -> pa.RecordBatch | None:
    """Return the columns of *mapped* of some rows, or all; None if there is no row.

    Times stay text, whose form the first row need not tell of all others. Raise pa.ArrowException
    for text that is none of the layout.
    """
    times = [] if mapped is None else [mapped.end, *([mapped.start] if mapped.start else [])]
    texts = [] if mapped is None else [*mapped.texts, *times]
    kinds: dict[str, Any] = dict.fromkeys(texts, pa.string())
    wanted = layout.names if mapped is None else mapped.columns
    table = pv.read_csv(
        pa.BufferReader(text),
        read_options=pv.ReadOptions(
            column_names=layout.names, block_size=len(text) + 1, use_threads=False
        ),
        parse_options=pv.ParseOptions(delimiter=layout.separator.decode()),
        convert_options=pv.ConvertOptions(
            column_types=kinds,
            include_columns=None if mapped is None else [n for n in wanted if n in layout.names],
        ),
    )
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else None
