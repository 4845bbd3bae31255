"""Checks of autoscalers against the rest of their scenario."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.lifetimes import first_members
from emulator.scenario.model import Autoscaler, Group, RollingRestart, Scenario, Start
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import topics_of


def autoscaler_problems(group: Group, scaler: Autoscaler, scenario: Scenario) -> Iterator[Problem]:
    """Yield what does not go with the autoscaler of a group."""
    path = f"group[{group.id}].autoscaler"
    topics = [topic.name for topic in topics_of(group, scenario)]
    if scaler.topic is not None and scaler.topic not in topics:
        read = ", ".join(topics) or "none"
        reason = f"{group.id} does not read it; it reads {read}"
        yield Problem(f"{path}.topic", reason, scaler.topic)
    if scaler.kind == "keda" and group.offsets != "kafka":
        reason = 'KEDA reads committed offsets from Kafka; use kind = "hpa"'
        yield Problem(f"{path}.kind", reason, f'offsets = "{group.offsets}"')
    first = len(first_members(group))
    if first > scaler.max_replicas:
        reason = (
            f"{group.id} begins with {first} members, and max_replicas is {scaler.max_replicas}"
        )
        yield Problem(f"{path}.max_replicas", reason, scaler.max_replicas)
    if scenario.until_settled:
        yield Problem(path, 'a run with an autoscaler has no natural end; set "run_for"')
    yield from _act_problems(group, scenario)


def _act_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    names = {member.name for member in group.members}
    for act in scenario.fault:
        if isinstance(act, Start) and act.member in names:
            reason = f"the autoscaler of {group.id} starts it"
            yield Problem(f"fault[{act.id}].start", reason, act.member)
        if isinstance(act, RollingRestart) and act.group == group.id and act.surge:
            reason = f"the autoscaler of {group.id} would not count the members that surge adds"
            yield Problem(f"fault[{act.id}].surge", reason, act.surge)
