"""A Spark job that runs beside us while we look at what of it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from emulator.spark.errors import SparkError, reason_in

if TYPE_CHECKING:
    from emulator.spark.session import Session

LOOK_EVERY_S = 0.5
"""How often somebody looks for what is done."""

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


class WorkerDiedError(SparkError):
    """The process of a task was killed, again and again; perhaps memory ran out."""


Work = TypeVar("Work")
Result = TypeVar("Result")


def results_of(
    session: Session,
    job: Callable[[], None],
    work: Sequence[Work],
    look: Callable[[Work], Result | None],
) -> Iterator[Result]:
    """Run a job; yield what came of each piece of work once it is there.

    *look*: returns what came of a piece, None while it is not done. Raise SparkError if a task
    breaks off; whoever stops walking ends the job.
    """
    waiting = list(work)
    with ThreadPoolExecutor(1, "job") as aside:
        running = aside.submit(job)
        try:
            while waiting and not running.done():
                wait([running], timeout=LOOK_EVERY_S)
                yield from _done(waiting, look)
        except BaseException:
            session.cancel()
            raise
        _finish(running)
    yield from _done(waiting, look)


def _done(waiting: list[Work], look: Callable[[Work], Result | None]) -> Iterator[Result]:
    """Yield what is done, and take it out of what is waited for."""
    for each in list(waiting):
        result = look(each)
        if result is not None:
            waiting.remove(each)
            yield result


def _finish(job: Future[None]) -> None:
    with told(". What is whole stays; the same command goes on from there"):
        job.result()


@contextmanager
def told(kept: str = "") -> Iterator[None]:
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
