"""Check the settings with which acts start members."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.checks.cluster import unknown
from emulator.scenario.checks.groups import assignor_problems_of, settings_problems
from emulator.scenario.deploys import Deploy, deployed, deploys_of, started_by
from emulator.scenario.kafka_settings import (
    CONSUMER,
    OLD_CONSUMER,
    OTHER_CLIENTS,
    PROTOCOL,
    REFUSED_WITH,
    why_refused,
)
from emulator.scenario.model import Group, Member, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import broker_settings, client_of, consumer_settings


def deploy_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of settings with which acts start members."""
    brokers = broker_settings(scenario.cluster)
    for act in deploys_of(scenario):
        yield from _unset_problems(act)
        yield from assignor_problems_of(
            f"{_member_path(act)}.settings", act.settings or {}, brokers
        )
        for group, member in started_by(act, scenario):
            yield from _member_problems(act, group, member)
        if not OLD_CONSUMER.keys().isdisjoint(act.settings or {}):
            yield from _old_consumer_problems(act, scenario)


def _old_consumer_problems(act: Deploy, scenario: Scenario) -> Iterator[Problem]:
    from emulator.scenario.checks.clients import old_consumer_problems  # noqa: PLC0415  few need it

    for group in {group.id: group for group, _ in started_by(act, scenario)}.values():
        yield from old_consumer_problems(f"{_member_path(act)}.settings", act.settings or {}, group)


def _member_path(act: Deploy) -> str:
    return f"fault[{act.id}]"


def _unset_problems(act: Deploy) -> Iterator[Problem]:
    path = f"{_member_path(act)}.unset"
    for name in act.unset:
        yield from unknown(path, name, CONSUMER | OLD_CONSUMER, "setting")
        if name in (act.settings or {}):
            yield Problem(path, "is in settings, too; remove one of them", name)


def _member_problems(act: Deploy, group: Group, member: Member) -> Iterator[Problem]:
    """Yield the problems of one member that the act causes."""
    new_group, new_member = deployed(group, member, act)
    protocol = consumer_settings(new_group, new_member).group_protocol
    for name in REFUSED_WITH[protocol]:
        yield from _refused(act, name, protocol, (new_group, new_member))
    before = {str(problem) for problem in _started_with(group, member)}
    for problem in _started_with(new_group, new_member):
        _, is_setting, setting = problem.path.rpartition(".settings[")
        if str(problem) not in before and is_setting:
            yield Problem(f"{_member_path(act)}.settings[{setting}", problem.reason, problem.given)


def _started_with(group: Group, member: Member) -> Iterator[Problem]:
    """Yield the problems of the settings with which a member starts, and of its client with them."""
    yield from settings_problems(group, member)
    if client_of(group, member) != "java" or not OTHER_CLIENTS.keys().isdisjoint(member.settings):
        from emulator.scenario.checks.clients import member_problems  # noqa: PLC0415  few need it

        yield from member_problems(f"group[{group.id}]", group, member)


def _refused(
    act: Deploy, name: str, protocol: str, started: tuple[Group, Member]
) -> Iterator[Problem]:
    """Yield a setting of the act, or one that it leaves in force, if Kafka rejects it."""
    group, member = started
    if name in (act.settings or {}):
        path = f"{_member_path(act)}.settings[{name}]"
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
            yield Problem(f"{_member_path(act)}.settings", reason)
