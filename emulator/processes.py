"""Map a function over many tasks in several processes, with results in the order of the tasks."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assignors.own_code import Permissions, allow, allowed
from emulator.errors import ProcessKilledError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

TASKS_PER_PROCESS = 4
"""Tasks queued for each process, so that none waits for its next one."""

Task = TypeVar("Task")
Result = TypeVar("Result")

OnProgress = Callable[[int, int], None]
"""Called after each result with the number of finished tasks and the number of all."""


def parallel_map(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int,
    progress: OnProgress | None = None,
    folders: Sequence[Path] = (),
    isolated: bool = False,
) -> Iterator[Result]:
    """Yield ``work(task)`` for each task, in the order of the tasks.

    *work* must be a module's function, and tasks and results must be picklable. An exception of
    one task ends the iteration. *folders*: of scenarios, which may hold the user's own assignors.
    *isolated*: use a worker process even for one job.

    Raises ``ProcessKilledError`` if a worker process was killed.
    """
    for done, result in enumerate(_results(work, tasks, jobs, folders, isolated=isolated), start=1):
        if progress is not None:
            progress(done, len(tasks))
        yield result


def _results(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    folders: Sequence[Path],
    *,
    isolated: bool,
) -> Iterator[Result]:
    jobs = min(jobs, len(tasks))
    if jobs < 1 or (jobs == 1 and not isolated):
        yield from map(work, tasks)
    else:
        yield from _parallel(work, tasks, jobs, folders)


def _parallel(
    work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, folders: Sequence[Path]
) -> Iterator[Result]:
    import multiprocessing  # noqa: PLC0415  one run does not need it
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor  # noqa: PLC0415

    executor = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_initialise,
        initargs=(sys.path, allowed(folders)),
    )
    try:
        yield from _submit(executor, work, tasks, jobs * TASKS_PER_PROCESS)
    except BaseException as error:
        _terminate(executor)
        if isinstance(error, BrokenProcessPool):
            raise ProcessKilledError(
                "A worker process was killed; memory may have run out. Try fewer `jobs`"
            ) from None
        raise
    executor.shutdown()


def _submit(
    executor: ProcessPoolExecutor,
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    queued_max: int,
) -> Iterator[Result]:
    """Yield the results in order; at most *queued_max* tasks are queued at a time."""
    queued: deque[Future[Result]] = deque()
    rest = iter(tasks)
    while True:
        queued.extend(
            executor.submit(work, task) for task in islice(rest, queued_max - len(queued))
        )
        if not queued:
            return
        yield queued.popleft().result()


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _terminate(executor: ProcessPoolExecutor) -> None:
    """End the worker processes.

    Futures are not cancelled: a future that is cancelled while its process ends raises an error in
    the thread that manages both.
    """
    import multiprocessing  # noqa: PLC0415  one run does not need it

    for child in multiprocessing.active_children():
        child.terminate()
    executor.shutdown()


def _initialise(path: list[str], permissions: Permissions) -> None:
    """Use the module path and the plugins of the first process, which alone handles Ctrl-C."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.path[:] = path
    allow(permissions)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with_parent() -> None:
    """End this worker process when the first process is killed: it would wait for tasks for ever."""
    import multiprocessing  # noqa: PLC0415  this process is one of its workers

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
