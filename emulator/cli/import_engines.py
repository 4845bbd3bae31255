"""Who reads the pieces of an import: one process, several, or Spark. All write the same files.

What is far, on another file system than this machine's, decides before its size is known: Spark
reads it with its own file systems, processes open ``s3://`` and ``gs://`` themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.cli.import_request import Planned, Request
from emulator.cli.on_spark import refuse_master_without_spark, spark, where_it_runs
from emulator.cli.study_engines import POOL_BEST_S
from emulator.logs.imports.pieces import is_far, needs_java
from emulator.logs.imports.reading import Task, keep
from emulator.logs.imports.store import Receipt
from emulator.processes import cores, parallel_map
from emulator.spark.environment import is_decided

if TYPE_CHECKING:
    from emulator.spark.session import Session

TITLE = "rebalance import"

ALONE_BEST_S = 4.0
"""Below it other processes would hardly have started."""

BYTES_A_S = 40_000_000
OFFSETS_A_S = 100_000
"""About what one core reads, of files and of a live log."""

CONNECTING_S = 0.5
"""For each partition of a live log."""

Player = Callable[[Sequence[Task], Path], Iterator[Receipt]]
"""Reads pieces and keeps their rows in a folder; yields what came of each."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to read."""

    name: str
    told: str
    """What is said of it, and how to have the other one."""

    open: Callable[[], AbstractContextManager[Player]]


@contextmanager
def spark_for_far(request: Request, environment: Mapping[str, str]) -> Iterator[Session | None]:
    """Start Spark if it is to find and read what is far; give None if nothing is, or processes do.

    Raise RefusedError if it does not start, or breaks off.
    """
    far = [source for source in request.sources if is_far(source)]
    wanted = request.engine
    if far and wanted == "auto":
        on_cluster = request.master is not None or is_decided(environment)
        wanted = "spark" if on_cluster or any(map(needs_java, far)) else "pool"
    if not far or wanted == "pool":
        yield None
        return
    with spark(TITLE, request.master) as session:
        yield session


def choose_engine(
    planned: Planned,
    request: Request,
    environment: Mapping[str, str],
    session: Session | None = None,
) -> Engine:
    """Return who reads: who was asked for, else the quicker one.

    *session*: one that runs already, as something is far.
    """
    wanted, master = request.engine, request.master
    refuse_master_without_spark(wanted, master)
    work_s = _work_s(planned)
    jobs = min(request.jobs or cores(), max(1, len(planned.pieces)))
    chosen_elsewhere = is_decided(environment)
    on_spark = where_it_runs(master, is_decided=chosen_elsewhere)
    if session is not None:
        told = f"{on_spark}, through its own file systems"
        return Engine("spark", told, partial(_spark_that_runs, session))
    if wanted == "auto":
        large = work_s / jobs > POOL_BEST_S and find_spec("pyspark") is not None
        large &= not any(is_far(piece.path) for piece in planned.pieces)
        wanted = "spark" if large or master or chosen_elsewhere else "pool"
    if wanted == "spark":
        return Engine(
            "spark", f"{on_spark} (--engine pool takes processes)", partial(_spark, master)
        )
    if request.jobs is None and work_s < ALONE_BEST_S:
        jobs = 1
    told = f"{jobs} process{'es' if jobs > 1 else ''} (--engine spark takes Spark)"
    return Engine("pool", told, partial(_pool, jobs))


def _work_s(planned: Planned) -> float:
    """Return about how long one process would take."""
    size = sum(piece.size for piece in planned.pieces)
    if planned.is_live:
        return size / OFFSETS_A_S + CONNECTING_S * len(planned.pieces)
    return size / BYTES_A_S


@contextmanager
def _pool(jobs: int) -> Iterator[Player]:
    def play(tasks: Sequence[Task], part: Path) -> Iterator[Receipt]:
        yield from parallel_map(partial(keep, part=part), tasks, jobs=jobs)

    yield play


@contextmanager
def _spark(master: str | None) -> Iterator[Player]:
    with spark(TITLE, master) as session, _spark_that_runs(session) as player:
        yield player


@contextmanager
def _spark_that_runs(session: Session) -> Iterator[Player]:
    from emulator.spark.import_runs import read_on_spark

    yield partial(read_on_spark, session)
