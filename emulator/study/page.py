"""The page of a study and its charts: curves with intervals, heat maps, Pareto sets, sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import emulator
from emulator.report.pages.charts import (
    Plot,
    draw_plot,
)
from emulator.report.pages.heat_map import draw_heat_map
from emulator.report.pages.page import Chart, Number, Page, Part, Table, render
from emulator.report.wording import counted, file_width
from emulator.study.answer_text import (
    answer_table,
    best_of_each,
    few_seeds,
    figures_of_best,
    sentences,
)
from emulator.study.findings import Findings
from emulator.study.metric_charts import Picture, pictures_of_metrics
from emulator.study.overview_charts import front_chart, sensitivity_chart
from emulator.study.overview_tables import front_rows, front_title, sensitivity_rows
from emulator.study.screen import MAX_ROWS, study_screen
from emulator.study.summary import Front
from emulator.versions import KAFKA

MAX_NUMBERS = 5
MAX_COLUMNS = 8
"""Columns of the answer as a table; one with more has a column for each cell instead."""


@file_width()
def study_page(findings: Findings) -> str:
    """Return the report of a study as an HTML page; the same findings give the same bytes."""
    study = findings.plan.study
    return render(
        Page(
            title=study.title,
            question=study.question,
            facts=_facts(findings),
            answer=_answer(findings),
            numbers=_numbers(findings),
            parts=[
                *_table(findings),
                Part(
                    title="Charts",
                    anchor="charts",
                    charts=list(map(drawn, pictures_of_metrics(findings))),
                ),
                *_overviews(findings),
            ],
            text="\n".join(study_screen(findings)),
        )
    )


def _answer(findings: Findings) -> list[str]:
    """Return the sentences of the answer: the best cell first, then the objective and the rest."""
    cells = counted(len(findings.results), "cell")
    without = f"The study has no objective; its {cells} are compared below."
    return list(sentences(findings)) or [without, *few_seeds(findings)]


def _numbers(findings: Findings) -> list[Number]:
    """Return five figures: those of the answer, then the size of the study."""
    study = findings.plan.study
    sizes = (
        (len(findings.results), "cells"),
        (findings.runs, "runs"),
        (len(study.vary), "settings varied"),
        (len(study.protocols), "protocols"),
        (len(study.metrics), "metrics"),
    )
    figures = [*_best_numbers(findings), *(Number(f"{n:,}", label) for n, label in sizes)]
    return figures[:MAX_NUMBERS]


def _best_numbers(findings: Findings) -> list[Number]:
    """Return the figures of the best cell, or the best settings for each given value."""
    figures = figures_of_best(findings)
    if figures:
        return [Number(value, f"best cell: {label}") for label, value in figures[:MAX_NUMBERS]]
    if findings.best is not None:
        return []
    each = best_of_each(findings)[:MAX_NUMBERS]
    return [Number(best, f"best {where.removesuffix(':')}") for where, best in each]


def drawn(picture: Picture) -> Chart:
    """Return a picture as SVG."""
    return draw_plot(picture) if isinstance(picture, Plot) else draw_heat_map(picture)


def _table(findings: Findings) -> Iterator[Part]:
    rows: Sequence[Sequence[str]] = answer_table(findings)
    if not rows:
        return
    is_turned = len(rows[0]) > max(len(rows), MAX_COLUMNS)
    rows = list(zip(*rows, strict=True)) if is_turned else rows
    table = Table(caption="The best cell of each answer", rows=rows, has_row_names=is_turned)
    yield Part(title="Answer", anchor="answer", tables=[table])


def _overviews(findings: Findings) -> Iterator[Part]:
    """Yield the charts over all cells, with their figures as tables."""
    if findings.fronts:
        yield Part(
            title="Pareto sets",
            anchor="pareto-sets",
            charts=[drawn(front_chart(findings, each)) for each in findings.fronts],
            tables=[_front_table(findings, each) for each in findings.fronts],
        )
    if findings.influences:
        rows = sensitivity_rows(findings)
        caption = "The share of each setting, and the values with the smallest and the largest mean"
        yield Part(
            title="Sensitivity",
            anchor="sensitivity",
            charts=[drawn(sensitivity_chart(findings))],
            tables=[Table(caption=caption, rows=rows)],
        )


def _front_table(findings: Findings, front: Front) -> Table:
    rows = front_rows(findings, front, MAX_ROWS)
    return Table(caption=front_title(findings, front), rows=rows, has_row_names=True)


def _facts(findings: Findings) -> str:
    parts = [
        f"scenario {findings.plan.study.scenario}",
        counted(findings.runs, "run"),
        counted(len(findings.results), "cell"),
        *([f"{counted(findings.failed, 'run')} failed"] if findings.failed else []),
        f"Apache Kafka {KAFKA}",
        f"rebalance-emulator {emulator.__version__}",
    ]
    return " | ".join(parts)
