"""Messages when a job fails, and when Spark itself ends."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkRuntimeError

from emulator.spark.errors import SparkError, WorkerDiedError, translated_errors

KEPT = ". The rest stays"


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), EOFError(), Py4JNetworkError("x")]
)
def test_a_spark_that_has_died_is_no_disk_that_is_full(error):
    """Its connection breaks, which is an OSError, too."""
    with (
        pytest.raises(SparkError, match=r"has ended, or was killed; .*\. The rest stays"),
        translated_errors(KEPT),
    ):
        raise error


def test_a_failed_task_has_its_reason():
    """With the files that are left."""
    error = PySparkRuntimeError("aborted\n  ValueError: no such thing\n")

    with (
        pytest.raises(SparkError, match=r"a task failed: ValueError: no such thing\. The rest"),
        translated_errors(KEPT),
    ):
        raise error


@pytest.mark.parametrize(
    "text",
    [
        "Job aborted\n  Python worker exited unexpectedly (crashed)\n",
        "Job aborted\n  ExecutorLostFailure (executor 1 exited caused by one of the tasks)\n",
    ],
)
def test_a_killed_worker_has_an_error_of_its_own(text):
    """The caller tries the runs again."""
    with (
        pytest.raises(WorkerDiedError, match=r"perhaps memory ran out .*\. The rest"),
        translated_errors(KEPT),
    ):
        raise PySparkRuntimeError(text)


def test_other_errors_than_sparks_are_passed_on():
    """A full disk stays a full disk."""
    with pytest.raises(OSError, match="No space"), translated_errors(KEPT):
        raise OSError(28, "No space left on device")
