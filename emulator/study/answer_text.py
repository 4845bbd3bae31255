"""The answer of a study as sentences and as a table, and the labels and formats of its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from emulator.metrics.catalogue import is_metric
from emulator.metrics.checks import split_name
from emulator.metrics.distribution import MIN_RUNS, Summary
from emulator.report.figures import NO_VALUE
from emulator.report.wording import counted, figure, joined
from emulator.scenario.model import Bound
from emulator.study.answer import Answer, guaranteed_share, measured_value, ranks_of, smaller_in
from emulator.study.findings import Findings
from emulator.study.labels import MAX_NAMED, label_of, mean_text, name_of, plain
from emulator.study.margin_text import margin_sentence, neighbours_text, not_tried
from emulator.study.margins import Neighbour
from emulator.study.model import Goal
from emulator.study.summary import CellResults
from emulator.study.tie_text import tie_sentences
from emulator.verdicts.disqualifying import MEANINGS, mark

MAX_GIVEN = 6
"""Given values for which the sentences name the best cell; the table has all."""


def sentences(findings: Findings) -> Iterator[str]:
    """Yield the answer of a study as sentences, the best cell first; none if it has no goal."""
    goal, best = findings.plan.study.goal, findings.best
    if goal is None or not findings.answers:
        return
    first, *others = [_best_of_each(findings)] if best is None else _best(findings, goal, best)
    yield first
    yield _objective(findings, goal)
    yield from others
    yield from _disqualified(findings)
    yield not_tried(findings.plan)
    yield from few_seeds(findings)
    yield from _certainty(findings, goal)


def few_seeds(findings: Findings) -> Iterator[str]:
    """Yield that differences may be chance, if a cell has few seeds and they do not all give the same."""
    runs = [len(each.seeds) for each in findings.results if each.seeds]
    same = all(each.summary.minimum == each.summary.maximum for each in findings.summaries)
    if len(runs) > 1 and min(runs) < MIN_RUNS and not (same and min(runs) > 1):
        yield (
            f"With {counted(min(runs), 'seed')} in a cell a difference between cells may be chance: "
            "--seeds 20 tells more."
        )


def _objective(findings: Findings, goal: Goal) -> str:
    given = [axis.name for axis in findings.plan.study.vary if axis.given]
    least = ", then ".join(plain(name) for name in goal.least)
    subject = f", subject to {joined(_constraints(goal))}" if goal.expect else ""
    where = f" for each {joined(given)}" if given else ""
    return f"Objective{where}: minimise {least}{subject}."


def _constraints(goal: Goal) -> list[str]:
    found = []
    for name, bound in goal.expect.items():
        metric, statistic = split_name(name)
        over = f"{statistic} of {plain(metric)}" if statistic else plain(metric)
        found.append(f"{over} {_relation(bound)}{'' if statistic else ' in every run'}")
    return found


def _relation(bound: Bound) -> str:
    signs = {"<=": "≤", ">=": "≥", "==": "="}
    return f"{signs.get(bound.relation, bound.relation)} {figure(bound.value)}"


def _best(findings: Findings, goal: Goal, best: Answer) -> Iterator[str]:
    number = len(best.tried)
    if best.best is None:
        yield f"No feasible cell: none of {counted(number, 'cell')} tried {_missing(findings, goal)}."
        return
    figures = [
        f"{plain(metric)} {text}"
        for metric, text in _figures(findings, best.best).items()
        if metric in _goal_metrics(findings)
    ]
    yield f"Best of {counted(number, 'cell')}: {name_of(findings.plan, best.best)}: {'; '.join(figures)}."
    for margin in best.margins:
        yield margin_sentence(margin, lambda other: _worse(findings, other))
    yield from tie_sentences(findings, best)
    yield from _alternatives(findings, goal, best, best.best)
    if best.worst is not None:
        yield _worst_of_all(findings, best.tried, best.worst, goal.least[0])


def _worst_of_all(findings: Findings, tried: Sequence[int], worst: int, metric: str) -> str:
    """Return the cell with the largest mean, or that all have the same."""
    summaries = [findings.summary_of(cell, metric) for cell in tried]
    means = {None if each is None else each.mean.value for each in summaries}
    text = mean_text(findings.summary_of(worst, metric))
    if len(means) == 1:
        return f"{plain(metric).capitalize()} is the same in all {len(tried)} cells: {text}."
    return f"Worst: {name_of(findings.plan, worst)}: {plain(metric)} {text}."


def _missing(findings: Findings, goal: Goal) -> str:
    """Return what no cell has: it meets the constraints, and its runs are no failure."""
    parts = ["meets the constraints"] if goal.expect else []
    if any(each.disqualified for each in findings.results):
        parts.append("has only runs that are not disqualified")
    return joined(parts) or "has only runs that did not fail"


PAGE: Final = "docs/reference/verdicts.md"
"""The page with all verdicts."""


def _disqualified(findings: Findings) -> Iterator[str]:
    """Yield which cells are disqualified, and why."""
    found = [each for each in findings.results if each.disqualified]
    if not found:
        return
    named = [
        f"{name_of(findings.plan, each.cell.number)}: {mark(each.disqualified, len(each.seeds))}"
        for each in found
    ]
    more = len(found) - MAX_NAMED
    cells = counted(len(found), "cell is", "cells are")
    yield (
        f"{cells} disqualified, and never the best: {'; '.join(named[:MAX_NAMED])}"
        f"{f'; {more} more' if more > 0 else ''}. For example {_example(findings, found[0])}."
    )
    reasons = dict.fromkeys(one.reason for each in found for one in each.disqualified)
    said = "; ".join(f"{reason}: {MEANINGS[reason]}" for reason in reasons)
    yield f"Reasons ({PAGE}): {said}."


def _example(findings: Findings, each: CellResults) -> str:
    first = each.disqualified[0]
    return f"{name_of(findings.plan, each.cell.number)}: {first.sentence}"


def _best_of_each(findings: Findings) -> str:
    """Return the best cell for each value of the given axes, and for each protocol."""
    found = [
        f"{where} {best}{_at_end(answer)}"
        for (where, best), answer in zip(best_of_each(findings), findings.answers, strict=True)
    ]
    more = len(found) - MAX_GIVEN
    return f"Best {'; '.join(found[:MAX_GIVEN])}{f'; {more} more' if more > 0 else ''}."


def _at_end(answer: Answer) -> str:
    """Return that a best value is at an end of what was tried, in brackets; empty: it is inside."""
    several = len(answer.margins) > 1
    ends = [
        f"the {'largest' if margin.above is None else 'smallest'} "
        f"{margin.axis if several else 'value'} tried"
        for margin in answer.margins
        if margin.open_sides
    ]
    return f" ({joined(ends)})" if ends else ""


def best_of_each(findings: Findings) -> list[tuple[str, str]]:
    """Return, for each answer, for what it is and the settings that are best there."""
    given = [axis.name for axis in findings.plan.study.vary if axis.given]
    chosen = [axis.name for axis in findings.plan.study.vary if not axis.given]
    several = len(findings.plan.study.protocols) > 1
    found = []
    for answer in findings.answers:
        words = [f"{name}={value}" for name, value in zip(given, answer.given, strict=True)]
        words += [answer.protocol] if several else []
        labels = [] if answer.best is None else _chosen(findings, answer.best)
        settings = [f"{name}={value}" for name, value in zip(chosen, labels, strict=bool(labels))]
        best = "no feasible cell" if answer.best is None else joined(settings) or "the one cell"
        found.append((f"for {', '.join(words)}:", best))
    return found


def figures_of_best(findings: Findings) -> list[tuple[str, str]]:
    """Return the labels and figures of the best of all cells; none if there is no single best."""
    if findings.best is None or findings.best.best is None:
        return []
    return [
        (label_of(name, findings.plan), text)
        for name, text in _figures(findings, findings.best.best).items()
    ]


def _worse(findings: Findings, other: Neighbour) -> str:
    """Return how a neighbour of the best cell is worse."""
    if not other.worse_in:
        each = findings.result_of(other.cell)
        reasons = mark(each.disqualified, len(each.seeds))
        if reasons:
            return f"{other.label} is disqualified ({reasons})"
        return f"{other.label} does not meet the constraints"
    mean = mean_text(findings.summary_of(other.cell, other.worse_in))
    return f"at {other.label}, {plain(other.worse_in)} is {mean}"


def _alternatives(findings: Findings, goal: Goal, answer: Answer, best: int) -> Iterator[str]:
    axes = ranks_of(findings.results)
    for cell in answer.alternatives[:MAX_NAMED]:
        fewer = smaller_in(findings.result_of(cell), findings.result_of(best), goal, axes)
        smaller = joined([plain(name) for name in fewer])
        yield f"Pareto-optimal alternative, smaller in {smaller}: {name_of(findings.plan, cell)}."


def _goal_metrics(findings: Findings) -> list[str]:
    """Return the metrics and axes that the goal names."""
    goal = findings.plan.study.goal
    return [*goal.least, *(split_name(name)[0] for name in goal.expect)] if goal else []


def _certainty(findings: Findings, goal: Goal) -> Iterator[str]:
    """Yield how far a constraint that all runs of a cell meet can be generalised."""
    runs = [len(each.seeds) for each in findings.results if each.seeds]
    if any(split_name(name)[1] == "" for name in goal.expect) and runs:
        among = max(len(each.tried) for each in findings.answers)
        share = int(100 * guaranteed_share(min(runs), among))
        yield (
            f"A constraint that all {counted(min(runs), 'run')} of a cell meet, selected from "
            f"{counted(among, 'cell')}, is met in at least {share} % of runs (95 % confidence)."
        )


# -- as a table --------------------------------------------------------------------------------


def answer_table(findings: Findings) -> list[tuple[str, ...]]:
    """Return a row for each value of the given axes and each protocol, below the column titles.

    The table is empty if there is only one answer, which the sentences already give.
    """
    study = findings.plan.study
    if not findings.answers or (findings.best is not None and len(findings.answers) == 1):
        return []
    given = [axis.name for axis in study.vary if axis.given]
    protocol = ["protocol"] if len(study.protocols) > 1 else []
    chosen = [axis.name for axis in study.vary if not axis.given]
    rows = [(*_group_cells(findings, each), *_row(findings, each)) for each in findings.answers]
    return [
        (*given, *protocol, *chosen, *map(label_of, _columns(findings)), *_last(findings)),
        *rows,
    ]


def _counts_feasible(findings: Findings) -> bool:
    """Return whether some cell may be infeasible: by a constraint, or as disqualified."""
    goal = findings.plan.study.goal
    return bool(goal and goal.expect) or any(each.disqualified for each in findings.results)


def _last(findings: Findings) -> Iterator[str]:
    """Yield the titles of the last columns, which depend on the goal."""
    study = findings.plan.study
    if study.goal and _counts_feasible(findings):
        yield "feasible cells"
    if study.goal:
        yield "next values tried"
    if study.goal and is_metric(study.goal.least[0]):
        yield f"worst: {plain(study.goal.least[0])}"


def _group_cells(findings: Findings, answer: Answer) -> list[str]:
    several = len(findings.plan.study.protocols) > 1
    return [*answer.given, *([answer.protocol] if several else [])]


def _row(findings: Findings, answer: Answer) -> Iterator[str]:
    goal = findings.plan.study.goal
    if answer.best is None:
        empty = len(findings.plan.study.vary) - len(answer.given) + len(_columns(findings))
        yield from ["none", *[""] * (empty - 1)]
    else:
        yield from _chosen(findings, answer.best)
        yield from _figures(findings, answer.best).values()
    if goal and _counts_feasible(findings):
        yield f"{len(answer.feasible)} of {len(answer.tried)}"
    if goal:
        yield neighbours_text(answer.margins)
    if goal and answer.worst is not None:
        summaries = {cell: findings.summary_of(cell, goal.least[0]) for cell in answer.tried}
        known = {cell: each.mean.value for cell, each in summaries.items() if each}
        worst = known[answer.worst]
        where = ", ".join(_chosen(findings, answer.worst))
        yield "the same" if min(known.values()) == worst else f"{figure(worst)}, {where}"


def _chosen(findings: Findings, cell: int) -> list[str]:
    point = findings.plan.cells[cell].settings.point
    return [choice.label for choice in point if not choice.given]


def _columns(findings: Findings) -> list[str]:
    """Return the metrics that are shown for a best cell, each once."""
    study = findings.plan.study
    asked = [
        name for name in _goal_metrics(findings) if name not in {axis.name for axis in study.vary}
    ]
    return list(dict.fromkeys([*asked, *study.metrics]))


def _figures(findings: Findings, cell: int) -> dict[str, str]:
    return {metric: _figure(findings, metric, cell) for metric in _columns(findings)}


def _figure(findings: Findings, metric: str, cell: int) -> str:
    """Return a metric's mean and, if the goal has a bound on it, the figure that it bounds."""
    goal = findings.plan.study.goal
    summary = findings.summary_of(cell, metric)
    if summary is None:
        return NO_VALUE
    text = mean_text(summary)
    for name, bound in goal.expect.items() if goal else ():
        expected, statistic = split_name(name)
        if expected == metric and not statistic:
            text += _extreme(summary, bound)
        elif expected == metric and statistic != "mean":
            measured = measured_value(findings.result_of(cell), name, bound)
            text += f", {statistic} {NO_VALUE if measured is None else figure(measured)}"
    return text


def _extreme(summary: Summary, bound: Bound) -> str:
    """Return the value of the run that is nearest to violating a bound."""
    if summary.minimum == summary.maximum:
        return " in every run"
    if bound.relation.startswith(">"):
        return f", minimum {figure(summary.minimum)}"
    return f", maximum {figure(summary.maximum)}"
