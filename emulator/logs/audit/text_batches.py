"""Text of a processing log as batches of rows, wherever the text comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from emulator.logs.audit import csv_rows, json_lines
from emulator.logs.audit.csv_layout import WANTED, CsvLayout
from emulator.logs.audit.errors import AuditError
from emulator.logs.audit.mapping import Mapped
from emulator.logs.audit.rows import Where
from emulator.logs.audit.text import TextError, TextRows, blocks_of

Lines = Callable[[], int]
"""Counts the lines before what is read, when somebody wants to know."""

Batches = Iterator[tuple[pa.RecordBatch, Where]]


def json_batches(name: str, pieces: Iterable[bytes], before: Lines | None) -> Batches:
    """Yield the rows of JSON lines with where they stand; raise AuditError for what is none."""
    with _ended(name, before):
        for block in blocks_of(pieces, json_lines):
            where = TextRows(name, block, json_lines.row_begins, before)
            try:
                batch = json_lines.parsed(block.text)
            except pa.ArrowException as error:
                named = json_lines.ROW_IN_ERROR.search(str(error))
                row = None if named is None else int(named[1])
                raise _refused(where(row), json_lines.WANTED, error, named) from None
            if batch is not None:
                yield batch, where


def csv_batches(
    name: str,
    pieces: Iterable[bytes],
    layout: CsvLayout,
    mapped: Mapped | None,
    before: Lines,
) -> Batches:
    """Yield the rows of CSV, without its header, with where they stand.

    *mapped*: the columns that are wanted, None: all. Raise AuditError for what is no CSV, or where
    a value between quotes does not end.
    """
    with _ended(name, before):
        for block in blocks_of(pieces, layout):
            where = TextRows(name, block, layout.row_begins, before)
            try:
                batch = csv_rows.parsed(block.text, layout, mapped)
            except pa.ArrowException as error:
                named = csv_rows.ROW_IN_ERROR.search(str(error))
                row = None if named is None else int(named[1]) - 1
                raise _refused(where(row), WANTED, error, named) from None
            if batch is not None:
                yield batch, where


def _refused(where: str, wanted: str, error: Exception, named: re.Match[str] | None) -> AuditError:
    """Return what is said of text that cannot be parsed; its row is named by where it stands."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if named is not None:
        reason = reason.replace(named[0], "")
    return AuditError(f"{where}: cannot be read as {wanted}: {reason}")


@contextmanager
def _ended(name: str, before: Lines | None) -> Iterator[None]:
    """Say of a row that does not end where it begins."""
    try:
        yield
    except TextError as error:
        line = "" if before is None else f", line {before() + error.line + 1:,}"
        raise AuditError(f"{name}{line}: {error.words}") from None
