"""Fetches of a client that keeps a queue of each partition, and lets partitions rest (librdkafka).

Source: ``rdkafka_fetcher.c`` (``rd_kafka_toppar_fetch_decide``, ``rd_kafka_toppar_fetch_backoff``,
``rd_kafka_fetch_reply_handle_partition_error``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import CompletedFetch, Handed, Queued
from protocols.consumer.fetching import AskedOf, Fetcher, without
from protocols.consumer.positions import READING
from protocols.consumer.reader import MS
from protocols.messages import FetchedRecords, FetchRequest, FetchResponse


class Rests(NamedTuple):
    """How long (ms) a partition is not asked for."""

    error_ms: int
    """After an error of its fetch."""

    queue_ms: int
    """Each time that its queue is found full."""


class QueuedFetcher(Fetcher):
    """The data plane of one consumer whose partitions rest.

    A full queue is noticed at any step of the client, also while a fetch of its broker is in flight. Its
    partition then rests even if the application has emptied the queue long before. A partition that
    begins to be read (again) does not rest.
    """

    __slots__ = ("_counted", "_ends", "_failed", "_for", "_full", "_until_us")

    def __init__(self, full: int, rests: Rests, *, takes_hints: bool, frees_at_limit: bool) -> None:
        """Create the data plane of a new consumer; *full*: records of a partition that fill its queue."""
        super().__init__(
            takes_hints=takes_hints, frees_at_limit=frees_at_limit, errors_in_order=False
        )
        self._full = full
        self._for = rests
        self._failed: list[TopicPartition] = []
        """The partitions whose error has just arrived."""

        self._until_us: dict[TopicPartition, int] = {}
        """When each partition that rests may be asked for again."""

        self._ends: Queued = {}
        self._counted: dict[TopicPartition, int] | None = None
        """The position of each partition that :attr:`_ends` is behind; None: it has to be counted again."""

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Apply this assignment; drop buffered records of other partitions."""
        super().assign(partitions)
        self._counted = None

    def arrived(self, response: FetchResponse) -> list[FetchedRecords]:
        """Buffer a response; return its errors."""
        before = len(self._buffer)
        errors = super().arrived(response)
        self._failed += [part.partition for part in errors]
        if self._counted is not None:
            self._count(self._buffer[before:], self._counted)
        return errors

    # -- what is queued ----------------------------------------------------------------------

    def share(self, limit: int) -> Handed | None:
        """Return up to ``limit`` records of one partition and move its position past them."""
        front = next((each for each in self._buffer if each.position < each.next_offset), None)
        handed = super().share(limit)
        counted = self._counted
        if counted is None:
            return handed
        if handed is None or front is None or self._line is not front:
            self._counted = None  # others were dropped
            return handed
        tp = handed.partition
        if tp in counted:
            end, records = self._ends[tp]
            self._ends[tp] = end, records - (handed.next_offset - handed.first)
            counted[tp] = front.position
        return handed

    def _queued_ends(self) -> Queued:
        """Return what is buffered behind the position of each partition.

        A queue can have thousands of parts, so they are counted one by one only if a position was set.
        """
        readings, counted = self.positions.readings, self._counted
        if counted is None or any(readings[tp].position != at for tp, at in counted.items()):
            self._ends, self._counted = {}, {}
            self._count(self._buffer, self._counted)
        return self._ends

    def _count(self, parts: Iterable[CompletedFetch], counted: dict[TopicPartition, int]) -> None:
        """Count further parts of the buffer."""
        for part in parts:
            reading = part.reading
            tp = reading.partition
            end, records = self._ends.get(tp, (reading.position, 0))
            if part.position == end:
                self._ends[tp] = part.next_offset, records + part.count
                counted.setdefault(tp, reading.position)

    # -- what rests --------------------------------------------------------------------------

    def requests(self, now: int = 0) -> list[tuple[int, FetchRequest]]:
        """Note which partitions rest from now on; return the fetches to send now."""
        self._end_rests(now)
        self._begin_rests(now)
        return super().requests(now)

    def _end_rests(self, now: int) -> None:
        for tp, until_us in list(self._until_us.items()):
            if until_us <= now or not self.positions.holds(tp, READING):
                del self._until_us[tp]

    def _begin_rests(self, now: int) -> None:
        for tp in self._failed:
            if self._for.error_ms and self.positions.holds(tp, READING):
                self._until_us[tp] = now + self._for.error_ms * MS
        self._failed.clear()
        if self._for.queue_ms:
            for tp in self._full_queues(self._queued_ends()):
                if tp not in self.paused:
                    self._until_us.setdefault(tp, now + self._for.queue_ms * MS)

    def _full_queues(self, queued: Queued) -> list[TopicPartition]:
        return [tp for tp, (_, records) in queued.items() if records >= self._full]

    def _asked_of_each(self, now: int) -> AskedOf:
        del now  # rests that are over have ended
        queued = self._queued_ends()
        left_out = {*self._full_queues(queued), *self._until_us}
        return lambda _, readings: self._partitions_to_fetch(without(readings, left_out), queued)

    def _rest_ends(self) -> list[int]:
        return [*super()._rest_ends(), *self._until_us.values()]

    def relative(self, now: int) -> tuple[object, ...]:
        """Return the same as of any client, and how long partitions still rest."""
        rests = tuple((tp, end - now) for tp, end in sorted(self._until_us.items()))
        return (*super().relative(now), rests)

    def move(self, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move positions, responses and rests by so many records of each partition, in that time."""
        super().move(later_us, records)
        self._counted = None
        self._until_us = {tp: end + later_us for tp, end in self._until_us.items()}
