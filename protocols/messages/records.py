"""Fetching records, listing offsets, topic metadata and leader epochs (KIP-101, KIP-320).

A log stores the offset at which each leader epoch begins; with it a leader detects that a reader's
position is on another history than its own log. Source: ``LeaderEpochFileCache``, ``Partition``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.messages.errors import NO_LEADER, UNKNOWN_EPOCH, UNKNOWN_OFFSET, ErrorCode

if TYPE_CHECKING:
    from protocols.messages.removed import Removed

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2

NO_END = 1 << 62
"""An offset behind every log."""


class Gaps(NamedTuple):
    """The offsets of a partition that hold no record: markers of transactions, or compacted records.

    Up to ``until`` the offsets repeat in cycles. A cycle begins with ``parts`` parts of ``records``
    records each, with one gap offset between two parts; its remaining offsets are gaps.

    The Java client finds the gaps from the batches: ``RecordBatch.nextOffset`` is the offset after
    the last one of a batch, even if that record was removed, and records of control batches are
    skipped (``CompletedFetch.nextFetchedRecord``).
    """

    cycle: int
    """Offsets in a cycle, records and gaps."""

    records: int
    """Records in a part."""

    until: int = NO_END
    """From this offset on there are no gaps."""

    parts: int = 1
    """Parts with records in a cycle."""

    @property
    def per_cycle(self) -> int:
        """The number of records in a cycle."""
        return self.records * self.parts

    def records_before(self, offset: int) -> int:
        """Return the number of records below an offset.

        >>> markers = Gaps(cycle=11, records=10)
        >>> [markers.records_before(offset) for offset in (9, 10, 11, 22)]
        [9, 10, 10, 20]
        >>> third_aborted = Gaps(cycle=33, records=10, parts=2)
        >>> [third_aborted.records_before(offset) for offset in (10, 11, 22, 33, 34)]
        [10, 10, 20, 20, 21]
        """
        cycles, rest = divmod(min(offset, self.until), self.cycle)
        part, inside = divmod(rest, self.records + 1)
        within = part * self.records + min(inside, self.records)
        return cycles * self.per_cycle + min(within, self.per_cycle) + max(offset - self.until, 0)

    def end_of(self, count: int) -> int:
        """Return the end offset of a log after *count* records, including the gap after the last one.

        >>> [Gaps(cycle=11, records=10).end_of(count) for count in (9, 10, 11)]
        [9, 11, 12]
        """
        within = min(count, self.records_before(self.until))
        cycles, rest = divmod(within, self.per_cycle)
        part, inside = divmod(rest, self.records)
        return cycles * self.cycle + part * (self.records + 1) + inside + count - within

    def next_record(self, offset: int) -> int:
        """Return the first offset from *offset* on that holds a record.

        >>> [Gaps(cycle=11, records=10).next_record(offset) for offset in (9, 10, 11)]
        [9, 11, 11]
        """
        return self.end_of(self.records_before(offset))

    def move(self, offset: int, records: int) -> int:
        """Return the position after the next *records* records from *offset*, and after their gap.

        >>> [Gaps(cycle=11, records=10).move(5, count) for count in (4, 5, 6)]
        [9, 11, 12]
        """
        return self.end_of(self.records_before(offset) + records)

    def runs(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of offsets in [*first*, *end*) that hold records only.

        >>> list(Gaps(cycle=11, records=10).runs(8, 13))
        [(8, 10), (11, 13)]
        """
        first = self.next_record(first)
        while first < end:
            gap = self._end_of_part(first) if first < self.until else NO_END
            yield first, min(gap, end)
            first = self.next_record(min(gap, end))

    def _end_of_part(self, offset: int) -> int:
        """Return the first gap offset after the part that *offset* is in."""
        rest = offset % self.cycle
        return offset - rest % (self.records + 1) + self.records

    def count_in(self, first: int, end: int) -> int:
        """Return the number of records in a range."""
        return self.records_before(end) - self.records_before(first)


def next_run(gaps: Gaps | Removed, position: int, end: int, limit: int) -> tuple[int, int, int]:
    """Return the next range of records without a gap (first, end), and the next fetch position.

    The range has at most *limit* records; its first and end offset are equal if there are none. The
    position is after the gap that follows the range. If the range fills the limit, the position is
    directly after the last record: only the search for a further record skips a gap
    (``CompletedFetch.nextFetchedRecord``), and a full poll does not search for one
    (``CompletedFetch.fetchRecords``: ``nextFetchOffset = lastRecord.offset() + 1``).

    >>> markers = Gaps(cycle=11, records=10)
    >>> [next_run(markers, 0, 22, limit) for limit in (9, 10, 11)]
    [(0, 9, 9), (0, 10, 10), (0, 10, 11)]
    """
    first, run_end = next(gaps.runs(position, end), (end, end))
    if run_end >= first + limit:
        return first, first + limit, first + limit
    return first, run_end, min(gaps.next_record(run_end), end)


class FetchPartition(NamedTuple):
    """The fetch position of one partition."""

    partition: TopicPartition
    offset: int
    current_leader_epoch: int = UNKNOWN_EPOCH
    """The leader epoch that the client knows; -1: not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """Request records of partitions that a broker leads (API 1)."""

    partitions: tuple[FetchPartition, ...]
    """All partitions that the client fetches from this broker, in request order."""

    closes_session: bool = False
    """Whether it ends the fetch session (session epoch -1); it has no partitions, and the broker answers
    at once."""


class FetchedRecords(NamedTuple):
    """The response for one partition: the records ``first`` up to ``next_offset``, exclusive."""

    partition: TopicPartition
    first: int
    next_offset: int
    error: ErrorCode = ErrorCode.NONE
    epochs: tuple[EpochStart, ...] = ()
    """The leader epochs of its batches, ascending; empty where unknown. May include later epochs."""

    current_leader: LeaderAndEpoch | None = None
    """With an error: the current leader, if the broker knows a newer one than the client (KIP-951)."""

    gaps: Gaps | Removed | None = None
    """Which of these offsets hold no record; None: all hold one."""

    last_ms: int | None = None
    """The timestamp of the last record, in epoch ms, for a client that remembers it."""


class FetchResponse(NamedTuple):
    """Records, in the broker's order."""

    node: int
    partitions: tuple[FetchedRecords, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest:
    """Request the offsets at which reading can start (API 2)."""

    partitions: tuple[tuple[TopicPartition, int], ...]
    """With a timestamp each, in epoch ms; -1 latest, -2 earliest."""

    isolation_level: str = "read_uncommitted"
    """With ``read_committed`` latest is the last stable offset (``Partition.fetchOffsetForTimestamp``)."""


class ListedOffset(NamedTuple):
    """The response for one partition; offset -1: no record has that timestamp or a later one."""

    partition: TopicPartition
    offset: int
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    offsets: tuple[ListedOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest:
    """Request topics and their leaders from any broker (API 3)."""

    topics: tuple[str, ...] | None = None
    """None: all topics (patterns that the client evaluates)."""

    topic_ids: tuple[str, ...] | None = None
    """The topics by id instead (patterns that the coordinator evaluates); None: by name."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic as a broker's metadata cache shows it."""

    name: str
    topic_id: str
    leaders: tuple[int, ...]
    """Broker id by partition; -1 for no leader."""

    racks: tuple[tuple[str, ...], ...] = ()
    """Racks of the replicas by partition; empty where no rack is configured."""

    leader_epochs: tuple[int, ...] = ()
    """Leader epoch by partition; empty where none is known."""

    def __hash__(self) -> int:
        return hash((self.name, self.topic_id))  # each member asks for it: not the partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    brokers: tuple[int, ...]
    topics: tuple[TopicDescription, ...]


class LeaderAndEpoch(NamedTuple):
    """The leader of a partition and its leader epoch (``Metadata.LeaderAndEpoch``)."""

    leader: int = NO_LEADER
    epoch: int = UNKNOWN_EPOCH


class EpochStart(NamedTuple):
    """The first offset of one leader epoch in a partition's log."""

    epoch: int
    offset: int


class EpochToCheck(NamedTuple):
    """One position to check: the epoch of the last record before it."""

    partition: TopicPartition
    leader_epoch: int
    current_leader_epoch: int = UNKNOWN_EPOCH
    """The leader epoch that the client knows; -1: not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsForLeaderEpochRequest:
    """Request the end offsets of leader epochs in the leader's log (API 23)."""

    partitions: tuple[EpochToCheck, ...]


class EpochEndOffset(NamedTuple):
    """The response for one partition; epoch and offset -1: the log has no such epoch."""

    partition: TopicPartition
    leader_epoch: int = UNKNOWN_EPOCH
    """The requested epoch, or the last one before it that has records."""

    end_offset: int = UNKNOWN_OFFSET
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsForLeaderEpochResponse:
    end_offsets: tuple[EpochEndOffset, ...]


def epoch_at(epochs: Sequence[EpochStart], offset: int) -> int:
    """Return the leader epoch of the record at *offset*; -1 if it is before *epochs*.

    Source: ``LeaderEpochFileCache.epochForOffset``.

    >>> epochs = (EpochStart(0, 0), EpochStart(2, 10))
    >>> [epoch_at(epochs, offset) for offset in (9, 10)]
    [0, 2]
    """
    for start in reversed(epochs):
        if start.offset <= offset:
            return start.epoch
    return UNKNOWN_EPOCH


def end_of_epoch(epochs: Sequence[EpochStart], epoch: int, log_end: int) -> tuple[int, int]:
    """Return the leader epoch found for *epoch* in a log, and its end offset (exclusive).

    The found epoch is *epoch*, or the last one before it that has records. An epoch before the
    log's first one ends where the first one begins. An epoch after the last one is unknown: (-1, -1).

    Source: ``LeaderEpochFileCache.endOffsetFor`` (KIP-101, KIP-279).

    >>> epochs = (EpochStart(1, 4), EpochStart(3, 10))
    >>> [end_of_epoch(epochs, epoch, 15) for epoch in range(5)]
    [(0, 4), (1, 10), (1, 10), (3, 15), (-1, -1)]
    """
    if epoch == UNKNOWN_EPOCH or not epochs or epoch > epochs[-1].epoch:
        return UNKNOWN_EPOCH, UNKNOWN_OFFSET
    if epoch == epochs[-1].epoch:
        return epoch, log_end
    before = [start.epoch for start in epochs if start.epoch <= epoch]
    return before[-1] if before else epoch, epochs[len(before)].offset


def refusal_by_epoch(claimed: int, own: int) -> ErrorCode:
    """Return the error of a request whose current leader epoch is not the broker's own, else NONE.

    *claimed*: the current leader epoch in the request; -1 is not checked. *own*: the broker's.

    Source: ``Partition.checkCurrentLeaderEpoch`` (KIP-320).
    """
    if claimed in (UNKNOWN_EPOCH, own):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if claimed < own else ErrorCode.UNKNOWN_LEADER_EPOCH
