"""The cells that do not differ significantly from the least one, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.metrics.catalogue import is_metric
from emulator.report.wording import joined
from emulator.study.answer import Answer
from emulator.study.findings import Findings
from emulator.study.labels import MAX_NAMED, mean_text, name_of, plain


def tie_sentences(findings: Findings, answer: Answer) -> Iterator[str]:
    """Yield which cells are as good as the best one, and which the seeds only fail to tell apart."""
    if answer.least is not None and answer.best != answer.least:
        yield (
            f"The smallest mean has {_with_means(findings, answer.least)}: too close to tell apart with "
            "these seeds, but with more worse or untried neighbours."
        )
    others = [name_of(findings.plan, cell) for cell in answer.as_good[1:] if cell != answer.least]
    if others:
        yield f"Not significantly different with these seeds: {_listed(others)}."
    noisy = [_with_means(findings, cell) for cell in answer.ties if cell not in answer.as_good]
    if noisy:
        yield f"Too noisy to be called as good, though not significantly different: {_listed(noisy)}."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return f"{'; '.join(names[:MAX_NAMED])}{f'; {more} more' if more > 0 else ''}"


def _with_means(findings: Findings, cell: int) -> str:
    """Return the name of a cell with its means of the objectives."""
    goal = findings.plan.study.goal
    means = [
        f"{plain(name)} {mean_text(findings.summary_of(cell, name))}"
        for name in (goal.least if goal else ())
        if is_metric(name)
    ]
    return f"{name_of(findings.plan, cell)} with {joined(means)}"
