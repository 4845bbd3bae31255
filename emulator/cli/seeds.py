"""The same scenario under many seeds: one small result each, played in as many processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from emulator.cli.output import Progress
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics
from emulator.playing import run
from emulator.processes import cores, parallel_map
from emulator.scenario.model import Scenario

MOST_SEED = 2**64


class Task(NamedTuple):
    """One run to be played."""

    scenario: Scenario
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRun:
    """What is kept of one run of many."""

    seed: int
    digest: str
    metrics: Metrics
    by_cause: dict[str, int]
    findings: tuple[Finding, ...]


def seeds_from(scenario: Scenario, first: int | None, count: int) -> list[int]:
    """Return *count* seeds from *first* (or the scenario's own) on."""
    begin = scenario.seed if first is None else first
    return [(begin + number) % MOST_SEED for number in range(count)]


def play_all(tasks: Sequence[Task], jobs: int | None, folder: Path) -> Iterator[SeedRun]:
    """Yield the results of all tasks, in order; *folder*: where the scenario's file is."""
    with Progress("runs") as progress:
        yield from parallel_map(
            play_one, tasks, jobs=jobs or cores(), progress=progress.show, folders=[folder]
        )


def play_one(task: Task) -> SeedRun:
    """Play one run and keep what is counted."""
    finished = run(task.scenario, task.seed, keep_events=False)
    return SeedRun(
        seed=task.seed,
        digest=finished.digest,
        metrics=finished.metrics,
        by_cause=finished.ledger.by_cause(),
        findings=finished.findings,
    )
