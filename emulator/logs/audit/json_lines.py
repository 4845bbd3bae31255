"""JSON lines as batches: one object a line, cut at newlines, which no value can hold."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.json as pj

WANTED = "JSON lines, one object a line"
ROW_IN_ERROR = re.compile(r" in row (\d+)")
"""How a refused row is named, from 0."""


def last_end(text: bytes) -> int:
    """Return where the last whole line of a text ends; 0: it has none."""
    return text.rfind(b"\n") + 1


def unclosed(_: bytes) -> int | None:
    """Return None: no value goes on behind a newline."""
    return None


def row_begins(text: bytes) -> list[int]:
    """Return where the lines of a text begin that are not empty."""
    found, begin = list[int](), 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            found.append(begin)
        begin += len(line)
    return found


def parsed(text: bytes) -> pa.RecordBatch | None:
    """Return the rows of some lines; None if all are empty. Raise pa.ArrowException for others."""
    if not text.strip():
        return None
    options = pj.ReadOptions(block_size=len(text) + 1, use_threads=False)
    table = pj.read_json(pa.BufferReader(text), read_options=options)
    return pa.Table.to_batches(table.combine_chunks())[0]
