"""Read segment files on any file system that Spark reads, in Python workers.

Spark's source ``text`` gives their bytes, with the configuration and the credentials of its
cluster, and through Spark Connect as well. One file is one task, whatever its size. It is decoded
batch by batch: neither Java nor Python holds it as a whole.
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
"""Line separators, tried one after the other. The first occurs every few hundred bytes of any log;
the second in zeros after a short log; the third in zeros and at the beginning of most batches, so
often that it is slow."""

LONGEST_LINE: Final = 2**24
"""Maximum size of a line in bytes; longer than any batch."""

CHUNK_BYTES: Final = 2**18
"""Bytes read at once."""

Lines = Iterator[pa.Array]
"""Lines of one file, in its order: binary, in batches."""

_NO_SPLIT: Final = str(2**40)
_SETTINGS: Final = {
    "spark.sql.files.maxPartitionBytes": _NO_SPLIT,
    "spark.sql.files.openCostInBytes": _NO_SPLIT,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**24),
}
"""Settings with which each file is one task, and lines come in batches of some megabytes."""

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
    """Read segments and write their rows into a folder that all executors reach.

    Raise LogFileError if one is not a segment of the offsets topic or cannot be read in this way,
    SparkError if one cannot be read or written.
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
        f"Spark cannot read it: more than {LONGEST_LINE // 2**20} MiB without a line feed and without "
        "four zeros, which no log has. Copy it to a folder of this machine to find out what "
        "it is",
    )


def lines_of(session: Session, paths: Sequence[str], separator: str) -> DataFrame:
    """Return the lines of files for ``by_file``; those of a file are adjacent."""
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
    """Read the files of a task and write their rows; report whether all bytes were received.

    Raise LogFileError for a file that is not a segment of the offsets topic.
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
    """Raise LogFileError if a file is not a segment, or has been decompressed on the way."""
    if path.endswith(_GZIPPED) and not file.peek(2).startswith(_GZIP_MAGIC):
        raise LogFileError(path, f"its name ends in {_GZIPPED}, but its content is not gzip")
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
    """A file ended before its listed size, because a line was too long."""


def as_file(lines: Lines, separator: str, size: int) -> io.BufferedReader:
    """Return a readable binary file of *size* bytes, forward only.

    Reading raises MissingBytesError at the end if there are fewer; more are not read, as the file
    has grown since.
    """
    return io.BufferedReader(_Rejoined(lines, separator.encode(), size), CHUNK_BYTES)


def by_file(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Lines]]:
    """Yield files and their lines, from record batches with columns ``file_path`` and ``value``.

    All lines of a file are adjacent. Unread lines of a file are skipped when the next file is
    requested.
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
    """Lines joined by separators, up to the size of the file."""

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
