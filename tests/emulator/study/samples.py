"""A small study for tests: a crash under two session timeouts, half a second in all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from emulator.scenario.load import loads as load_scenario
from emulator.scenario.model import Scenario
from emulator.study.answer import answers, best_of_all
from emulator.study.findings import Findings
from emulator.study.metric_charts import Picture, pictures_of_metrics
from emulator.study.model import Study, loads
from emulator.study.overview_charts import front_chart, sensitivity_chart
from emulator.study.plan import Plan, make_plan, metrics_of
from emulator.study.rows import Task
from emulator.study.summary import CellResults, summaries

SCENARIO = """
title = "one of two crashes"
run_for = "20s"

[[topic]]
name = "orders"
partitions = 2
rate = "5/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"

[group.settings]
"auto.offset.reset" = "earliest"
"partition.assignment.strategy" = "range"
"session.timeout.ms" = "6s"

[[fault]]
crash = "billing-1"
between = ["8s", "10s"]
"""

STUDY = """
title = "how long a session?"
scenario = "crash.toml"
seeds = 6
metrics = ["reprocessed", "takeover_first_s", "reprocessed.by_cause[crashed while uncommitted]"]
pareto = [["reprocessed", "commits_sent"]]

[[vary]]
name = "commit interval"
set = "group[billing].settings[auto.commit.interval.ms]"
values = ["500ms", "5s"]
"""

OWN_ASSIGNOR = """
from assignors.types import FunctionAssignor
from assignors.types import TopicPartition


def make():
    def assign(topics, subscriptions):
        members = sorted(subscriptions)
        mine = dict.fromkeys(members, ())
        return {**mine, members[0]: (TopicPartition("orders", 0), TopicPartition("orders", 1))}

    return FunctionAssignor("all-to-one", assign)
"""


SEEDS = "seeds = 6"


def study_of(*changes: tuple[str, str], more: str = "") -> Study:
    """Return the small study with some of its text replaced, and more text at its end."""
    return loads(text_of(*changes, more=more))


def text_of(*changes: tuple[str, str], more: str = "") -> str:
    """Return the small study's text, changed."""
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return f"{text}\n{more}"


def load_cell(overrides: Sequence[str]) -> Scenario:
    """Return the scenario with some keys changed."""
    return load_scenario(SCENARIO, overrides=overrides)


def plan_of(study: Study | None = None) -> Plan:
    """Return the plan of a study whose protocols change nothing."""
    study = study or study_of()
    return make_plan(study, dict.fromkeys(study.protocols, ()), load_cell)


def tasks_of(plan: Plan, *, events: bool = False) -> list[Task]:
    """Return all work of a plan's first round."""
    chunks = plan.chunks(0, plan.study.seeds.count)
    metrics = metrics_of(plan)
    return [Task(chunk, plan.cells[chunk.cell].scenario, metrics, events) for chunk in chunks]


def results_of(
    plan: Plan, *values: Sequence[float], metric: str = "reprocessed"
) -> list[CellResults]:
    """Return results with these values of one metric, cell by cell."""
    return [
        CellResults(cell, tuple(range(len(row))), {metric: tuple(row)}, 0, "", None)
        for cell, row in zip(plan.cells, values, strict=True)
    ]


def written(folder: Path, *changes: tuple[str, str], more: str = "") -> Path:
    """Write the study with its scenario beside it; return where the study is."""
    (folder / "crash.toml").write_text(SCENARIO)
    path = folder / "study.toml"
    path.write_text(text_of(*changes, more=more))
    return path


def bytes_in(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder by its name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def findings_with(
    goal: str | None, *values: list[float], changes: Sequence[tuple[str, str]] = (), more: str = ""
) -> Findings:
    """Return findings of the small study, whose cells have these values of ``reprocessed``."""
    with_goal = [] if goal is None else [(SEEDS, f"{SEEDS}\ngoal = {goal}")]
    plan = plan_of(study_of(*with_goal, *changes, more=more))
    results = results_of(plan, *values)
    for each in results:
        missing = [name for name in metrics_of(plan) if name not in each.values]
        each.values.update({name: (0.0,) * len(each.seeds) for name in missing})
    return Findings(
        plan=plan,
        results=results,
        summaries=summaries(results, metrics_of(plan)),
        differences=(),
        influences=(),
        fronts=(),
        answers=answers(results, plan.study.goal),
        best=best_of_all(results, plan.study.goal),
    )


def pictures(findings: Findings) -> Iterator[Picture]:
    """Yield all pictures of a study."""
    yield from pictures_of_metrics(findings)
    for front in findings.fronts:
        yield front_chart(findings, front)
    if findings.influences:
        yield sensitivity_chart(findings)
