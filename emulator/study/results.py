"""What came of a study's runs: each cell's figures, seed by seed, read back from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.metrics.checks import split_name
from emulator.metrics.metrics import is_metric
from emulator.study.plan import Cell, Plan
from emulator.study.store import RUNS, read


@dataclass(frozen=True, slots=True)
class CellResults:
    """The runs of one cell that did not fail, and what is known of those that did."""

    cell: Cell
    seeds: tuple[int, ...]
    values: dict[str, tuple[float, ...]]
    """By metric, in order of the seeds."""

    failed: int
    error: str
    """Of the first run that failed; empty if none did."""

    first_failed: int | None
    """Its seed."""

    def by_seed(self, metric: str) -> dict[int, float]:
        """Return a metric's value for each seed."""
        return dict(zip(self.seeds, self.values[metric], strict=True))


def metrics_of(plan: Plan) -> tuple[str, ...]:
    """Return every metric that the study speaks of, each once."""
    study = plan.study
    asked = [*study.metrics, *(rule.metric for rule in study.until)]
    if study.goal is not None:
        asked += [name for name in study.goal.least if is_metric(name)]
        asked += [split_name(name)[0] for name in study.goal.expect]
    return tuple(dict.fromkeys([*asked, *(name for front in study.pareto for name in front)]))


def read_results(folder: Path, plan: Plan) -> list[CellResults]:
    """Return the results of all cells, in their order; those that have no runs yet are left out."""
    metrics = metrics_of(plan)
    columns = ["seed", "error", *metrics]
    tables = read(folder, RUNS, columns, len(plan.cells))
    return [_results(plan.cells[number], table.to_pydict(), metrics) for number, table in tables]


def _results(cell: Cell, columns: dict[str, list[object]], metrics: Sequence[str]) -> CellResults:
    errors, seeds = columns["error"], columns["seed"]
    fine = [place for place, error in enumerate(errors) if error is None]
    failed = [place for place, error in enumerate(errors) if error is not None]
    return CellResults(
        cell=cell,
        seeds=tuple(int(str(seeds[place])) for place in fine),
        values={
            name: tuple(float(str(columns[name][place])) for place in fine) for name in metrics
        },
        failed=len(failed),
        error=str(errors[failed[0]]) if failed else "",
        first_failed=int(str(seeds[failed[0]])) if failed else None,
    )
