"""Capture several runs at a time, each in a process with a cluster of its own.

Only the first process reacts to Ctrl-C: it asks the others to end, and they remove what they made.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from emulator.capturing.live import Made, OnProgress
from emulator.capturing.toolchain import MachineError

END_S = 30.0
"""How long a process may take to end its cluster and members."""

Work = Callable[[Any, OnProgress], Iterator[Made]]


def capture_at_once(work: Work, shares: Sequence[Any], say: OnProgress) -> Iterator[Made]:
    """Do *work* on each share in a process of its own; yield what is made, as it is made.

    Raises MachineError as soon as one of them does, after all others have ended.
    """
    with contextlib.ExitStack() as stack:
        processes: dict[Connection, BaseProcess] = {}
        for share in shares:
            ours, theirs = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.get_context("spawn").Process(
                target=_work_on, args=(work, share, theirs)
            )
            process.start()
            theirs.close()
            stack.callback(_end, process)
            processes[ours] = process
        yield from _received(processes, say)


def _received(processes: dict[Connection, BaseProcess], say: OnProgress) -> Iterator[Made]:
    """Yield what the processes send, until each has closed its end of the pipe."""
    while processes:
        for ready in wait(list(processes)):
            assert isinstance(ready, Connection)
            try:
                message = ready.recv()
            except EOFError:
                _check_end(processes.pop(ready))
                continue
            if isinstance(message, Made):
                yield message
            elif isinstance(message, MachineError):
                raise message
            else:
                say(message)


def _check_end(process: BaseProcess) -> None:
    process.join()
    if process.exitcode:
        raise MachineError(f"a process that captures runs ended with status {process.exitcode}")


def _work_on(work: Work, share: Any, results: Connection) -> None:
    """Do one share and send each result; SIGTERM ends it in good order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for made in work(share, results.send):
            results.send(made)
    except MachineError as error:
        results.send(error)


def _end(process: BaseProcess) -> None:
    """Ask a process to end, and wait for it."""
    process.terminate()
    process.join(END_S)
    if process.is_alive():
        process.kill()
        process.join()
