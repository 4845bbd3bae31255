"""Checks of autoscalers against the rest of their scenario."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.estimates.lifetimes import first_members, replicas_of
from emulator.scenario.model import Autoscaler, Group, Scenario, Start
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import topics_of
from emulator.scenario.short_forms import MAX_MEMBERS


def autoscaler_problems(group: Group, scaler: Autoscaler, scenario: Scenario) -> Iterator[Problem]:
    """Yield what does not go with the autoscaler of a group."""
    path = f"group[{group.id}].autoscaler"
    topics = [topic.name for topic in topics_of(group, scenario)]
    if scaler.topic is not None and scaler.topic not in topics:
        read = ", ".join(topics) or "none"
        reason = f"{group.id} does not read it; it reads {read}"
        yield Problem(f"{path}.topic", reason, scaler.topic)
    if scaler.kind == "keda" and group.offsets != "kafka":
        reason = (
            f'KEDA reads committed offsets from Kafka, and the group has offsets = "{group.offsets}"; use '
            'kind = "hpa"'
        )
        yield Problem(f"{path}.kind", reason, "keda")
    yield from _replica_problems(group, scaler)
    if scenario.until_settled:
        yield Problem(path, 'a run with an autoscaler has no natural end; set "run_for"')
    yield from _act_problems(group, scenario)


def _replica_problems(group: Group, scaler: Autoscaler) -> Iterator[Problem]:
    """Yield why the members of a group are no replicas of its autoscaler."""
    path, of_each = f"group[{group.id}].autoscaler.max_replicas", f"of {group.threads} members each"
    what = "members" if group.threads == 1 else f"processes {of_each}"
    first = first_members(group)
    for replica in replicas_of(group):
        if 0 < len(set(first).intersection(replica)) < len(replica):
            reason = f"{', '.join(replica)} are one process; let all of its members start by act, or none"
            yield Problem(f"group[{group.id}].members", reason, len(first))
            return
    begun = -(-len(first) // group.threads)
    if begun > scaler.max_replicas:
        reason = f"{group.id} begins with {begun} {what}, and max_replicas is {scaler.max_replicas}"
        yield Problem(path, reason, scaler.max_replicas)
    if scaler.max_replicas * group.threads > MAX_MEMBERS:
        reason = f"{of_each}, that is more than {MAX_MEMBERS:,} members, the most a group may have"
        yield Problem(path, reason, scaler.max_replicas)


def _act_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    names = {member.name for member in group.members}
    for act in scenario.fault:
        if isinstance(act, Start) and act.member in names:
            reason = f"the autoscaler of {group.id} starts it"
            yield Problem(f"fault[{act.id}].start", reason, act.member)
