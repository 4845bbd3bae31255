"""Check faults and acts: their targets, their settings, and their times.

A file may have tens of thousands, each of which waits for the one before it: every fault is looked at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby

from emulator.scenario import short_forms
from emulator.scenario.checks.cluster import (
    Names,
    named_twice,
    repeated_in,
    taken_names,
    unknown,
    unknown_in,
)
from emulator.scenario.model import (
    AddPartitions,
    After,
    Close,
    Crash,
    CreateTopic,
    Cut,
    DelayMessage,
    DeleteOffsets,
    DeleteTopic,
    DrainNode,
    FailListener,
    Fault,
    Group,
    LoseMessage,
    Member,
    MoveCoordinator,
    PausePartitions,
    ResetOffsets,
    RestoreStore,
    RollingBrokerRestart,
    RollingRestart,
    Scenario,
    Seek,
    SlowStore,
    Start,
    Step,
    StopStore,
    Subscribe,
)
from emulator.scenario.problems import NOT_GIVEN, Problem, few_listed
from emulator.scenario.resolution import (
    INSTANCE_ID,
    broker_names,
    broker_number,
)
from emulator.scenario.tables.distributions import always
from emulator.scenario.units import format_duration


def fault_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of faults and acts, except those of their times."""
    ids = [(f"fault[{number}].id", fault.id) for number, fault in enumerate(scenario.fault)]
    yield from named_twice(ids, "fault")
    names = Names.of(scenario)
    for fault in scenario.fault:
        yield from _target_problems(fault, names)
        yield from _aim_problems(fault, names)
        yield from _demand_problems(fault, names, scenario)
        if isinstance(fault, Crash | Close | DrainNode):
            yield from _restart_problems(fault)
    yield from _growth_problems(scenario)
    yield from _creation_problems(scenario)


def _path(fault: Fault, key: str = "") -> str:
    return f"fault[{fault.id}].{key or fault.verb}"


def _target_problems(fault: Fault, names: Names) -> Iterator[Problem]:
    """Yield a problem for each name in a fault that does not exist."""
    path = _path(fault)
    match fault:
        case Cut():
            yield from _cut_problems(path, fault.parties, names)
        case LoseMessage() | DelayMessage():
            yield from unknown(f"{path}.member", fault.message.member, names.member, "member")
        case RollingBrokerRestart():
            yield from _brokers_problems(path, fault, names)
        case DrainNode(members=members):
            yield from unknown_in(path, members, names.member, "member")
            yield from repeated_in(path, members, "member")
            yield from _pod_problems(fault, names)
        case SlowStore(store=store) | StopStore(store=store) | RestoreStore(store=store):
            if all(group.offsets != store for group in names.group.values()):
                reason = f'no group keeps its offsets there; set offsets = "{store}" of a group'
                yield Problem(path, reason, store)
        case _:
            kind = short_forms.TARGETS[fault.verb]
            known: Collection[str] = getattr(names, kind)
            name = getattr(fault, kind)
            if kind == "member" and name in names.group and name not in known:
                own = [member.name for member in names.group[name].members]
                yield Problem(path, f"a group; write one of its members: {few_listed(own)}", name)
            else:
                yield from unknown(path, name, known, kind)


def _pod_problems(act: DrainNode, names: Names) -> Iterator[Problem]:
    if act.names == "random":
        if act.restart_after is None:
            yield Problem(_path(act, "names"), "no pod replaces them; set restart_after", act.names)
        yield from taken_names(_path(act, "names"), act.members, names.member, act.names)


def _cut_problems(path: str, parties: tuple[str, str], names: Names) -> Iterator[Problem]:
    unknown_parties = [party for party in parties if party not in names.party]
    for party in unknown_parties:
        yield from unknown(path, party, names.party, "party")
    if not unknown_parties and not names.exchange_messages(*parties):
        reason = (
            "these two exchange no messages; cut a consumer from a broker, a broker from "
            "another one or from the controller"
        )
        yield Problem(path, reason, parties)


def _brokers_problems(path: str, act: RollingBrokerRestart, names: Names) -> Iterator[Problem]:
    brokers = () if isinstance(act.brokers, str) else act.brokers
    yield from unknown_in(path, brokers, _only_brokers(names), "broker")
    yield from repeated_in(path, brokers, "broker")


def _only_brokers(names: Names) -> list[str]:
    return [party for party in names.broker if broker_number(party) is not None]


def _aim_problems(fault: Fault, names: Names) -> Iterator[Problem]:
    match fault.when:
        case Step(member=member):
            yield from unknown(_path(fault, "when.member"), member, names.member, "member")
        case After(fault=aim):
            yield from unknown(_path(fault, "when.fault"), aim, names.fault, "fault")


# -- requirements of single verbs ------------------------------------------------------------


def _restart_problems(fault: Crash | Close | DrainNode) -> Iterator[Problem]:
    if fault.restart_after is None and fault.start_up != always(0):
        yield Problem(_path(fault, "start_up"), "the process does not come back; set restart_after")


def _demand_problems(fault: Fault, names: Names, scenario: Scenario) -> Iterator[Problem]:
    match fault:
        case MoveCoordinator(to=str(broker)):
            brokers = broker_names(scenario.cluster)
            yield from unknown(_path(fault, "to"), broker, brokers, "broker")
        case Seek(member=member) if member in names.not_java:
            reason = "only members with the Java client seek; use another member"
            yield Problem(_path(fault), reason, member)
        case FailListener(member=member) if member in names.without_listener:
            reason = "it has no rebalance listener (has_listener); use another member"
            yield Problem(_path(fault), reason, member)
        case (
            DeleteOffsets(topic=str(topic))
            | ResetOffsets(topic=str(topic))
            | Seek(topic=str(topic))
            | PausePartitions(topic=str(topic))
        ):
            yield from unknown(_path(fault, "topic"), topic, names.topic, "topic")
            yield from _partition_problems(fault, topic, names)
        case RollingRestart(group=group) if group in names.group:
            yield from _rolling_problems(fault, names.group[group], names)
        case Subscribe(group=group) if group in names.group:
            yield from _order_problems(fault, names.group[group])
            yield from unknown_in(_path(fault, "topics"), fault.topics, names.topic, "topic")
            yield from repeated_in(_path(fault, "topics"), fault.topics, "topic")
        case Start(member=member) if member in names.member:
            yield from _start_problems(fault, names.member[member], scenario)


def _growth_problems(scenario: Scenario) -> Iterator[Problem]:
    """Compare additions with the counts at their times, if the file has the times of earlier ones."""
    present = {topic.name: topic.partitions for topic in scenario.topic}
    additions = [
        fault
        for fault in scenario.fault
        if isinstance(fault, AddPartitions) and fault.topic in present
    ]
    for fault in additions:
        if fault.at is None:
            yield from _not_above(fault, present[fault.topic])
    timed = sorted((fault for fault in additions if fault.at is not None), key=_begins_us)
    for _, same_time in groupby(timed, _begins_us):
        together = list(same_time)
        for fault in together:
            yield from _not_above(fault, present[fault.topic])
        for fault in together:
            present[fault.topic] = max(present[fault.topic], fault.to)


def _begins_us(fault: Fault) -> int:
    return (fault.at or 0) + fault.delay


def _not_above(fault: AddPartitions, present: int) -> Iterator[Problem]:
    if fault.to <= present:
        reason = f"not above the present number of partitions, {present}"
        yield Problem(_path(fault, "to"), reason, fault.to)


def _partition_problems(
    fault: DeleteOffsets | ResetOffsets | Seek | PausePartitions, topic: str, names: Names
) -> Iterator[Problem]:
    """Reject partitions that the topic never has."""
    for number in fault.partitions if topic in names.topic else ():
        if number >= names.topic[topic]:
            reason = f"no such partition; {topic} has {names.topic[topic]}, counted from 0"
            yield Problem(_path(fault, "partitions"), reason, number)


def _creation_problems(scenario: Scenario) -> Iterator[Problem]:
    deleted = {fault.topic for fault in scenario.fault if isinstance(fault, DeleteTopic)}
    there = {topic.name for topic in scenario.topic if topic.created != "by act"} - deleted
    for fault in scenario.fault:
        if isinstance(fault, CreateTopic) and fault.topic in there:
            reason = 'exists already; write created = "by act" in its [[topic]]'
            yield Problem(_path(fault), reason, fault.topic)


def _order_problems(fault: RollingRestart | Subscribe, group: Group) -> Iterator[Problem]:
    path = _path(fault, "order")
    members = [member.name for member in group.members]
    order = () if isinstance(fault.order, str) else fault.order
    yield from unknown_in(path, order, members, "member")
    yield from repeated_in(path, order, "member")


def _rolling_problems(fault: RollingRestart, group: Group, names: Names) -> Iterator[Problem]:
    yield from _order_problems(fault, group)
    if fault.grace is not None and 0 < fault.grace <= fault.pre_stop:
        hook = format_duration(fault.pre_stop)
        reason = (
            f'"grace" includes "pre_stop" = {hook}, so that nothing of it is left for close(); make '
            f'"grace" longer than {hook}, or "pre_stop" shorter'
        )
        yield Problem(_path(fault, "grace"), reason, format_duration(fault.grace))
    from emulator.scenario.checks.deploys import deploy_key_problems  # noqa: PLC0415  few need it

    yield from deploy_key_problems(f"fault[{fault.id}]", fault, group, names.member)


def _start_problems(fault: Start, group: Group, scenario: Scenario) -> Iterator[Problem]:
    """Reject the start of a running member, unless the scenario may end its process."""
    member = next(member for member in group.members if member.name == fault.member)
    ended = any(
        (other is not fault and fault.member == getattr(other, "member", None))
        or group.id == getattr(other, "group", None)
        for other in scenario.fault
    )
    if member.start != "by act" and not ended and not _may_exit(group, member):
        reason = 'runs from the start; write start = "by act" in its [[group.member]]'
        yield Problem(_path(fault), reason, fault.member)


def _may_exit(group: Group, member: Member) -> bool:
    """Return whether a process can end by itself: fenced, or by an error of its own."""
    policy = member.commit or group.commit
    return (
        group.static
        or INSTANCE_ID in group.settings
        or INSTANCE_ID in member.settings
        or policy.on_refusal == "stop"
        or any("stop" in (poison.error, poison.then) for poison in group.poison)
    )


# -- times -----------------------------------------------------------------------------------


def timeline_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for every fault that begins after the run, and for every circle of faults."""
    faults = {fault.id: fault for fault in scenario.fault}
    for circle in _circles(faults):
        reason = f"waits for itself: {' → '.join((*circle, circle[0]))}"
        yield Problem(f"fault[{circle[0]}].when", reason)
    earliest = _earliest_us(faults)
    for fault in scenario.fault:
        yield from _late_problems(fault, earliest[fault.id] or 0, scenario.run_for)


def _circles(faults: Mapping[str, Fault]) -> Iterator[list[str]]:
    """Yield the ids of faults that wait for one another in a circle, from its first one on."""
    seen = set[str]()
    for first in faults.values():
        way: dict[str, int] = {}
        fault: Fault | None = first
        while fault is not None and fault.id not in seen:
            seen.add(fault.id)
            way[fault.id] = len(way)
            fault = _aim(fault, faults)
        if fault is not None and fault.id in way:
            yield list(way)[way[fault.id] :]


def _earliest_us(faults: Mapping[str, Fault]) -> dict[str, int | None]:
    """Return the earliest time of each fault; None if it waits for one that waits for itself."""
    earliest: dict[str, int | None] = {}
    for first in faults.values():
        way: list[Fault] = []
        fault: Fault | None = first
        while fault is not None and fault.id not in earliest:
            earliest[fault.id] = None
            way.append(fault)
            fault = _aim(fault, faults)
        for each in reversed(way):
            earliest[each.id] = _earliest_begin_us(each, _aim(each, faults), earliest)
    return earliest


def _aim(fault: Fault, faults: Mapping[str, Fault]) -> Fault | None:
    """Return the fault that this one waits for."""
    return faults.get(fault.when.fault) if isinstance(fault.when, After) else None


def _earliest_begin_us(
    fault: Fault, aim: Fault | None, earliest: Mapping[str, int | None]
) -> int | None:
    """Return the earliest time of a fault, given that of the one it waits for."""
    match fault.when:
        case After(phase=phase) if aim is not None:
            before = earliest[aim.id]
            lasting = getattr(aim, "lasting", 0) if phase == "ends" else 0
            return None if before is None else before + lasting + fault.delay
        case Step(after=after):
            return after + fault.delay
        case _:
            at = fault.at if fault.at is not None else (fault.between or (0,))[0]
            return at + fault.delay


def _late_problems(fault: Fault, begins: int, end: int) -> Iterator[Problem]:
    """Yield the problem of a fault that begins, at *begins* (us) at the earliest, after the run."""
    after = f"after the end of the run; run_for is {format_duration(end)}"
    path = f"fault[{fault.id}]"
    if fault.between is not None and fault.between[1] + fault.delay > end:
        window = [format_duration(us) for us in fault.between]
        yield Problem(f"{path}.between", f"ends {after}", window)
    elif begins >= end:
        key = next(key for key in ("at", "between", "when") if getattr(fault, key) is not None)
        given = format_duration(fault.at) if fault.at is not None else NOT_GIVEN
        moment = f" at {format_duration(begins)}," if fault.delay or key == "when" else ""
        yield Problem(f"{path}.{key}", f"comes{moment} {after}", given)
