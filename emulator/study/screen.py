"""The report of a study as text: a table for each metric, sensitivities, and Pareto sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from emulator.metrics.distribution import Summary
from emulator.report.bands import BESIDE_MEANS
from emulator.report.comparison.table import paired
from emulator.report.figures import NO_VALUE, cells, fitted
from emulator.report.screens.seeds import within
from emulator.report.wording import counted, figure, paragraph
from emulator.study.answer_text import answer_table, few_seeds, sentences
from emulator.study.findings import Findings
from emulator.study.labels import label_of, mean_text
from emulator.study.overview_tables import front_rows, front_title, sensitivity_rows
from emulator.study.plan import Cell
from emulator.study.summary import CellResults, Front
from emulator.verdicts.disqualifying import mark
from emulator.versions import KAFKA

MAX_ROWS = 40
"""Rows of a table as text; the Parquet files have all."""


def study_screen(findings: Findings) -> Iterator[str]:
    """Yield the lines of the report."""
    study = findings.plan.study
    facts = [study.title, counted(findings.runs, "run"), counted(len(findings.results), "cell")]
    yield from paragraph(" | ".join([*facts, f"Apache Kafka {KAFKA}"]), "", "  ")
    if study.question:
        yield from paragraph(study.question)
    yield from _answer(findings)
    for metric in study.metrics:
        yield ""
        yield label_of(metric, findings.plan)
        yield from fitted(_table(findings, metric))
    yield from paragraph(
        f"In brackets: 95 % confidence intervals; … means too few seeds for an end. {BESIDE_MEANS} "
        "Differences are paired by seed."
    )
    if study.goal is None:
        for sentence in few_seeds(findings):
            yield from paragraph(sentence)
    yield from _omitted(len(findings.results))
    yield from _sensitivities(findings)
    for each in findings.fronts:
        yield from _front(each, findings)
    yield from _failures(findings.results)


def _answer(findings: Findings) -> Iterator[str]:
    for number, sentence in enumerate(sentences(findings)):
        yield from [""] if number == 0 else []
        yield from paragraph(sentence)
    if rows := answer_table(findings):
        yield from _rows(rows, names=len(rows[0]))


def _table(findings: Findings, metric: str) -> Table:
    against = "protocol" if len(findings.plan.study.protocols) > 1 else "settings"
    compared = {
        each.cell: each.comparison
        for each in findings.differences
        if each.metric == metric and each.against == against
    }
    axes = [choice.axis for choice in findings.plan.cells[0].settings.point]
    table = Table(box=box.MARKDOWN)
    for name in _named(axes, findings):
        table.add_column(name)
    head = findings.plan.study.protocols[0] if against == "protocol" else "the first cell"
    for title in ("median", "p95", "maximum", "mean", f"difference to {head}"):
        table.add_column(title, justify="right")
    if marked := any(each.disqualified for each in findings.results):
        table.add_column("disqualified")
    for each in [each for each in findings.results if each.seeds][:MAX_ROWS]:
        cell, reasons = each.cell, mark(each.disqualified, len(each.seeds))
        figures = _figures(findings.summary_of(cell.number, metric))
        difference = paired(compared[cell.number]) if cell.number in compared else ""
        marks = [reasons] if marked else []
        table.add_row(*cells(*_named(_values(cell), findings, cell), *figures, difference, *marks))
    return table


def _figures(summary: Summary | None) -> list[str]:
    """Return the figures of a metric in a cell; without a value in any run, that there is none."""
    if summary is None:
        return [NO_VALUE] * 4
    return [
        within(summary.median),
        within(summary.p95),
        figure(summary.maximum),
        mean_text(summary),
    ]


def _named(axes: list[str], findings: Findings, cell: Cell | None = None) -> list[str]:
    """Return the values, with the protocol if the study has several."""
    if len(findings.plan.study.protocols) == 1:
        return axes or ["" if cell is None else cell.settings.protocol]
    return [*axes, "protocol" if cell is None else cell.settings.protocol]


def _values(cell: Cell) -> list[str]:
    return [choice.label for choice in cell.settings.point]


def _omitted(number: int) -> Iterator[str]:
    if number > MAX_ROWS:
        yield f"The first {MAX_ROWS} of {number} cells; summary.parquet has all."


def _sensitivities(findings: Findings) -> Iterator[str]:
    if not findings.influences:
        return
    yield ""
    yield "Sensitivity: the share of the variance between cells that a setting explains"
    yield from _rows(sensitivity_rows(findings), names=2)


def _front(each: Front, findings: Findings) -> Iterator[str]:
    yield ""
    yield from paragraph(front_title(findings, each))
    yield from _rows(front_rows(findings, each, MAX_ROWS), names=1)


def _rows(rows: Sequence[Sequence[str]], *, names: int) -> Iterator[str]:
    """Yield a table whose first columns are *names*, and whose other columns are figures."""
    head, *others = rows
    table = Table(box=box.MARKDOWN)
    for place, title in enumerate(head):
        table.add_column(title, justify="left" if place < names else "right")
    for row in others:
        table.add_row(*cells(*row))
    yield from fitted(table)


def _failures(results: Sequence[CellResults]) -> Iterator[str]:
    failed = [each for each in results if each.failed]
    if not failed:
        return
    yield ""
    yield f"{counted(sum(each.failed for each in failed), 'run')} failed"
    for each in failed[:MAX_ROWS]:
        where = f"{each.cell.settings.name}, first with seed {each.first_failed}"
        yield from paragraph(f"{each.failed} in {where}: {each.error}", "  ")
