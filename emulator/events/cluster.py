"""The brokers and the offsets log: leaders, replicas in sync, appends, loads.

Partitions of the offsets topic are called by the topic ``__consumer_offsets``.
"""

from __future__ import annotations

from assignors.types import TopicPartition
from assignors.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFenced:
    """The controller fenced a broker: others become leaders of its partitions."""

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
    """Whether the new leader was in sync; otherwise the records that it lacks are lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChanged:
    """Which replicas are in sync; ``why``: ``gone``, ``lagging`` or ``caught up``."""

    partition: TopicPartition
    isr: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStalled:
    """A partition stalled: its leader, or an in-sync replica, is down.

    A partition of the offsets topic accepts no commits: for the same reason, or because no
    coordinator serves it.
    """

    partition: TopicPartition
    broker: int
    """Its leader by the controller; -1: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResumed:
    """A stalled partition resumed."""

    partition: TopicPartition
    broker: int
    """Its leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsCompacted:
    """The log cleaner removed records of which their key has a newer one (``Cleaner.doClean``)."""

    partition: TopicPartition
    topic_id: str
    ranges: tuple[tuple[int, int], ...]
    """First and next offset of each range that was removed, in order."""

    fetched: tuple[tuple[str, int, int], ...] = ()
    """Consumer, first and next offset: records that it has fetched before and not processed yet, also
    those that are removed now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTruncated:
    """A replica truncated records that its leader lacks: ``first`` up to ``next_offset``."""

    partition: TopicPartition
    broker: int
    first: int
    next_offset: int
    leader_epoch: int
    """Epoch of its present leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsTruncated:
    """A topic's partition got a leader that lacks acknowledged records.

    Records from ``first`` up to ``next_offset`` are lost; records appended from now on get those
    offsets again. A new incarnation of the log begins at ``first``.
    """

    partition: TopicPartition
    broker: int
    """The new leader."""

    leader_epoch: int
    first: int
    next_offset: int
    incarnation: int
    """The number of truncations of the log, this one included."""

    clean: bool = False
    """Whether it was in sync: then no consumer has read them, and only the previous leader had
    acknowledged them (``acks=1``).
    """


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
    """The one that this leader knows; records above it are not replicated yet."""

    waited_us: int
    """Waiting time for the loads before it."""

    loaded_us: int
    """Duration of its own load."""

    log_end: int = -1
    """The log offset of the next record; -1: not known."""

    segments: int = -1
    """The number of segments; -1: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorUnloaded:
    """A live broker stopped serving an offsets partition; ``loading``: it had not loaded it yet."""

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
    """The high watermark at that time; -1: not known."""

    leader_epoch: int = -1
    broker: int = -1
    log_size: int = -1
    """Bytes that a load of the whole log would read at that time; -1: not known."""

    log_records: int = -1
    """Records that it would read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendsCounted:
    """Equal batches without events of their own, appended at equal intervals.

    Its time is that of the last of them. The newest leader of the partition appended them, after
    the event before and before the next event of the partition other than an ``AppendsCounted``.
    """

    log_partition: int
    group: str
    records: tuple[tuple[str, int], ...]
    """Of one batch, by type name."""

    size: int
    """Bytes of one batch."""

    times: int = 1
    """The number of batches."""

    every_us: int = 0
    """The interval between two of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRolled:
    """An offsets partition began a new segment; ``why``: the topic setting that caused it."""

    log_partition: int
    broker: int
    base_offset: int
    """Of the new segment."""

    why: str
    segments: int
    """The number of segments now; those from before the run do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCompacted:
    """The log cleaner compacted an offsets partition from ``first`` up to ``next_offset``."""

    log_partition: int
    broker: int
    first: int
    """Start of the dirty part."""

    next_offset: int
    """Start of the next dirty part."""

    removed_size: int
    """Removed bytes."""

    removed_records: int
    size: int
    """Bytes of the whole log afterwards."""

    records: int
    segments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendFailed:
    """A batch could not be appended, and its changes were reverted."""

    log_partition: int
    broker: int
    group: str
    log_offset: int
    """The offset at which it would have been appended."""

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
