"""Measure the overhead of a study over a plain loop, and the speed-up of two engines.

    python benchmarks/studies.py                10,000 runs of about 5 ms; several minutes
    python benchmarks/studies.py --runs 1000

The loop plays the same runs and stores nothing. *kept*: one process that also makes rows and writes
Parquet. Wall-clock ratios are meaningful on an idle machine only; CPU times, of all processes, on
any. The first Spark job of a session includes its workers' start, so the job is timed twice.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

# A file beside this one has the name of a package, and Python searches a script's folder first.
if __package__ is None:
    sys.path.pop(0)

import emulator
from emulator.engines import EngineRequest
from emulator.processes import cores
from emulator.scenario.load import loads as load_scenario
from emulator.spark.session import open_session
from emulator.spark.study_runs import play_on_spark
from emulator.study import store
from emulator.study.model import loads as load_study
from emulator.study.plan import Plan, make_plan, metrics_of
from emulator.study.planning import PlannedStudy, choose_engine
from emulator.study.rows import Task

SCENARIO = """
title = "one of two crashes"
run_for = "7s"
topic = [{ name = "orders", partitions = 2, rate = "2/s" }]
fault = [{ crash = "billing-1", at = "5s" }]

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"
settings = { "auto.offset.reset" = "earliest", "session.timeout.ms" = "6s" }
"""

STUDY = """
title = "benchmark"
scenario = "benchmark"
seeds = {seeds}
metrics = ["reprocessed"]

[[vary]]
name = "commit interval"
set = "group[billing].settings[auto.commit.interval.ms]"
from = "500ms"
to = "5s"
steps = 10
"""


@dataclass(frozen=True)
class Took:
    """The time of an action."""

    wall_s: float
    cpu_s: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000)
    runs = max(parser.parse_args().runs // 10, 1) * 10
    study = load_study(STUDY.format(seeds=runs // 10))
    plan = make_plan(
        study, {"as-written": ()}, lambda given: load_scenario(SCENARIO, overrides=given)
    )
    chunks = plan.chunks(0, study.seeds.count)
    tasks = [Task(each, plan.cells[each.cell].scenario, metrics_of(plan), False) for each in chunks]
    with tempfile.TemporaryDirectory() as name:
        measure(plan, tasks, Path(name))


def measure(plan: Plan, tasks: Sequence[Task], folder: Path) -> None:
    plain(tasks[:1])
    loop = timed(lambda: plain(tasks))
    kept = timed(lambda: keep_all(tasks, fresh(folder)))
    print(f"{plan.runs:,} runs in {len(tasks)} chunks, {cores()} cores")
    print(
        f"plain loop        {loop.wall_s:8.1f} s, {1000 * loop.cpu_s / plan.runs:.2f} ms of CPU a run"
    )
    extra = 1000 * (kept.cpu_s - loop.cpu_s) / plan.runs
    print(f"kept, one process {kept.wall_s:8.1f} s, {extra:+.3f} ms of CPU a run")
    pool = choose_engine(PlannedStudy(plan, folder), EngineRequest("pool"), {})

    def with_pool() -> None:
        with pool.open() as player:
            list(player(tasks, fresh(folder)))

    report("processes, with start", timed(with_pool), loop)
    with spark(tasks, folder) as (start, jobs):
        for job in jobs:
            report("Spark, after start", job, loop)
        report("Spark, with start", Took(start.wall_s + jobs[0].wall_s, 0), loop)


def report(what: str, took: Took, loop: Took) -> None:
    print(f"{what:22} {took.wall_s:8.1f} s, {loop.wall_s / took.wall_s:.2f} x the loop")


@contextmanager
def spark(tasks: Sequence[Task], folder: Path) -> Iterator[tuple[Took, list[Took]]]:
    """Start Spark, and yield its start and the times of two runs of the tasks."""
    begun = perf_counter()
    with open_session("benchmark") as session:
        start = Took(perf_counter() - begun, 0)

        def play() -> None:
            list(play_on_spark(session, tasks, fresh(folder)))

        yield start, [timed(play), timed(play)]


def plain(tasks: Sequence[Task]) -> None:
    for task in tasks:
        for seed in range(task.chunk.first, task.chunk.first + task.chunk.runs):
            emulator.run(task.scenario, seed, keep_events=False)


def keep_all(tasks: Sequence[Task], folder: Path) -> None:
    for task in tasks:
        store.keep(task, folder)


def fresh(folder: Path) -> Path:
    """Return an empty folder."""
    inside = folder / "study"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    return inside


def timed(work: Callable[[], object]) -> Took:
    wall, cpu = perf_counter(), process_time()
    work()
    return Took(perf_counter() - wall, process_time() - cpu)


if __name__ == "__main__":
    main()
