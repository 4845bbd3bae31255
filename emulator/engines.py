"""Choose the engine of a study, an import or an audit: processes of this machine, or Spark.

Both engines write the same files. Starting Spark takes several seconds, so work of less than a
minute stays on this machine unless the user, or the environment, has chosen Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.processes import cores
from emulator.spark.environment import is_decided

if TYPE_CHECKING:
    from emulator.spark.session import Session

AUTO: Final = "auto"
POOL: Final = "pool"
SPARK: Final = "spark"

POOL_BEST_S: Final = 60.0
"""Seconds of work, on all cores, below which the start of Spark would not pay off."""


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """The engine that the user requests."""

    engine: str = AUTO
    """``auto``, ``pool`` or ``spark``."""

    master: str | None = None
    """Spark's master; None: all cores of this machine, or the environment's choice."""

    jobs: int | None = None
    """Processes; None: one for each CPU core."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen engine."""

    name: str
    """``pool`` or ``spark``."""

    jobs: int
    """Processes, if it is ``pool``."""

    words: str
    """Description for the user, with the option for the other engine."""


def choose_engine(
    request: EngineRequest,
    environment: Mapping[str, str],
    *,
    work_s: float,
    max_jobs: int | None = None,
    alone_below_s: float = 0.0,
    spark_fits: bool = True,
) -> Choice:
    """Return the engine that the user requested, else the faster one.

    *work_s*: estimated seconds of work for one process. *max_jobs*: the maximum number of parts of
    the work; None: any number. *alone_below_s*: less work than this is done by one process.
    *spark_fits*: False if Spark is no faster, whatever the amount of work.

    Raises ``RefusedError`` if the options contradict each other.
    """
    refuse_master_without_spark(request)
    jobs = request.jobs or cores()
    jobs = jobs if max_jobs is None else min(jobs, max(1, max_jobs))
    if _is_spark(request, environment, work_s / jobs, spark_fits=spark_fits):
        other = "one process" if max_jobs == 1 else "processes"
        words = f"{spark_words(request, environment)} (engine=pool uses {other})"
        return Choice(SPARK, jobs, words)
    if request.jobs is None and work_s < alone_below_s:
        jobs = 1
    words = f"{jobs} process{'es' if jobs > 1 else ''} (engine=spark uses Spark)"
    return Choice(POOL, jobs, words)


def _is_spark(
    request: EngineRequest, environment: Mapping[str, str], wait_s: float, *, spark_fits: bool
) -> bool:
    if request.engine != AUTO:
        return request.engine == SPARK
    if request.master or is_decided(environment):
        return True
    return spark_fits and wait_s > POOL_BEST_S and find_spec("pyspark") is not None


def refuse_master_without_spark(request: EngineRequest) -> None:
    """Raise ``RefusedError`` if processes are requested together with a master of Spark."""
    if request.engine == POOL and request.master:
        raise RefusedError("`master` is for Spark, and `engine=pool` uses none; leave one out")


def spark_words(request: EngineRequest, environment: Mapping[str, str]) -> str:
    """Return where Spark runs; without a place if the environment determines it."""
    where = request.master or ("" if is_decided(environment) else "this machine's cores")
    return f"Spark{f' on {where}' if where else ''}"


@contextmanager
def open_spark(
    title: str, master: str | None, settings: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Start Spark, and stop it at the end of the block.

    *settings*: of Spark. Raises ``RefusedError`` if it does not start, or fails in the block.
    """
    from emulator.spark.errors import SparkError  # noqa: PLC0415  only where Spark is used
    from emulator.spark.session import open_session  # noqa: PLC0415

    try:
        with open_session(title, master=master, settings=settings) as session:
            yield session
    except SparkError as error:
        raise RefusedError(f"`engine=spark`: {error}") from None
