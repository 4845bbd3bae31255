"""Steps of the protocol and messages that start faults and acts.

A fault waits for a member to reach a step, or for one message: its kind, direction, member and
number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from emulator.scenario.model import MessageMatch, Step
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.kernel import Kernel

STEPS_OF = {
    "classic": (
        "sent JoinGroup",
        "JoinGroup parked",
        "join phase ended",
        "received JoinGroup",
        "sent SyncGroup",
        "SyncGroup parked",
        "received SyncGroup",
        "sent Heartbeat",
        "sent LeaveGroup",
    ),
    "consumer": (
        "sent ConsumerGroupHeartbeat",
        "received ConsumerGroupHeartbeat",
        "target computed",
        "asked to revoke",
    ),
}
"""Steps that only members of one protocol reach, by ``group.protocol``."""


class _Awaited:
    __slots__ = ("action", "left", "step")

    def __init__(self, step: Step, action: Callable[[], object]) -> None:
        self.step = step
        self.left = step.nth
        self.action = action


class Triggers:
    """The faults that wait for members to reach a step."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._awaited: dict[tuple[str, str], list[_Awaited]] = {}
        self._later: list[tuple[str, str]] = []

    @property
    def idle(self) -> bool:
        """Whether no fault waits for a step."""
        return not self._awaited

    def awaited(self, member: str, step: str) -> bool:
        """Return whether a fault waits for a member to reach a step."""
        return bool(self._awaited) and (member, step) in self._awaited

    def wait(self, step: Step, action: Callable[[], object]) -> None:
        """Call ``action`` the ``nth`` time the member reaches the step."""
        key = (step.member, step.step)
        self._awaited.setdefault(key, []).append(_Awaited(step, action))

    def reached_later(self, member: str, step: str) -> None:
        """Note a coordinator's step for a member; it counts after the coordinator's event."""
        if self.awaited(member, step):
            self._later.append((member, step))

    def coordinator_done(self) -> None:
        """Count the steps that a coordinator has passed."""
        reached, self._later = self._later, []
        for member, step in reached:
            self.reached(member, step)

    def reached(self, member: str, step: str) -> None:
        """Count a step that a member has reached, and call the actions that wait for it."""
        if not self._awaited:
            return
        waiting = self._awaited.get((member, step))
        if not waiting:
            return
        for awaited in list(waiting):
            if self._kernel.now < awaited.step.after:
                continue
            awaited.left -= 1
            if awaited.left == 0:
                waiting.remove(awaited)
                if not waiting:
                    del self._awaited[member, step]
                awaited.action()


class Interference(NamedTuple):
    """The effect of faults on one message."""

    fault: int | None = None
    """The event of the fault that affects it; None: there is none."""

    loses: bool = False
    late_us: int = 0
    """The additional delay."""


UNTOUCHED = Interference()


class Chosen:
    """A future message that a fault affects, and the effect on it."""

    def __init__(self, match: MessageMatch, interference: Callable[[int], Interference]) -> None:
        self.match = match
        self.seen = 0
        """The number of matching messages sent so far."""

        self.before_us = NEVER if match.before is None else match.before
        self.interference = interference
        """Takes the time at which the message is sent."""

    def counts(self, kind: str, part: str, member: str) -> bool:
        """Count a message sent now if it matches; return whether it is the chosen one."""
        match = self.match
        if (match.kind, match.part, match.member) != (kind, part, member):
            return False
        self.seen += 1
        return self.seen == match.nth

    def __str__(self) -> str:
        """Return the number of matching messages, as the reason why none was chosen."""
        if not self.seen:
            return "no such message was sent"
        return f"only {self.seen} such message{'s were' if self.seen > 1 else ' was'} sent"


class ChosenMessages:
    """The messages of a run that faults wait for."""

    def __init__(self) -> None:
        self._chosen: list[Chosen] = []

    @property
    def waits(self) -> bool:
        """Whether a fault waits for a message."""
        return bool(self._chosen)

    def add(self, chosen: Chosen) -> None:
        """Add a message to wait for."""
        self._chosen.append(chosen)

    def interference(self, kind: str, part: str, member: str, now: int) -> Interference:
        """Return the effect of faults on a message sent now; every waiting fault counts it."""
        if not self._chosen:
            return UNTOUCHED
        self._chosen = [chosen for chosen in self._chosen if now < chosen.before_us]
        due = [chosen for chosen in self._chosen if chosen.counts(kind, part, member)]
        for chosen in due:
            self._chosen.remove(chosen)
        interferences = [chosen.interference(now) for chosen in due]
        return max(
            interferences,
            key=lambda interference: (interference.loses, interference.late_us),
            default=UNTOUCHED,
        )
