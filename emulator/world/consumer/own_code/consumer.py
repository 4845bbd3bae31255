"""The consumer of a process as code of the user sees it."""

from __future__ import annotations

from collections.abc import Sized
from typing import Final

from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.consumer.own_code.actions import Pair
from emulator.world.draws import draw, stream_key


class Consumer:
    """The consumer as code of the user sees it; reading it takes no virtual time."""

    def __init__(self, process: ConsumerProcess, running: Sized) -> None:
        self._process = process
        self._running = running
        self.name: Final = process.blueprint.name
        """The name of the member."""

        self.group: Final = process.blueprint.group.id

    @property
    def now_us(self) -> int:
        """The virtual time, in microseconds since the run began."""
        return self._process.run.kernel.now

    @property
    def in_flight(self) -> int:
        """How many records were begun and are not finished."""
        return len(self._running)

    @property
    def assignment(self) -> tuple[Pair, ...]:
        """The assigned partitions, sorted."""
        assigned = self._process.client.consumer.fetcher.positions.assigned
        return tuple((tp.topic, tp.partition) for tp in sorted(assigned))

    @property
    def paused(self) -> tuple[Pair, ...]:
        """The paused partitions, sorted."""
        paused = self._process.client.consumer.fetcher.paused
        return tuple((tp.topic, tp.partition) for tp in sorted(paused))

    def random(self, *address: object) -> float:
        """Return a number in [0, 1) that depends on the seed of the run and on *address* alone."""
        return draw(stream_key(self._process.blueprint.seed, "own handler", repr(address)), 0)
