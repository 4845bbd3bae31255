"""What can be wrong with groups, their members, and the settings of both together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from emulator.scenario.checks.names import named_twice, unknown
from emulator.scenario.checks.patterns import broker_problems, pattern_problems
from emulator.scenario.checks.topics import most_partitions
from emulator.scenario.model import Group, Member, Scenario
from emulator.scenario.parties import (
    ADMIN,
    BROKERS,
    CLIENTS,
    CONTROLLER,
    COORDINATOR_OF,
    broker_number,
    members_of,
)
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import (
    AUTO_COMMIT,
    INSTANCE_ID,
    commit_policy,
    consumer_settings,
    subscription_of,
)
from emulator.scenario.spelling import LEGAL_NAME
from emulator.scenario.units import format_duration
from protocols.settings import ConsumerSettings


def group_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is wrong with each group and member, and with their names."""
    groups = [(f"group[{index}].id", group.id) for index, group in enumerate(scenario.group)]
    yield from named_twice(groups, "group")
    yield from named_twice(
        ((f"group[{group.id}].members", member.name) for group, member in members_of(scenario)),
        "member",
    )
    for group in scenario.group:
        yield from _coordinator_problems(group, scenario)
        yield from _poison_problems(group, scenario)
        yield from _subscription_problems(group, scenario)
        for member in group.members:
            yield from _member_problems(group, member, scenario)


def _path(group: Group, member: Member) -> str:
    return f"group[{group.id}].member[{member.name}]"


def _coordinator_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    brokers = scenario.cluster.brokers
    if group.coordinator is not None and group.coordinator > brokers:
        reason = f"no broker {group.coordinator}; allowed are 1 to {brokers}"
        yield Problem(f"group[{group.id}].coordinator", reason, group.coordinator)


def _poison_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    topics = {topic.name: topic for topic in scenario.topic}
    path = f"group[{group.id}].poison"
    for number, poison in enumerate(group.poison):
        yield from unknown(f"{path}[{number}].topic", poison.topic, topics, "topic")
        if poison.topic in topics:
            most = most_partitions(topics[poison.topic], scenario)
            if poison.partition >= most:
                reason = f"no such partition; allowed are 0 to {most - 1}"
                yield Problem(f"{path}[{number}].partition", reason, poison.partition)
    places = [
        (f"{path}[{number}]", f"{poison.topic}-{poison.partition}, offset {poison.offset}")
        for number, poison in enumerate(group.poison)
    ]
    yield from named_twice(places, "record")


# -- subscriptions ---------------------------------------------------------------------------


def _subscription_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    path = f"group[{group.id}]"
    yield from broker_problems(group)
    yield from _wanted(path, (group.topics, group.pattern), group, scenario)
    for member in group.members:
        if member.topics is not None or member.pattern is not None:
            wanted = subscription_of(group, member)
            yield from _wanted(_path(group, member), wanted, group, scenario)
        elif not group.topics and group.pattern is None:
            reason = 'subscribes to nothing; say "topics" or "pattern", here or for the group'
            yield Problem(_path(group, member), reason)


def _wanted(
    path: str, wanted: tuple[tuple[str, ...], str | None], group: Group, scenario: Scenario
) -> Iterator[Problem]:
    topics, pattern = wanted
    known = [topic.name for topic in scenario.topic]
    if topics and pattern is not None:
        yield Problem(path, 'says both "topics" and "pattern"; a consumer has one of them')
    for topic in topics:
        yield from unknown(f"{path}.topics", topic, known, "topic")
    yield from named_twice(((f"{path}.topics", topic) for topic in topics), "topic")
    if pattern is not None:
        yield from pattern_problems(f"{path}.pattern", pattern, group, known)


# -- members ---------------------------------------------------------------------------------


def _member_problems(group: Group, member: Member, scenario: Scenario) -> Iterator[Problem]:
    yield from _name_problems(group, member)
    yield from settings_problems(group, member)
    if isinstance(member.start, int) and member.start >= scenario.run_for:
        end = format_duration(scenario.run_for)
        reason = f"after the end of the run; run_for is {end}"
        yield Problem(f"{_path(group, member)}.start", reason, format_duration(member.start))


def _name_problems(group: Group, member: Member) -> Iterator[Problem]:
    name = member.name
    reserved = name in (CLIENTS, BROKERS, CONTROLLER, ADMIN) or name.startswith(COORDINATOR_OF)
    if reserved or broker_number(name) is not None:
        yield Problem(_path(group, member), "the name of another party; take another", name)
    elif group.static and INSTANCE_ID not in member.settings and not re.fullmatch(LEGAL_NAME, name):
        reason = (
            "no instance id: a static member's name has letters, digits, dots, underscores "
            "and hyphens"
        )
        yield Problem(_path(group, member), reason, name)


def settings_problems(group: Group, member: Member) -> Iterator[Problem]:
    """Yield settings of a member that contradict each other, or who commits."""
    settings = consumer_settings(group, member)
    if settings.heartbeat_interval_ms >= settings.session_timeout_ms:
        yield _heartbeat_problem(group, member, settings)
    said = "commit" in (group.model_fields_set if member.commit is None else ("commit",))
    if said and commit_policy(group, member).call == "auto" and not settings.enable_auto_commit:
        path = _settings_path(group, member, AUTO_COMMIT)
        reason = 'contradicts commit = "auto"; change one of them'
        yield Problem(f"{path}[{AUTO_COMMIT}]", reason, given=False)
    call = commit_policy(group, member).call
    if call != "auto" and settings.enable_auto_commit:
        path = _settings_path(group, member, AUTO_COMMIT)
        reason = f'contradicts commit = "{call}": both would commit; leave this setting out'
        yield Problem(f"{path}[{AUTO_COMMIT}]", reason, given=True)


def _heartbeat_problem(group: Group, member: Member, settings: ConsumerSettings) -> Problem:
    heartbeat, session = "heartbeat.interval.ms", "session.timeout.ms"
    path = _settings_path(group, member, heartbeat, session)
    if heartbeat in group.settings or heartbeat in member.settings:
        reason = f"not below {session}, which is {settings.session_timeout_ms} (milliseconds)"
        return Problem(f"{path}[{heartbeat}]", reason, settings.heartbeat_interval_ms)
    reason = f"not above {heartbeat}, which is {settings.heartbeat_interval_ms} (milliseconds)"
    return Problem(f"{path}[{session}]", reason, settings.session_timeout_ms)


def _settings_path(group: Group, member: Member, *names: str) -> str:
    """Return where the settings are said: at the member if it says one of them itself."""
    mine = any(name in member.settings for name in names)
    return f"{_path(group, member) if mine else f'group[{group.id}]'}.settings"
