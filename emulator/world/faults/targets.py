"""The targets of faults and acts, as text; and why a fault would have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario import model
from emulator.scenario.deploys import Deploy
from emulator.scenario.resolution import (
    COORDINATOR_OF,
    broker_names,
    broker_number,
    consumer_settings,
)
from emulator.scenario.units import format_duration
from emulator.world.cluster.replicas import NO_BROKER
from emulator.world.consumer.consumers import Consumers, Replica
from emulator.world.draws import draw, stream_key
from emulator.world.triggers import STEPS_OF
from emulator.world.world import World


def target_of(fault: model.Fault, scenario: model.Scenario) -> str:
    """Return the target of a fault as text."""
    match fault:
        case model.ZoneOutage():
            return f"{fault.rack} ({', '.join(_of_rack(fault.rack, scenario))})"
        case model.Cut(parties=(one, other)):
            return f"{one} and {other}"
        case model.LoseMessage(message=m) | model.DelayMessage(message=m):
            return f"{m.kind} {m.part} of {m.member}"
        case (
            model.CrashBroker(broker=target)
            | model.PauseBroker(broker=target)
            | model.StopBroker(broker=target)
            | model.SlowDisk(broker=target)
            | model.FillDisk(broker=target)
            | model.SlowStore(store=target)
            | model.StopStore(store=target)
            | model.RestoreStore(store=target)
            | model.AddPartitions(topic=target)
            | model.CreateTopic(topic=target)
            | model.DeleteTopic(topic=target)
            | model.DeleteGroup(group=target)
            | model.MoveCoordinator(group=target)
        ):
            return target
        case model.RollingBrokerRestart(brokers=target) | model.DrainNode(members=target):
            return target if isinstance(target, str) else ", ".join(target)
        case model.RollingRestart(group=target) | model.Start(member=target):
            return target + _new_settings(fault)
        case model.Subscribe():
            return f"{fault.group} ({', '.join(fault.topics)})"
        case (
            model.DeleteOffsets(group=target)
            | model.ResetOffsets(group=target)
            | model.Seek(member=target)
            | model.PausePartitions(member=target)
        ):
            return offsets_of(fault, target)
        case _:
            return fault.member


def _of_rack(rack: str, scenario: model.Scenario) -> Iterator[str]:
    """Yield the brokers of a rack, and the members whose ``client.rack`` it is."""
    brokers = zip(broker_names(scenario.cluster), scenario.cluster.racks, strict=True)
    yield from (name for name, its_rack in brokers if its_rack == rack)
    for group in scenario.group:
        settings = ((member.name, consumer_settings(group, member)) for member in group.members)
        yield from (name for name, its in settings if its.client_rack == rack)


def _new_settings(act: Deploy) -> str:
    """Return the changed settings of a deploy as text; empty if there are none."""
    given = [f"{name}={_plain(value)}" for name, value in (act.settings or {}).items()]
    changes = [*given, *(f"without {name}" for name in act.unset)]
    return f" ({', '.join(changes)})" if changes else ""


def _plain(value: object) -> str:
    """Return the value of a setting as in a properties file."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def in_order(act: model.RollingRestart | model.Subscribe, world: World) -> list[str]:
    """Return the members of an act in the order in which it affects them."""
    if not isinstance(act.order, str):
        return list(act.order)
    listed = members_of(act.group, world)
    if act.order == "random":
        key = stream_key(world.run.seed, "order", act.id)
        numbers = sorted(range(len(listed)), key=lambda number: draw(key, number))
        return [listed[number] for number in numbers]
    return listed if act.order == "listed" else listed[::-1]


def members_of(group: str, world: World) -> list[str]:
    """Return the members of a group: of those that were replaced the last successor, no spares."""
    consumers = world.consumers
    known = (name for name in consumers.of_group(group) if name not in consumers.spares)
    return [name for name in known if not consumers.is_replaced(name)]


def replicas_in_order(act: model.RollingRestart, world: World) -> Iterator[Replica]:
    """Yield the replicas of an act in the order in which it affects their first members."""
    consumers, done = world.consumers, set[str]()
    for name in in_order(act, world):
        if name not in done:
            replica = consumers.replica_of(name)
            done.update(replica)
            yield replica


def offsets_of(
    act: model.DeleteOffsets | model.ResetOffsets | model.Seek | model.PausePartitions, subject: str
) -> str:
    """Return the partitions of an act on offsets, and the target of a reset or seek, as text."""
    numbers = ", ".join(map(str, act.partitions))
    where = "" if act.topic is None else f" in {act.topic}"
    where += f" ({numbers})" if numbers else ""
    return f"{subject}{where}" + (
        _place(act) if isinstance(act, model.ResetOffsets | model.Seek) else ""
    )


def _place(act: model.ResetOffsets | model.Seek) -> str:
    if act.shift_by is not None:
        return f" by {act.shift_by:+,} records"
    if act.by_duration is not None:
        return f" back by {format_duration(act.by_duration)}"
    if act.to_datetime is not None:
        return f" to the records of {format_duration(act.to_datetime)}"
    return f" to {act.to}"


def broker_of(party: str, world: World) -> int:
    """Return the broker of ``broker-N`` or ``coordinator of GROUP``; ``NO_BROKER``: none."""
    number = broker_number(party)
    if number is not None:
        return number
    return world.offsets_topic.shard_of(party.removeprefix(COORDINATOR_OF)).leader


def next_leader(fault: model.MoveCoordinator, world: World) -> int:
    """Return the next leader of a group's offsets partition; ``NO_BROKER``: none can lead."""
    replicas = world.offsets_topic.shard_of(fault.group).replicas
    wanted = replicas.brokers if fault.to is None else (broker_of(fault.to, world),)
    able = (b for b in wanted if b in replicas.isr and world.controller.may_lead(b))
    return next((b for b in able if b != replicas.leader), NO_BROKER)


def why_ineffective(fault: model.Fault, world: World) -> str:
    """Return why a fault would have no effect at this moment; empty if it would have one."""
    consumers = world.consumers
    match fault:
        case (
            model.Crash()
            | model.Close()
            | model.Pause()
            | model.Hang()
            | model.Seek()
            | model.PausePartitions()
        ):
            name = consumers.at_present(fault.member)
            return "" if consumers.running(name) else f"{name} was not running"
        case model.Start():
            name = consumers.at_present(fault.member)
            return f"{name} was running already" if consumers.running(name) else ""
        case model.MoveCoordinator():
            able = next_leader(fault, world) != NO_BROKER
            return "" if able else f"no other copy in sync of {fault.group}'s offsets partition"
        case model.Cut():
            parties: tuple[str, ...] = fault.parties
        case _:
            parties = (getattr(fault, "broker", ""),)
    lost = [p for p in parties if p.startswith(COORDINATOR_OF) and not _is_there(p, world)]
    return f"there was no {lost[0]}" if lost else ""


def _is_there(coordinator: str, world: World) -> bool:
    return broker_of(coordinator, world) != NO_BROKER


def why_not_reached(when: model.Step | model.After | None, consumers: Consumers) -> str:
    """Return why a fault's step was not reached, by the member's protocol."""
    came = "its moment never came"
    process = consumers.running(when.member) if isinstance(when, model.Step) else None
    if not isinstance(when, model.Step) or process is None:
        return came
    protocol = process.blueprint.settings.group_protocol
    if any(when.step in steps for other, steps in STEPS_OF.items() if other != protocol):
        own = ", ".join(STEPS_OF[protocol])
        return f'{came}: group.protocol={protocol} has no "{when.step}"; of its own it has {own}'
    return came
