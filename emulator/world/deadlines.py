"""The timers of one machine: named deadlines, and one event in the kernel for all of them.

Setting a timer again only writes its new deadline down; the event that is already queued finds
it later. A lease that is renewed a thousand times costs a thousand dictionary writes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from emulator.world.kernel import Kernel, Rank


class Deadlines:
    """Wakes a machine at the deadlines it has set."""

    def __init__(
        self, kernel: Kernel, rank: Rank, who: int, wake: Callable[[str, int], None]
    ) -> None:
        self._kernel = kernel
        self._rank = rank
        self._who = who
        self._wake = wake
        self._due: dict[str, int] = {}
        self._queued: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        self._next: int | None = None
        self._open = True

    def set(self, name: str, deadline_us: int) -> None:
        """Wake with ``name`` at ``deadline_us``, instead of any earlier or later deadline."""
        self._due[name] = deadline_us
        queued = self._queued.get(name)
        if queued is None or queued > deadline_us:
            self._queued[name] = deadline_us
            heapq.heappush(self._heap, (deadline_us, name))
            self._schedule()

    def cancel(self, name: str) -> None:
        """Forget ``name``."""
        self._due.pop(name, None)

    def __contains__(self, name: str) -> bool:
        """Say whether ``name`` has a deadline."""
        return name in self._due

    def due(self, now: int) -> bool:
        """Say whether some deadline may have come and its wake-up has not."""
        return bool(self._heap) and self._heap[0][0] <= now

    def close(self) -> None:
        """Forget everything: the machine is gone."""
        self._open = False
        self._due.clear()

    def _schedule(self) -> None:
        earliest = self._heap[0][0]
        if self._next is None or earliest < self._next:
            self._next = earliest
            now = self._kernel.now
            self._kernel.at(max(earliest, now), self._rank, self._who, self._fire)

    def _fire(self, _: Any) -> None:
        now = self._kernel.now
        if not self._open or self._next is None or self._next > now:
            return
        self._next = None
        for name in self._come_due(now):
            if self._due.get(name, now + 1) <= now:
                del self._due[name]
                self._wake(name, now)
        if self._heap:
            self._schedule()

    def _come_due(self, now: int) -> list[str]:
        """Take what is due off the heap; what was renewed goes back with its new deadline."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            queued, name = heapq.heappop(self._heap)
            if self._queued.get(name) != queued:
                continue
            del self._queued[name]
            due = self._due.get(name)
            if due is None:
                continue
            if due > now:
                self._queued[name] = due
                heapq.heappush(self._heap, (due, name))
            else:
                found.append(name)
        return found
