"""How a group assigns partitions, before and after its deploys."""

from __future__ import annotations

from typing import Final, NamedTuple

from assignors.values import dataclass

BY_COORDINATOR: Final = "group.protocol=consumer"
"""Stands for the assignor of a group of the consumer protocol."""


class Switched(NamedTuple):
    """A group that assigns in another way after its deploys."""

    before: str
    """The assignor when the first deploy began; of the consumer protocol :data:`BY_COORDINATOR`."""

    after: str
    """The newest one, likewise."""

    deploys: int
    running_before: int
    """Processes that ran when the first deploy began."""


@dataclass(slots=True)
class Switching:
    """Follows the deploys and the assignors of one group."""

    deploys: int = 0
    _running_before: int = 0
    _before: str | None = None
    """The assignor when the first deploy began; None: the group had none yet."""

    _assignor: str | None = None
    """The newest assignor."""

    def deploy(self, running: int) -> None:
        """Note that a deploy begins while *running* processes run."""
        if not self.deploys:
            self._before, self._running_before = self._assignor, running
        self.deploys += 1

    def assign(self, name: str) -> None:
        """Note the assignor of a generation, or that of the consumer protocol."""
        self._assignor = name

    @property
    def switched(self) -> Switched | None:
        """What deploys changed; None: nothing, or there was none."""
        before, after = self._before, self._assignor
        if before is None or after is None or before == after:
            return None
        return Switched(before, after, self.deploys, self._running_before)
