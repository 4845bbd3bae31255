"""Measure an import of segment files: in one process, in several, and with Spark; and its memory.

    python -m benchmarks.imports                four segments of 64 MiB, several minutes
    python -m benchmarks.imports --mebibytes 16

Segments are those of ``offsets_commits``: batches of 2 to 6 commits, as a coordinator writes them;
checksums are verified. *columns*: the decoder alone, nothing stored. *import*: all tables, written
as Parquet. Wall-clock ratios are meaningful on an idle machine only; CPU times on any. The first
Spark job of a session includes its workers' start, so it is timed twice; CPU times of Spark are
those of the Java process and all its workers. *expected*: the speed-up of two free cores,
computed from the CPU times. Memory is that of a process that reads one segment, then all of them.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.offsets_commits import write_segment
from emulator.logs.imports.pieces import Selection, segments_of
from emulator.logs.imports.reading import Task, keep
from emulator.logs.offsets_log.columns import CommitColumns
from emulator.processes import cores, parallel_map
from emulator.spark.import_runs import read_on_spark
from emulator.spark.session import open_session

SEGMENTS = 4
WANTED_A_SECOND = 500_000
WANTED_GAIN = 1.6
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Took:
    """Time of an action, and the number of its commits."""

    wall_s: float
    cpu_s: float
    commits: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mebibytes", type=int, default=64)
    parser.add_argument("--peak-of", nargs="+", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peak_of:
        print_peak(given.peak_of)
        return
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), given.mebibytes * 2**20)


def measure(folder: Path, size: int) -> None:
    tasks = made(folder / "log", size)
    paths = [Path(task.piece.path) for task in tasks]
    columns = timed(lambda: sum(map(columns_of, paths)))
    alone = timed(lambda: kept(map(partial(keep, part=fresh(folder)), tasks)))
    half = timed(lambda: kept(map(partial(keep, part=fresh(folder)), tasks[: SEGMENTS // 2])))
    print(f"{len(tasks)} segments of {size / 2**20:.0f} MiB, {alone.commits:,} commits")
    print(f"columns             {rate(columns)} (wanted: {WANTED_A_SECOND:,})")
    print(f"import, one process {rate(alone)}, {alone.cpu_s / columns.cpu_s:.2f} x columns")
    print(f"twice the input     {alone.cpu_s / half.cpu_s:.2f} x the CPU time")
    work = partial(keep, part=fresh(folder))
    pool = timed(lambda: kept(parallel_map(work, tasks, jobs=cores())))
    print(
        f"{cores()} processes         {alone.wall_s / pool.wall_s:.2f} x as fast, with their start"
    )
    for job in on_spark(tasks, folder):
        gain, expected = alone.wall_s / job.wall_s, 2 * alone.cpu_s / job.cpu_s
        print(
            f"Spark, after start  {gain:.2f} x as fast (wanted: {WANTED_GAIN}); "
            f"{job.cpu_s / alone.cpu_s:.2f} x the CPU time, expected {expected:.2f}"
        )
    one, all_of_them = peak_of(paths[:1]), peak_of(paths)
    print(f"peak memory         {one:.0f} MB for one segment, {all_of_them:.0f} MB for all of them")


def made(folder: Path, size: int) -> list[Task]:
    """Write segments, and return the tasks that read them."""
    for number in range(SEGMENTS):
        partition = folder / f"__consumer_offsets-{number}"
        partition.mkdir(parents=True)
        path = partition / f"{0:020}.log"
        if number:
            shutil.copy(folder / "__consumer_offsets-0" / path.name, path)
        else:
            write_segment(path, size)
    return [Task(piece, Selection()) for piece in segments_of([str(folder)])]


def columns_of(path: Path) -> int:
    """Return the number of commits in a segment, read as columns."""
    with path.open("rb") as file:
        return sum(batch.num_rows for batch in CommitColumns(file))


def kept(receipts: Iterator[object]) -> int:
    """Return the number of stored commits."""
    return sum(receipt.rows["commits"] for receipt in receipts)  # type: ignore[attr-defined]


def on_spark(tasks: Sequence[Task], folder: Path) -> Iterator[Took]:
    """Yield the times of two consecutive jobs of a session."""
    with open_session("benchmark", master=f"local[{cores()}]") as session:
        for _ in range(2):
            before = cpu_below(os.getpid())
            took = timed(lambda: kept(read_on_spark(session, tasks, fresh(folder))))
            cpu_s = took.cpu_s + cpu_below(os.getpid()) - before
            yield Took(took.wall_s, cpu_s, took.commits)


def timed(action: Callable[[], int]) -> Took:
    wall_s, cpu_s = perf_counter(), process_time()
    commits = action()
    return Took(perf_counter() - wall_s, process_time() - cpu_s, commits)


def rate(took: Took) -> str:
    return f"{took.commits / took.cpu_s:9,.0f} commits a CPU second"


def fresh(folder: Path) -> Path:
    """Return an empty folder for tables."""
    shutil.rmtree(folder / "part", ignore_errors=True)
    (folder / "part").mkdir()
    return folder / "part"


def cpu_below(process: int) -> float:
    """Return the CPU seconds of all descendants of a process."""
    parents, used = dict[int, int](), dict[int, float]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
        used[int(path.parent.name)] = sum(map(int, fields[11:15])) / TICKS
    below, found = {process}, {process}
    while found:
        found = {child for child, parent in parents.items() if parent in found}
        below |= found
    return sum(used[each] for each in below - {process})


def peak_of(paths: Sequence[Path]) -> float:
    """Return the peak memory, in megabytes, of a new process that imports segments."""
    command = [sys.executable, "-m", "benchmarks.imports", "--peak-of", *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  this file
    return float(done.stdout)


def print_peak(paths: Sequence[Path]) -> None:
    with tempfile.TemporaryDirectory() as part:
        for piece in segments_of([str(path) for path in paths]):
            keep(Task(piece, Selection()), Path(part))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024 / 1e6)


if __name__ == "__main__":
    main()
