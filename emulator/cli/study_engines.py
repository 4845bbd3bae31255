"""Who plays a study's chunks: a process pool, or Spark. Both write the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from emulator import engines
from emulator.engines import EngineRequest, open_spark
from emulator.errors import ProcessKilledError
from emulator.processes import parallel_map
from emulator.study.attempts import ProcessDiedError
from emulator.study.plan import Chunk, Plan
from emulator.study.rows import Task
from emulator.study.store import keep, seed_in_progress

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
    """Return the engine that plays a study: the one asked for, else the faster one."""
    request = EngineRequest(wish.engine, wish.master, wish.jobs)
    chosen = engines.choose_engine(request, environment, work_s=plan.work_s)
    if chosen.name == engines.SPARK:
        return Engine(chosen.name, chosen.words, partial(_spark, plan.study.title, wish))
    return Engine(chosen.name, chosen.words, partial(_pool, chosen.jobs, wish.folder))


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

    with open_spark(f"rebalance study: {title}", wish.master) as session:

        def play(tasks: Sequence[Task], folder: Path) -> Iterator[Chunk]:
            try:
                yield from play_on_spark(session, tasks, folder, folders=[wish.folder])
            except WorkerDiedError as error:
                raise ProcessDiedError(str(error)) from None

        yield play
