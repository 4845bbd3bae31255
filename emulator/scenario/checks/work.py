"""Checks of times of records that depend on topic, lag, other records or batches."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.checks.cluster import unknown
from emulator.scenario.model import Group, OwnHandler, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import topics_of


def work_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    """Yield what makes no sense in ``work_by`` of a group."""
    given, path = group.work_by, f"group[{group.id}].work_by"
    assert given is not None, "only groups that have it are checked"
    if given == type(given)():
        yield Problem(path, 'says nothing; give "topic", "lag", "concurrency" or "batch"')
    read = [topic.name for topic in topics_of(group, scenario)]
    for name in given.topic:
        if name not in read:
            yield from unknown(f"{path}.topic", name, read, "topic that the group reads")
    steps = [step.above for step in given.lag]
    if steps != sorted(set(steps)):
        yield Problem(f"{path}.lag", '"above" has to grow from entry to entry', steps)
    if isinstance(group.handler, OwnHandler):
        yield Problem(path, "the code of the handler says how long a record takes")
    elif given.batch and group.pool is not None:
        reason = "a pool of workers has no batches; make the work on a record longer"
        yield Problem(f"{path}.batch", reason)
