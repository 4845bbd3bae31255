"""One fetch under way as arithmetic: when it is answered, and what the answer brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.cluster.arrivals import NEVER
from emulator.world.cluster.partition_log import ShownLog
from emulator.world.network import Way
from protocols.fetch_session import FetchSession
from protocols.messages import UNKNOWN_EPOCH

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.world.consumer.process import Process

AT_ONCE = -1
"""When a partition answers that has an error to tell."""


class Want:
    """One partition of a fetch session: where it is read, and when that can be answered."""

    __slots__ = ("epoch", "log", "offset", "partition", "when_us")

    def __init__(self, partition: TopicPartition, offset: int, log: ShownLog | None) -> None:
        self.partition = partition
        self.offset = offset
        self.epoch = UNKNOWN_EPOCH
        """The leader epoch in which the client believes the broker to lead."""

        self.log = log
        self.when_us = NEVER


Found = list[tuple[Want, int, int]]
"""How many records an answer brings of what, and from when on there are more."""


class UnderWay:
    """One fetch, from when it was sent to when its answer arrives."""

    __slots__ = (
        "_back",
        "_most_bytes",
        "_out",
        "_wait_us",
        "arrives_us",
        "asked_us",
        "broker",
        "live",
        "process",
        "ready_us",
        "wants",
    )

    def __init__(
        self, process: Process, broker: int, wants: FetchSession[Want], out: Way, back: Way
    ) -> None:
        self.process = process
        self.broker = broker
        self.wants = wants
        self._out = out
        self._back = back
        self._wait_us = process.blueprint.settings.fetch_max_wait_ms * 1_000
        self._most_bytes = process.blueprint.settings.max_partition_fetch_bytes
        self.asked_us = 0
        self.ready_us = NEVER
        self.arrives_us = NEVER
        self.live = True
        """Its answer arrives as an event; else the process's poll loop looks for it."""

    def send(self, now: int) -> None:
        """Leave now; work out when the broker has it, can answer it, and when that arrives."""
        out = self._out
        self.asked_us = now + (out if type(out) is int else out(now))  # type: ignore[operator]
        self.plan(self.asked_us)

    def plan(self, earliest: int) -> None:
        """Work out when the broker can answer, not before ``earliest``, and when that arrives."""
        ready = self.asked_us + self._wait_us
        for want in self.wants.cached.values():
            if want.when_us < ready:  # noqa: PLR1730 (a call costs more than this loop)
                ready = want.when_us
        if ready < earliest:  # noqa: PLR1730
            ready = earliest
        self.ready_us = ready
        back = self._back
        self.arrives_us = ready + (back if type(back) is int else back(ready))  # type: ignore[operator]

    def brings(self, limit: int) -> Found | None:
        """Return what the answer brings; None: an error, or at least ``limit`` records."""
        ready = self.ready_us
        found: Found = []
        total = 0
        for want in self.wants.cached.values():
            if want.when_us > ready:
                continue
            log = want.log
            if want.when_us == AT_ONCE or log is None:
                return None
            count, following = 1, log.visible_us(want.offset + 1)
            if following <= ready:
                most = self._most_bytes // log.record_size or 1
                count = min(log.high_watermark(ready) - want.offset, most)
                following = log.visible_us(want.offset + count)
            total += count
            found.append((want, count, following))
        return found if total < limit else None
