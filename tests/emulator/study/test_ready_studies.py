"""The studies of the package: each can be planned unchanged, and played."""

from __future__ import annotations

import os

import pytest

from emulator.study import store
from emulator.study.findings import find
from emulator.study.model import load, names, path_of
from emulator.study.plan import metrics_of
from emulator.study.planning import plan_study
from emulator.study.rows import Task

FIRST_LINES = 2
"""A comment says at least what happened to whom."""


CPU_S = 2 * 120
"""Two minutes on two cores."""


def plan_of(name: str):
    """Return the plan of a study with two seeds."""
    return plan_study(name, seeds=2).plan


@pytest.mark.parametrize("name", names())
def test_a_study_says_where_its_question_comes_from(name):
    """What happened, and the public thread about it."""
    lines = path_of(name).read_text(encoding="utf-8").splitlines()
    comment = [line for line in lines if line.startswith("# ")]

    assert len(comment) > FIRST_LINES
    assert any(line.startswith("# https://github.com/") for line in comment)


@pytest.mark.parametrize("name", names())
def test_a_study_can_be_planned_unchanged(name):
    """Every cell differs from every other one; two cores need two minutes at most."""
    plan = plan_of(name)

    assert len(plan.cells) == len({cell.scenario_hash for cell in plan.cells}) > 1
    assert len(metrics_of(plan)) >= len(load(path_of(name)).metrics)
    seeds = load(path_of(name)).seeds
    assert sum(cell.run_s for cell in plan.cells) * (seeds.most or seeds.count) < CPU_S


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_a_study_is_played_without_a_failure_and_finds_something(name, tmp_path):
    """Its first setting or another one moves its first metric."""
    plan = plan_of(name)
    corners = [plan.cells[0], plan.cells[len(plan.cells) // 2], plan.cells[-1]]
    for chunk in plan.chunks(0, 1):
        cell = plan.cells[chunk.cell]
        if cell in corners:
            store.keep(Task(chunk, cell.scenario, metrics_of(plan), events=False), tmp_path)

    findings = find(tmp_path, plan)

    assert (3, 0) == (findings.runs, findings.failed)
    values = {
        metric: {each.values[metric][0] for each in findings.results} for metric in metrics_of(plan)
    }
    assert any(len(found) > 1 for found in values.values())
    assert not list(tmp_path.rglob(f".*{os.getpid()}.part"))
