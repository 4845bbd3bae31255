"""Processes that a capture starts; all of them end with it, whatever happens.

Each has a process group of its own, so that Ctrl-C reaches the command alone, and a pipe as
standard input. If the command is killed, the pipe ends: the programs end themselves then.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

PATIENCE_S = 5.0
"""How long a killed process may take to end."""


class Children:
    """The processes of a capture; leaving the context kills those that still run."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.end_all()

    def start(
        self, command: Sequence[str], output: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process whose output goes to a file."""
        with output.open("ab") as file:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                process_group=0,
            )
        self._forget_ended()
        self._running.append(process)
        return process

    def _forget_ended(self) -> None:
        for process in self._running:
            if process.poll() is not None:
                end(process)
        self._running = [process for process in self._running if process.returncode is None]

    def end_all(self) -> None:
        """Kill every process that still runs, paused ones too, and wait for its end."""
        for process in self._running:
            end(process)
        self._running = []


def send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process; one that has ended is left alone."""
    if process.poll() is None:
        process.send_signal(number)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its group, and wait for its end."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
        process.wait(PATIENCE_S)
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()


def order(process: subprocess.Popen[bytes], line: str) -> None:
    """Write a line to a process's standard input; one that has ended is left alone."""
    if process.stdin is None or process.poll() is not None:
        return
    with suppress(BrokenPipeError):
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
