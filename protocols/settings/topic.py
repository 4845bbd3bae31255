"""Settings of one topic that concern compaction. Source: ``TopicConfig`` of Kafka 4.4.0.

A topic that does not set one of them uses the broker's setting (``LogConfig``).
"""

from __future__ import annotations

from typing import Final

from assignors.values import dataclass
from protocols.settings.kinds import LONG_MAX, Kind, Setting, declared

DELETE, COMPACT, BOTH = "delete", "compact", "compact,delete"

OF_BROKERS: Final = {
    "segment.ms": "log.roll.ms",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
}
"""Setting of a topic to the broker's setting that is its default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """A topic's configuration of segments, deletion and compaction (``TopicConfig``)."""

    cleanup_policy: str = declared(
        DELETE,
        Setting(
            "cleanup.policy",
            Kind.CHOICE,
            "Whether old segments are deleted, or compacted to the newest record of each key.",
            choices=(DELETE, COMPACT, BOTH),
        ),
    )
    segment_ms: int = declared(
        604_800_000,
        Setting(
            "segment.ms",
            Kind.TIME_MS,
            "Time after which a segment is rolled; the active one is never compacted.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
    segment_bytes: int = declared(
        1_073_741_824,
        Setting(
            "segment.bytes",
            Kind.BYTES,
            "Maximum size of a segment.",
            minimum=1_048_576,
        ),
    )
    min_cleanable_dirty_ratio: float = declared(
        0.5,
        Setting(
            "min.cleanable.dirty.ratio",
            Kind.RATIO,
            "A partition is compacted if more than this share of it is dirty.",
            maximum=1,
        ),
    )
    min_compaction_lag_ms: int = declared(
        0,
        Setting(
            "min.compaction.lag.ms",
            Kind.TIME_MS,
            "Minimum age of a record before it may be compacted.",
            maximum=LONG_MAX,
        ),
    )
    max_compaction_lag_ms: int = declared(
        LONG_MAX,
        Setting(
            "max.compaction.lag.ms",
            Kind.TIME_MS,
            "Maximum age of a record that has not been compacted; then the dirty share does not matter.",
            minimum=1,
            maximum=LONG_MAX,
        ),
    )
