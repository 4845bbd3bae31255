"""How a group assigns partitions, before and after its deploys."""

from __future__ import annotations

from dataclasses import field
from typing import Final, NamedTuple

from assignors.values import dataclass

BY_COORDINATOR: Final = "group.protocol=consumer"
"""Stands for the assignor of a group of the consumer protocol."""


class Switched(NamedTuple):
    """A group that assigns in another way after its deploys."""

    before: str
    after: str
    """An assignor, or that of the consumer protocol."""

    deploys: int
    running_before: int
    """Processes that ran when the first deploy began."""


@dataclass(slots=True)
class Switching:
    """Follows the deploys and the assignors of one group."""

    deploys: int = 0
    _running_before: int = 0
    _assigned_by: list[str] = field(default_factory=list)

    def deploy(self, running: int) -> None:
        """Note the begin of a deploy while so many processes ran."""
        if not self.deploys:
            self._running_before = running
        self.deploys += 1

    def assign(self, name: str) -> None:
        """Note the assignor of a generation, or that of the consumer protocol."""
        if self._assigned_by[-1:] != [name]:
            self._assigned_by.append(name)

    @property
    def switched(self) -> Switched | None:
        """What deploys changed; None: nothing, or there was none."""
        if not self.deploys or self._assigned_by[:1] == self._assigned_by[-1:]:
            return None
        before, after = self._assigned_by[0], self._assigned_by[-1]
        return Switched(before, after, self.deploys, self._running_before)
