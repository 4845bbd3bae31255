"""Fetches of a client that prefetches for a while only (aiokafka).

Source: ``fetcher.py`` (``_get_actions_per_node``, ``FetchResult.calculate_backoff``, ``next_record``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import CompletedFetch
from protocols.consumer.fetching import AskedOf, Fetcher, Readings, without
from protocols.consumer.positions import READING, Reading
from protocols.consumer.reader import MS
from protocols.messages import FetchPartition, FetchRequest

Came = dict[CompletedFetch, int]
"""When (us) each buffered response was first seen: when it came."""


class PrefetchFetcher(Fetcher):
    """The data plane of one consumer whose brokers rest while records of them are new.

    A partition is asked for when its records are taken: the last response counts until a call finds it
    empty. A broker with a partition that has no position yet is not asked.
    """

    __slots__ = ("_came_us", "_rest_us")

    def __init__(self, rest_ms: int) -> None:
        """Create the data plane of a new consumer; records are new for *rest_ms*."""
        super().__init__(takes_hints=False, errors_in_order=False)
        self._rest_us = rest_ms * MS
        self._came_us: Came = {}

    def requests(self, now: int = 0) -> list[tuple[int, FetchRequest]]:
        """Note which responses are new; return the fetches to send now, as any client does."""
        self._came_us = {each: self._came_us.get(each, now) for each in self._buffer}
        return super().requests(now)

    def _asked_of_each(self, now: int) -> AskedOf:
        buffered = {each.reading.partition for each in self._buffer}

        def asked_of(leader: int, readings: Readings) -> tuple[FetchPartition, ...]:
            free = without(readings, buffered)
            if self._rests_until(leader) > now or not _are_placed(free.values()):
                return ()
            return self._partitions_to_fetch(free, {})

        return asked_of

    def _rests_until(self, broker: int) -> int:
        """Return when (us) the last of the records of a broker is no longer new."""
        came = [at for each, at in self._came_us.items() if each.reading.leader == broker]
        return max(came, default=-self._rest_us) + self._rest_us

    def relative(self, now: int) -> tuple[object, ...]:
        """Return the same as of any client, and how new each buffered response is."""
        return (*super().relative(now), self._ages(now))

    def _ages(self, now: int) -> tuple[int | None, ...]:
        """Return how new (us) each buffered response is; None: it was not seen; 0: it is no longer new."""
        came = [self._came_us.get(each) for each in self._buffer]
        return tuple([None if at is None else max(at + self._rest_us - now, 0) for at in came])

    def move(self, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move positions and responses by so many records of each partition, in that time."""
        super().move(later_us, records)
        self._came_us = _moved(self._came_us, later_us)

    def _rest_ends(self) -> list[int]:
        brokers = [broker for broker in self.positions.by_leader if broker not in self._in_flight]
        return [*super()._rest_ends(), *map(self._rests_until, brokers)]


def _moved(came_us: Came, later_us: int) -> Came:
    return {each: at + later_us for each, at in came_us.items()}


def _are_placed(readings: Iterable[Reading]) -> bool:
    return all(reading.phase is READING for reading in readings)
