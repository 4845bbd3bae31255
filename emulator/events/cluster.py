"""The brokers and the offsets log: leaders, replicas in sync, appends, loads.

Partitions of the offsets topic are called by the topic ``__consumer_offsets``.
"""

from __future__ import annotations

from dataclasses import dataclass

from assignors.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFenced:
    """The controller takes a broker for dead: others lead what it led."""

    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUnfenced:
    """A broker that was fenced is registered again."""

    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChanged:
    """The controller chose the leader of a partition; ``broker`` -1: no broker can lead it."""

    partition: TopicPartition
    broker: int
    epoch: int
    """The leader epoch that begins."""

    clean: bool
    """Whether the new leader was in sync; else what it lacks is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChanged:
    """Which replicas are in sync; ``why``: ``gone``, ``lagging`` or ``caught up``."""

    partition: TopicPartition
    isr: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStalled:
    """A partition stalled: its leader, or a replica in sync, is away.

    One of the offsets topic takes no commit: that, or no coordinator serves there.
    """

    partition: TopicPartition
    broker: int
    """Its leader by the controller; -1: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResumed:
    """A partition that was stalled goes on."""

    partition: TopicPartition
    broker: int
    """Its leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTruncated:
    """A replica cut off what its leader's log does not have: ``first`` up to ``next_offset``."""

    partition: TopicPartition
    broker: int
    first: int
    next_offset: int
    leader_epoch: int
    """Of the leader it follows now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsTruncated:
    """A topic's partition got a leader that lacks records which producers believe to be safe.

    ``first`` up to ``next_offset`` are gone; what is appended from now on gets those offsets
    again. So a new incarnation of the log begins at ``first``.
    """

    partition: TopicPartition
    broker: int
    """The new leader."""

    leader_epoch: int
    first: int
    next_offset: int
    incarnation: int
    """How many truncations the log has seen with this one."""

    clean: bool = False
    """Whether it was in sync: then no consumer has seen them, and the leader before had
    acknowledged them alone (``acks=1``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorLoaded:
    """A broker has read an offsets partition and serves its groups."""

    log_partition: int
    broker: int
    leader_epoch: int
    size: int
    """Bytes that were read."""

    records: int
    high_watermark: int
    """The one that this leader knows; what lies above it is not safe yet."""

    waited_us: int
    """For the loads before it."""

    loaded_us: int
    """For its own."""

    log_end: int = -1
    """The log offset the next record gets; -1: not known."""

    segments: int = -1
    """In how many segments they were; -1: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorUnloaded:
    """A broker that lives on stopped serving an offsets partition; ``loading``: it never had."""

    log_partition: int
    broker: int
    leader_epoch: int
    loading: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """One batch was appended to an offsets partition; ``records`` by type name."""

    log_partition: int
    group: str
    log_offset: int
    records: tuple[tuple[str, int], ...]
    size: int
    """Bytes of the batch."""

    high_watermark: int = -1
    """Below it everything was safe then; -1: not known."""

    leader_epoch: int = -1
    broker: int = -1
    log_size: int = -1
    """Bytes that a load of the whole log would read then; -1: not known."""

    log_records: int = -1
    """Records that it would read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRolled:
    """An offsets partition goes on in a new segment; ``why``: by which of a topic's settings."""

    log_partition: int
    broker: int
    base_offset: int
    """Of the new segment."""

    why: str
    segments: int
    """How many there are now; what was there before the run counts for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCompacted:
    """The log cleaner compacted an offsets partition: log offsets ``first`` up to ``next_offset``."""

    log_partition: int
    broker: int
    first: int
    """Where the dirty part began."""

    next_offset: int
    """Where the next dirty part begins."""

    removed_size: int
    """Bytes that are gone."""

    removed_records: int
    size: int
    """Bytes of the whole log, as they are left."""

    records: int
    segments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendFailed:
    """A batch could not be appended, and what it would have changed was taken back."""

    log_partition: int
    broker: int
    group: str
    log_offset: int
    """Where it would have gone."""

    records: int
    error: str
    """In Kafka's spelling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorMoved:
    """A group's coordinator changed; ``loaded_us`` is how long the load took."""

    group: str
    broker: int
    generation: int
    loaded_us: int
