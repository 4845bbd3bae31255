"""Resolve deploys: the acts that start members, possibly with other settings."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.model import Close, DrainNode, Group, Member, RollingRestart, Scenario, Start

Deploy = RollingRestart | Start
"""The acts that start members, possibly with other settings."""


def deploys_of(scenario: Scenario) -> list[Deploy]:
    """Return the acts of a scenario that start members with other settings."""
    acts = (act for act in scenario.fault if isinstance(act, RollingRestart | Start))
    return [act for act in acts if changes_settings(act)]


PART_OF_A_DEPLOYMENT = "25%"
"""The default of ``maxSurge`` and ``maxUnavailable`` of a Deployment."""


def is_deployment(act: RollingRestart | DrainNode) -> bool:
    """Return whether the members that an act replaces are pods of a Deployment; otherwise of a StatefulSet."""
    return act.names == "random"


def replaced_together(act: RollingRestart, members: int) -> tuple[int, int]:
    """Return how many members of a group are replaced at the same time: old one first, new one first.

    Of *members*, the replicas of the group, a percentage of ``surge`` is rounded up, one of
    ``max_unavailable`` down; if both give none, one is unavailable. Source: ``ResolveFenceposts`` of
    Kubernetes' Deployment controller.
    """
    part = PART_OF_A_DEPLOYMENT if is_deployment(act) else None
    if act.surge is True:
        return 0, _part(act.max_unavailable or part or 1, members, up=False) or 1
    surge = _part((part or 0) if act.surge is None else act.surge, members, up=True)
    default = part or (0 if surge else 1)
    unavailable = default if act.max_unavailable is None else act.max_unavailable
    found = _part(unavailable, members, up=False)
    return (found, surge) if found or surge else (1, 0)


def _part(number: int | str, members: int, *, up: bool) -> int:
    if not isinstance(number, str):
        return int(number)
    whole, rest = divmod(int(number[:-1]) * members, 100)
    return whole + (up and rest > 0)


def changes_settings(act: Deploy) -> bool:
    """Return whether an act changes the settings with which its members start."""
    return act.settings is not None or bool(act.unset)


def deployed(group: Group, member: Member, act: Deploy) -> tuple[Group, Member]:
    """Return a group and a member with the settings after an act.

    *group*, *member*: as the file has them; changes by earlier acts are not included.
    """
    of_group = {name: value for name, value in group.settings.items() if name not in act.unset}
    own = {name: value for name, value in member.settings.items() if name not in act.unset}
    own |= act.settings or {}
    return (
        group.model_copy(update={"settings": of_group}),
        member.model_copy(update={"settings": own}),
    )


def started_by(act: Deploy, scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return the members that an act starts, each with its group, as written in the file."""
    return [
        (group, member)
        for group in scenario.group
        for member in group.members
        if _starts(act, group, member)
    ]


def _starts(act: Deploy, group: Group, member: Member) -> bool:
    if isinstance(act, Start):
        return member.name == act.member
    if group.id != act.group:
        return False
    return isinstance(act.order, str) or member.name in act.order


def deployed_by(act: Deploy, scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return the members that an act starts, each with its group, with the settings after it."""
    return [deployed(*written, act) for written in started_by(act, scenario)]


def ever_running(scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return every member with its group, and again with its settings after each deploy."""
    written = [(group, member) for group in scenario.group for member in group.members]
    return written + [after for act in deploys_of(scenario) for after in deployed_by(act, scenario)]


def rolling_restarts_of(group_id: str, scenario: Scenario) -> list[RollingRestart]:
    """Return the rolling restarts of a group, in the order of the file."""
    return [
        act for act in scenario.fault if isinstance(act, RollingRestart) and act.group == group_id
    ]


def stops_of(group: Group, scenario: Scenario) -> Iterator[RollingRestart | Close | DrainNode]:
    """Yield the acts that stop members of a group with a signal: some kill them after a grace period."""
    names = {member.name for member in group.members}
    yield from rolling_restarts_of(group.id, scenario)
    for act in scenario.fault:
        if isinstance(act, Close) and act.member in names:
            yield act
        if isinstance(act, DrainNode) and names.intersection(act.members):
            yield act


def starts_again(group: Group, scenario: Scenario) -> bool:
    """Return whether an act starts members again that a signal stopped, under the same names."""
    at_first = {member.name for member in group.members if member.start != "by act"}
    if any(isinstance(act, Start) and act.member in at_first for act in scenario.fault):
        return True
    return any(
        isinstance(act, RollingRestart) or act.restart_after is not None
        for act in stops_of(group, scenario)
    )


def renaming_acts(group_id: str, scenario: Scenario) -> list[RollingRestart | DrainNode]:
    """Return the acts that replace members of a group by ones with other names and instance ids."""
    group = next(group for group in scenario.group if group.id == group_id)
    acts = (act for act in stops_of(group, scenario) if not isinstance(act, Close))
    return [act for act in acts if is_deployment(act)]


def shortest_grace_us(group: Group, scenario: Scenario) -> int | None:
    """Return the shortest time that a process has from SIGTERM to SIGKILL; None: none is killed.

    In Kubernetes the preStop hook runs within the grace period.
    """
    found = [
        act.grace - (act.pre_stop if isinstance(act, RollingRestart) else 0)
        for act in stops_of(group, scenario)
        if act.grace is not None
    ]
    return max(min(found), 0) if found else None
