"""Fetches of a client that prefetches for a while only (aiokafka).

Source: ``fetcher.py`` (``_get_actions_per_node``, ``FetchResult.calculate_backoff``, ``next_record``).
"""

from __future__ import annotations

from collections.abc import Iterable

from protocols.consumer.fetch_buffer import CompletedFetch
from protocols.consumer.fetching import Fetcher
from protocols.consumer.positions import READING, Reading
from protocols.consumer.reader import MS
from protocols.messages import NO_LEADER, FetchRequest


class PrefetchFetcher(Fetcher):
    """The data plane of one consumer whose brokers rest while records of them are new.

    A partition is asked for when its records are taken: the last response counts until a call finds it
    empty. A broker with a partition that has no position yet is not asked.
    """

    __slots__ = ("_came_us", "_rest_us")

    def __init__(self, rest_ms: int) -> None:
        """Create the data plane of a new consumer; records are new for *rest_ms*."""
        super().__init__(takes_hints=False)
        self._rest_us = rest_ms * MS
        self._came_us: dict[CompletedFetch, int] = {}
        """When each buffered response was first seen: when it came."""

    def requests(self, now: int = 0) -> list[tuple[int, FetchRequest]]:
        """Return the fetches to send now, by broker, and count them as in flight."""
        self._came_us = {each: self._came_us.get(each, now) for each in self._buffer}
        positions = self.positions
        if positions.behind:
            positions.follow_leaders()
        if self.revoking:
            return []
        buffered = {each.reading.partition for each in self._buffer}
        found = []
        for leader, readings in positions.by_leader.items():
            if leader == NO_LEADER or leader in self._in_flight or self.backs_off(leader, now):
                continue
            free = {tp: reading for tp, reading in readings.items() if tp not in buffered}
            if self._rests_until(leader) > now or not _are_placed(free.values()):
                continue
            wanted = self._partitions_to_fetch(free, {})
            if wanted:
                self._asks(leader)
                found.append((leader, FetchRequest(partitions=wanted)))
        return found

    def _rests_until(self, broker: int) -> int:
        """Return when (us) the last of the records of a broker is no longer new."""
        came = [at for each, at in self._came_us.items() if each.reading.leader == broker]
        return max(came, default=-self._rest_us) + self._rest_us

    def next_ready_us(self, now: int) -> int | None:
        """Return when (us), after *now*, the next back-off or rest ends, if there is one."""
        brokers = [broker for broker in self.positions.by_leader if broker not in self._in_flight]
        ends = [self._rests_until(broker) for broker in brokers]
        backoff_us = super().next_ready_us(now)
        due = [end for end in ends if end > now]
        return min(due if backoff_us is None else [*due, backoff_us], default=None)


def _are_placed(readings: Iterable[Reading]) -> bool:
    return all(reading.phase is READING for reading in readings)
