"""The records that a consumer has fetched and its application has not got, and how it gets them.

Source: ``FetchBuffer``, ``FetchCollector``. Unlike the machines around it, a buffer is changed in place:
a copy for each poll would double the cost of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from assignors.java import DEFAULT_LENGTH, hash_map_order, spread_hash, topic_partition_hash
from assignors.types import TopicPartition
from protocols.consumer.positions import READING, Positions, Reading
from protocols.messages import FetchedRecords
from protocols.messages.errors import ErrorCode
from protocols.messages.records import next_run

NO_PARTITIONS = frozenset[TopicPartition]()
"""Shared by all members: each empty set that is made anew takes 216 bytes."""


class Handed(NamedTuple):
    """Records returned to the application: from ``first`` to ``next_offset``, exclusive."""

    partition: TopicPartition
    first: int
    next_offset: int


Queued = dict[TopicPartition, tuple[int, int]]
"""By partition: the end of what is buffered behind the position, and its records."""


class CompletedFetch:
    """One partition's part of a fetch response, drained from the front."""

    __slots__ = ("epochs", "gaps", "next_offset", "position", "reading", "refused")

    def __init__(self, reading: Reading, part: FetchedRecords) -> None:
        self.reading = reading
        self.refused = part if part.error else None
        """The part itself, if it has an error and thus no records."""

        self.position = part.first
        self.next_offset = part.next_offset
        self.epochs = part.epochs
        self.gaps = part.gaps

    @property
    def count(self) -> int:
        """The number of records that are left."""
        if self.gaps is None:
            return self.next_offset - self.position
        return self.gaps.count_in(self.position, self.next_offset)


class FetchBuffer:
    """The positions and the buffered records of one consumer."""

    __slots__ = (
        "_buffer",
        "_errors",
        "_frees_at_limit",
        "_line",
        "_refused",
        "paused",
        "pending",
        "positions",
        "revoking",
        "throws_out_of_range",
    )

    def __init__(self, *, frees_at_limit: bool = False) -> None:
        """Create the buffer of a new consumer.

        *frees_at_limit*: a fetch whose last record is returned at the limit is no longer buffered.
        """
        self._frees_at_limit = frees_at_limit
        self.positions = Positions()
        self._buffer: list[CompletedFetch] = []
        self.revoking = False
        """All partitions are about to be revoked (eager join prepare): no records are returned."""

        self.pending: frozenset[TopicPartition] = NO_PARTITIONS
        """Partitions about to be revoked: neither fetched nor returned, but committed."""

        self.paused: frozenset[TopicPartition] = NO_PARTITIONS
        """Partitions that the application has paused: neither fetched nor returned, but buffered."""

        self._errors = 0
        """The number of completed fetches with an error."""

        self._refused: list[FetchedRecords] = []
        """The errors that were at the front, and that the client has not handled yet."""

        self.throws_out_of_range = False
        """Whether no policy resets a position that its log does not hold."""

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
        self._buffer = [c for c in self._buffer if self._is_current(c)]
        self._errors = sum(c.refused is not None for c in self._buffer)

    def _is_current(self, completed: CompletedFetch) -> bool:
        """Return whether it is of the assignment: only :meth:`assign` has to ask that."""
        return self.positions.readings.get(completed.reading.partition) is completed.reading

    # -- what is buffered --------------------------------------------------------------------

    def _with_records(self) -> set[int]:
        """Return the brokers with buffered records of partitions that are not paused."""
        paused = self.paused
        return {
            c.reading.leader
            for c in self._buffer
            if (self._wanted(c) or c.refused is not None)
            and not (paused and c.reading.partition in paused)
        }

    @property
    def idle(self) -> bool:
        """Whether no records are buffered and all partitions may return records."""
        return not self._buffer and not self.revoking

    @property
    def buffer_state(self) -> tuple[tuple[TopicPartition, int, int], ...]:
        """What is buffered: by completed fetch, relative to the position of its partition."""
        found = []
        for completed in self._buffer:
            position = completed.reading.position
            ends = (completed.position - position, completed.next_offset - position)
            found.append((completed.reading.partition, *ends))
        return tuple(found)

    # -- returning records -------------------------------------------------------------------

    def collect(self, limit: int, *, as_arrived: bool = False) -> tuple[Handed, ...]:
        """Return up to ``limit`` records and move the positions past them.

        *as_arrived*: in order of arrival, not in that of the Java client.

        The completed fetch at the front is drained before the next one. One whose last record is
        returned exactly at the limit counts as buffered until the next call, unless the client frees
        it at once (``FetchCollector.collectFetch``). Within one call the partitions are in the order
        of the Java HashMap that ``ConsumerRecords`` is built from.
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
        if not handed and self._buffer and self._throws(self._buffer[0]):
            self._reach(self._buffer[0])
        return tuple(handed) if as_arrived or len(handed) < 2 else in_record_order(handed)

    def share(self, limit: int) -> Handed | None:
        """Return up to ``limit`` records of one partition and move its position past them."""
        if self.paused:
            self._move_paused_to_end()
        buffer = self._buffer
        while buffer:
            completed = buffer[0]
            reading = completed.reading
            if completed.refused is not None:
                if self._throws(completed):
                    return None
                self._reach(completed)
                continue
            if self.paused and reading.partition in self.paused:
                return None
            first, last = completed.position, completed.next_offset
            if first == last or not self._wanted(completed):
                buffer.pop(0)
                continue
            end = position = last if last < first + limit else first + limit  # noqa: FURB136 (a call costs more)
            if completed.gaps is not None:
                first, end, position = next_run(completed.gaps, first, last, limit)
            completed.position = reading.position = position
            reading.epochs = completed.epochs
            self.positions.move_to_end(reading)
            self._line = completed
            if position == last and (end - first < limit or self._frees_at_limit):
                buffer.pop(0)
            if first == end:
                continue
            return Handed(reading.partition, first, end)
        return None

    def _throws(self, completed: CompletedFetch) -> bool:
        """Return whether a poll throws an error: it is reached by one that returns no records."""
        refused = completed.refused
        return (
            self.throws_out_of_range
            and refused is not None
            and refused.error is ErrorCode.OFFSET_OUT_OF_RANGE
            and completed.reading.position == completed.position
            and self._is_read(completed)
        )

    def _reach(self, completed: CompletedFetch) -> None:
        """Let the client handle the error at the front: all records before it are returned."""
        assert completed.refused is not None, "records are shared out"
        del self._buffer[0]
        self._errors -= 1
        self._refused.append(completed.refused)
        self.positions.move_to_end(completed.reading)

    def _move_paused_to_end(self) -> None:
        """Put what is buffered of paused partitions behind the rest (``pausedCompletedFetches``)."""
        paused = self.paused
        self._buffer.sort(key=lambda c: c.reading.partition in paused)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Neither fetch nor return records of these partitions, and of no others (``pause``)."""
        self.paused = frozenset(partitions)

    def shares_ahead(self, limit: int) -> tuple[int, ...]:
        """Return how many records of each partition the next :meth:`collect` would return."""
        sizes = []
        for completed in self._buffer:
            if self._wanted(completed):
                sizes.append(min(completed.count, limit))
                limit -= sizes[-1]
        return tuple(size for size in sizes if size)

    @property
    def returns_records(self) -> bool:
        """Whether the next :meth:`collect` returns records."""
        return not self.revoking and bool(self.shares_ahead(1))

    @property
    def has_available(self) -> bool:
        """Whether records, or an error, of a partition that is read are buffered (``hasAvailableFetches``)."""
        if not self._errors or self.revoking:
            return self.returns_records
        return self.returns_records or any(
            completed.refused is not None and self._is_read(completed) for completed in self._buffer
        )

    @property
    def has_errors(self) -> bool:
        """Whether an error waits for the records before it, or for the client."""
        return bool(self._errors or self._refused)

    def take_refused(self) -> list[FetchedRecords]:
        """Return the errors that records were returned up to, for the client to handle, and forget them."""
        found = self._refused
        if found:
            self._refused = []
        return found

    @property
    def queued(self) -> bool:
        """Whether the buffer has completed fetches besides the one being drained."""
        return len(self._buffer) > (1 if self._buffer and self._buffer[0] is self._line else 0)

    def _wanted(self, completed: CompletedFetch) -> bool:
        return (
            completed.reading.position == completed.position
            and completed.refused is None
            and self._is_read(completed)
        )

    def _is_read(self, completed: CompletedFetch) -> bool:
        reading = completed.reading
        return reading.phase is READING and not (self.pending and reading.partition in self.pending)

    def move(self, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move positions and buffered records by so many records of each partition, in that time."""
        for tp, count in records.items():
            reading = self.positions.readings[tp]
            reading.position += count
            if reading.last_ms is not None:
                reading.last_ms += later_us // 1_000
        for completed in self._buffer:
            count = records.get(completed.reading.partition, 0)
            completed.position += count
            completed.next_offset += count

    def check(self) -> None:
        """Assert the invariants."""
        self.positions.check()
        for completed in self._buffer:
            assert completed.position <= completed.next_offset
            assert self._is_current(completed), "records of a partition that is not assigned"


# -- the order of records ----------------------------------------------------------------------

Records = TypeVar("Records", bound=tuple[TopicPartition, int, int])
"""Records of one partition: the first offset, and the one behind the last."""

_FEW = 8
"""Up to so many keys a hash map of the default length neither resizes nor treeifies."""

_REMEMBERED = 1 << 12
"""Partitions whose hashes are remembered: polls ask for the same few repeatedly."""

_hash_of = lru_cache(maxsize=_REMEMBERED)(topic_partition_hash)


@lru_cache(maxsize=_REMEMBERED)
def _slot(partition: TopicPartition) -> int:
    return spread_hash(_hash_of(partition)) & DEFAULT_LENGTH - 1


def in_record_order(handed: list[Records]) -> tuple[Records, ...]:
    """Return records in the order of ``ConsumerRecords``, a HashMap (seen in every capture)."""
    if len(handed) <= _FEW:
        return tuple(sorted(handed, key=lambda part: _slot(part[0])))
    order = hash_map_order(dict.fromkeys(part[0] for part in handed), _hash_of)
    place = {tp: number for number, tp in enumerate(order)}
    return tuple(sorted(handed, key=lambda part: place[part[0]]))
