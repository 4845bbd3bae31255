"""How an offset store outside Kafka serves its clients: how fast, and whether at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from emulator.scenario.model import Database, ZooKeeper
from emulator.world.draws import Sampler, sampler, stream_key
from emulator.world.kernel import Kernel, Rank
from protocols.consumer.store_history import Key, Range, StoreHistory

Action = Callable[[], None]

WRITES = MappingProxyType({"zookeeper": "write", "database": "commit"})
"""The name of a write in the address of its latency."""


class StoreService:
    """The latencies of a store, and what waits or breaks while it is down; times in microseconds."""

    def __init__(self, kernel: Kernel, name: str, table: ZooKeeper | Database, seed: int) -> None:
        self.name = name
        self.fault: int | None = None
        """The event of the fault by which it was last down."""

        self.history: StoreHistory | None = None
        """Its writes, if a backup of it is restored in this run."""

        self._kernel = kernel
        self._table = table
        self._seed = seed
        self._samplers: dict[tuple[str, bool], Sampler] = {}
        self._slower_us = 0
        self._stops = 0
        self._requests = 0
        self._in_flight: dict[int, Action] = {}
        """What to do if the store stops, by the number of the request."""

        self._waiting: list[Action] = []

    @property
    def down(self) -> bool:
        """Whether it answers no request."""
        return self._stops > 0

    def read_us(self, consumer: str, when: int) -> int:
        """Return the duration of a consumer's read at a time."""
        return self._latency_us(consumer, when, reads=True)

    def write_us(self, consumer: str) -> int:
        """Return the duration of a consumer's write that begins now."""
        return self._latency_us(consumer, self._kernel.now, reads=False)

    def _latency_us(self, consumer: str, when: int, *, reads: bool) -> int:
        latency = self._samplers.get((consumer, reads))
        if latency is None:
            kind = "read" if reads else WRITES[self.name]
            key = stream_key(self._seed, f"{self.name} {kind}", consumer)
            distribution = self._table.read_latency if reads else self._table.latency
            latency = self._samplers[consumer, reads] = sampler(distribution, key)
        return latency(when) + self._slower_us

    def finish(self, when: int, rank: Rank, who: int, done: Action, broken: Action) -> None:
        """Call *done* at a time; if the store stops before, call *broken* at that instant instead."""
        self._requests += 1
        number = self._requests
        self._in_flight[number] = broken

        def due(_: object) -> None:
            if self._in_flight.pop(number, None) is not None:
                done()

        self._kernel.at(when, rank, who, due)

    def when_up(self, action: Action) -> None:
        """Call *action* now, or as soon as the store is available again."""
        if self.down:
            self._waiting.append(action)
        else:
            action()

    def note(self, offsets: Mapping[Key, int], results: Mapping[Key, Range]) -> None:
        """Note a write, if a backup needs it."""
        if self.history is not None:
            self.history.note(self._kernel.now, offsets, results)

    # -- faults ------------------------------------------------------------------------------------

    def slow(self, by_us: int) -> None:
        """Add a time to each later read and write; a negative one takes it back."""
        self._slower_us += by_us

    def stop(self, fault: int) -> None:
        """Break all connections and serve nobody, until each stop has ended."""
        self._stops += 1
        self.fault = fault
        broken, self._in_flight = self._in_flight, {}
        for action in broken.values():
            action()

    def start(self) -> None:
        """End one stop; after the last one, serve what waits, in its order."""
        self._stops -= 1
        if not self.down:
            waiting, self._waiting = self._waiting, []
            for action in waiting:
                action()
