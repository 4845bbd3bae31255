"""What Spark says of files that it cannot read, said to people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from emulator.logs.imported.reading.errors import LogFileError
from emulator.spark.errors import SparkError, reason_in
from emulator.spark.jobs import DIED

_THROWN: Final = re.compile(
    r"(?m:^|: |\()((?:java|javax|com|software|org\.apache\.hadoop)\.[\w.$]+(?:Exception|Error))"
    r"(?:\)|:) ?(.*)"
)
"""By file systems; what Spark throws itself is around these."""

_REFUSED: Final = re.compile(r"^\s*[\w.]*\bLogFileError: (.*?): (.*)", re.MULTILINE)
_CONNECTING: Final = re.compile(r"; For more details see: .*")
_NO_FILE_SYSTEM: Final = re.compile(r"No FileSystem for scheme|ClassNotFoundException.*Class \S+")
NOTHING: Final = "PATH_NOT_FOUND"
"""What Spark calls it if a path or a pattern names nothing."""

NO_JAR: Final = (
    "Spark has no file system for such a URI: let it have the jars (spark.jars.packages) and the "
    "settings (spark.hadoop.fs....) of one. s3:// and gs:// are read without any by --engine pool"
)


@contextmanager
def told_of(uri: str) -> Iterator[None]:
    """Turn what Spark says of a URI into a LogFileError, and its own death into a SparkError."""
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise LogFileError(uri, _why(error)) from None
    except (Py4JError, ConnectionError, EOFError):
        raise SparkError(DIED) from None


@contextmanager
def told_of_reading() -> Iterator[None]:
    """Turn what file systems say when a job breaks off into a SparkError.

    A worker's LogFileError stays one; what else there is, ``jobs`` tells.
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
        kept = "What is whole stays; the same command goes on from there"
        raise SparkError(f"a task broke off: {_why(error)}. {kept}") from None


def _why(error: Exception) -> str:
    """Return why files cannot be read, in one line; a file system's own words if it has any."""
    text = str(error) or type(error).__name__
    if NOTHING in text:
        return "nothing is there"
    for line in text.splitlines():
        thrown = _THROWN.search(line)
        if thrown is not None:
            kind = thrown[1].rpartition(".")[2]
            reason = _CONNECTING.sub("", f"cannot be read: {kind}: {thrown[2]}").rstrip()
            return f"{reason}. {NO_JAR}" if _NO_FILE_SYSTEM.search(line) else reason
    return reason_in(text)
