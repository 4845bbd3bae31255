"""The same work on many things, shared among processes; results come in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from emulator.cli.progress import Progress
from emulator.cli.refusals import RefusedError

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int,
    progress: Progress,
    folders: Sequence[Path] = (),
) -> Iterator[Result]:
    """Yield ``work(task)`` of each task, in order of the tasks.

    *work* is a function of a module, and tasks and results can be pickled, so that processes can
    share them. An exception of one task ends all. *folders*: where those processes look for
    modules first.
    """
    with progress:
        for done, result in enumerate(_results(work, tasks, jobs, folders), start=1):
            progress.tell(done, len(tasks))
            yield result


def _results(
    work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, folders: Sequence[Path]
) -> Iterator[Result]:
    jobs = min(jobs, len(tasks))
    if jobs <= 1:
        yield from map(work, tasks)
        return
    executor = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=([*map(str, folders), *sys.path],),
    )
    try:
        yield from executor.map(work, tasks)
    except BaseException as error:
        _abandon(executor)
        if isinstance(error, BrokenProcessPool):
            reason = "a process that shared the work was killed; perhaps memory ran out"
            raise RefusedError(f"{reason}. Try fewer --jobs") from None
        raise
    executor.shutdown()


def cores() -> int:
    """Return how many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _abandon(executor: ProcessPoolExecutor) -> None:
    """Let nobody work on what nobody waits for."""
    executor.shutdown(wait=False, cancel_futures=True)
    for child in multiprocessing.active_children():
        child.terminate()


def _begin(path: list[str]) -> None:
    """Find modules where the first process does; leave Ctrl-C to it."""
    sys.path[:] = path
    signal.signal(signal.SIGINT, signal.SIG_IGN)
