"""A consumer's data plane: its fetches, which fill the buffer of records.

Source: ``AbstractFetch``. As its buffer, a :class:`Fetcher` is changed in place.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import CompletedFetch, FetchBuffer, Queued
from protocols.consumer.positions import READING, Reading
from protocols.consumer.saved import SavedFetcher
from protocols.messages import (
    NO_LEADER,
    FetchedRecords,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)

CLOSES_SESSION = FetchRequest(partitions=(), closes_session=True)


Readings = Mapping[TopicPartition, Reading]
AskedOf = Callable[[int, Readings], tuple[FetchPartition, ...]]
"""Returns what to ask a broker for, of the partitions that it leads."""


class Connection(enum.IntEnum):
    """A client's connection to a broker, the better choice for a request first."""

    READY = 0
    CONNECTING = 1
    """It is opened again, and nothing has arrived over it."""

    NONE = 2


class Broken(NamedTuple):
    """A broken connection to a broker that has not responded since."""

    failures: int
    ready_us: int
    """When it may be opened again."""


class Fetcher(FetchBuffer):
    """The positions, buffered records and fetches of one consumer."""

    __slots__ = (
        "_broken",
        "_connected",
        "_errors_in_order",
        "_in_flight",
        "_opened_ms",
        "_sessions",
        "_takes_hints",
    )

    def __init__(
        self,
        *,
        takes_hints: bool = True,
        frees_at_limit: bool = False,
        errors_in_order: bool = True,
    ) -> None:
        """Create the data plane of a new consumer.

        *takes_hints*: whether it follows the leader that a broker returns with an error.
        *errors_in_order*: whether the error of a partition is buffered like records, and handled behind
        those that arrived before it.
        """
        super().__init__(frees_at_limit=frees_at_limit)
        self._errors_in_order = errors_in_order
        self._takes_hints = takes_hints
        self._in_flight: set[int] = set()
        self._sessions: set[int] = set()
        """The brokers with a fetch session of this consumer."""

        self._connected: set[int] = set()
        """The brokers to which a connection is open, or is opened for a request that waits."""

        self._opened_ms: dict[int, int] = {}
        """When the latest connection to each broker was opened."""

        self._broken: dict[int, Broken] = {}

    # -- requests ----------------------------------------------------------------------------

    def requests(self, now: int = 0) -> list[tuple[int, FetchRequest]]:
        """Return the fetches to send now, by broker, and count them as in flight.

        One fetch per broker; none to a broker with buffered records (``fetchablePartitions``,
        ``nodesWithPendingFetchRequests``), nor to one whose reconnect back-off runs.
        """
        positions = self.positions
        if positions.behind:
            positions.follow_leaders()
        if self.revoking or self._in_flight.issuperset(positions.by_leader):
            return []
        asked_of, found = self._asked_of_each(now), []
        for leader, readings in positions.by_leader.items():
            if leader == NO_LEADER or leader in self._in_flight or self.backs_off(leader, now):
                continue
            if wanted := asked_of(leader, readings):
                self._asks(leader, now)
                found.append((leader, FetchRequest(partitions=wanted)))
        return found

    def _asked_of_each(self, now: int) -> AskedOf:  # noqa: ARG002  others ask by the time
        """Return what to ask a broker for, as its records in the buffer allow."""
        buffered = self._with_records()
        return lambda leader, readings: (
            () if leader in buffered else self._partitions_to_fetch(readings, {})
        )

    def _asks(self, broker: int, now: int) -> None:
        self._in_flight.add(broker)
        self._sessions.add(broker)
        self.connect(broker, now)

    def _partitions_to_fetch(
        self, readings: Readings, queued: Queued
    ) -> tuple[FetchPartition, ...]:
        """Return what a fetch asks for: behind the position, or behind what is *queued*."""
        unfetchable = self.pending | self.paused
        wanted = []
        for tp, reading in readings.items():
            if reading.phase is not READING or tp in unfetchable:
                continue
            end, _ = queued.get(tp) or (reading.position, 0)
            wanted.append(FetchPartition(tp, end, reading.current.epoch))
        return tuple(wanted)

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
        self._connected.update(free)
        return free

    def close_sessions(self, known: Iterable[int], now: int) -> list[tuple[int, FetchRequest]]:
        """Return the requests that close the fetch sessions, by broker, and count them as in flight.

        A broker answers a fetch in flight first. *known*: the brokers in the metadata; no other is asked,
        and none whose reconnect back-off runs (``prepareCloseFetchSessionRequests``).
        """
        asked = self._sessions.intersection(known)
        brokers = [broker for broker in sorted(asked) if not self.backs_off(broker, now)]
        self._in_flight.update(brokers)
        return [(broker, CLOSES_SESSION) for broker in brokers]

    # -- responses and connections -----------------------------------------------------------

    def arrived(self, response: FetchResponse) -> list[FetchedRecords]:
        """Buffer a response; return its errors that the client handles at once."""
        self._in_flight.discard(response.node)
        self.answered(response.node)
        at_once, readings = [], self.positions.readings
        for part in response.partitions:
            reading = readings.get(part.partition)
            if part.error:
                if reading is not None:
                    self._refuse(reading, part)
                if not self._errors_in_order:
                    at_once.append(part)
            elif reading is not None and part.next_offset > part.first:
                self._buffer.append(CompletedFetch(reading, part))
                reading.last_ms = part.last_ms
        return at_once

    def _refuse(self, reading: Reading, part: FetchedRecords) -> None:
        """Follow the leader that came with an error at once, whenever the error is handled."""
        if self._errors_in_order:
            self._buffer.append(CompletedFetch(reading, part))
            self._errors += 1
        else:
            self.positions.move_to_end(reading)
        if part.current_leader is not None and self._takes_hints:
            self.positions.update_leader(part.partition, part.current_leader)

    def answered(self, broker: int | None) -> None:
        """Note that a broker has responded: its connection is ready."""
        if self._broken and broker is not None:
            self._broken.pop(broker, None)

    def disconnected(self, broker: int, ready_us: int = 0) -> None:
        """Drop the fetch in flight to ``broker``; fetch from it only after a metadata update.

        The next fetch is not sent before *ready_us*, when the reconnect back-off ends.
        """
        self._in_flight.discard(broker)
        self._connected.discard(broker)
        self._broken[broker] = Broken(self.failures(broker) + 1, ready_us)
        self.positions.forget_leaders_at(broker)

    def backs_off(self, broker: int, now: int) -> bool:
        """Return whether a broken connection may not be opened again yet (``isUnavailable``)."""
        return broker in self._broken and now < self._broken[broker].ready_us

    def connect(self, broker: int, now: int = 0) -> bool:
        """Return whether a connection to a broker is open; if not, open it unless its back-off runs."""
        if broker in self._connected:
            return True
        if not self.backs_off(broker, now):
            self._connected.add(broker)
            self._opened_ms[broker] = now // 1_000
        return False

    def drop_silent(self, broker: int | None) -> None:
        """Close a connection over which a request has timed out; that of a fetch ends with the fetch."""
        if broker is not None and broker not in self._in_flight:
            self._connected.discard(broker)

    def connection(self, broker: int) -> Connection:
        """Return the state of the connection to a broker."""
        if broker not in self._connected:
            return Connection.NONE
        return Connection.CONNECTING if broker in self._broken else Connection.READY

    def opened_ms(self, broker: int) -> int:
        """Return when (ms) a connection to a broker was last opened; 0: none was."""
        return self._opened_ms.get(broker, 0)

    def earliest_ready_us(self, brokers: Iterable[int]) -> int:
        """Return when (us) the first of the reconnect back-offs to these brokers ends."""
        return min([self._broken[each].ready_us for each in brokers if each in self._broken])

    def is_connected(self, broker: int) -> bool:
        """Return whether a connection to a broker is open, or is opened for a request that waits."""
        return broker in self._connected

    def failures(self, broker: int) -> int:
        """Return how often the connection to a broker broke without a response in between."""
        broken = self._broken.get(broker)
        return 0 if broken is None else broken.failures

    def next_ready_us(self, now: int) -> int | None:
        """Return when (us), after *now*, a broker or a partition may be asked again that rests."""
        ends = self._rest_ends()
        return min((when for when in ends if when > now), default=None) if ends else None

    def _rest_ends(self) -> list[int]:
        """Return when (us) rests end: here the reconnect back-offs of leaders."""
        if not self._broken:
            return []
        leaders = self.positions.by_leader
        return [broken.ready_us for b, broken in self._broken.items() if b in leaders]

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

    # -- what repeats ------------------------------------------------------------------------

    def relative(self, now: int) -> tuple[object, ...]:
        """Return what is buffered and in flight, and what is read, without positions and times."""
        positions, now_ms = self.positions, now // 1_000
        return (
            self.buffer_state,
            self.paused,
            self.in_flight,
            tuple(
                (r.partition, r.leader, r.current, r.epochs, _since(r.last_ms, now_ms))
                for r in positions.readings.values()
            ),
            tuple((broker, *readings) for broker, readings in positions.by_leader.items()),
        )

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
        self._buffer = []
        for (tp, first, end), epochs in zip(saved.buffer, saved.epochs, strict=True):
            part = FetchedRecords(tp, offsets[tp] + first, offsets[tp] + end, epochs=epochs)
            self._buffer.append(CompletedFetch(self.positions.readings[tp], part))
        self._line = self._buffer[0] if saved.drains else None


def _since(at_ms: int | None, now_ms: int) -> int | None:
    return None if at_ms is None else at_ms - now_ms


def without(readings: Readings, left_out: Collection[TopicPartition]) -> Readings:
    """Return some partitions of a broker without those to leave out."""
    if not left_out:
        return readings
    return {tp: reading for tp, reading in readings.items() if tp not in left_out}
