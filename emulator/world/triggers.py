"""Steps of the protocol that start faults and acts."""

from __future__ import annotations

from collections.abc import Callable

from emulator.scenario.model import Step
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
