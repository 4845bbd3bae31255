"""What file systems say, as member_findings read it: classic Spark, Spark Connect and jobs say it differently."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from emulator.logs.offsets_log.finding import LogFileError
from emulator.spark.errors import SparkError
from emulator.spark.segment_finding import translated_file_errors, translated_reading_errors

DENIED = 'AccessControlException: Permission denied: user=alice, access=READ, inode="/kafka"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "[PATH_NOT_FOUND] Path does not exist: hdfs://n/x. SQLSTATE: 42K03",
            "no such file or folder",
        ),
        (
            f"An error occurred while calling o1.load.\n: org.apache.hadoop.security.{DENIED}\n\tat x",
            f"cannot be read: {DENIED}",
        ),
        (
            f"(org.apache.hadoop.security.{DENIED.replace(':', ')', 1)}\n\nJVM stacktrace:\n",
            f"cannot be read: {DENIED}",
        ),
        (
            "Task 0 failed: Lost task 0.0 (executor 1): java.io.FileNotFoundException: No file: /x\n at",
            "cannot be read: FileNotFoundException: No file: /x",
        ),
        (
            "java.net.ConnectException: Call From a to b:1 failed; For more details see:  http://w",
            "cannot be read: ConnectException: Call From a to b:1 failed",
        ),
        ("", "PySparkException"),
    ],
)
def test_a_file_systems_own_words_are_reported(text, reason):
    """In one line, with the URI of the request."""
    with pytest.raises(LogFileError) as caught, translated_file_errors("hdfs://n/x"):
        raise PySparkException(text)

    assert ("hdfs://n/x", reason) == (caught.value.path, caught.value.problem)


def test_a_spark_that_dies_is_reported():
    """It is no fault of the file."""
    with (
        pytest.raises(SparkError, match="Spark's own process has ended"),
        translated_file_errors("hdfs://n/x"),
    ):
        raise Py4JError("gone")


def test_a_refusal_of_a_worker_stays_a_refusal():
    """Its message is whole."""
    text = "Traceback:\n  emulator.logs.offsets_log.finding.LogFileError: hdfs://n/x: not a log: no\n at"

    with pytest.raises(LogFileError) as caught, translated_reading_errors():
        raise PySparkException(text)

    assert ("hdfs://n/x", "not a log: no") == (caught.value.path, caught.value.problem)


def test_a_job_without_permission_is_reported():
    """The import can resume from its complete files."""
    text = f"aborted\nCaused by: org.apache.hadoop.security.{DENIED}"

    with pytest.raises(SparkError) as caught, translated_reading_errors():
        raise PySparkException(text)

    assert f"a task failed: cannot be read: {DENIED}. Finished pieces are kept" in str(caught.value)


def test_other_errors_are_reported_elsewhere():
    """Such as a full disk."""
    with pytest.raises(PySparkException), translated_reading_errors():
        raise PySparkException("aborted\nOSError: [Errno 28] No space left on device")
