"""Find the segment files at a URI, on any file system that Spark reads.

Spark's source ``binaryFile`` lists files with their sizes and opens none, with the configuration
and the credentials of its cluster, and through Spark Connect as well. It skips folders whose names
begin with ``_``, as those of the offsets topic do, unless a path or a pattern names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote

from emulator.logs.imports.pieces import Segment, is_named_as_segment, segment_at
from emulator.logs.offsets_log.finding import WANTED, LogFileError
from emulator.spark.errors import DIED, SparkError, reason_in

if TYPE_CHECKING:
    from emulator.spark.session import Session

PATIENCE_S: Final = 120.0
"""Timeout for listing files, in seconds; Hadoop's own clients retry for a quarter of an hour."""

_MAGIC: Final = re.compile(r"[*?\[\]{}\\]")
_INFLATED_BY_HADOOP: Final = re.compile(r"\.(bz2|deflate|lz4|snappy|zst)$", re.IGNORECASE)

Result = TypeVar("Result")


def find_segments(session: Session, uri: str) -> list[Segment]:
    """Return the segments at a URI: a file, a pattern, or a folder.

    Empty ones have size 0. Raise LogFileError if there is none, or if they cannot be listed;
    SparkError if the file system does not respond.
    """
    with translated_file_errors(uri):
        found = in_time(session, uri, lambda: _found(session, uri.rstrip("/")))
    for each in found:
        if _INFLATED_BY_HADOOP.search(each.path):
            raise LogFileError(each.path, f"is compressed; {WANTED}")
    return found


def literally(path: str) -> str:
    """Return a pattern that matches only this path."""
    return _MAGIC.sub(r"\\\g<0>", path)


def in_time(session: Session, uri: str, call: Callable[[], Result]) -> Result:
    """Call in another thread, since a waiting Hadoop client cannot be interrupted."""
    outcome = Future[Result]()

    def run() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:  # noqa: BLE001  raised again in the waiting thread
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return outcome.result(PATIENCE_S)
    except TimeoutError:
        session.cancel()
        raise SparkError(
            f"{uri}: no response from its file system within {PATIENCE_S:.0f} s; check the address, "
            "and whether Spark's machines can reach it and are not busy"
        ) from None


def _found(session: Session, uri: str) -> list[Segment]:
    if is_named_as_segment(uri):
        return _listed(session, uri)
    if _MAGIC.search(uri):
        return _segments_among(
            _listed(session, uri), uri, "none of the matching files is a segment"
        )
    for inside in ("*.log*", "__consumer_offsets-*/*.log*"):
        found = [*filter(_is_named, _listed(session, f"{uri}/{inside}", may_be_missing=True))]
        if found:
            return found
    name = uri.rpartition("/")[2]
    alone = _listed(session, uri, only=name)
    return alone if len(alone) == 1 else _segments_among([], uri, "no segment in this folder")


def _is_named(segment: Segment) -> bool:
    return is_named_as_segment(segment.path)


def _segments_among(found: Sequence[Segment], uri: str, problem: str) -> list[Segment]:
    segments = [*filter(_is_named, found)]
    if not segments:
        raise LogFileError(uri, f"{problem}; {WANTED}")
    return segments


def _listed(
    session: Session, path: str, *, only: str = "*", may_be_missing: bool = False
) -> list[Segment]:
    """Return all files that match a path or a pattern, or are in its folders."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415  only where Spark is used

    options = {"recursiveFileLookup": "true", "pathGlobFilter": only}
    try:
        files = session.spark.read.format("binaryFile").options(**options).load(path)
        rows = files.selectExpr("path", "length", "unix_micros(modificationTime) AS at").collect()
        every = {unquote(each) for each in files.inputFiles()}
    except AnalysisException as error:
        if may_be_missing and error.getCondition() == NOTHING:
            return []
        raise
    found = [segment_at(row.path, row.length, str(row.at)) for row in rows]
    empty = sorted(every - {row.path for row in rows})
    return [*found, *(segment_at(each, 0, "") for each in empty)]


_THROWN: Final = re.compile(
    r"(?m:^|: |\()((?:java|javax|com|software|org\.apache\.hadoop)\.[\w.$]+(?:Exception|Error))"
    r"(?:\)|:) ?(.*)"
)
"""An exception of a file system, which Spark's own exception contains."""

_REFUSED: Final = re.compile(r"^\s*[\w.]*\bLogFileError: (.*?): (.*)", re.MULTILINE)
_CONNECTING: Final = re.compile(r"; For more details see: .*")
_NO_FILE_SYSTEM: Final = re.compile(r"No FileSystem for scheme|ClassNotFoundException.*Class \S+")
NOTHING: Final = "PATH_NOT_FOUND"
"""Spark's error if nothing matches a path or a pattern."""

NEEDS_JAR: Final = (
    "Spark has no file system for this URI: give it the jars (spark.jars.packages) and the "
    "settings (spark.hadoop.fs....) of one"
)
NO_JAR: Final = f"{NEEDS_JAR}. `engine=pool` reads s3:// and gs:// without Spark"


@contextmanager
def translated_file_errors(uri: str) -> Iterator[None]:
    """Turn Spark's error about a URI into a LogFileError, and a dead Spark into a SparkError."""
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise LogFileError(uri, reason_of_file_error(error)) from None
    except (Py4JError, ConnectionError, EOFError):
        raise SparkError(DIED) from None


@contextmanager
def translated_reading_errors() -> Iterator[None]:
    """Turn a file system's error in a failed job into a SparkError.

    A worker's LogFileError is kept; ``translated_errors`` handles other errors.
    """
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        refused = _REFUSED.search(str(error))
        if refused is not None:
            raise LogFileError(refused[1], refused[2]) from None
        if isinstance(error, PySparkException) and not _THROWN.search(str(error)):
            raise
        kept = "Finished pieces are kept; the same command continues from there"
        raise SparkError(f"a task failed: {reason_of_file_error(error)}. {kept}") from None


def reason_of_file_error(
    error: Exception, problem: str = "cannot be read", without_jar: str = NO_JAR
) -> str:
    """Return in one line why files cannot be used, with the file system's message if there is one."""
    text = str(error) or type(error).__name__
    if NOTHING in text:
        return "no such file or folder"
    for line in text.splitlines():
        thrown = _THROWN.search(line)
        if thrown is not None:
            kind = thrown[1].rpartition(".")[2]
            reason = _CONNECTING.sub("", f"{problem}: {kind}: {thrown[2]}").rstrip()
            return f"{reason}. {without_jar}" if _NO_FILE_SYSTEM.search(line) else reason
    return reason_in(text)
