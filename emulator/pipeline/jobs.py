"""A Spark job that runs beside us while we look at what of it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from emulator.pipeline.errors import SparkError

if TYPE_CHECKING:
    from emulator.pipeline.session import Session

LOOK_EVERY_S = 0.5
"""How often somebody looks for what is done."""

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
    from pyspark.errors import PySparkException  # noqa: PLC0415  only where Spark is used

    try:
        job.result()
    except PySparkException as error:
        kept = "What is whole stays; the same command goes on from there"
        raise SparkError(f"a task broke off: {_cause(str(error))}. {kept}") from None


def _cause(text: str) -> str:
    """Return the last line of the worker's traceback, or the first line of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ends = [line for line in lines if line.partition(":")[0].endswith(("Error", "Exception"))]
    return (ends or lines or ["no reason given"])[0]
