"""The answer of a study in words and as a table: what to take, what it costs, how sure that is.

Only what the runs say: the best of what was tried, and what the seeds cannot tell from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.metrics.checks import split_name
from emulator.metrics.distribution import Summary
from emulator.metrics.metrics import is_metric
from emulator.report.wording import counted, figure, listed
from emulator.scenario.model import Bound
from emulator.study.answer import Answer, less, measured, ranks_of, surely
from emulator.study.findings import Findings
from emulator.study.labels import label_of, plus_minus
from emulator.study.model import Goal, Study

MOST_NAMED = 3
"""Cells beside the best one; of more the number is told."""


def sentences(findings: Findings) -> Iterator[str]:
    """Yield the answer of a study as sentences; none where it has no goal."""
    goal, best = findings.plan.study.goal, findings.best
    if goal is None or not findings.answers:
        return
    yield _sought(findings, goal)
    if best is not None:
        yield from _best(findings, goal, best)
    yield from _certainty(findings, goal)


def _sought(findings: Findings, goal: Goal) -> str:
    given = [axis.name for axis in findings.plan.study.vary if axis.given]
    least = ", then ".join(_plain(name) for name in goal.least)
    kept = f", where {listed(_expected(goal))}" if goal.expect else ""
    where = f" for each {listed(given)}" if given else ""
    return f"Sought{where}: the least {least}{kept}."


def _plain(name: str) -> str:
    """Return what people call a metric, without its unit; an axis is called as it is."""
    return label_of(name).rpartition(" (")[0] or label_of(name)


def _expected(goal: Goal) -> list[str]:
    told = []
    for name, bound in goal.expect.items():
        metric, statistic = split_name(name)
        over = f"the {statistic} of {_plain(metric)}" if statistic else _plain(metric)
        told.append(f"{over} is {_relation(bound)}{'' if statistic else ' in every run'}")
    return told


def _relation(bound: Bound) -> str:
    words = {"<=": "at most ", ">=": "at least ", "<": "below ", ">": "above ", "==": ""}
    return f"{words[bound.relation]}{figure(bound.value)}"


def _best(findings: Findings, goal: Goal, best: Answer) -> Iterator[str]:
    number = len(best.tried)
    if best.best is None:
        yield f"Of the {counted(number, 'cell')} that were tried, none is like that."
        return
    figures = [
        f"{_plain(metric)} {text}"
        for metric, text in _figures(findings, best.best).items()
        if metric in _goals(findings)
    ]
    yield f"Best of {counted(number, 'cell')}: {_name(findings, best.best)}: {'; '.join(figures)}."
    others = [_name(findings, cell) for cell in best.ahead[1:]]
    if others:
        more = len(others) - MOST_NAMED
        named = "; ".join(others[:MOST_NAMED])
        yield f"These seeds cannot tell it from: {named}{f'; {more} more' if more > 0 else ''}."
    yield from _instead(findings, goal, best, best.best)
    if best.worst is not None:
        mean = plus_minus(findings.summary_of(best.worst, goal.least[0]).mean)
        yield f"Worst: {_name(findings, best.worst)}: {_plain(goal.least[0])} {mean}."


def _instead(findings: Findings, goal: Goal, answer: Answer, best: int) -> Iterator[str]:
    axes = ranks_of(findings.results)
    for cell in answer.instead[:MOST_NAMED]:
        fewer = less(findings.result_of(cell), findings.result_of(best), goal, axes)
        yield f"Or, with less {listed([_plain(name) for name in fewer])}: {_name(findings, cell)}."


def _name(findings: Findings, cell: int) -> str:
    """Return a cell in words; its protocol only where there are several."""
    settings = findings.plan.cells[cell].settings
    words = [f"{choice.axis}={choice.label}" for choice in settings.point]
    several = len(findings.plan.study.protocols) > 1
    return settings.name if several or not words else ", ".join(words)


def _goals(findings: Findings) -> list[str]:
    """Return the metrics that the goal speaks of."""
    goal = findings.plan.study.goal
    return [*goal.least, *(split_name(name)[0] for name in goal.expect)] if goal else []


def _certainty(findings: Findings, goal: Goal) -> Iterator[str]:
    """Say what it means that each of a few runs kept a bound."""
    runs = [len(each.seeds) for each in findings.results if each.seeds]
    if any(split_name(name)[1] == "" for name in goal.expect) and runs:
        among = max(len(each.tried) for each in findings.answers)
        share = int(100 * surely(min(runs), among))
        yield (
            f"What holds in each of {counted(min(runs), 'run')} of a cell that is picked out of "
            f"{among} holds, with 95 % confidence, in at least {share} of 100."
        )


# -- as a table --------------------------------------------------------------------------------


def answer_table(findings: Findings) -> list[tuple[str, ...]]:
    """Return the best cell for each value of what is given and each protocol, the titles first."""
    study = findings.plan.study
    if not findings.answers or (findings.best is not None and len(findings.answers) == 1):
        return []
    given = [axis.name for axis in study.vary if axis.given]
    protocol = ["protocol"] if len(study.protocols) > 1 else []
    chosen = [axis.name for axis in study.vary if not axis.given]
    rows = [(*_place(findings, each), *_row(findings, each)) for each in findings.answers]
    return [(*given, *protocol, *chosen, *map(label_of, _columns(findings)), *_last(study)), *rows]


def _last(study: Study) -> Iterator[str]:
    """Yield the titles of the last columns."""
    if study.goal and study.goal.expect:
        yield "cells like that"
    if study.goal and is_metric(study.goal.least[0]):
        yield f"worst: {_plain(study.goal.least[0])}"


def _place(findings: Findings, answer: Answer) -> list[str]:
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
    if goal and goal.expect:
        yield f"{len(answer.keeping)} of {len(answer.tried)}"
    if goal and answer.worst is not None:
        mean = findings.summary_of(answer.worst, goal.least[0]).mean.value
        beside = [findings.summary_of(cell, goal.least[0]).mean.value for cell in answer.tried]
        where = ", ".join(_chosen(findings, answer.worst))
        yield "the same" if min(beside) == mean else f"{figure(mean)}, {where}"


def _chosen(findings: Findings, cell: int) -> list[str]:
    point = findings.plan.cells[cell].settings.point
    return [choice.label for choice in point if not choice.given]


def _columns(findings: Findings) -> list[str]:
    """Return the metrics that are told of a best cell, each once."""
    study = findings.plan.study
    asked = [name for name in _goals(findings) if name not in {axis.name for axis in study.vary}]
    return list(dict.fromkeys([*asked, *study.metrics]))


def _figures(findings: Findings, cell: int) -> dict[str, str]:
    return {metric: _figure(findings, metric, cell) for metric in _columns(findings)}


def _figure(findings: Findings, metric: str, cell: int) -> str:
    """Return a metric's mean and, of what is expected of it, what the runs came to."""
    goal = findings.plan.study.goal
    summary = findings.summary_of(cell, metric)
    text = plus_minus(summary.mean)
    for name, bound in goal.expect.items() if goal else ():
        expected, statistic = split_name(name)
        if expected == metric and not statistic:
            text += _farthest(summary, bound)
        elif expected == metric and statistic != "mean":
            text += f", {statistic} {figure(measured(findings.result_of(cell), name, bound))}"
    return text


def _farthest(summary: Summary, bound: Bound) -> str:
    """Return the run that is nearest to breaking a bound, to be put behind the mean."""
    if summary.minimum == summary.maximum:
        return " in every run"
    if bound.relation.startswith(">"):
        return f", least {figure(summary.minimum)}"
    return f", most {figure(summary.maximum)}"
