"""The consumer's settings.

Source: ``ConsumerConfig`` and ``CommonClientConfigs`` of Kafka 4.4.0.
"""

from __future__ import annotations

import re

from assignors.values import dataclass
from protocols.settings.kinds import LONG_MAX, Kind, Setting, declared

DEFAULT_ASSIGNORS = ("range", "cooperative-sticky")
READ_UNCOMMITTED = "read_uncommitted"
READ_COMMITTED = "read_committed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """A consumer's configuration (``ConsumerConfig``)."""

    group_protocol: str = declared(
        "classic",
        Setting(
            "group.protocol",
            Kind.CHOICE,
            "The group protocol: classic or consumer (KIP-848).",
            choices=("classic", "consumer"),
        ),
    )
    group_remote_assignor: str | None = declared(
        None,
        Setting(
            "group.remote.assignor",
            Kind.TEXT,
            "The coordinator's assignor that a member requests; only with group.protocol=consumer.",
        ),
    )
    group_instance_id: str | None = declared(
        None,
        Setting(
            "group.instance.id",
            Kind.TEXT,
            "Permanent id of a static member, which may restart without a rebalance.",
        ),
    )
    client_id: str | None = declared(
        None,
        Setting(
            "client.id", Kind.TEXT, "First part of the member id that the coordinator generates."
        ),
    )
    client_rack: str = declared(
        "", Setting("client.rack", Kind.TEXT, "Rack of the consumer, used by rack-aware assignors.")
    )
    session_timeout_ms: int = declared(
        45_000,
        Setting(
            "session.timeout.ms",
            Kind.TIME_MS,
            "Time without heartbeats after which the coordinator removes a member.",
            minimum=1,
        ),
    )
    heartbeat_interval_ms: int = declared(
        3_000,
        Setting(
            "heartbeat.interval.ms",
            Kind.TIME_MS,
            "Interval of a member's heartbeats; must be below the session timeout.",
            minimum=1,
        ),
    )
    max_poll_interval_ms: int = declared(
        300_000,
        Setting(
            "max.poll.interval.ms",
            Kind.TIME_MS,
            "Maximum time between two polls before the consumer leaves; also its rebalance timeout.",
            minimum=1,
        ),
    )
    max_poll_records: int = declared(
        500,
        Setting(
            "max.poll.records",
            Kind.COUNT,
            "Maximum number of records that one poll returns.",
            minimum=1,
        ),
    )
    partition_assignment_strategy: tuple[str, ...] = declared(
        DEFAULT_ASSIGNORS,
        Setting(
            "partition.assignment.strategy",
            Kind.NAMES,
            "Assignors that the member supports, the preferred one first.",
        ),
    )
    enable_auto_commit: bool = declared(
        True,
        Setting(
            "enable.auto.commit",
            Kind.SWITCH,
            "Whether poll() commits the positions by itself, every auto.commit.interval.ms.",
        ),
    )
    auto_commit_interval_ms: int = declared(
        5_000,
        Setting("auto.commit.interval.ms", Kind.TIME_MS, "Time between two automatic commits."),
    )
    auto_offset_reset: str = declared(
        "latest",
        Setting(
            "auto.offset.reset",
            Kind.TEXT,
            "Position without a valid committed offset: earliest, latest, none, by_duration:…",
        ),
    )
    isolation_level: str = declared(
        READ_UNCOMMITTED,
        Setting(
            "isolation.level",
            Kind.CHOICE,
            "Whether records of open and aborted transactions are read.",
            choices=(READ_UNCOMMITTED, READ_COMMITTED),
        ),
    )
    fetch_min_bytes: int = declared(
        1,
        Setting(
            "fetch.min.bytes",
            Kind.BYTES,
            "Minimum data with which a broker responds to a fetch at once.",
        ),
    )
    fetch_max_wait_ms: int = declared(
        500,
        Setting(
            "fetch.max.wait.ms",
            Kind.TIME_MS,
            "Maximum time that a broker waits for that much data.",
        ),
    )
    fetch_max_bytes: int = declared(
        52_428_800,
        Setting("fetch.max.bytes", Kind.BYTES, "Maximum data in a fetch response (soft)."),
    )
    max_partition_fetch_bytes: int = declared(
        1_048_576,
        Setting(
            "max.partition.fetch.bytes",
            Kind.BYTES,
            "Maximum data of one partition in a fetch response (soft).",
        ),
    )
    request_timeout_ms: int = declared(
        30_000,
        Setting(
            "request.timeout.ms", Kind.TIME_MS, "Maximum time that the client waits for a response."
        ),
    )
    default_api_timeout_ms: int = declared(
        60_000,
        Setting(
            "default.api.timeout.ms",
            Kind.TIME_MS,
            "Maximum time that a blocking call such as commitSync() takes.",
        ),
    )
    retry_backoff_ms: int = declared(
        100,
        Setting(
            "retry.backoff.ms", Kind.TIME_MS, "Back-off before the first retry.", maximum=LONG_MAX
        ),
    )
    retry_backoff_max_ms: int = declared(
        1_000,
        Setting(
            "retry.backoff.max.ms",
            Kind.TIME_MS,
            "Maximum back-off before a retry.",
            maximum=LONG_MAX,
        ),
    )
    reconnect_backoff_ms: int = declared(
        50,
        Setting(
            "reconnect.backoff.ms",
            Kind.TIME_MS,
            "Back-off before the first reconnection to a broker.",
            maximum=LONG_MAX,
        ),
    )
    reconnect_backoff_max_ms: int = declared(
        1_000,
        Setting(
            "reconnect.backoff.max.ms",
            Kind.TIME_MS,
            "Maximum back-off before a reconnection to a broker.",
            maximum=LONG_MAX,
        ),
    )
    metadata_max_age_ms: int = declared(
        300_000,
        Setting(
            "metadata.max.age.ms",
            Kind.TIME_MS,
            "Age at which topic metadata is refreshed.",
            maximum=LONG_MAX,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The settings that the Java client does not have, but other clients do.

    Names are those of librdkafka where it has the setting; the profile of a client that spells a name
    differently has that spelling (:mod:`protocols.consumer.clients`).
    """

    enable_auto_offset_store: bool = declared(
        True,
        Setting(
            "enable.auto.offset.store",
            Kind.SWITCH,
            "Whether a record's offset is stored for the next automatic commit when the record is "
            "handed out; otherwise the application stores it.",
        ),
    )
    queued_min_messages: int = declared(
        100_000,
        Setting(
            "queued.min.messages",
            Kind.COUNT,
            "Records of a partition that the client keeps queued; below it fetches more.",
            minimum=1,
        ),
    )
    fetch_queue_backoff_ms: int = declared(
        1_000,
        Setting(
            "fetch.queue.backoff.ms",
            Kind.TIME_MS,
            "Time that a partition is not fetched each time that its queue is found full.",
            minimum=0,
        ),
    )
    fetch_error_backoff_ms: int = declared(
        500,
        Setting(
            "fetch.error.backoff.ms",
            Kind.TIME_MS,
            "Time that a partition is not fetched after an error of its fetch.",
            minimum=0,
        ),
    )
    rebalance_timeout_ms: int | None = declared(
        None,
        Setting(
            "rebalance.timeout.ms",
            Kind.TIME_MS,
            "Time that the coordinator gives a member to join again in a rebalance.",
            minimum=1,
        ),
    )
    greedy_auto_commit: bool = declared(
        False,
        Setting(
            "greedy.auto.commit",
            Kind.SWITCH,
            "Whether automatic commits cover the records of the latest poll, too.",
        ),
    )
    block_rebalance_on_poll: bool = declared(
        False,
        Setting(
            "block.rebalance.on.poll",
            Kind.SWITCH,
            "Whether partitions are taken away only when the application polls again.",
        ),
    )
    on_partitions_revoked: bool = declared(
        False,
        Setting(
            "on.partitions.revoked",
            Kind.SWITCH,
            "Whether the application has a revoke callback, which replaces the automatic commit "
            "before partitions are given away and at the close.",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OldConsumerSettings:
    """The settings that only consumers of Kafka 0.8 have (``kafka.consumer.ConsumerConfig``)."""

    offsets_storage: str = declared(
        "zookeeper",
        Setting(
            "offsets.storage",
            Kind.CHOICE,
            "Where a consumer of Kafka 0.8 keeps its offsets; only with offsets = zookeeper.",
            choices=("zookeeper", "kafka"),
        ),
    )
    dual_commit_enabled: bool = declared(
        True,
        Setting(
            "dual.commit.enabled",
            Kind.SWITCH,
            "With offsets.storage=kafka: commit to ZooKeeper, too, and begin at the larger offset.",
        ),
    )


_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?"
    r"(T(?=[-+.\d])(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
BY_DURATION = "by_duration:"


def by_duration_ms(auto_offset_reset: str) -> int | None:
    """Return how far back ``by_duration:`` starts, in milliseconds; None for other policies.

    The rest is an ISO-8601 duration as ``java.time.Duration`` reads it (days, hours, minutes,
    seconds, each with its own sign). Raise ValueError if it is not a duration, or is negative.

    Source: ``AutoOffsetResetStrategy.fromString`` (KIP-1106).

    >>> by_duration_ms("by_duration:PT1H30M"), by_duration_ms("latest")
    (5400000, None)
    """
    if not auto_offset_reset.startswith(BY_DURATION):
        return None
    text = auto_offset_reset.removeprefix(BY_DURATION)
    match = _DURATION.fullmatch(text)
    if match is None or not text[-1].isalpha() or text[-1] in "pPtT" or len(text) > 100:
        raise ValueError('not an ISO-8601 duration such as "PT1H" or "P7D"')
    sign, days, _, hours, minutes, seconds, fraction = match.groups()
    whole = int(days or 0) * 86_400 + int(hours or 0) * 3_600 + int(minutes or 0) * 60
    nanos = int((fraction or "").ljust(9, "0"))
    if (seconds or "").startswith("-"):
        nanos = -nanos
    total = (whole + int(seconds or 0)) * 10**9 + nanos
    total = -total if sign == "-" else total
    if not 0 <= total <= LONG_MAX * 10**6:
        raise ValueError("the duration must not be negative, nor too long for 64 bits")
    return total // 10**6
