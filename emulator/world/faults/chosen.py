"""Messages that faults choose: picked by kind, direction, member and number."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from emulator.scenario.model import MessageMatch
from emulator.world.cluster.arrivals import NEVER


class Interference(NamedTuple):
    """The effect of faults on one message."""

    fault: int | None = None
    """The event of the fault that chose it; None: none did."""

    loses: bool = False
    late_us: int = 0
    """How much later it arrives than it would have."""


UNTOUCHED = Interference()


class Chosen:
    """A message that is still to come, and what then becomes of it."""

    def __init__(self, match: MessageMatch, interference: Callable[[int], Interference]) -> None:
        self.match = match
        self.seen = 0
        """How many messages like it were sent so far."""

        self.before_us = NEVER if match.before is None else match.before
        self.interference = interference
        """Takes the time at which the message is sent."""

    def counts(self, kind: str, part: str, member: str) -> bool:
        """Count a message that is sent now, if it is like this one; return whether it is this one."""
        match = self.match
        if (match.kind, match.part, match.member) != (kind, part, member):
            return False
        self.seen += 1
        return self.seen == match.nth

    def __str__(self) -> str:
        """Return how many messages like it there were, for one that never came."""
        if not self.seen:
            return "no such message was sent"
        return f"only {self.seen} such message{'s were' if self.seen > 1 else ' was'} sent"


class ChosenMessages:
    """The messages of a run that faults wait for."""

    def __init__(self) -> None:
        self._chosen: list[Chosen] = []

    def add(self, chosen: Chosen) -> None:
        """Wait for one more message."""
        self._chosen.append(chosen)

    def interference(self, kind: str, part: str, member: str, now: int) -> Interference:
        """Return what becomes of a message sent now; every fault counts it that waits for one."""
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
