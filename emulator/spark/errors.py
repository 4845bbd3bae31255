"""Errors of Spark itself, as messages for users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from emulator.errors import EmulatorError

OWN_PYTHON = (
    "executors use their own Python; set PYSPARK_PYTHON to one that has the dependencies of "
    "rebalance-emulator and exists on all executors"
)

_NAME: Final = re.compile(r"[\w.]+(Error|Exception)")
"""The name of an exception in a traceback: before a colon, or alone on its line."""

_NOT_STARTED: Final = re.compile(r'Cannot run program "[^"]*".*')
"""An executor cannot start Python; Spark's own message begins with the call of its gateway."""


class SparkError(EmulatorError):
    """Spark cannot be used, or failed; the message says why and what to do."""


def reason_in(text: str) -> str:
    """Return the reason of a failure: the end of the worker's traceback in *text*, or its first line.

    If the executors' Python is the cause, the remedy is added.
    """
    not_started = _NOT_STARTED.search(text)
    if not_started is not None:
        return f"{not_started[0]} ({OWN_PYTHON})"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ends = [line for line in lines if _NAME.fullmatch(line.partition(":")[0])]
    reason = (ends or lines or ["no reason given"])[0]
    is_python = "ModuleNotFoundError" in reason or "PYTHON_VERSION_MISMATCH" in text
    return f"{reason} ({OWN_PYTHON})" if is_python else reason


class WorkerDiedError(SparkError):
    """The process of a task was killed repeatedly; perhaps memory ran out."""


DIED = (
    "Spark's own process has ended, or was killed; perhaps memory ran out "
    "(spark.driver.memory, 1g by default)"
)

WORKER_DIED = ("Python worker exited unexpectedly", "ExecutorLostFailure")
"""Spark's messages for a task whose process was killed at each attempt."""

WORKER_GONE = (
    "the process of a task was killed; perhaps memory ran out (spark.executor.memoryOverhead, "
    "on this machine fewer cores: `master=local[1]`)"
)


@contextmanager
def translated_errors(kept: str = "") -> Iterator[None]:
    """Turn the exceptions of a failed job, or of a dead Spark process, into a SparkError.

    *kept*: a sentence about the results kept so far, and how to continue.
    """
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if any(words in str(error) for words in WORKER_DIED):
            raise WorkerDiedError(f"{WORKER_GONE}{kept}") from None
        raise SparkError(f"a task failed: {reason_in(str(error))}{kept}") from None
    except (Py4JError, ConnectionError, EOFError):
        raise SparkError(f"{DIED}{kept}") from None
