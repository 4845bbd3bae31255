"""Segment files on any file system that Spark reads: read in Python workers.

Spark's source ``text`` gives their bytes (:mod:`emulator.spark.segment_reading`), with the
configuration and the credentials of its cluster, and through Spark Connect as well. One file is one
task, whatever its size. It is decoded batch by batch: neither Java nor Python holds it as a whole.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.logs.imports.pieces import holds_nothing
from emulator.logs.imports.reading import Task, keep_bytes
from emulator.logs.offsets_log.finding import LogFileError
from emulator.spark.segment_finding import literally, translated_reading_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.spark.session import Session

SEPARATORS: Final = ("\n", "\0" * 64, "\0" * 4)
"""To be tried one after the other. The first occurs every few hundred bytes of a log, whatever it
holds; the second in zeros behind a short log; the third in zeros and at the beginning of most batches,
in so many lines that it is slow."""

LONGEST_LINE: Final = 2**24
"""Bytes; no batch is longer that is read."""

CHUNK_BYTES: Final = 2**18
"""Read at a time."""

Lines = Iterator[pa.Array]
"""Of one file, in its order: binary, some at a time."""

_NO_SPLIT: Final = str(2**40)
_SETTINGS: Final = {
    "spark.sql.files.maxPartitionBytes": _NO_SPLIT,
    "spark.sql.files.openCostInBytes": _NO_SPLIT,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**24),
}
"""No file is cut, and none costs less than a task; lines come in batches of some megabytes."""

_GZIPPED: Final = ".gz"
OPTIONS: Final = {
    "recursiveFileLookup": "true",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mapreduce.input.linerecordreader.line.maxlength": str(LONGEST_LINE),
    "io.compression.codecs": "org.apache.hadoop.io.compress.PassthroughCodec",
    "io.compress.passthrough.extension": _GZIPPED,
    "org.apache.hadoop.shaded.io.compress.passthrough.extension": _GZIPPED,
}
"""Gzipped files are not decompressed: our own reader reports damage. The last option is the one
before it, by its name in the Hadoop that Spark contains."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_RESULT: Final = "path string, is_whole boolean"


def read_far(session: Session, tasks: Sequence[Task], part: Path) -> None:
    """Read segments and keep their rows in a folder that all executors reach.

    Raise LogFileError if one is no segment of the offsets topic or cannot be read in this way,
    SparkError if one cannot be read or kept.
    """
    left = {task.piece.path: task for task in tasks}
    with translated_reading_errors(), _one_file_a_task(session):
        for separator in SEPARATORS:
            work = partial(read, tasks=left, separator=separator, part=part)
            rows = lines_of(session, [*left], separator).mapInArrow(work, _RESULT).collect()
            whole = {row.path for row in rows if row.is_whole}
            left = {path: task for path, task in left.items() if path not in whole}
            if not left:
                return
    raise LogFileError(
        next(iter(left)),
        f"Spark cannot read it: for more than {LONGEST_LINE // 2**20} MiB there is neither a line "
        "feed nor four zeros in it, as there are in every log. Copy it to a folder of this machine "
        "to see what it is",
    )


def lines_of(session: Session, paths: Sequence[str], separator: str) -> DataFrame:
    """Return the lines of files, those of a file together, as ``by_file`` takes them."""
    source = session.spark.read.options(**OPTIONS).option("lineSep", separator)
    lines = source.text([literally(path) for path in paths])
    return lines.selectExpr("CAST(value AS BINARY) AS value", "_metadata.file_path AS file_path")


@contextmanager
def _one_file_a_task(session: Session) -> Iterator[None]:
    conf = session.spark.conf
    before = {name: str(conf.get(name)) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            conf.set(name, value)


# -- in a worker ---------------------------------------------------------------------------------


def read(
    batches: Iterator[pa.RecordBatch], tasks: Mapping[str, Task], separator: str, part: Path
) -> Iterator[pa.RecordBatch]:
    """Read the files of a task and keep their rows; report whether all bytes were received.

    Raise LogFileError for what is no segment of the offsets topic.
    """
    for path, lines in by_file(batches):
        task, held = tasks[path], deque[pa.Array]()
        try:
            _recognise(path, as_file(_held(lines, held), separator, task.piece.size))
            keep_bytes(task, as_file(_released(held, lines), separator, task.piece.size), part)
        except MissingBytesError:
            is_whole = False
        else:
            is_whole = True
        yield pa.RecordBatch.from_pydict({"path": [path], "is_whole": [is_whole]})


def _recognise(path: str, file: BufferedReader) -> None:
    """Raise LogFileError if a file is no segment, or has been inflated on its way to us."""
    if path.endswith(_GZIPPED) and not file.peek(2).startswith(_GZIP_MAGIC):
        raise LogFileError(path, f"is named {_GZIPPED}, and what comes is not gzip")
    holds_nothing(file, path)


def _held(lines: Lines, held: deque[pa.Array]) -> Lines:
    for some in lines:
        held.append(some)
        yield some


def _released(held: deque[pa.Array], lines: Lines) -> Lines:
    while held:
        yield held.popleft()
    yield from lines


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

    All lines of a file are adjacent. What is not taken of one is passed over when the next
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
        """Return True."""
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
