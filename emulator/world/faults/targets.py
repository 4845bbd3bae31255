"""What faults and acts are done to, as text; and whether there is anything to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.scenario import model

if TYPE_CHECKING:
    from emulator.world.consumer.crew import Crew


def target_of(fault: model.Fault) -> str:
    """Return what a fault is done to, as text."""
    match fault:
        case model.Cut(parties=(one, other)):
            return f"{one} and {other}"
        case model.LoseMessage(message=m) | model.DelayMessage(message=m):
            return f"{m.kind} {m.part} of {m.member}"
        case model.CrashBroker(broker=target) | model.PauseBroker(broker=target):
            return target
        case model.MoveCoordinator(group=target) | model.RollingRestart(group=target):
            return target
        case (
            model.AddPartitions(topic=target)
            | model.CreateTopic(topic=target)
            | model.DeleteTopic(topic=target)
        ):
            return target
        case _:
            return fault.member


def why_idle(fault: model.Fault, crew: Crew) -> str:
    """Say why a fault would do nothing at this moment; empty if it would do something."""
    match fault:
        case model.Crash() | model.Close() | model.Pause() | model.Hang():
            return "" if crew.running(fault.member) else f"{fault.member} was not running"
        case model.Start():
            return f"{fault.member} was running already" if crew.running(fault.member) else ""
    return ""
