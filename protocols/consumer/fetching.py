"""A consumer's data plane: its fetches and the records that are buffered.

Source: ``AbstractFetch``, ``FetchBuffer``, ``FetchCollector``. Unlike the machines around it, a
:class:`Fetcher` is changed in place: a copy for each poll would double the cost of a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.consumer.completed_fetch import CompletedFetch
from protocols.consumer.positions import READING, Positions, Reading
from protocols.consumer.record_order import in_record_order
from protocols.consumer.saved import SavedFetcher
from protocols.messages import (
    NO_LEADER,
    FetchedRecords,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from protocols.messages.records import next_run


class Handed(NamedTuple):
    """Records returned to the application: from ``first`` to ``next_offset``, exclusive."""

    partition: TopicPartition
    first: int
    next_offset: int


Queued = dict[TopicPartition, tuple[int, int]]
"""By partition: the end of what is buffered behind the position, and its records."""


CLOSES_SESSION = FetchRequest(partitions=())


class Broken(NamedTuple):
    """A broken connection to a broker that has not responded since."""

    failures: int
    ready_us: int
    """When it may be opened again."""


class Fetcher:
    """The positions, buffered records and fetches of one consumer."""

    __slots__ = (
        "_broken",
        "_buffer",
        "_in_flight",
        "_line",
        "_queue",
        "_sessions",
        "paused",
        "pending",
        "positions",
        "revoking",
    )

    def __init__(self, queue: int | None = None) -> None:
        """Create the data plane of a new consumer.

        *queue*: records of a partition that are buffered before it is not fetched; None: a broker
        with buffered records is not asked at all, as in the Java client.
        """
        self.positions = Positions()
        self._queue = queue
        self._in_flight: set[int] = set()
        self._sessions: set[int] = set()
        """The brokers with a fetch session of this consumer."""

        self._broken: dict[int, Broken] = {}
        self._buffer: deque[CompletedFetch] = deque()
        self.revoking = False
        """All partitions are about to be revoked (eager join prepare): no records are returned."""

        self.pending: frozenset[TopicPartition] = frozenset()
        """Partitions about to be revoked: neither fetched nor returned, but committed."""

        self.paused: frozenset[TopicPartition] = frozenset()
        """Partitions that the application has paused: neither fetched nor returned, but buffered."""

        self._line: CompletedFetch | None = None
        """The completed fetch that records were last taken from (``nextInLineFetch``)."""

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Apply this assignment; drop buffered records of other partitions."""
        before = self.positions.readings
        self.positions.assign(partitions)
        if self.paused:
            after = self.positions.readings
            self.paused = frozenset(tp for tp in self.paused if after.get(tp) is before.get(tp))
        self.revoking = False
        self._buffer = deque(c for c in self._buffer if self._is_current(c))

    def _is_current(self, completed: CompletedFetch) -> bool:
        return self.positions.readings.get(completed.reading.partition) is completed.reading

    # -- fetching ----------------------------------------------------------------------------

    def requests(self, now: int = 0) -> list[tuple[int, FetchRequest]]:
        """Return the fetches to send now, by broker, and count them as in flight.

        One fetch per broker; none to a broker with buffered records (``fetchablePartitions``,
        ``nodesWithPendingFetchRequests``), nor to one whose reconnect back-off runs
        (``AbstractFetch.isUnavailable``).
        """
        positions = self.positions
        if positions.behind:
            positions.follow_leaders()
        if self.revoking or self._in_flight.issuperset(positions.by_leader):
            return []
        if self._queue is None:
            queued: Queued = {}
            buffered = self._with_records()
        else:
            queued, buffered = self._queued_ends(), set()
        found = []
        for leader, readings in positions.by_leader.items():
            if leader == NO_LEADER or leader in self._in_flight or leader in buffered:
                continue
            if leader in self._broken and now < self._broken[leader].ready_us:
                continue
            wanted = self._partitions_to_fetch(readings, queued)
            if wanted:
                self._in_flight.add(leader)
                self._sessions.add(leader)
                found.append((leader, FetchRequest(partitions=wanted)))
        return found

    def _partitions_to_fetch(
        self, readings: Mapping[TopicPartition, Reading], queued: Queued
    ) -> tuple[FetchPartition, ...]:
        """Return what a fetch asks for: behind the position, or behind what is *queued*."""
        full, unfetchable = self._queue, self.pending | self.paused
        wanted = []
        for tp, reading in readings.items():
            if reading.phase is not READING or tp in unfetchable:
                continue
            end, records = queued.get(tp) or (reading.position, 0)
            if not full or records < full:
                wanted.append(FetchPartition(tp, end, reading.current.epoch))
        return tuple(wanted)

    def _queued_ends(self) -> Queued:
        """Return what is buffered behind the position of each partition."""
        ends: Queued = {}
        for completed in self._buffer:
            reading = completed.reading
            tp = reading.partition
            end, records = ends.get(tp, (reading.position, 0))
            if completed.position == end and self.positions.readings.get(tp) is reading:
                ends[tp] = completed.next_offset, records + completed.count
        return ends

    def take_free(self) -> list[int]:
        """Return the brokers to fetch from now, and mark them as in flight.

        The same as :meth:`requests`, if all positions are valid and all brokers connected.
        """
        in_flight, leaders = self._in_flight, self.positions.by_leader
        if in_flight.issuperset(leaders):
            return []
        buffered = self._with_records()
        free = [b for b in leaders if b not in in_flight and b not in buffered]
        in_flight.update(free)
        self._sessions.update(free)
        return free

    def close_sessions(self) -> list[tuple[int, FetchRequest]]:
        """Return the requests that close the fetch sessions, by broker, and count them as in flight.

        A broker answers a fetch in flight first. None goes to a broker that is not connected
        (``prepareCloseFetchSessionRequests``).
        """
        brokers = [broker for broker in sorted(self._sessions) if broker not in self._broken]
        self._in_flight.update(brokers)
        return [(broker, CLOSES_SESSION) for broker in brokers]

    def _with_records(self) -> set[int]:
        """Return the brokers with buffered records of partitions that are not paused."""
        paused = self.paused
        return {
            c.reading.leader
            for c in self._buffer
            if self._wanted(c) and not (paused and c.reading.partition in paused)
        }

    def arrived(self, response: FetchResponse) -> list[FetchedRecords]:
        """Buffer a response; return its partitions with an error."""
        self._in_flight.discard(response.node)
        if self._broken:
            self._broken.pop(response.node, None)
        failed, readings = [], self.positions.readings
        for part in response.partitions:
            reading = readings.get(part.partition)
            if part.error:
                failed.append(part)
                if reading is not None:
                    self._refused(reading, part)
            elif reading is not None and part.next_offset > part.first:
                self._buffer.append(CompletedFetch(reading, part))
        return failed

    def _refused(self, reading: Reading, part: FetchedRecords) -> None:
        self.positions.move_to_end(reading)
        if part.current_leader is not None:
            self.positions.update_leader(part.partition, part.current_leader)

    @property
    def idle(self) -> bool:
        """Whether no records are buffered and all partitions may return records."""
        return not self._buffer and not self.revoking

    def disconnected(self, broker: int, ready_us: int = 0) -> None:
        """Drop the fetch in flight to ``broker``; fetch from it only after a metadata update.

        The next fetch is not sent before *ready_us*, when the reconnect back-off ends.
        """
        self._in_flight.discard(broker)
        self._broken[broker] = Broken(self.failures(broker) + 1, ready_us)
        self.positions.forget_leaders_at(broker)

    def failures(self, broker: int) -> int:
        """Return how often the connection to a broker broke without a response in between."""
        broken = self._broken.get(broker)
        return 0 if broken is None else broken.failures

    def next_ready_us(self, now: int) -> int | None:
        """Return when (us), after *now*, the next reconnect back-off ends, if one runs."""
        if not self._broken:
            return None
        leaders = self.positions.by_leader
        waiting = [broken.ready_us for b, broken in self._broken.items() if b in leaders]
        return min((when for when in waiting if when > now), default=None)

    @property
    def undisturbed(self) -> bool:
        """Whether all partitions may return records, and every broker is connected."""
        return not self.revoking and not self.pending and self.connected

    @property
    def connected(self) -> bool:
        """Whether every broker to read from has responded since its connection broke."""
        return not any(broker in self.positions.by_leader for broker in self._broken)

    @property
    def in_flight(self) -> frozenset[int]:
        """The brokers with a fetch in flight."""
        return frozenset(self._in_flight)

    # -- returning records -------------------------------------------------------------------

    def collect(self, limit: int, *, as_arrived: bool = False) -> tuple[Handed, ...]:
        """Return up to ``limit`` records and move the positions past them.

        *as_arrived*: in order of arrival, not in that of the Java client.

        The completed fetch at the front is drained before the next one; a fetch whose last record
        is returned exactly at the limit counts as buffered until the next call
        (``FetchCollector.collectFetch``). Within one call the partitions are in the order of the
        Java HashMap that ``ConsumerRecords`` is built from.
        """
        if self.revoking or not self._buffer:
            return ()
        handed = []
        while limit > 0 and self._buffer:
            share = self.share(limit)
            if share is None:
                break
            handed.append(share)
            limit -= share.next_offset - share.first
        return tuple(handed) if as_arrived or len(handed) < 2 else in_record_order(handed)

    def share(self, limit: int) -> Handed | None:
        """Return up to ``limit`` records of one partition and move its position past them."""
        if self.paused:
            self._move_paused_to_end()
        buffer = self._buffer
        while buffer:
            completed = buffer[0]
            reading = completed.reading
            if self.paused and reading.partition in self.paused:
                return None
            first, last = completed.position, completed.next_offset
            if first == last or not self._wanted(completed):
                buffer.popleft()
                continue
            end = position = last if last < first + limit else first + limit  # noqa: FURB136 (a call costs more)
            if completed.gaps is not None:
                first, end, position = next_run(completed.gaps, first, last, limit)
            completed.position = reading.position = position
            reading.epochs = completed.epochs
            self.positions.move_to_end(reading)
            self._line = completed
            if end - first < limit and position == last:
                buffer.popleft()
            if first == end:
                continue
            return Handed(reading.partition, first, end)
        return None

    def _move_paused_to_end(self) -> None:
        """Put what is buffered of paused partitions behind the rest (``pausedCompletedFetches``)."""
        paused = self.paused
        self._buffer = deque(sorted(self._buffer, key=lambda c: c.reading.partition in paused))

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Neither fetch nor return records of these partitions, and of no others (``pause``)."""
        self.paused = frozenset(partitions)

    def shares_ahead(self, limit: int) -> tuple[int, ...]:
        """Return how many records of each partition the next :meth:`collect` would return."""
        sizes = []
        for completed in self._buffer:
            if limit > 0 and self._wanted(completed):
                sizes.append(min(completed.count, limit))
                limit -= sizes[-1]
        return tuple(size for size in sizes if size)

    @property
    def returns_records(self) -> bool:
        """Whether the next :meth:`collect` returns records."""
        return not self.revoking and bool(self.shares_ahead(1))

    @property
    def queued(self) -> bool:
        """Whether the buffer has completed fetches besides the one being drained."""
        return len(self._buffer) > (1 if self._buffer and self._buffer[0] is self._line else 0)

    def _wanted(self, completed: CompletedFetch) -> bool:
        reading = completed.reading
        return (
            self.positions.readings.get(reading.partition) is reading
            and reading.phase is READING
            and reading.position == completed.position
            and not (self.pending and reading.partition in self.pending)
        )

    @property
    def buffer_state(self) -> tuple[tuple[TopicPartition, int, int], ...]:
        """What is buffered: by completed fetch, relative to the position of its partition."""
        found = []
        for completed in self._buffer:
            position = completed.reading.position
            ends = (completed.position - position, completed.next_offset - position)
            found.append((completed.reading.partition, *ends))
        return tuple(found)

    def relative(self) -> tuple[object, ...]:
        """Return what is buffered and in flight, and what is read, without the positions."""
        positions = self.positions
        return (
            self.buffer_state,
            self.paused,
            self.in_flight,
            tuple(
                (r.partition, r.leader, r.current, r.epochs) for r in positions.readings.values()
            ),
            tuple((broker, *readings) for broker, readings in positions.by_leader.items()),
        )

    def move(self, records: Mapping[TopicPartition, int]) -> None:
        """Move positions and buffered records by so many records of each partition."""
        for tp, count in records.items():
            self.positions.readings[tp].position += count
        for completed in self._buffer:
            count = records.get(completed.reading.partition, 0)
            completed.position += count
            completed.next_offset += count

    def saved(self) -> SavedFetcher:
        """Return what changes in polls, relative to the positions; every offset holds a record."""
        drains = bool(self._buffer) and self._buffer[0] is self._line
        epochs = tuple([each.epochs for each in self._buffer])
        saved = self.positions.saved()
        return SavedFetcher(saved, self.in_flight, self.buffer_state, epochs, drains)

    def restore(self, saved: SavedFetcher, offsets: Mapping[TopicPartition, int]) -> None:
        """Take over what was *saved*, with these positions."""
        self.positions.restore(saved.positions, offsets)
        self._in_flight = set(saved.in_flight)
        self._buffer = deque()
        for (tp, first, end), epochs in zip(saved.buffer, saved.epochs, strict=True):
            part = FetchedRecords(tp, offsets[tp] + first, offsets[tp] + end, epochs=epochs)
            self._buffer.append(CompletedFetch(self.positions.readings[tp], part))
        self._line = self._buffer[0] if saved.drains else None

    def check(self) -> None:
        """Assert the invariants."""
        self.positions.check()
        for completed in self._buffer:
            assert completed.position <= completed.next_offset
