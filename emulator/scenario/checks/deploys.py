"""What can be wrong with deploys: settings that do not go with the protocol they bring."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.checks.groups import settings_problems
from emulator.scenario.checks.names import unknown
from emulator.scenario.checks.protocols import REFUSED, assignor_problems_of, why_refused
from emulator.scenario.deploys import Deploy, deployed, deploys_of, started_by
from emulator.scenario.kafka_settings import CONSUMER, PROTOCOL
from emulator.scenario.model import Group, Member, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import broker_settings, consumer_settings


def deploy_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is wrong with the settings that acts start members with."""
    brokers = broker_settings(scenario.cluster)
    for act in deploys_of(scenario):
        yield from _unset_problems(act)
        yield from assignor_problems_of(f"{_path(act)}.settings", act.settings or {}, brokers)
        for group, member in started_by(act, scenario):
            yield from _member_problems(act, group, member)


def _path(act: Deploy) -> str:
    return f"fault[{act.id}]"


def _unset_problems(act: Deploy) -> Iterator[Problem]:
    path = f"{_path(act)}.unset"
    for name in act.unset:
        yield from unknown(path, name, CONSUMER, "setting")
        if name in (act.settings or {}):
            yield Problem(path, "stands in settings too; it is one or the other", name)


def _member_problems(act: Deploy, group: Group, member: Member) -> Iterator[Problem]:
    """Yield what is wrong with one member as the act starts it, and is not already before."""
    new_group, new_member = deployed(group, member, act)
    protocol = consumer_settings(new_group, new_member).group_protocol
    for name in REFUSED[protocol]:
        yield from _refused(act, name, protocol, (new_group, new_member))
    before = {str(problem) for problem in settings_problems(group, member)}
    for problem in settings_problems(new_group, new_member):
        if str(problem) not in before:
            setting = problem.path.rpartition("[")[2]
            yield Problem(f"{_path(act)}.settings[{setting}", problem.reason, problem.given)


def _refused(
    act: Deploy, name: str, protocol: str, started: tuple[Group, Member]
) -> Iterator[Problem]:
    """Yield a setting that the act brings along, or leaves where it is, and Kafka refuses."""
    group, member = started
    if name in (act.settings or {}):
        path = f"{_path(act)}.settings[{name}]"
        yield Problem(path, why_refused(name, protocol), member.settings[name])
        return
    own = f"group[{group.id}].member[{member.name}].settings"
    places = {own: member.settings, f"group[{group.id}].settings": group.settings}
    for place, settings in places.items():
        if name in settings:
            reason = (
                f"{place}[{name}] stays, and Kafka refuses it with {PROTOCOL}={protocol}; name it "
                'in "unset"'
            )
            yield Problem(f"{_path(act)}.settings", reason)
