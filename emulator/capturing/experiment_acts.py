"""Convert the faults and acts of a scenario to tracks of steps."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.capturing.plan import COORDINATOR, Action, Do, Step, Track, Wait, WaitForExit
from emulator.capturing.setting_texts import setting_texts
from emulator.scenario import model
from emulator.scenario.estimates.lifetimes import first_members
from emulator.scenario.resolution import broker_number, client_of

MS = 1_000


def tracks_of(scenario: model.Scenario) -> Iterator[Track]:
    """Yield a track for each fault and act of a scenario, in their order."""
    (group,) = scenario.group
    for fault in scenario.fault:
        window = fault.between or (fault.at or 0, fault.at or 0)
        when = fault.when
        after = (when.fault, when.phase) if isinstance(when, model.After) else None
        yield Track(
            id=fault.id,
            between_us=window,
            after=after,
            delay_us=fault.delay,
            steps=tuple(_steps(fault, group)),
        )


def _steps(fault: model.Fault, group: model.Group) -> Iterator[Step]:
    match fault:
        case model.Crash():
            yield Do(action="sigkill", target=fault.member)
            yield from _start_again(fault.member, fault.restart_after)
        case model.Close():
            yield Do(action="sigterm", target=fault.member)
            yield WaitForExit(member=fault.member, grace_us=fault.grace)
            yield from _start_again(fault.member, fault.restart_after)
        case model.Pause():
            yield from _for_a_time("sigstop", "sigcont", fault.member, fault.lasting)
        case model.Hang():
            yield Do(action="hang", target=fault.member, value=fault.lasting // MS)
            yield Wait(fault.lasting)
        case model.Start():
            yield _start(fault, group, fault.member)
        case model.RollingRestart():
            yield from _rolling(fault, group)
        case _:
            yield from _steps_on_cluster(fault)


def _steps_on_cluster(fault: model.Fault) -> Iterator[Step]:
    match fault:
        case model.CrashBroker():
            yield from _broker_down("kill", fault.broker, fault.restart_after)
        case model.StopBroker():
            yield from _broker_down("shutdown", fault.broker, fault.restart_after)
        case model.PauseBroker():
            yield from _for_a_time("stop", "cont", _broker(fault.broker), fault.lasting)
        case model.AddPartitions():
            yield Do(action="addparts", target=fault.topic, value=fault.to)
        case model.CreateTopic():
            yield Do(action="maketopic", target=fault.topic)
        case model.DeleteTopic():
            yield Do(action="deltopic", target=fault.topic)
        case _:
            raise AssertionError(fault)


def _start_again(member: str, after_us: int | None) -> Iterator[Step]:
    if after_us is not None:
        yield Wait(after_us)
        yield Do(action="start", target=member)


def _for_a_time(begin: Action, end: Action, target: str, lasting_us: int) -> Iterator[Step]:
    yield Do(action=begin, target=target)
    yield Wait(lasting_us)
    yield Do(action=end, target=target)


def _broker_down(action: Action, broker: str, restart_us: int | None) -> Iterator[Step]:
    yield Do(action=action, target=_broker(broker))
    if restart_us is not None:
        yield Wait(restart_us)
        yield Do(action="restart", target=_broker(broker))


def _broker(party: str) -> str:
    number = broker_number(party)
    return COORDINATOR if number is None else str(number)


def _rolling(fault: model.RollingRestart, group: model.Group) -> Iterator[Step]:
    names = list(first_members(group))
    if isinstance(fault.order, tuple):
        names = list(fault.order)
    elif fault.order == "reversed":
        names.reverse()
    for number, name in enumerate(names):
        if number:
            yield Wait(fault.gap)
        yield Do(action="sigterm", target=name)
        yield WaitForExit(member=name, grace_us=fault.grace)
        yield Wait(fault.down_time)
        yield _start(fault, group, name)


def _start(fault: model.Start | model.RollingRestart, group: model.Group, name: str) -> Do:
    """Start a member's process with the settings that an act changes."""
    member = next(each for each in group.members if each.name == name)
    settings = setting_texts(fault.settings or {}, client_of(group, member))
    return Do(action="start", target=name, settings=settings, unset=fault.unset)
