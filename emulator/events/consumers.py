"""Consumers: processes, ownership epochs, and processing."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import replace

from assignors.types import TopicPartition
from assignors.values import dataclass


class PositionSource(enum.StrEnum):
    """The source of a position, as in ``EpochOpened.source``."""

    COMMITTED = "committed"
    EARLIEST = "earliest"
    LATEST = "latest"
    BY_DURATION = "by_duration"
    LAST_READ = "time of the last record read"
    SEEK = "seek"
    TRUNCATED = "truncated"
    """The leader moved it back (OffsetsForLeaderEpoch)."""

    UNKNOWN = "unknown"
    """The history shows only what was processed."""


RESETS = (
    PositionSource.EARLIEST,
    PositionSource.LATEST,
    PositionSource.BY_DURATION,
    PositionSource.LAST_READ,
)
"""The sources of a position that was reset."""


class ResetReason(enum.StrEnum):
    """Why a position was reset, as in ``EpochOpened.why``."""

    NO_OFFSET = "no offset"
    EXPIRED = "expired"
    DELETED = "deleted"
    OUT_OF_RANGE = "out of range"
    TRUNCATED = "truncated"


class End(enum.StrEnum):
    """Why an epoch or a process ended, as in ``EpochClosed.why`` and ``ConsumerStopped.how``."""

    REVOKED = "revoked"
    LOST = "lost"
    CRASHED = "crashed"
    CLOSED = "closed"
    FAILED = "failed"
    REOPENED = "reopened"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStarted:
    """A process began; ``incarnation`` counts its starts from 1."""

    consumer: str
    group: str
    incarnation: int
    instance_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStopped:
    """A process ended; ``how`` is an :class:`End`: crashed, killed, closed or failed."""

    consumer: str
    group: str
    how: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPaused:
    """A process stopped running, as after SIGSTOP or in a long collection of garbage."""

    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerResumed:
    """A paused process runs again."""

    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionChanged:
    """A running consumer called subscribe() with other topics."""

    consumer: str
    group: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignorRan:
    """An assignor began to compute, for ``takes_us``; no ``consumer``: the coordinator's own."""

    consumer: str = ""
    group: str
    generation: int
    assignor: str
    members: int
    partitions: int
    takes_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerCalled:
    """The rebalance listener ran; ``call``: ``revoked``, ``assigned`` or ``lost``.

    A consumer without a listener took or gave up partitions, as that call says.
    """

    consumer: str
    group: str
    generation: int
    """The generation or member epoch in which the call began."""

    call: str
    partitions: tuple[TopicPartition, ...]
    began_us: int
    """-1: the consumer has no listener."""

    @property
    def made(self) -> bool:
        """Whether a call was made."""
        return self.began_us >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerThrew:
    """That call of the rebalance listener ended in an exception, which poll() is about to throw."""

    consumer: str
    group: str
    call: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOn:
    """A consumer that began before a truncation received records from after it.

    It did not reset its position: all its records below ``offset`` belong to the log incarnation
    that it began in, those from there on to the given incarnation.
    """

    consumer: str
    group: str
    partition: TopicPartition
    offset: int
    incarnation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Processed:
    """The handler returned for the records ``first`` up to ``next_offset``.

    One event may cover many polls; it is written before anything that reads progress.
    """

    consumer: str
    group: str
    generation: int
    partition: TopicPartition
    first: int
    next_offset: int
    began_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressCounted:
    """Equal periods of processing without events of their own, by the only owner of a partition.

    Stands for the :class:`Processed` of ``first`` up to ``next_offset``; its time is that of the
    last of them. No record of these was skipped.
    """

    consumer: str
    group: str
    generation: int
    partition: TopicPartition
    first: int
    next_offset: int
    began_us: int
    """When the handler began the first record."""

    ends: tuple[tuple[int, int], ...]
    """For each :class:`Processed` of the first period: its next offset, and its time."""

    every_us: int = 0
    """The duration of a period; 0: there is only one."""

    @property
    def times(self) -> int:
        """The number of periods."""
        return (self.next_offset - self.first) // (self.ends[-1][0] - self.first)

    def singly(self) -> Iterator[tuple[int, Processed]]:
        """Yield the events of the first period, each with its time."""
        first = self.first
        for next_offset, at_us in self.ends:
            yield (
                at_us,
                Processed(
                    consumer=self.consumer,
                    group=self.group,
                    generation=self.generation,
                    partition=self.partition,
                    first=first,
                    next_offset=next_offset,
                    began_us=self.began_us,
                ),
            )
            first = next_offset

    def later(self) -> ProgressCounted | None:
        """Return it without the first period; None if that was the only one."""
        begun, records = self.ends[-1][0], self.ends[-1][0] - self.first
        if begun >= self.next_offset:
            return None
        ends = tuple((end + records, at_us + self.every_us) for end, at_us in self.ends)
        return replace(self, first=begun, ends=ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedOutOfOrder:
    """A worker returned for the records ``first`` up to ``next_offset``, out of their order.

    Records in front of them are not finished, or their owner does not count them as progress.
    """

    consumer: str
    group: str
    generation: int
    partition: TopicPartition
    first: int
    next_offset: int
    began_us: int
    earlier_epoch: bool = False
    """The worker got them in an earlier epoch of their owner, which has begun anew since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartlyProcessed:
    """One record was in progress when its process died."""

    consumer: str
    group: str
    partition: TopicPartition
    offset: int
    began_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProcessed:
    """Records were handed out and not processed; ``why``: ``skipped`` or ``discarded``."""

    consumer: str
    group: str
    partition: TopicPartition
    first: int
    next_offset: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingFailed:
    """The handler failed on a record, and did not merely skip it or exit.

    ``failures``: since the last such event about it; ``then``: what follows, as in the scenario:
    ``seek``, ``pause``, ``succeed``, ``forward`` (to the topic ``to``), ``skip`` or ``stop``; ``again``:
    code of the user has the record in hand.
    """

    consumer: str
    group: str
    partition: TopicPartition
    offset: int
    failures: int
    then: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateDelivered:
    """A processed record reached the deduplication of its group again.

    ``recognised``: the seen-set still had it, so that it has no effect a second time.
    """

    consumer: str
    group: str
    partition: TopicPartition
    offset: int
    recognised: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochClosed:
    """A consumer stopped processing a partition for good.

    ``processed`` is the end of what it finished, ``position`` the end of what poll handed
    out; ``why`` is an :class:`End`.
    """

    consumer: str
    group: str
    generation: int
    partition: TopicPartition
    processed: int
    position: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsStored:
    """A store outside Kafka wrote a commit, which has no ``CommitAccepted``.

    ``store``: ``zookeeper`` or ``database``; ``waited_us``: in the queue of the store.
    """

    consumer: str
    group: str
    commit: str
    store: str
    offsets: tuple[tuple[TopicPartition, int], ...]
    sent_us: int
    waited_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsRead:
    """A consumer read, from a store outside Kafka, the offsets at which it begins; -1: there is none."""

    consumer: str
    group: str
    offsets: tuple[tuple[TopicPartition, int], ...]
    asked_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsRolledBack:
    """Records were processed and their transaction was not committed: they have no result.

    ``why``: ``fenced`` (the stored offset was not the expected one), or ``stopped`` (the process ended).
    """

    consumer: str
    group: str
    partition: TopicPartition
    first: int
    next_offset: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRestored:
    """A backup of an offset store was restored: one group and partition; offset -1: there is none.

    ``undone``: the records whose results the backup does not have, as half-open ranges.
    """

    store: str
    group: str
    partition: TopicPartition
    before: int
    offset: int
    undone: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """The records of one poll; written only on request, not part of the digest."""

    consumer: str
    group: str
    generation: int
    ranges: tuple[tuple[TopicPartition, int, int], ...]
