"""Parquet files: written complete or not at all, and opened only if their rows fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emulator.limits import BeyondLimitError, beyond, most
from emulator.output_files import beside

COMPRESSION: Final = "zstd"
BATCH_ROWS: Final = 65_536
_LISTS: Final = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def opened_parquet(path: Path | str, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file; *options*: of ``pq.ParquetFile``.

    Raises BeyondLimitError for a row group that is too large, and OSError, pa.ArrowException and
    UnicodeDecodeError for a file that cannot be read.
    """
    file = pq.ParquetFile(path, **options)
    try:
        refuse_large_groups(file, str(path))
        refuse_repeated_texts(path, file.metadata)
    except (BeyondLimitError, OSError, pa.ArrowException):
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


def refuse_repeated_texts(
    path: Path | str,
    metadata: pq.FileMetaData,
    groups: Sequence[int] | None = None,
    filesystem: Any = None,
) -> None:
    """Raise BeyondLimitError if the texts of a row group exceed its limit once they are in each row.

    A text of a column's dictionary takes few bits in every row that has it, so a file of some kilobytes
    may hold any amount of text; so does a column of lists of texts, or of records with texts. *groups*: of
    these row groups; None: of all.
    """
    leaves = map(metadata.schema.column, range(len(metadata.schema)))
    texts = [leaf.path for leaf in leaves if _is_text(leaf)]
    options = {"read_dictionary": texts, "metadata": metadata, "filesystem": filesystem}
    with pq.ParquetFile(path, pre_buffer=False, **options) as file:
        for group in range(metadata.num_row_groups) if groups is None else groups:
            rows = metadata.row_group(group).num_rows
            for name in texts:
                _refuse_text(file, group, name, rows, str(path))


def _is_text(leaf: pq.ColumnSchema) -> bool:
    """Return whether a leaf has bytes of any length; a decimal number has few."""
    return bool(leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL")


def _refuse_text(file: pq.ParquetFile, group: int, name: str, rows: int, path: str) -> None:
    """Raise BeyondLimitError for one column of a row group.

    Of texts that are in no list the longest one of the dictionary bounds the sum; the lengths are added
    only where that is too much.
    """

    def columns(size: int) -> Iterator[tuple[pa.DictionaryArray, bool]]:
        found = (batch.column(0) for batch in file.iter_batches(size, [group], [name]))
        inner = ((_texts_of(column), column) for column in found)
        return ((texts, texts is column) for texts, column in inner if texts is not None)

    largest, first = most("rowgroup"), next(columns(1), None)
    if first is None:
        return
    texts, is_flat = first
    longest = pc.max(pc.binary_length(texts.dictionary)).as_py() or 0
    if is_flat and longest * rows <= largest:
        return
    size = 0
    for column, _ in columns(BATCH_ROWS):
        lengths = pc.binary_length(column.dictionary).cast(pa.int64())
        size += pc.sum(lengths.take(column.indices)).as_py() or 0
        if size > largest:
            raise BeyondLimitError(
                f"{path}: row group {group} has {size:,} bytes of text or more in column {name!r}; "
                f"{beyond('rowgroup')}"
            )


def _texts_of(column: pa.Array) -> pa.DictionaryArray | None:
    """Return the texts in a column that was read with one leaf; None: it was not read as a dictionary."""
    while not pa.types.is_dictionary(column.type):
        if pa.types.is_struct(column.type):
            column = column.flatten()[0]
        elif any(is_list(column.type) for is_list in _LISTS):
            column = column.flatten()
        else:
            return None
    return column


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

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Rename the file to its final name; after an error, also in this step, remove it."""
        try:
            if error is None:
                self.finish()
        finally:
            self.discard()
