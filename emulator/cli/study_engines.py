"""Who plays a study's chunks: a process pool, or Spark. Both write the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emulator.cli.on_spark import refuse_master_without_spark, spark, where_it_runs
from emulator.errors import ProcessKilledError
from emulator.processes import cores, parallel_map
from emulator.spark.environment import is_decided
from emulator.study.attempts import ProcessDiedError
from emulator.study.plan import Chunk, Plan
from emulator.study.rows import Task
from emulator.study.store import keep, seed_in_progress

POOL_BEST_S = 60.0
"""Work of one minute on all cores: below it Spark's start would not come back in."""

Player = Callable[[Sequence[Task], Path], Iterator[Chunk]]
"""Plays chunks and keeps them in a folder; yields each that is done.

Raises ProcessDiedError if a process that played was killed.
"""


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to play chunks."""

    name: str
    told: str
    """What is said of it, and how to have the other one."""

    open: Callable[[], AbstractContextManager[Player]]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants of the engine."""

    engine: str
    """``auto``, ``pool`` or ``spark``."""

    master: str | None
    jobs: int | None
    folder: Path
    """Where the scenario is."""


def choose_engine(plan: Plan, wish: Wish, environment: Any) -> Engine:
    """Return who plays a study: who was asked for, else the quicker one."""
    jobs = wish.jobs or cores()
    chosen_elsewhere = is_decided(environment)
    wanted = wish.engine
    refuse_master_without_spark(wanted, wish.master)
    if wanted == "auto":
        large = plan.work_s / jobs > POOL_BEST_S and find_spec("pyspark") is not None
        wanted = "spark" if large or wish.master or chosen_elsewhere else "pool"
    if wanted == "spark":
        where = where_it_runs(wish.master, is_decided=chosen_elsewhere)
        told = f"{where} (--engine pool takes processes)"
        return Engine("spark", told, partial(_spark, plan.study.title, wish))
    told = f"{jobs} process{'es' if jobs > 1 else ''} (--engine spark takes Spark)"
    return Engine("pool", told, partial(_pool, jobs, wish.folder))


@contextmanager
def _pool(jobs: int, scenario_folder: Path) -> Iterator[Player]:
    def play(tasks: Sequence[Task], folder: Path) -> Iterator[Chunk]:
        work = partial(keep, folder=folder)
        apart = any(seed_in_progress(folder, task.chunk) is not None for task in tasks)
        done = parallel_map(work, tasks, jobs=jobs, folders=[scenario_folder], isolated=apart)
        try:
            for task, _ in zip(tasks, done, strict=True):
                yield task.chunk
        except ProcessKilledError as error:
            raise ProcessDiedError(str(error)) from None

    yield play


@contextmanager
def _spark(title: str, wish: Wish) -> Iterator[Player]:
    from emulator.spark.errors import WorkerDiedError
    from emulator.spark.study_runs import play_on_spark

    with spark(f"rebalance study: {title}", wish.master) as session:

        def play(tasks: Sequence[Task], folder: Path) -> Iterator[Chunk]:
            try:
                yield from play_on_spark(session, tasks, folder, folders=[wish.folder])
            except WorkerDiedError as error:
                raise ProcessDiedError(str(error)) from None

        yield play
