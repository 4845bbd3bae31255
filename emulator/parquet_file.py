"""Write Parquet files that are complete or absent: with one compression, and metadata as text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.output_files import beside

COMPRESSION: Final = "zstd"


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
