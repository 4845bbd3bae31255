"""Kill captures of a real Kafka at random instants, and look at what each leaves.

``python -m benchmarks.capture_kills COUNT [SEED]`` starts ``rebalance capture`` on one folder, kills it, and
repeats that COUNT times, at instants spread over the time of an undisturbed one. After each kill all
processes of its cluster must end by themselves, and the folder must have only complete runs. Every tenth
time the same command is left alone afterwards: it must make the run, and leave no other file, nor a
temporary folder. Two captures of one cluster are never equal, so no bytes are compared. Prints each
kill; status 1 if anything was left.
"""

from __future__ import annotations

import os
import random  # noqa: TID251  disturbs processes, not simulated worlds
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SCENARIO = """
title = "one of two is killed"
run_for = "12s"
[cluster]
brokers = 1
[cluster.settings]
"offsets.topic.replication.factor" = 1
[[topic]]
name = "orders"
partitions = 2
rate = "20/s"
[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"
settings = { "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000 }
[[fault]]
crash = "billing-1"
at = "6s"
"""

END_S = 180.0
"""Seconds in which all processes of a killed capture must have ended; on a busy machine a JVM starts for minutes."""

LIMIT_S = 900
MARK = "REBALANCE_KILLED_CAPTURE"
"""A variable in the environment of every process that a capture starts."""


def processes_of(mark: str) -> list[int]:
    """Return the numbers of the living processes whose environment has the mark."""
    wanted = f"{MARK}={mark}".encode()
    return [number for number in _processes() if wanted in _environment(number)]


def _processes() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _environment(number: int) -> list[bytes]:
    try:
        return Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def start(folder: Path, mark: str) -> subprocess.Popen[bytes]:
    """Start a capture of one run, whose temporary folders are beside the result."""
    words = ["capture", folder / "killed.toml", "-o", folder / "runs"]
    return subprocess.Popen(  # noqa: S603  our own command
        [sys.executable, "-m", "emulator", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "said").open("wb"),
        env={**os.environ, MARK: mark, "TMPDIR": str(folder / "temporary")},
        process_group=0,
    )


def killed(folder: Path, mark: str, after_s: float) -> str:
    """Kill a capture, and return what it did last, and how long its processes went on."""
    running = start(folder, mark)
    deadline = time.monotonic() + after_s
    while running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    started = len(processes_of(mark))
    running.kill()
    running.wait()
    began = time.monotonic()
    while (left := processes_of(mark)) and time.monotonic() < began + END_S:
        time.sleep(0.1)
    if left:
        raise AssertionError(f"{len(left)} processes still run after {END_S:.0f} s")
    said = (folder / "said").read_text(errors="replace").splitlines() or ["nothing"]
    return f"{said[-1]}; {started} processes, ended after {time.monotonic() - began:.1f} s"


def problem_of(folder: Path, *, complete: bool) -> str | None:
    """Return what is wrong with the folder of a killed or of a complete capture; None: nothing."""
    runs = folder / "runs" / "killed"
    found = sorted(path.name for path in runs.iterdir()) if runs.exists() else []
    allowed = {"run-1", "scenario.json"}
    extra = sorted(name for name in found if name not in allowed and not name.startswith("."))
    if (runs / "run-1").exists() and not (runs / "run-1" / "summary.json").exists():
        return "run-1 is not complete"
    if complete and (set(found) != allowed or any((folder / "temporary").iterdir())):
        return f"after the same command: {found}, {sorted((folder / 'temporary').iterdir())}"
    return f"left: {extra}" if extra else None


def finished(folder: Path) -> str:
    """Run the command to its end, and return what is wrong then."""
    running = start(folder, "finished")
    status = running.wait(LIMIT_S)
    if status not in (0, 1):
        return f"the same command ended with {status}: {(folder / 'said').read_text()[-500:]}"
    return problem_of(folder, complete=True) or ""


def main(count: int, seed: int) -> int:
    """Kill captures, and return the exit status."""
    draw, wrong = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "temporary").mkdir()
        (folder / "killed.toml").write_text(SCENARIO, encoding="utf-8")
        began = time.monotonic()
        if wrong_first := finished(folder):
            raise SystemExit(wrong_first)
        whole_s = time.monotonic() - began
        for number in range(1, count + 1):
            shutil.rmtree(folder / "runs" / "killed" / "run-1", ignore_errors=True)
            after_s = draw.uniform(0, whole_s)
            try:
                done = killed(folder, f"{seed}-{number}", after_s)
                problem = problem_of(folder, complete=False) or ""
                if number % 10 == 0:
                    problem = problem or finished(folder)
            except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                done, problem = "", str(error)
            wrong += bool(problem)
            print(f"{number}, after {after_s:.1f} s: {done} {problem or 'right'}", flush=True)
    print(f"{count} killed, seed {seed}: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
