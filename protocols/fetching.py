"""A consumer's data plane: positions, fetches, buffered records (spec consumer-client 1.2-1.4).

Follows Kafka's ``SubscriptionState``, ``AbstractFetch``, ``FetchBuffer`` and ``FetchCollector``
(4.4.0). Unlike the machines around it a :class:`Fetcher` is changed in place: it is touched by
every poll, and a copy a poll would double the cost of a run. Records are ranges of offsets.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from assignors.java import DEFAULT_LENGTH, hash_map_order, spread_hash, topic_partition_hash
from assignors.types import TopicPartition
from protocols.messages import FetchedRecords, FetchPartition, FetchRequest, FetchResponse

UNSET = -1
"""A position that is not known yet."""

NO_LEADER = -1

_FEW = 8
"""So many keys never make a hash map of the default length grow, nor a chain of it too long."""


class Phase(enum.Enum):
    """What a partition's position waits for."""

    INITIALIZING = "its committed offset"
    RESETTING = "an answer to its reset"
    READING = "nothing"


class Reading:
    """One assigned partition, as its consumer reads it."""

    __slots__ = ("leader", "partition", "phase", "position", "retry_us", "why")

    def __init__(self, partition: TopicPartition, leader: int) -> None:
        self.partition = partition
        self.leader = leader
        self.phase = Phase.INITIALIZING
        self.position = UNSET
        self.retry_us = 0
        """When its reset may be asked for (again)."""

        self.why = ""


class Handed(NamedTuple):
    """Records handed to the application: ``first`` up to ``next_offset``, exclusive."""

    partition: TopicPartition
    first: int
    next_offset: int


class _Completed:
    """One partition's part of a fetch response, drained from the front."""

    __slots__ = ("next_offset", "position", "reading")

    def __init__(self, reading: Reading, first: int, next_offset: int) -> None:
        self.reading = reading
        self.position = first
        self.next_offset = next_offset


class Fetcher:
    """Positions and buffers of one consumer, and which fetches to send."""

    __slots__ = ("_buffer", "_by_leader", "_in_flight", "_leaders", "_readings", "revoking")

    def __init__(self) -> None:
        self._readings: dict[TopicPartition, Reading] = {}
        self._by_leader: dict[int, dict[TopicPartition, Reading]] = {}
        self._in_flight: set[int] = set()
        self._buffer: deque[_Completed] = deque()
        self._leaders: Mapping[TopicPartition, int] = {}
        self.revoking = False
        """All partitions are about to be revoked (eager join prepare): nothing is handed out."""

    # -- assignment --------------------------------------------------------------------------

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Take this assignment, in this order; partitions held before keep what they have."""
        held = self._readings
        self._readings = {
            tp: held[tp] if tp in held else Reading(tp, self._leaders.get(tp, NO_LEADER))
            for tp in partitions
        }
        self.revoking = False
        self._buffer = deque(c for c in self._buffer if self._is_current(c))
        self._group_by_leader()

    def _is_current(self, completed: _Completed) -> bool:
        return self._readings.get(completed.reading.partition) is completed.reading

    def _group_by_leader(self) -> None:
        self._by_leader = {}
        for tp, reading in self._readings.items():
            self._by_leader.setdefault(reading.leader, {})[tp] = reading

    def leaders_changed(self, leaders: Mapping[TopicPartition, int]) -> None:
        """Learn who leads each partition."""
        self._leaders = leaders
        for tp, reading in self._readings.items():
            reading.leader = leaders.get(tp, NO_LEADER)
        self._group_by_leader()

    @property
    def leaderless(self) -> bool:
        """Whether nobody is known to lead some partition it reads."""
        return NO_LEADER in self._by_leader

    @property
    def assigned(self) -> tuple[TopicPartition, ...]:
        """The partitions it reads: in order of assignment, those that gave records last."""
        return tuple(self._readings)

    # -- positions ---------------------------------------------------------------------------

    def in_phase(self, phase: Phase) -> tuple[TopicPartition, ...]:
        """Return the partitions whose position is in ``phase``."""
        return tuple(tp for tp, reading in self._readings.items() if reading.phase is phase)

    def all_reading(self) -> bool:
        """Say whether every assigned partition has a valid position."""
        return all(reading.phase is Phase.READING for reading in self._readings.values())

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Set where to read next; what was buffered from elsewhere is dropped later."""
        reading = self._readings[partition]
        reading.position = offset
        reading.phase = Phase.READING

    def reset(self, partition: TopicPartition, why: str = "no offset") -> None:
        """Give up a position: the reset policy decides where to go on."""
        reading = self._readings[partition]
        reading.position = UNSET
        reading.phase = Phase.RESETTING
        reading.retry_us = 0
        reading.why = why

    def to_reset(self, now: int) -> tuple[TopicPartition, ...]:
        """Return the partitions whose reset may be asked for now."""
        return tuple(tp for tp, r in self._readings.items() if _resets(r) and r.retry_us <= now)

    def ask_again(self, partitions: Iterable[TopicPartition], at_us: int) -> None:
        """Let the resets of *partitions* be asked for again at *at_us*, not before."""
        for tp in partitions:
            if self.holds(tp, Phase.RESETTING):
                self._readings[tp].retry_us = at_us

    def next_reset_us(self) -> int | None:
        """Return when the next reset may be asked for; None if no partition waits for one."""
        return min((r.retry_us for r in self._readings.values() if _resets(r)), default=None)

    def reset_reason(self, partition: TopicPartition) -> str:
        """Return why the last reset of ``partition`` was needed."""
        return self._readings[partition].why

    def holds(self, partition: TopicPartition, phase: Phase) -> bool:
        """Say whether ``partition`` is assigned and in ``phase``."""
        reading = self._readings.get(partition)
        return reading is not None and reading.phase is phase

    def reads_at(self, partition: TopicPartition, offset: int) -> bool:
        """Say whether ``partition`` is read, and at this offset."""
        reading = self._readings.get(partition)
        return reading is not None and reading.position == offset != UNSET

    def leader(self, partition: TopicPartition) -> int:
        """Return the broker that leads ``partition`` as far as the client knows."""
        return self._leaders.get(partition, NO_LEADER)

    def positions(self) -> dict[TopicPartition, int]:
        """Return the next offset to hand out of every partition that has one."""
        return {
            tp: reading.position
            for tp, reading in self._readings.items()
            if reading.phase is Phase.READING
        }

    # -- fetching ----------------------------------------------------------------------------

    def requests(self) -> list[tuple[int, FetchRequest]]:
        """Return the fetches to send now, by broker, and count them as in flight.

        One fetch a broker (F2), none to a broker of which records are still buffered (F1b).
        """
        if self.revoking or self._in_flight.issuperset(self._by_leader):
            return []
        buffered = {c.reading.leader for c in self._buffer if self._wanted(c)}
        found = []
        for leader, readings in self._by_leader.items():
            if leader == NO_LEADER or leader in self._in_flight or leader in buffered:
                continue
            wanted = tuple(
                [
                    FetchPartition(tp, reading.position)
                    for tp, reading in readings.items()
                    if reading.phase is Phase.READING
                ]
            )
            if wanted:
                self._in_flight.add(leader)
                found.append((leader, FetchRequest(partitions=wanted)))
        return found

    def arrived(self, response: FetchResponse) -> list[FetchedRecords]:
        """Buffer a response; return its partitions that carry an error."""
        self._in_flight.discard(response.node)
        failed = []
        for part in response.partitions:
            reading = self._readings.get(part.partition)
            if part.error:
                failed.append(part)
                if reading is not None:
                    self._to_the_end(reading)
            elif reading is not None and part.next_offset > part.first:
                self._buffer.append(_Completed(reading, part.first, part.next_offset))
        return failed

    def move_on(self, partition: TopicPartition, offset: int) -> bool:
        """Move past records that went straight to the application; say whether there were any.

        What ``arrived`` and ``collect`` do for a consumer that waits and has nothing buffered, if
        all that comes fits into one poll; its brokers are asked again at once.
        """
        reading = self._readings[partition]
        if reading.position == offset:
            return False
        reading.position = offset
        self._to_the_end(reading)
        return True

    @property
    def idle(self) -> bool:
        """Whether nothing is buffered and everything assigned may be handed out."""
        return not self._buffer and not self.revoking

    def asked_for(self, wanted: Collection[tuple[TopicPartition, int]]) -> bool:
        """Say whether everything that can be read is asked for, where it is to be read."""
        positions = self.positions()
        unled = len(self._by_leader.get(NO_LEADER, ()))
        return len(wanted) == len(positions) - unled and all(
            positions.get(partition) == offset for partition, offset in wanted
        )

    def place_of(self, broker: int) -> int:
        """Return a broker's place in the order in which brokers are asked."""
        return list(self._by_leader).index(broker)

    def disconnected(self, broker: int) -> None:
        """Forget the fetch in flight to ``broker``; ask it again only after a metadata update."""
        self._in_flight.discard(broker)
        for reading in self._readings.values():
            if reading.leader == broker:
                reading.leader = NO_LEADER
        self._group_by_leader()

    def stale(self, partition: TopicPartition) -> None:
        """Take the leader of ``partition`` for unknown until the next metadata update."""
        self._readings[partition].leader = NO_LEADER
        self._group_by_leader()

    @property
    def in_flight(self) -> frozenset[int]:
        """The brokers that still owe an answer."""
        return frozenset(self._in_flight)

    def collect(self, limit: int) -> tuple[Handed, ...]:
        """Hand out up to ``limit`` records and move the positions past them.

        The completed fetch at the front is drained before the next one is begun; one whose
        last record is handed out exactly at the limit counts as buffered until the next call
        (1.2 rule 5). Within one call the application meets the partitions in the order of the
        Java HashMap that ``ConsumerRecords`` is built from.
        """
        if self.revoking or not self._buffer:
            return ()
        handed = []
        while limit > 0 and self._buffer:
            completed = self._buffer[0]
            reading = completed.reading
            if completed.position == completed.next_offset or not self._wanted(completed):
                self._buffer.popleft()
                continue
            first = completed.position
            end = min(completed.next_offset, first + limit)
            limit -= end - first
            completed.position = reading.position = end
            handed.append(Handed(reading.partition, first, end))
            self._to_the_end(reading)
            if limit > 0:
                self._buffer.popleft()
        return tuple(handed) if len(handed) < 2 else in_record_order(handed)

    def _wanted(self, completed: _Completed) -> bool:
        reading = completed.reading
        return (
            self._readings.get(reading.partition) is reading
            and reading.phase is Phase.READING
            and reading.position == completed.position
        )

    def _to_the_end(self, reading: Reading) -> None:
        """Let a partition that gave records wait for its next turn behind the others."""
        tp = reading.partition
        for readings in (self._readings, self._by_leader.get(reading.leader, {})):
            if len(readings) > 1:
                del readings[tp]
                readings[tp] = reading

    @property
    def buffered(self) -> int:
        """Records that have arrived and were not handed out."""
        return sum(c.next_offset - c.position for c in self._buffer if self._wanted(c))

    def check(self) -> None:
        """Assert what always holds."""
        grouped = [tp for readings in self._by_leader.values() for tp in readings]
        assert sorted(grouped) == sorted(self._readings)
        for tp, reading in self._readings.items():
            assert reading.partition == tp
            assert (reading.position == UNSET) == (reading.phase is not Phase.READING)
        for completed in self._buffer:
            assert completed.position <= completed.next_offset


def _resets(reading: Reading) -> bool:
    return reading.phase is Phase.RESETTING


@lru_cache(maxsize=1 << 16)  # a poll asks for the same few again and again
def _spread(partition: TopicPartition) -> int:
    return spread_hash(topic_partition_hash(partition))


def in_record_order(handed: list[Handed]) -> tuple[Handed, ...]:
    """Order as ``ConsumerRecords`` iterates: it is built on a HashMap (seen in every capture)."""
    if len(handed) <= _FEW:
        return tuple(sorted(handed, key=lambda part: _spread(part.partition) & DEFAULT_LENGTH - 1))
    by_partition = {part.partition: part for part in handed}
    return tuple(by_partition[tp] for tp in hash_map_order(by_partition, topic_partition_hash))
