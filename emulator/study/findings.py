"""All findings of a study: summaries, differences, influences, fronts and answers; as Parquet too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from assignors.values import dataclass
from emulator.metrics.distribution import Summary
from emulator.parquet_file import ParquetOutput
from emulator.study.answer import Answer, answers, best_of_all
from emulator.study.margin_text import neighbours_text
from emulator.study.plan import Plan, metrics_of
from emulator.study.sensitivity import Influence, influences
from emulator.study.summary import (
    CellResults,
    CellSummary,
    Difference,
    Front,
    difference_row,
    differences,
    front,
    read_results,
    summaries,
    summary_row,
)
from emulator.verdicts.disqualifying import mark
from emulator.versions import KAFKA, SCHEMA_VERSION

TABLES = ("cells", "answer", "summary", "differences", "sensitivity", "pareto")
"""The tables of findings, in the order in which they are written."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of a study."""

    plan: Plan
    results: Sequence[CellResults]
    summaries: Sequence[CellSummary]
    differences: Sequence[Difference]
    influences: Sequence[Influence]
    fronts: Sequence[Front]
    answers: Sequence[Answer]
    """For each value of the given axes and each protocol; none without a goal."""

    best: Answer | None
    """Over all cells; None if an axis is given."""

    @property
    def runs(self) -> int:
        """The number of runs that did not fail."""
        return sum(len(each.seeds) for each in self.results)

    @property
    def failed(self) -> int:
        """The number of runs that failed."""
        return sum(each.failed for each in self.results)

    @property
    def best_cells(self) -> frozenset[int]:
        """The best cell of each answer: for each given value and each protocol."""
        return frozenset(each.best for each in self.answers if each.best is not None)

    def result_of(self, cell: int) -> CellResults:
        """Return the results of a cell that has runs."""
        return next(each for each in self.results if each.cell.number == cell)

    def summary_of(self, cell: int, metric: str) -> Summary | None:
        """Return the summary of one of the study's metrics in a cell; None: no run has a value."""
        found = (each for each in self.summaries if (each.cell, each.metric) == (cell, metric))
        return next((each.summary for each in found), None)


def find(folder: Path, plan: Plan) -> Findings:
    """Read the runs in a study's folder and compute all findings."""
    results = read_results(folder, plan)
    metrics = metrics_of(plan)
    return Findings(
        plan=plan,
        results=results,
        summaries=summaries(results, metrics),
        differences=differences(results, metrics),
        influences=influences(results, plan.study.metrics) if _has_rivals(plan) else (),
        fronts=[front(results, metrics) for metrics in plan.study.pareto],
        answers=answers(results, plan.study.goal),
        best=best_of_all(results, plan.study.goal),
    )


def _has_rivals(plan: Plan) -> bool:
    """Return whether several settings vary: of one alone, the share of the variance says nothing."""
    study = plan.study
    return len(study.vary) + (len(study.protocols) > 1) > 1


def write(findings: Findings, folder: Path) -> None:
    """Write all tables as Parquet; delete the files of tables that now have no rows."""
    found = tables(findings)
    for name in TABLES:
        if name not in found:
            (folder / f"{name}.parquet").unlink(missing_ok=True)
    for name, rows in found.items():
        metadata = {"schema_version": str(SCHEMA_VERSION), "kafka": KAFKA}
        table = pa.Table.from_pylist(list(rows))
        with ParquetOutput(folder / f"{name}.parquet", table.schema, metadata) as output:
            output.write(table)


def tables(findings: Findings) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the rows of all tables, by name; tables without rows are left out."""
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
        "disqualified": mark(each.disqualified, len(each.seeds)) or None,
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
        "ties": list(each.ties),
        "as_good": list(each.as_good),
        "least": each.least,
        "alternatives": list(each.alternatives),
        "feasible": list(each.feasible),
        "tried": len(each.tried),
        "edges": sum(margin.edges for margin in each.margins),
        "next values": neighbours_text(each.margins),
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
