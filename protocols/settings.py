"""Kafka's settings, under Kafka's names: types, defaults, bounds.

Sources: ``ConsumerConfig``, ``CommonClientConfigs``, ``GroupCoordinatorConfig`` and the topic
settings of 4.4.0 (spec consumer-client 8, classic-coordinator 6). Values keep Kafka's units;
fields of a time end in ``_ms``. One dataclass a concern, checked once, at the edge.
"""

from __future__ import annotations

import enum
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class Kind(enum.Enum):
    """What a setting's value is; decides which spellings a scenario may use."""

    TIME_MS = "a time (Kafka's milliseconds, or text with a unit)"
    MINUTES = "a time (Kafka's minutes, or text with a unit)"
    BYTES = "a size (Kafka's bytes, or text with a unit)"
    COUNT = "a whole number"
    RATIO = "a number from 0 to 1"
    SWITCH = "true or false"
    CHOICE = "one of a few words"
    NAMES = "a list of names"
    TEXT = "a text"


@dataclass(frozen=True, slots=True)
class Setting:
    """One of Kafka's settings: its name, what it holds, and what is allowed."""

    name: str
    kind: Kind
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


def _setting(
    name: str,
    kind: Kind,
    default: Any,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    meta = {"setting": Setting(name, kind, minimum, maximum, choices)}
    return field(default=default, metadata=meta)


def settings_of(kind: type) -> dict[str, Setting]:
    """Return field name to :class:`Setting` of a settings dataclass."""
    return {f.name: f.metadata["setting"] for f in fields(kind) if "setting" in f.metadata}


def defaults_of(kind: type) -> dict[str, Any]:
    """Return Kafka's name to default of a settings dataclass."""
    return {
        f.metadata["setting"].name: f.default
        for f in fields(kind)
        if "setting" in f.metadata and f.default is not MISSING
    }


DEFAULT_ASSIGNORS = ("range", "cooperative-sticky")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """A consumer's configuration (``ConsumerConfig``)."""

    group_protocol: str = _setting(
        "group.protocol", Kind.CHOICE, "classic", choices=("classic", "consumer")
    )
    group_instance_id: str | None = _setting("group.instance.id", Kind.TEXT, None)
    client_id: str | None = _setting("client.id", Kind.TEXT, None)
    client_rack: str = _setting("client.rack", Kind.TEXT, "")
    session_timeout_ms: int = _setting(
        "session.timeout.ms", Kind.TIME_MS, 45_000, minimum=1, maximum=INT_MAX
    )
    heartbeat_interval_ms: int = _setting(
        "heartbeat.interval.ms", Kind.TIME_MS, 3_000, minimum=1, maximum=INT_MAX
    )
    max_poll_interval_ms: int = _setting(
        "max.poll.interval.ms", Kind.TIME_MS, 300_000, minimum=1, maximum=INT_MAX
    )
    max_poll_records: int = _setting(
        "max.poll.records", Kind.COUNT, 500, minimum=1, maximum=INT_MAX
    )
    partition_assignment_strategy: tuple[str, ...] = _setting(
        "partition.assignment.strategy", Kind.NAMES, DEFAULT_ASSIGNORS
    )
    enable_auto_commit: bool = _setting("enable.auto.commit", Kind.SWITCH, True)
    auto_commit_interval_ms: int = _setting(
        "auto.commit.interval.ms", Kind.TIME_MS, 5_000, minimum=0, maximum=INT_MAX
    )
    auto_offset_reset: str = _setting("auto.offset.reset", Kind.TEXT, "latest")
    """``earliest``, ``latest``, ``none`` or ``by_duration:<ISO-8601 duration>``."""

    isolation_level: str = _setting(
        "isolation.level",
        Kind.CHOICE,
        "read_uncommitted",
        choices=("read_uncommitted", "read_committed"),
    )
    fetch_min_bytes: int = _setting("fetch.min.bytes", Kind.BYTES, 1, minimum=0, maximum=INT_MAX)
    fetch_max_wait_ms: int = _setting(
        "fetch.max.wait.ms", Kind.TIME_MS, 500, minimum=0, maximum=INT_MAX
    )
    fetch_max_bytes: int = _setting(
        "fetch.max.bytes", Kind.BYTES, 52_428_800, minimum=0, maximum=INT_MAX
    )
    max_partition_fetch_bytes: int = _setting(
        "max.partition.fetch.bytes", Kind.BYTES, 1_048_576, minimum=0, maximum=INT_MAX
    )
    request_timeout_ms: int = _setting(
        "request.timeout.ms", Kind.TIME_MS, 30_000, minimum=0, maximum=INT_MAX
    )
    default_api_timeout_ms: int = _setting(
        "default.api.timeout.ms", Kind.TIME_MS, 60_000, minimum=0, maximum=INT_MAX
    )
    retry_backoff_ms: int = _setting(
        "retry.backoff.ms", Kind.TIME_MS, 100, minimum=0, maximum=LONG_MAX
    )
    retry_backoff_max_ms: int = _setting(
        "retry.backoff.max.ms", Kind.TIME_MS, 1_000, minimum=0, maximum=LONG_MAX
    )
    reconnect_backoff_ms: int = _setting(
        "reconnect.backoff.ms", Kind.TIME_MS, 50, minimum=0, maximum=LONG_MAX
    )
    reconnect_backoff_max_ms: int = _setting(
        "reconnect.backoff.max.ms", Kind.TIME_MS, 1_000, minimum=0, maximum=LONG_MAX
    )
    metadata_max_age_ms: int = _setting(
        "metadata.max.age.ms", Kind.TIME_MS, 300_000, minimum=0, maximum=LONG_MAX
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """The brokers' configuration, one for the cluster (``GroupCoordinatorConfig`` and others)."""

    group_min_session_timeout_ms: int = _setting(
        "group.min.session.timeout.ms", Kind.TIME_MS, 6_000, minimum=0, maximum=INT_MAX
    )
    group_max_session_timeout_ms: int = _setting(
        "group.max.session.timeout.ms", Kind.TIME_MS, 1_800_000, minimum=0, maximum=INT_MAX
    )
    group_initial_rebalance_delay_ms: int = _setting(
        "group.initial.rebalance.delay.ms", Kind.TIME_MS, 3_000, minimum=0, maximum=INT_MAX
    )
    group_max_size: int = _setting(
        "group.max.size", Kind.COUNT, INT_MAX, minimum=1, maximum=INT_MAX
    )
    offset_metadata_max_bytes: int = _setting(
        "offset.metadata.max.bytes", Kind.BYTES, 4_096, minimum=0, maximum=INT_MAX
    )
    offsets_topic_num_partitions: int = _setting(
        "offsets.topic.num.partitions", Kind.COUNT, 50, minimum=1, maximum=100_000
    )
    offsets_topic_replication_factor: int = _setting(
        "offsets.topic.replication.factor", Kind.COUNT, 3, minimum=1, maximum=INT_MAX
    )
    offsets_retention_minutes: int = _setting(
        "offsets.retention.minutes", Kind.MINUTES, 10_080, minimum=1, maximum=INT_MAX
    )
    offsets_retention_check_interval_ms: int = _setting(
        "offsets.retention.check.interval.ms", Kind.TIME_MS, 600_000, minimum=1, maximum=LONG_MAX
    )
    offsets_commit_timeout_ms: int = _setting(
        "offsets.commit.timeout.ms", Kind.TIME_MS, 5_000, minimum=1, maximum=INT_MAX
    )
    broker_session_timeout_ms: int = _setting(
        "broker.session.timeout.ms", Kind.TIME_MS, 9_000, minimum=1, maximum=INT_MAX
    )
    min_insync_replicas: int = _setting(
        "min.insync.replicas", Kind.COUNT, 1, minimum=1, maximum=INT_MAX
    )
    default_replication_factor: int = _setting(
        "default.replication.factor", Kind.COUNT, 3, minimum=1, maximum=INT_MAX
    )
