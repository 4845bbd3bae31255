"""The offset commits of segments as a Parquet file, which is complete or absent."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple, Self

import pyarrow as pa

from emulator.logs.offsets_log.columns import SCHEMA, CommitColumns
from emulator.logs.offsets_log.columns_left_out import LeftOut
from emulator.logs.offsets_log.finding import OnRead, SegmentBytes, buffered, opened, segment_limits
from emulator.parquet_file import ParquetOutput

LOG: Final = pa.field("log", pa.dictionary(pa.int32(), pa.string()))
"""The log of a row; the first column, before those of ``SCHEMA``."""

FILE_SCHEMA: Final = pa.schema([LOG, *SCHEMA])


class Written(NamedTuple):
    """The result of reading one segment."""

    rows: int
    left_out: LeftOut
    fault: str | None
    """Why it could not be read to its end; None: it was."""


class ColumnsFile:
    """Writes commits to a Parquet file; used with ``with``.

    Raises OSError from the constructor if the file cannot be written. Until the end of the
    ``with`` block the rows are in a temporary file beside it, which is renamed at the end.
    """

    def __init__(self, path: Path) -> None:
        self._output = ParquetOutput(path, FILE_SCHEMA)

    def add(self, log_name: str, segment: Path, on_read: OnRead = lambda _: None) -> Written:
        """Append the commits of a segment; raise OSError if the disk is full.

        *on_read*: called with the number of bytes of each read. Raise LogFileError if the segment
        cannot be opened.
        """
        rows = 0
        with opened(segment) as file:
            source = SegmentBytes(file, on_read)
            commits = CommitColumns(buffered(source), limits=segment_limits())
            for batch in commits:
                self._output.write(_with_log(batch, log_name))
                rows += batch.num_rows
        return Written(rows, commits.left_out, source.fault)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._output.__exit__(kind, error, trace)


def _with_log(batch: pa.RecordBatch, log_name: str) -> pa.RecordBatch:
    codes = pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows)
    names = pa.DictionaryArray.from_arrays(codes, pa.array([log_name], pa.string()))
    return pa.RecordBatch.from_arrays([names, *batch.columns], schema=FILE_SCHEMA)
