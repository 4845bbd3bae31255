"""Errors of Spark itself, as messages for users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from emulator.errors import EmulatorError

OWN_PYTHON = (
    "executors have a Python of their own; let PYSPARK_PYTHON name one, on all of them, that has "
    "what rebalance-emulator needs"
)

_NAME: Final = re.compile(r"[\w.]+(Error|Exception)")
"""Of what was raised: before the colon, and alone; lines of a traceback's source are not so."""


class SparkError(EmulatorError):
    """Spark cannot be used, or failed; the message says why and what to do."""


def reason_in(text: str) -> str:
    """Return what went wrong: the end of the worker's traceback in *text*, or its first line.

    Where the executors' Python is at fault, say what helps.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ends = [line for line in lines if _NAME.fullmatch(line.partition(":")[0])]
    reason = (ends or lines or ["no reason given"])[0]
    missing = "ModuleNotFoundError" in reason or "Cannot run program" in text
    return f"{reason} ({OWN_PYTHON})" if missing or "PYTHON_VERSION_MISMATCH" in text else reason


class WorkerDiedError(SparkError):
    """The process of a task was killed, again and again; perhaps memory ran out."""


DIED = (
    "Spark's own process has ended, or was killed; perhaps memory ran out "
    "(spark.driver.memory, 1g by default)"
)

WORKER_DIED = ("Python worker exited unexpectedly", "ExecutorLostFailure")
"""What Spark says of a task whose process was killed, as often as it tried."""

WORKER_GONE = (
    "the process of a task was killed; perhaps memory ran out (spark.executor.memoryOverhead, "
    "on this machine fewer cores: --master local[1])"
)


@contextmanager
def translated_errors(kept: str = "") -> Iterator[None]:
    """Turn what Spark says when a job breaks off, or when it dies itself, into a SparkError.

    *kept*: what is left, and what to do with it.
    """
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415  only where Spark is used
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if any(words in str(error) for words in WORKER_DIED):
            raise WorkerDiedError(f"{WORKER_GONE}{kept}") from None
        raise SparkError(f"a task broke off: {reason_in(str(error))}{kept}") from None
    except (Py4JError, ConnectionError, EOFError):
        raise SparkError(f"{DIED}{kept}") from None
