"""The same work on many things, shared among processes; results come in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TypeVar

from emulator.cli.progress import Progress
from emulator.cli.refusals import RefusedError

AHEAD = 4
"""Tasks that are given out for each process, so that none has to wait for its next one."""


class ProcessKilledError(RefusedError):
    """A process that shared the work was killed; the message says what may help."""


Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int,
    progress: Progress | None = None,
    folders: Sequence[Path] = (),
    apart: bool = False,
) -> Iterator[Result]:
    """Yield ``work(task)`` of each task, in order of the tasks.

    *work* is a function of a module, and tasks and results can be pickled, so that processes can
    share them. An exception of one task ends all. *folders*: where those processes look for
    modules first. *apart*: one process shares nothing with this one, either.
    """
    with progress or nullcontext():
        for done, result in enumerate(_results(work, tasks, jobs, folders, apart=apart), start=1):
            if progress is not None:
                progress.tell(done, len(tasks))
            yield result


def _results(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    folders: Sequence[Path],
    *,
    apart: bool,
) -> Iterator[Result]:
    jobs = min(jobs, len(tasks))
    if jobs < 1 or (jobs == 1 and not apart):
        yield from map(work, tasks)
        return
    executor = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=([*map(str, folders), *sys.path],),
    )
    try:
        yield from _shared(executor, work, tasks, jobs * AHEAD)
    except BaseException as error:
        _abandon(executor)
        if isinstance(error, BrokenProcessPool):
            reason = "a process that shared the work was killed; perhaps memory ran out"
            raise ProcessKilledError(f"{reason}. Try fewer --jobs") from None
        raise
    executor.shutdown()


def _shared(
    executor: ProcessPoolExecutor,
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    most: int,
) -> Iterator[Result]:
    """Yield the results in order; at most so many tasks are given out at a time."""
    given: deque[Future[Result]] = deque()
    rest = iter(tasks)
    while True:
        given.extend(executor.submit(work, task) for task in islice(rest, most - len(given)))
        if not given:
            return
        yield given.popleft().result()


def cores() -> int:
    """Return how many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _abandon(executor: ProcessPoolExecutor) -> None:
    """Let nobody work on what nobody waits for.

    Nothing is cancelled: a task that is cancelled while its process ends would be an error in
    the thread that looks after both.
    """
    for child in multiprocessing.active_children():
        child.terminate()
    executor.shutdown()


def _begin(path: list[str]) -> None:
    """Find modules where the first process does; leave Ctrl-C to it."""
    sys.path[:] = path
    signal.signal(signal.SIGINT, signal.SIG_IGN)
