"""What can be wrong with faults: whom they name, and what they ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from emulator.scenario import spelling
from emulator.scenario.checks.names import named_twice, unknown
from emulator.scenario.checks.topics import most_partitions
from emulator.scenario.model import (
    AddPartitions,
    After,
    CreateTopic,
    Cut,
    DelayMessage,
    DeleteOffsets,
    DeleteTopic,
    Fault,
    Group,
    LoseMessage,
    Member,
    MoveCoordinator,
    ResetOffsets,
    RollingBrokerRestart,
    RollingRestart,
    Scenario,
    Start,
    Step,
    Subscribe,
)
from emulator.scenario.parties import Names, broker_names, broker_number
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import INSTANCE_ID


def fault_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is wrong with each fault and act, their times apart."""
    ids = [(f"fault[{number}].id", fault.id) for number, fault in enumerate(scenario.fault)]
    yield from named_twice(ids, "fault")
    names = Names.of(scenario)
    for fault in scenario.fault:
        yield from _target_problems(fault, names)
        yield from _aim_problems(fault, names)
        yield from _demand_problems(fault, names, scenario)


def _path(fault: Fault, key: str = "") -> str:
    return f"fault[{fault.id}].{key or fault.verb}"


def _target_problems(fault: Fault, names: Names) -> Iterator[Problem]:
    """Yield a problem for each name in a fault that nobody has."""
    path = _path(fault)
    match fault:
        case Cut():
            yield from _cut_problems(path, fault.parties, names)
        case LoseMessage() | DelayMessage():
            yield from unknown(f"{path}.member", fault.message.member, names.member, "member")
        case RollingBrokerRestart(brokers=tuple(listed)):
            for broker in listed:
                yield from unknown(path, broker, _only_brokers(names), "broker")
            yield from named_twice(((path, broker) for broker in listed), "broker")
        case RollingBrokerRestart():
            return
        case _:
            kind = spelling.TARGETS[fault.verb]
            known: Collection[str] = getattr(names, kind)
            yield from unknown(path, getattr(fault, kind), known, kind)


def _cut_problems(path: str, parties: tuple[str, str], names: Names) -> Iterator[Problem]:
    strangers = [party for party in parties if party not in names.party]
    for party in strangers:
        yield from unknown(path, party, names.party, "party")
    if not strangers and not names.speak(*parties):
        reason = (
            "nothing passes between these two; cut a consumer from a broker, a broker from "
            "another one or from the controller"
        )
        yield Problem(path, reason, parties)


def _only_brokers(names: Names) -> list[str]:
    return [party for party in names.broker if broker_number(party) is not None]


def _aim_problems(fault: Fault, names: Names) -> Iterator[Problem]:
    match fault.when:
        case Step(member=member):
            yield from unknown(_path(fault, "when.member"), member, names.member, "member")
        case After(fault=aim):
            yield from unknown(_path(fault, "when.fault"), aim, names.fault, "fault")


# -- what single verbs ask for ---------------------------------------------------------------


def _demand_problems(fault: Fault, names: Names, scenario: Scenario) -> Iterator[Problem]:
    match fault:
        case MoveCoordinator(to=str(broker)):
            brokers = broker_names(scenario.cluster)
            yield from unknown(_path(fault, "to"), broker, brokers, "broker")
        case AddPartitions():
            yield from _growth_problems(fault, scenario)
        case DeleteOffsets(topic=str(topic)) | ResetOffsets(topic=str(topic)):
            yield from unknown(_path(fault, "topic"), topic, names.topic, "topic")
            yield from _partition_problems(fault, topic, scenario)
        case CreateTopic():
            yield from _creation_problems(fault, scenario)
        case RollingRestart(group=group) if group in names.group:
            yield from _rolling_problems(fault, names.group[group], names)
        case Subscribe(group=group) if group in names.group:
            yield from _order_problems(fault, names.group[group])
            for topic in fault.topics:
                yield from unknown(_path(fault, "topics"), topic, names.topic, "topic")
            yield from named_twice(((_path(fault, "topics"), t) for t in fault.topics), "topic")
        case Start(member=member) if member in names.member:
            yield from _start_problems(fault, names.member[member], scenario)


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


def _partition_problems(
    fault: DeleteOffsets | ResetOffsets, topic: str, scenario: Scenario
) -> Iterator[Problem]:
    """Refuse partitions that the topic never has."""
    counts = [most_partitions(known, scenario) for known in scenario.topic if known.name == topic]
    for number in fault.partitions if counts else ():
        if number >= counts[0]:
            reason = f"no such partition; {topic} has {counts[0]}, counted from 0"
            yield Problem(_path(fault, "partitions"), reason, number)


def _creation_problems(fault: CreateTopic, scenario: Scenario) -> Iterator[Problem]:
    deleted = {other.topic for other in scenario.fault if isinstance(other, DeleteTopic)}
    for topic in scenario.topic:
        if topic.name == fault.topic and topic.created != "by act" and topic.name not in deleted:
            reason = 'exists already; write created = "by act" in its [[topic]]'
            yield Problem(_path(fault), reason, fault.topic)


def _order_problems(fault: RollingRestart | Subscribe, group: Group) -> Iterator[Problem]:
    path = _path(fault, "order")
    members = [member.name for member in group.members]
    order = () if isinstance(fault.order, str) else fault.order
    for name in order:
        yield from unknown(path, name, members, "member")
    yield from named_twice(((path, name) for name in order), "member")


def _rolling_problems(fault: RollingRestart, group: Group, names: Names) -> Iterator[Problem]:
    yield from _order_problems(fault, group)
    members = [member.name for member in group.members]
    for name in members if fault.surge else ():
        if f"{name}+" in names.member:
            reason = f'the stand-in for {name} would have the name of a member, "{name}+"'
            yield Problem(_path(fault, "surge"), reason, given=True)


def _start_problems(fault: Start, group: Group, scenario: Scenario) -> Iterator[Problem]:
    """Refuse to start who runs already, unless something in the scenario may end its process."""
    member = next(member for member in group.members if member.name == fault.member)
    ended = any(
        (other is not fault and fault.member == getattr(other, "member", None))
        or group.id == getattr(other, "group", None)
        for other in scenario.fault
    )
    if member.start != "by act" and not ended and not _may_die(group, member):
        reason = 'runs from the start; write start = "by act" in its [[group.member]]'
        yield Problem(_path(fault), reason, fault.member)


def _may_die(group: Group, member: Member) -> bool:
    """Tell whether a process can end by itself: fenced, or by an error of its own."""
    policy = member.commit or group.commit
    return (
        group.static
        or INSTANCE_ID in group.settings
        or INSTANCE_ID in member.settings
        or policy.on_refusal == "stop"
        or any(poison.error == "stop" for poison in group.poison)
    )
