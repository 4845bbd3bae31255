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
    """The controller chose who leads a partition; ``broker`` -1: nobody can."""

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
class LogTruncated:
    """A replica cut off what its leader's log does not have: ``first`` up to ``next_offset``."""

    partition: TopicPartition
    broker: int
    first: int
    next_offset: int
    leader_epoch: int
    """Of the leader it follows now."""


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
    """As far as this leader knows; what lies above it is not safe yet."""

    waited_us: int
    """For the loads before it."""

    loaded_us: int
    """For its own."""


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
    """Bytes of keys and values."""

    high_watermark: int = -1
    """Below it everything was safe then; -1: not known."""

    leader_epoch: int = -1
    broker: int = -1


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
