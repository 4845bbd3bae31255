"""What faults and acts are done to, as text."""

from __future__ import annotations

from emulator.scenario import model


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
