"""Play one scenario under many seeds, in several processes: ``emulator.sweep``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from assignors.values import dataclass
from emulator.loading import load_text, text_of_scenario
from emulator.metrics.catalogue import VALUES
from emulator.metrics.checks import Expected, check_expectations
from emulator.metrics.distribution import Summary, summarise
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics
from emulator.playing import FOLDED, bounds_of, run
from emulator.processes import OnProgress, cores, parallel_map
from emulator.scenario.model import Scenario
from emulator.tables import arrow_table, html_table, pandas_frame
from emulator.verdicts.findings import cut_short
from emulator.verdicts.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Result = TypeVar("Result")

SEEDS_IN_ALL = 2**64

SHOWN: Final = ("reprocessed", "lost", "rebalances", "downtime_total_s", "downtime_max_s")
"""The metrics of the short HTML view."""


class Task(NamedTuple):
    """One run to play."""

    scenario: Scenario
    seed: int
    mode: str = FOLDED


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRun:
    """The figures of one run of a sweep, without its events."""

    seed: int
    digest: str
    """As of the same run with its events."""

    metrics: Metrics
    by_cause: dict[str, int]
    """Reprocessed and lost records by cause."""

    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...] = ()
    """Problems, and what the run was too short to show."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sweep:
    """The results of one scenario under many seeds, in the order of the seeds."""

    scenario: Scenario
    runs: tuple[SeedRun, ...]
    """One for each seed, in order."""

    expectations: tuple[Expected, ...] = field(default=())
    """The scenario's ``[expect]``, checked over all seeds."""

    def __repr__(self) -> str:
        """Return one line with the medians of reprocessed and lost records."""
        medians = (f"{name} p50={self.summary()[name].median.value:g}" for name in SHOWN[:2])
        return f"<Sweep of {self.scenario.title!r}, {len(self.runs)} seeds: {', '.join(medians)}>"

    def _repr_html_(self) -> str:
        """Return the main metrics as an HTML table."""
        summary = self.summary()
        rows = [
            (name, each.minimum, each.median.value, each.p95.value, each.maximum, each.mean.value)
            for name, each in summary.items()
            if name in SHOWN
        ]
        title = f"{self.scenario.title}, {len(self.runs)} seeds"
        return html_table(title, ("metric", "minimum", "median", "p95", "maximum", "mean"), rows)

    @property
    def ok(self) -> bool:
        """Whether every expectation of the scenario holds."""
        return all(expected.ok for expected in self.expectations)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(run.seed for run in self.runs)

    def summary(self) -> dict[str, Summary]:
        """Return the distribution of every metric over the seeds in which it has a value, by name.

        A metric that has none in any seed is left out.
        """
        return {
            metric.name: summarise([run.metrics[metric.name] for run in having])
            for metric in VALUES
            if (having := [run for run in self.runs if run.metrics.has(metric.name)])
        }

    def to_arrow(self) -> pa.Table:
        """Return one row for each seed: seed, digest and every metric."""
        return arrow_table([row_of(run) for run in self.runs])

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of :meth:`to_arrow` as a pandas data frame."""
        return pandas_frame(self.to_arrow())


def sweep(  # noqa: PLR0913  one keyword an option
    scenario: Scenario | str | Path,
    seeds: int | Iterable[int] = 10,
    *,
    first: int | None = None,
    overrides: Sequence[str] = (),
    jobs: int | None = None,
    progress: OnProgress | None = None,
    folder: Path | None = None,
    mode: str = FOLDED,
) -> Sweep:
    """Play a scenario under many seeds and return the figures of each run.

    *scenario*: a scenario, or the path or catalogue name of one, changed by *overrides*. *seeds*:
    their number, from *first* (by default the scenario's own) on, or the seeds themselves. *jobs*:
    processes; by default one for each CPU core. *progress*: called with the number of finished
    runs and the number of all. *folder*: the folder of the user's own assignors.
    *mode*: see :func:`emulator.run`.

    Raises ``EmulatorError``. Call it below ``if __name__ == "__main__"`` in a script: worker
    processes import the script.

    >>> sweep("quiet", 2, jobs=1, overrides=["run_for=5s"]).seeds
    (0, 1)
    """
    if overrides or not isinstance(scenario, Scenario):
        loaded = load_text(text_of_scenario(scenario), overrides, allow_large=True)
        scenario, folder = loaded.scenario, folder or loaded.folder
    chosen = seeds_from(scenario, first, seeds) if isinstance(seeds, int) else list(seeds)
    tasks = [Task(scenario, seed, mode) for seed in chosen]
    runs = tuple(play_all(tasks, jobs, folder, progress))
    metrics = [run.metrics for run in runs]
    cut = [cut_short(run.verdicts) for run in runs]
    expectations = check_expectations(bounds_of(scenario), metrics, cut) if runs else ()
    return Sweep(scenario=scenario, runs=runs, expectations=expectations)


def seeds_from(scenario: Scenario, first: int | None, count: int) -> list[int]:
    """Return *count* seeds from *first* (or the scenario's own) on."""
    begin = scenario.seed if first is None else first
    return [(begin + number) % SEEDS_IN_ALL for number in range(count)]


def play_all(
    tasks: Sequence[Task],
    jobs: int | None,
    folder: Path | None = None,
    progress: OnProgress | None = None,
) -> Iterator[SeedRun]:
    """Yield the results of all tasks, in order; see :func:`for_each`."""
    return for_each(play_one, tasks, jobs, folder, progress)


def for_each(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int | None,
    folder: Path | None = None,
    progress: OnProgress | None = None,
) -> Iterator[Result]:
    """Yield the result of *work* for each task, in order, from as many processes as *jobs*.

    *jobs*: by default one for each CPU core. *folder*: that of the user's own assignors.
    """
    folders = [] if folder is None else [folder]
    return parallel_map(work, tasks, jobs=jobs or cores(), progress=progress, folders=folders)


def play_one(task: Task) -> SeedRun:
    """Play one run and return its figures."""
    finished = run(task.scenario, task.seed, keep_events=False, mode=task.mode)
    return SeedRun(
        seed=task.seed,
        digest=finished.digest,
        metrics=finished.metrics,
        by_cause=finished.ledger.by_cause(),
        findings=finished.findings,
        verdicts=finished.verdicts,
    )


def row_of(finished: SeedRun) -> dict[str, Any]:
    """Return a run as one row of a table: seed, digest and every metric."""
    figures = finished.metrics.plain_values()
    return {"seed": finished.seed, "digest": finished.digest, **figures}
