"""Write Parquet files that are complete or absent: with one compression, and metadata as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.output_files import beside, written_beside

COMPRESSION: Final = "zstd"


class ParquetOutput:
    """A file that gets its name at the end of the ``with`` block.

    Raises OSError from the constructor if the file cannot be written. To write rows after
    the block has ended, call ``finish`` and ``discard`` instead.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._part = beside(path)
        self._file = self._part.open("wb")
        self._writer = pq.ParquetWriter(self._file, schema, compression=COMPRESSION)

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


@contextmanager
def parquet_writer(
    path: Path, schema: pa.Schema, metadata: Mapping[str, str], *, store_schema: bool = True
) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file that gets its name at the end of the block, unless there was an error.

    *metadata*: replaces that of the schema. *store_schema*: False omits Arrow's own schema, so
    that dictionary-encoded columns are read as plain text. Raises OSError if it cannot be written.
    """
    with (
        written_beside(path) as part,
        part.open("wb") as file,
        pq.ParquetWriter(
            file,
            schema.with_metadata(dict(metadata)),
            compression=COMPRESSION,
            store_schema=store_schema,
        ) as writer,
    ):
        yield writer
