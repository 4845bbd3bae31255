"""The brokers' settings, under Kafka's names; see :mod:`protocols.settings`."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.setting_kinds import INT_MAX, LONG_MAX, Kind, Setting, declared


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
