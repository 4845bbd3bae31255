"""The brokers' settings, under Kafka's names; see :mod:`protocols.settings`."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.settings import group as consumer_groups
from protocols.settings.kinds import INT_MAX, LONG_MAX, Kind, Setting, declared


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """The brokers' configuration, one for the cluster (``GroupCoordinatorConfig`` and others)."""

    group_min_session_timeout_ms: int = declared(
        6_000,
        Setting(
            "group.min.session.timeout.ms",
            Kind.TIME_MS,
            "Shortest session timeout a coordinator accepts.",
        ),
    )
    group_max_session_timeout_ms: int = declared(
        1_800_000,
        Setting(
            "group.max.session.timeout.ms",
            Kind.TIME_MS,
            "Longest session timeout a coordinator accepts.",
        ),
    )
    group_initial_rebalance_delay_ms: int = declared(
        3_000,
        Setting(
            "group.initial.rebalance.delay.ms",
            Kind.TIME_MS,
            "How long an empty group waits for more members before its first assignment.",
        ),
    )
    group_max_size: int = declared(
        INT_MAX, Setting("group.max.size", Kind.COUNT, "Most members of a group.", minimum=1)
    )
    offset_metadata_max_bytes: int = declared(
        4_096, Setting("offset.metadata.max.bytes", Kind.BYTES, "Longest metadata of a commit.")
    )
    offsets_topic_num_partitions: int = declared(
        50,
        Setting(
            "offsets.topic.num.partitions",
            Kind.COUNT,
            "Partitions of __consumer_offsets.",
            minimum=1,
            maximum=100_000,
        ),
    )
    offsets_topic_replication_factor: int = declared(
        3,
        Setting(
            "offsets.topic.replication.factor",
            Kind.COUNT,
            "Copies of each partition of __consumer_offsets.",
            minimum=1,
            maximum=2**15 - 1,
        ),
    )
    offsets_topic_segment_bytes: int = declared(
        104_857_600,
        Setting(
            "offsets.topic.segment.bytes",
            Kind.BYTES,
            "Size at which a segment of __consumer_offsets is full.",
            minimum=1_048_576,
        ),
    )
    log_roll_ms: int = declared(
        604_800_000,
        Setting(
            "log.roll.ms",
            Kind.TIME_MS,
            "How much time one segment may cover. Kafka's own default is that of log.roll.hours, 168.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_enable: bool = declared(
        True,
        Setting("log.cleaner.enable", Kind.SWITCH, "Whether logs are compacted at all."),
    )
    log_cleaner_backoff_ms: int = declared(
        15_000,
        Setting(
            "log.cleaner.backoff.ms",
            Kind.TIME_MS,
            "How often the cleaner looks for logs when it has nothing to do.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_min_cleanable_ratio: float = declared(
        0.5,
        Setting(
            "log.cleaner.min.cleanable.ratio",
            Kind.RATIO,
            "A log is compacted when more than this share of it is dirty.",
            maximum=1,
        ),
    )
    log_cleaner_min_compaction_lag_ms: int = declared(
        0,
        Setting(
            "log.cleaner.min.compaction.lag.ms",
            Kind.TIME_MS,
            "How long a record stays as it is, at least.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_max_compaction_lag_ms: int = declared(
        LONG_MAX,
        Setting(
            "log.cleaner.max.compaction.lag.ms",
            Kind.TIME_MS,
            "How old a record may become before its log counts as overdue, however clean it is.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_delete_retention_ms: int = declared(
        86_400_000,
        Setting(
            "log.cleaner.delete.retention.ms",
            Kind.TIME_MS,
            "How long tombstones outlive the compaction that first keeps them.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_dedupe_buffer_size: int = declared(
        134_217_728,
        Setting(
            "log.cleaner.dedupe.buffer.size",
            Kind.BYTES,
            "Memory of the map by which logs are compacted: 24 bytes a key.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_io_buffer_load_factor: float = declared(
        0.9,
        Setting(
            "log.cleaner.io.buffer.load.factor",
            Kind.RATIO,
            "How full that map may become; what lies behind waits for the next compaction.",
            maximum=1,
        ),
    )
    max_message_bytes: int = declared(
        1_048_588,
        Setting(
            "max.message.bytes",
            Kind.BYTES,
            "Largest batch of __consumer_offsets, as its topic is set.",
        ),
    )
    offsets_retention_minutes: int = declared(
        10_080,
        Setting(
            "offsets.retention.minutes",
            Kind.MINUTES,
            "How long committed offsets outlive their group's last member.",
            minimum=1,
        ),
    )
    offsets_retention_check_interval_ms: int = declared(
        600_000,
        Setting(
            "offsets.retention.check.interval.ms",
            Kind.TIME_MS,
            "How often expired offsets are looked for.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    offsets_commit_timeout_ms: int = declared(
        5_000,
        Setting(
            "offsets.commit.timeout.ms",
            Kind.TIME_MS,
            "Longest wait of a coordinator for its log to be replicated.",
            minimum=1,
        ),
    )
    broker_session_timeout_ms: int = declared(
        9_000,
        Setting(
            "broker.session.timeout.ms",
            Kind.TIME_MS,
            "Silence after which the controller takes a broker for dead.",
            minimum=1,
        ),
    )
    min_insync_replicas: int = declared(
        1,
        Setting(
            "min.insync.replicas",
            Kind.COUNT,
            "Copies that must exist before a write counts.",
            minimum=1,
        ),
    )
    replica_lag_time_max_ms: int = declared(
        30_000,
        Setting(
            "replica.lag.time.max.ms",
            Kind.TIME_MS,
            "How long a follower may not have caught up before its leader takes it out of the ISR.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    unclean_leader_election_enable: bool = declared(
        False,
        Setting(
            "unclean.leader.election.enable",
            Kind.SWITCH,
            "Whether a replica that is not in sync may lead where no other is left.",
        ),
    )
    default_replication_factor: int = declared(
        3,
        Setting(
            "default.replication.factor", Kind.COUNT, "Copies of a topic's partitions.", minimum=1
        ),
    )
    group_consumer_session_timeout_ms: int = declared(45_000, consumer_groups.SESSION_TIMEOUT)
    group_consumer_min_session_timeout_ms: int = declared(
        45_000, consumer_groups.MIN_SESSION_TIMEOUT
    )
    group_consumer_max_session_timeout_ms: int = declared(
        60_000, consumer_groups.MAX_SESSION_TIMEOUT
    )
    group_consumer_heartbeat_interval_ms: int = declared(5_000, consumer_groups.HEARTBEAT_INTERVAL)
    group_consumer_min_heartbeat_interval_ms: int = declared(
        5_000, consumer_groups.MIN_HEARTBEAT_INTERVAL
    )
    group_consumer_max_heartbeat_interval_ms: int = declared(
        15_000, consumer_groups.MAX_HEARTBEAT_INTERVAL
    )
    group_consumer_max_size: int = declared(INT_MAX, consumer_groups.MAX_SIZE)
    group_consumer_assignors: tuple[str, ...] = declared(
        consumer_groups.UNIFORM_THEN_RANGE, consumer_groups.ASSIGNORS
    )
    group_consumer_migration_policy: str = declared(
        "bidirectional", consumer_groups.MIGRATION_POLICY
    )
    group_consumer_assignment_interval_ms: int = declared(
        1_000, consumer_groups.ASSIGNMENT_INTERVAL
    )
    group_consumer_min_assignment_interval_ms: int = declared(
        0, consumer_groups.MIN_ASSIGNMENT_INTERVAL
    )
    group_consumer_max_assignment_interval_ms: int = declared(
        15_000, consumer_groups.MAX_ASSIGNMENT_INTERVAL
    )
    group_consumer_regex_refresh_interval_ms: int = declared(
        600_000, consumer_groups.REGEX_REFRESH_INTERVAL
    )
