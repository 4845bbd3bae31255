"""The loader of one broker: it reads one offsets partition after the other.

A load takes a fixed time, plus time for every byte and record in the log, up to its end (not its
high watermark). Partitions that a broker begins to lead together wait for each other
(``CoordinatorLoaderImpl`` has one thread).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from emulator.scenario.model import Cluster
from emulator.world.cluster.stored_log import Amount
from emulator.world.kernel import Kernel, Rank

US_PER_S = 1_000_000


class Load(NamedTuple):
    """One partition that waits to be loaded, or is being loaded."""

    number: int
    """The number of the partition."""

    takes: Callable[[], int]
    """Returns the duration of the load, in microseconds; called when it begins."""

    loaded: Callable[[], None]
    """Called when it is done."""


class Loader:
    """Loads partitions in the order of the requests."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._waiting: deque[Load] = deque()
        self._running: Load | None = None

    def load(self, load: Load) -> None:
        """Load a partition when those before it are done."""
        self._waiting.append(load)
        if self._running is None:
            self._next()

    def cancel(self, number: int) -> None:
        """Cancel the load of a partition whose leadership is lost; a running load fails."""
        self._waiting = deque(load for load in self._waiting if load.number != number)
        if self._running is not None and self._running.number == number:
            self._next()

    def clear(self) -> None:
        """Discard all loads: the broker is dead."""
        self._waiting.clear()
        self._running = None

    def _next(self) -> None:
        self._running = self._waiting.popleft() if self._waiting else None
        if self._running is not None:
            when = self._kernel.now + self._running.takes()
            done = partial(self._done, self._running)
            self._kernel.at(when, Rank.BROKER_TIMER, self._running.number, done)

    def _done(self, load: Load, _: object) -> None:
        if load is self._running:
            load.loaded()
            if load is self._running:
                self._next()


class Loaders:
    """The loaders of all brokers."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._loaders: dict[int, Loader] = {}

    def of(self, broker: int) -> Loader:
        """Return the loader of a broker."""
        return self._loaders.setdefault(broker, Loader(self._kernel))


def reading_us(cluster: Cluster, amount: Amount) -> int:
    """Return how long it takes to read and apply a part of a log, in microseconds."""
    bytes_us = amount.size / cluster.load_bytes if cluster.load_bytes else 0
    records_us = amount.records / cluster.load_records if cluster.load_records else 0
    return math.ceil((bytes_us + records_us) * US_PER_S)
