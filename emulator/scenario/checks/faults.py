"""What can be wrong with faults: whom they name, and what they ask for."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario import spelling
from emulator.scenario.checks.names import named_twice, unknown
from emulator.scenario.model import (
    AddPartitions,
    After,
    CreateTopic,
    Cut,
    DelayMessage,
    Fault,
    LoseMessage,
    MoveCoordinator,
    RollingRestart,
    Scenario,
    Start,
    Step,
)
from emulator.scenario.parties import (
    BROKERS,
    CLIENTS,
    broker_names,
    coordinator_names,
    members_of,
)
from emulator.scenario.problems import Problem


def fault_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is wrong with each fault and act, their times apart."""
    ids = [(f"fault[{number}].id", fault.id) for number, fault in enumerate(scenario.fault)]
    yield from named_twice(ids, "fault")
    for fault in scenario.fault:
        yield from _target_problems(fault, scenario)
        yield from _aim_problems(fault, scenario)
        yield from _demand_problems(fault, scenario)


def _path(fault: Fault, key: str = "") -> str:
    return f"fault[{fault.id}].{key or fault.verb}"


def _members(scenario: Scenario) -> list[str]:
    return [member.name for _, member in members_of(scenario)]


def _target_problems(fault: Fault, scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for each name in a fault that nobody has."""
    path = _path(fault)
    match fault:
        case Cut():
            parties = [CLIENTS, BROKERS, *_members(scenario), *_brokers(scenario)]
            for party in fault.parties:
                yield from unknown(path, party, parties, "party")
            if fault.parties[0] == fault.parties[1]:
                yield Problem(path, "a cut needs two different parties", fault.parties)
            return
        case LoseMessage() | DelayMessage():
            member = fault.message.member
            yield from unknown(f"{path}.member", member, _members(scenario), "member")
            return
    kind = spelling.TARGETS[fault.verb]
    known = {
        "member": lambda: _members(scenario),
        "broker": lambda: _brokers(scenario),
        "group": lambda: [group.id for group in scenario.group],
        "topic": lambda: [topic.name for topic in scenario.topic],
    }[kind]()
    yield from unknown(path, getattr(fault, kind), known, kind)


def _brokers(scenario: Scenario) -> list[str]:
    return [*coordinator_names(scenario), *broker_names(scenario.cluster)]


def _aim_problems(fault: Fault, scenario: Scenario) -> Iterator[Problem]:
    match fault.when:
        case Step(member=member):
            yield from unknown(_path(fault, "when.member"), member, _members(scenario), "member")
        case After(fault=aim):
            ids = [other.id for other in scenario.fault]
            yield from unknown(_path(fault, "when.fault"), aim, ids, "fault")


# -- what single verbs ask for ---------------------------------------------------------------


def _demand_problems(fault: Fault, scenario: Scenario) -> Iterator[Problem]:
    match fault:
        case MoveCoordinator(to=str(broker)):
            brokers = broker_names(scenario.cluster)
            yield from unknown(_path(fault, "to"), broker, brokers, "broker")
        case AddPartitions():
            yield from _growth_problems(fault, scenario)
        case CreateTopic():
            yield from _creation_problems(fault, scenario)
        case RollingRestart():
            yield from _rolling_problems(fault, scenario)
        case Start():
            yield from _start_problems(fault, scenario)


def _growth_problems(fault: AddPartitions, scenario: Scenario) -> Iterator[Problem]:
    """Compare with the count at that time, as far as the file says when earlier ones come."""
    before = [
        other.to
        for other in scenario.fault
        if isinstance(other, AddPartitions)
        and other.topic == fault.topic
        and other.at is not None
        and fault.at is not None
        and other.at + other.delay < fault.at + fault.delay
    ]
    counts = [topic.partitions for topic in scenario.topic if topic.name == fault.topic]
    if counts and fault.to <= (present := max(counts + before)):
        reason = f"not above the present number of partitions, {present}"
        yield Problem(_path(fault, "to"), reason, fault.to)


def _creation_problems(fault: CreateTopic, scenario: Scenario) -> Iterator[Problem]:
    deleted = {other.topic for other in scenario.fault if other.verb == "delete_topic"}
    for topic in scenario.topic:
        if topic.name == fault.topic and topic.created != "by act" and topic.name not in deleted:
            reason = 'exists already; write created = "by act" in its [[topic]]'
            yield Problem(_path(fault), reason, fault.topic)


def _rolling_problems(fault: RollingRestart, scenario: Scenario) -> Iterator[Problem]:
    group = next((group for group in scenario.group if group.id == fault.group), None)
    if group is None:
        return
    names = [member.name for member in group.members]
    if not isinstance(fault.order, str):
        for name in fault.order:
            yield from unknown(_path(fault, "order"), name, names, "member")
        yield from named_twice(((_path(fault, "order"), name) for name in fault.order), "member")
    if fault.surge:
        taken = [name for name in _members(scenario) if name.removesuffix("+") in names]
        for name in taken:
            if name.endswith("+"):
                yield Problem(_path(fault, "surge"), f'a stand-in would be called "{name}" too')


def _start_problems(fault: Start, scenario: Scenario) -> Iterator[Problem]:
    """Refuse to start who runs already; whose process may die by itself is let be."""
    for group, member in members_of(scenario):
        if member.name != fault.member or member.start == "by act":
            continue
        dies = {getattr(other, "member", None) for other in scenario.fault if other is not fault}
        restarts = {getattr(other, "group", None) for other in scenario.fault}
        policies = [group.commit, member.commit]
        fragile = (
            group.static
            or any("group.instance.id" in table for table in (group.settings, member.settings))
            or any(poison.error == "stop" for poison in group.poison)
            or any(policy and policy.on_refusal == "stop" for policy in policies)
        )
        if not fragile and member.name not in dies and group.id not in restarts:
            reason = 'runs from the start; write start = "by act" in its [[group.member]]'
            yield Problem(_path(fault), reason, fault.member)
