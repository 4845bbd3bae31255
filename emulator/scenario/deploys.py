"""Deploys that change settings: what a member runs with once an act has started it anew."""

from __future__ import annotations

from emulator.scenario.model import Group, Member, RollingRestart, Scenario, Start

Deploy = RollingRestart | Start
"""The acts that start members, and may give them other settings."""


def deploys_of(scenario: Scenario) -> list[Deploy]:
    """Return the acts of a scenario that start members with other settings."""
    acts = (act for act in scenario.fault if isinstance(act, RollingRestart | Start))
    return [act for act in acts if changes_settings(act)]


def changes_settings(act: Deploy) -> bool:
    """Say whether members start with what the act says, not with what they last ran with."""
    return act.settings is not None or bool(act.unset)


def deployed(group: Group, member: Member, act: Deploy) -> tuple[Group, Member]:
    """Return a group and a member with the settings that an act leaves the member with.

    *group*, *member*: as the file has them; what an earlier act changed does not count.
    """
    of_group = {name: value for name, value in group.settings.items() if name not in act.unset}
    own = {name: value for name, value in member.settings.items() if name not in act.unset}
    own |= act.settings or {}
    return (
        group.model_copy(update={"settings": of_group}),
        member.model_copy(update={"settings": own}),
    )


def started_by(act: Deploy, scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return whom an act starts, each with its group as the file has them."""
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


def ever_running(scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return every member with its group, and again with what each deploy makes of it."""
    written = [(group, member) for group in scenario.group for member in group.members]
    return written + [
        deployed(group, member, act)
        for act in deploys_of(scenario)
        for group, member in started_by(act, scenario)
    ]
