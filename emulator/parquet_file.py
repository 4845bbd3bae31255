"""Parquet files: written complete or not at all, and opened only if their row groups fit in memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.limits import BeyondLimitError, beyond, most
from emulator.output_files import beside

COMPRESSION: Final = "zstd"


def opened_parquet(path: Path | str, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file; *options*: of ``pq.ParquetFile``.

    Raises BeyondLimitError for a row group that is too large, and OSError, pa.ArrowException and
    UnicodeDecodeError for a file that cannot be read.
    """
    file = pq.ParquetFile(path, **options)
    try:
        refuse_large_groups(file, str(path))
    except BeyondLimitError:
        file.close()
        raise
    return file


def refuse_large_groups(file: pq.ParquetFile, name: str) -> None:
    """Raise BeyondLimitError if a row group, decompressed, exceeds the limit.

    By its size alone: to look at its columns ends the process where their statistics are damaged.
    """
    metadata, largest = file.metadata, most("rowgroup")
    for number in range(metadata.num_row_groups):
        size = metadata.row_group(number).total_byte_size
        if size > largest:
            raise BeyondLimitError(
                f"{name}: row group {number} has {size:,} bytes, decompressed; {beyond('rowgroup')}"
            )


class ParquetOutput:
    """A file that gets its name at the end of the ``with`` block.

    *metadata*: replaces that of the schema. *store_schema*: False omits Arrow's own schema, so
    that dictionary-encoded columns are read as plain text. To write rows after the block has ended,
    call ``finish`` and ``discard`` instead.

    Raises OSError from the constructor if the file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        metadata: Mapping[str, str] | None = None,
        *,
        store_schema: bool = True,
    ) -> None:
        self._path = path
        self._part = beside(path)
        self._file = self._part.open("wb")
        self._writer = pq.ParquetWriter(
            self._file,
            schema if metadata is None else schema.with_metadata(dict(metadata)),
            compression=COMPRESSION,
            store_schema=store_schema,
        )

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Append rows; raise OSError if they cannot be written."""
        self._writer.write(rows)

    def finish(self) -> None:
        """Close the file and rename it to its final name."""
        self._writer.close()
        self._file.close()
        self._part.replace(self._path)

    def discard(self) -> None:
        """Close open files, and remove those without their final name."""
        for close in (self._writer.close, self._file.close):
            with suppress(OSError):
                close()
        self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Rename the file to its final name; after an error, also in this step, remove it."""
        try:
            if error is None:
                self.finish()
        finally:
            self.discard()
