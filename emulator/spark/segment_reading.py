"""Segment files on any file system that Spark reads: read in Python workers.

Spark's source ``text`` gives their bytes (:mod:`emulator.spark.segment_bytes`), with the
configuration and the credentials of its cluster, and through Spark Connect as well. One file is one
task, whatever its size. It is decoded batch by batch: neither Java nor Python holds it as a whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from emulator.logs.imported.reading.errors import LogFileError
from emulator.logs.imported.reading.segments import holds_nothing
from emulator.logs.imported.reading.work import Task, keep_bytes
from emulator.spark.segment_bytes import (
    LONGEST_LINE,
    SEPARATORS,
    Lines,
    MissingBytesError,
    as_file,
    by_file,
)
from emulator.spark.segment_errors import told_of_reading
from emulator.spark.segment_finding import literally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from emulator.spark.session import Session

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
"""Gzipped files come as they are: our own reader tells where one is damaged. The last option is the
one before it, as the Hadoop calls it that comes with Spark."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_TOLD: Final = "path string, is_whole boolean"


def read_far(session: Session, tasks: Sequence[Task], part: Path) -> None:
    """Read segments and keep their rows in a folder that all executors reach.

    Raise LogFileError if one is no segment of the offsets topic or cannot be read in this way,
    SparkError if one cannot be read or kept.
    """
    left = {task.piece.path: task for task in tasks}
    with told_of_reading(), _one_file_a_task(session):
        for separator in SEPARATORS:
            work = partial(read, tasks=left, separator=separator, part=part)
            told = lines_of(session, [*left], separator).mapInArrow(work, _TOLD).collect()
            whole = {row.path for row in told if row.is_whole}
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
    """Read the files of a task and keep their rows; tell of which all bytes have come.

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
