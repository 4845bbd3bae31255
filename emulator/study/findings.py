"""Everything a study comes to: summaries, differences, influences, fronts; and as Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from emulator.metrics.distribution import Summary
from emulator.parquet_file import ParquetOutput
from emulator.study.answer import Answer, answers, best_of_all
from emulator.study.pareto import Front, front
from emulator.study.plan import Plan
from emulator.study.results import CellResults, metrics_of, read_results
from emulator.study.sensitivity import Influence, influences
from emulator.study.summary import (
    CellSummary,
    Difference,
    difference_row,
    differences,
    summaries,
    summary_row,
)
from emulator.versions import KAFKA, SCHEMA_VERSION

TABLES = ("cells", "answer", "summary", "differences", "sensitivity", "pareto")
"""What a study comes to, as tables."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of a study."""

    plan: Plan
    results: Sequence[CellResults]
    summaries: Sequence[CellSummary]
    differences: Sequence[Difference]
    influences: Sequence[Influence]
    fronts: Sequence[Front]
    answers: Sequence[Answer]
    """For each value of what is given, under each protocol; none without a goal."""

    best: Answer | None
    """Of all cells; None where something is given."""

    @property
    def runs(self) -> int:
        """Runs that came to something."""
        return sum(len(each.seeds) for each in self.results)

    @property
    def failed(self) -> int:
        """Runs that ended in an error."""
        return sum(each.failed for each in self.results)

    def result_of(self, cell: int) -> CellResults:
        """Return the runs of a cell that has some."""
        return next(each for each in self.results if each.cell.number == cell)

    def summary_of(self, cell: int, metric: str) -> Summary:
        """Return the figures of a metric that the study speaks of, in a cell that has runs."""
        return next(
            each.summary for each in self.summaries if (each.cell, each.metric) == (cell, metric)
        )


def find(folder: Path, plan: Plan) -> Findings:
    """Read the runs of a study back, and sum them up."""
    results = read_results(folder, plan)
    metrics = metrics_of(plan)
    return Findings(
        plan=plan,
        results=results,
        summaries=summaries(results, metrics),
        differences=differences(results, metrics),
        influences=influences(results, plan.study.metrics),
        fronts=[front(results, metrics) for metrics in plan.study.pareto],
        answers=answers(results, plan.study.goal),
        best=best_of_all(results, plan.study.goal),
    )


def write(findings: Findings, folder: Path) -> None:
    """Write all tables as Parquet; one that is left out now does not stay from before."""
    found = tables(findings)
    for name in TABLES:
        if name not in found:
            (folder / f"{name}.parquet").unlink(missing_ok=True)
    for name, rows in found.items():
        metadata = {"schema_version": str(SCHEMA_VERSION), "kafka": KAFKA}
        table = pa.Table.from_pylist(list(rows)).replace_schema_metadata(metadata)
        with ParquetOutput(folder / f"{name}.parquet", table.schema) as output:
            output.write(table)


def tables(findings: Findings) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return all tables as rows, by name; one without rows is left out."""
    found = {
        "cells": [_cell_row(each) for each in findings.results],
        "summary": [summary_row(each) for each in findings.summaries],
        "differences": [difference_row(each) for each in findings.differences],
        "sensitivity": [asdict(each) for each in findings.influences],
        "answer": [_answer_row(each, plan=findings.plan) for each in findings.answers],
        "pareto": [row for each in findings.fronts for row in _front_rows(each)],
    }
    return {name: rows for name, rows in found.items() if rows}


def _cell_row(each: CellResults) -> dict[str, Any]:
    settings = each.cell.settings
    row: dict[str, Any] = {
        "cell": each.cell.number,
        "name": settings.name,
        "protocol": settings.protocol,
        "runs": len(each.seeds),
        "failed": each.failed,
        "error": each.error or None,
        "scenario_hash": each.cell.scenario_hash,
    }
    for choice in settings.point:
        row[f"setting {choice.axis}"] = choice.label
        row[f"number {choice.axis}"] = choice.number
    return row


def _answer_row(each: Answer, *, plan: Plan) -> dict[str, Any]:
    axes = [axis.name for axis in plan.study.vary if axis.given]
    return {
        **{f"setting {axis}": label for axis, label in zip(axes, each.given, strict=True)},
        "protocol": each.protocol,
        "best": each.best,
        "name": None if each.best is None else plan.cells[each.best].settings.name,
        "ahead": list(each.ahead),
        "instead": list(each.instead),
        "keeping": list(each.keeping),
        "tried": len(each.tried),
    }


def _front_rows(each: Front) -> list[dict[str, Any]]:
    return [
        {
            "metrics": ", ".join(each.metrics),
            "cell": cell,
            "on_front": cell in each.cells,
            "means": list(means),
        }
        for cell, means in each.means.items()
    ]
