"""A file's bytes, put together again from the lines that Spark's text source makes of them.

A Python worker cannot open what only Spark's file systems reach, and Spark gives a binary file
as a whole or not at all. But its text source reads any bytes in bounded memory: it cuts at a
separator and looks at nothing else, so that lines with separators between them are the file.
Whether one stands at the end, the file's size tells.

Lines longer than ``LONGEST_LINE`` are left out by the reader, so that nothing fills the memory of
Java: space set aside and never written is one line. Then bytes are missing at the end, and the
file is read once more, cut by another separator. So it is with the mark of a UTF-8 text, which the
reader takes off; no log begins with it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any, Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEPARATORS: Final = ("\n", "\0" * 64, "\0" * 4)
"""To be tried one after the other. The first stands every few hundred bytes of a log, whatever it
holds; the second in zeros behind a short log; the third in zeros and at the beginning of most batches,
in so many lines that it is slow."""

LONGEST_LINE: Final = 2**24
"""Bytes; no batch is longer that is read."""

CHUNK_BYTES: Final = 2**18
"""Read at a time."""

Lines = Iterator[pa.Array]
"""Of one file, in its order: binary, some at a time."""


class MissingBytesError(Exception):
    """A file has ended before its size: a line was too long."""


def as_file(lines: Lines, separator: str, size: int) -> io.BufferedReader:
    """Return a file of *size* bytes as what reads files can read it, forward only.

    Reading raises MissingBytesError at the end if there are fewer; more are not read, as the file
    has grown since.
    """
    return io.BufferedReader(_Rejoined(lines, separator.encode(), size), CHUNK_BYTES)


def by_file(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Lines]]:
    """Yield files and their lines, of record batches with columns ``file_path`` and ``value``.

    All lines of a file stand together. What is not taken of one is passed over when the next
    one is asked for.
    """
    for path, pieces in groupby(_pieces(batches), lambda piece: piece[0]):
        yield unquote(path), (lines for _, lines in pieces)


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Array]]:
    """Cut batches where another file begins."""
    for batch in batches:
        paths, lines = batch.column("file_path").dictionary_encode(), batch.column("value")
        starts = [0, *(np.flatnonzero(np.diff(paths.indices)) + 1).tolist(), len(lines)]
        for start, end in pairwise(starts):
            if start < end:
                yield paths[start].as_py(), lines.slice(start, end - start)


class _Rejoined(io.RawIOBase):
    """Lines with separators between them, up to the size of the file."""

    def __init__(self, lines: Lines, separator: bytes, size: int) -> None:
        super().__init__()
        self._pieces = _rejoined(lines, separator)
        self._separator = separator
        self._missing = size
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of *buffer* and return how much; 0 at the end."""
        if not self._missing:
            return 0
        while not self._left:
            self._left = self._next_piece()[: self._missing]
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        self._missing -= size
        return size

    def _next_piece(self) -> memoryview:
        piece = next(self._pieces, None)
        if piece is not None:
            return piece
        if self._missing != len(self._separator):
            raise MissingBytesError
        return memoryview(self._separator)


def _rejoined(lines: Lines, separator: bytes) -> Iterator[memoryview]:
    between = b""
    for some in filter(len, lines):
        one = pa.ListArray.from_arrays(pa.array([0, len(some)], pa.int32()), some)
        yield memoryview(between)
        yield memoryview(pc.binary_join(one, separator)[0].as_buffer()).cast("B")
        between = separator
