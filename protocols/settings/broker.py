"""The brokers' settings, those of groups of the consumer protocol included.

Source: ``GroupCoordinatorConfig`` and the broker and topic settings of Kafka 4.4.0.
"""

from __future__ import annotations

from typing import Final

from assignors.values import dataclass
from protocols.settings.kinds import INT_MAX, LONG_MAX, Kind, Setting, declared

UNIFORM_THEN_RANGE: Final = ("uniform", "range")
"""The coordinator's own assignors; the first is the default of a group."""

MIGRATION_POLICIES: Final = ("bidirectional", "upgrade", "downgrade", "disabled")


def _time(name: str, meaning: str, minimum: int = 1) -> Setting:
    return Setting(name, Kind.TIME_MS, meaning, minimum=minimum)


SESSION_TIMEOUT: Final = _time(
    "group.consumer.session.timeout.ms",
    "Time without heartbeats after which a member of the consumer protocol is removed.",
)
MIN_SESSION_TIMEOUT: Final = _time(
    "group.consumer.min.session.timeout.ms", "Shortest session timeout a group may set for itself."
)
MAX_SESSION_TIMEOUT: Final = _time(
    "group.consumer.max.session.timeout.ms", "Longest session timeout a group may set for itself."
)
HEARTBEAT_INTERVAL: Final = _time(
    "group.consumer.heartbeat.interval.ms",
    "Heartbeat interval of members of the consumer protocol, sent by the coordinator.",
)
MIN_HEARTBEAT_INTERVAL: Final = _time(
    "group.consumer.min.heartbeat.interval.ms",
    "Shortest heartbeat interval a group may set for itself.",
)
MAX_HEARTBEAT_INTERVAL: Final = _time(
    "group.consumer.max.heartbeat.interval.ms",
    "Longest heartbeat interval a group may set for itself.",
)
MAX_SIZE: Final = Setting(
    "group.consumer.max.size",
    Kind.COUNT,
    "Maximum number of members of a group of the consumer protocol.",
    minimum=1,
)
ASSIGNORS: Final = Setting(
    "group.consumer.assignors",
    Kind.NAMES,
    "The coordinator's assignors that a member may request; the first is the default.",
)
MIGRATION_POLICY: Final = Setting(
    "group.consumer.migration.policy",
    Kind.CHOICE,
    "Directions in which groups with members may change their protocol.",
    choices=MIGRATION_POLICIES,
)
ASSIGNMENT_INTERVAL: Final = _time(
    "group.consumer.assignment.interval.ms",
    "Minimum time between two computations of a group's target; 0: at every heartbeat.",
    minimum=0,
)
MIN_ASSIGNMENT_INTERVAL: Final = _time(
    "group.consumer.min.assignment.interval.ms",
    "Shortest assignment interval a group may set for itself.",
    minimum=0,
)
MAX_ASSIGNMENT_INTERVAL: Final = _time(
    "group.consumer.max.assignment.interval.ms",
    "Longest assignment interval a group may set for itself.",
    minimum=0,
)
REGEX_REFRESH_INTERVAL: Final = _time(
    "group.consumer.regex.refresh.interval.ms",
    "Interval at which a group's patterns are matched against the topics again.",
    minimum=10_000,
)


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
        INT_MAX,
        Setting("group.max.size", Kind.COUNT, "Maximum number of members of a group.", minimum=1),
    )
    offset_metadata_max_bytes: int = declared(
        4_096,
        Setting(
            "offset.metadata.max.bytes", Kind.BYTES, "Maximum size of the metadata of a commit."
        ),
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
            "Replicas of each partition of __consumer_offsets.",
            minimum=1,
            maximum=2**15 - 1,
        ),
    )
    offsets_topic_segment_bytes: int = declared(
        104_857_600,
        Setting(
            "offsets.topic.segment.bytes",
            Kind.BYTES,
            "Maximum size of a segment of __consumer_offsets.",
            minimum=1_048_576,
        ),
    )
    log_roll_ms: int = declared(
        604_800_000,
        Setting(
            "log.roll.ms",
            Kind.TIME_MS,
            "Maximum time that one segment covers. Kafka's own default is that of log.roll.hours, 168.",
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
            "Interval at which an idle cleaner looks for logs to compact.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_min_cleanable_ratio: float = declared(
        0.5,
        Setting(
            "log.cleaner.min.cleanable.ratio",
            Kind.RATIO,
            "A log is compacted if more than this share of it is dirty.",
            maximum=1,
        ),
    )
    log_cleaner_min_compaction_lag_ms: int = declared(
        0,
        Setting(
            "log.cleaner.min.compaction.lag.ms",
            Kind.TIME_MS,
            "Minimum age of a record before it may be compacted.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_max_compaction_lag_ms: int = declared(
        LONG_MAX,
        Setting(
            "log.cleaner.max.compaction.lag.ms",
            Kind.TIME_MS,
            "Maximum age of a record that has not been compacted; then the dirty share does not matter.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_delete_retention_ms: int = declared(
        86_400_000,
        Setting(
            "log.cleaner.delete.retention.ms",
            Kind.TIME_MS,
            "Time that tombstones are kept after the first compaction that retains them.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_dedupe_buffer_size: int = declared(
        134_217_728,
        Setting(
            "log.cleaner.dedupe.buffer.size",
            Kind.BYTES,
            "Memory of the cleaner's offset map: 24 bytes for each key.",
            maximum=LONG_MAX,
        ),
    )
    log_cleaner_io_buffer_load_factor: float = declared(
        0.9,
        Setting(
            "log.cleaner.io.buffer.load.factor",
            Kind.RATIO,
            "Maximum load of that map; later records wait for the next compaction.",
            maximum=1,
        ),
    )
    max_message_bytes: int = declared(
        1_048_588,
        Setting(
            "max.message.bytes",
            Kind.BYTES,
            "Maximum size of a batch of __consumer_offsets (a setting of the topic).",
        ),
    )
    offsets_retention_minutes: int = declared(
        10_080,
        Setting(
            "offsets.retention.minutes",
            Kind.MINUTES,
            "Time that committed offsets are kept after the group has lost its last member.",
            minimum=1,
        ),
    )
    offsets_retention_check_interval_ms: int = declared(
        600_000,
        Setting(
            "offsets.retention.check.interval.ms",
            Kind.TIME_MS,
            "Interval at which the coordinator deletes expired offsets.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    offsets_commit_timeout_ms: int = declared(
        5_000,
        Setting(
            "offsets.commit.timeout.ms",
            Kind.TIME_MS,
            "Maximum time that a coordinator waits for its records to be replicated.",
            minimum=1,
        ),
    )
    broker_session_timeout_ms: int = declared(
        9_000,
        Setting(
            "broker.session.timeout.ms",
            Kind.TIME_MS,
            "Time without heartbeats after which the controller fences a broker.",
            minimum=1,
        ),
    )
    min_insync_replicas: int = declared(
        1,
        Setting(
            "min.insync.replicas",
            Kind.COUNT,
            "Minimum number of in-sync replicas for a write with acks=all.",
            minimum=1,
        ),
    )
    replica_lag_time_max_ms: int = declared(
        30_000,
        Setting(
            "replica.lag.time.max.ms",
            Kind.TIME_MS,
            "Time without catching up after which the leader removes a follower from the ISR.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    unclean_leader_election_enable: bool = declared(
        False,
        Setting(
            "unclean.leader.election.enable",
            Kind.SWITCH,
            "Whether a replica that is not in sync may become leader if no other is available.",
        ),
    )
    default_replication_factor: int = declared(
        3,
        Setting(
            "default.replication.factor",
            Kind.COUNT,
            "Replicas of each partition of a topic.",
            minimum=1,
        ),
    )
    group_consumer_session_timeout_ms: int = declared(45_000, SESSION_TIMEOUT)
    group_consumer_min_session_timeout_ms: int = declared(45_000, MIN_SESSION_TIMEOUT)
    group_consumer_max_session_timeout_ms: int = declared(60_000, MAX_SESSION_TIMEOUT)
    group_consumer_heartbeat_interval_ms: int = declared(5_000, HEARTBEAT_INTERVAL)
    group_consumer_min_heartbeat_interval_ms: int = declared(5_000, MIN_HEARTBEAT_INTERVAL)
    group_consumer_max_heartbeat_interval_ms: int = declared(15_000, MAX_HEARTBEAT_INTERVAL)
    group_consumer_max_size: int = declared(INT_MAX, MAX_SIZE)
    group_consumer_assignors: tuple[str, ...] = declared(UNIFORM_THEN_RANGE, ASSIGNORS)
    group_consumer_migration_policy: str = declared("bidirectional", MIGRATION_POLICY)
    group_consumer_assignment_interval_ms: int = declared(1_000, ASSIGNMENT_INTERVAL)
    group_consumer_min_assignment_interval_ms: int = declared(0, MIN_ASSIGNMENT_INTERVAL)
    group_consumer_max_assignment_interval_ms: int = declared(15_000, MAX_ASSIGNMENT_INTERVAL)
    group_consumer_regex_refresh_interval_ms: int = declared(600_000, REGEX_REFRESH_INTERVAL)
