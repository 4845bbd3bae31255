"""A record of the offsets topic: a key and a value, of a known or unknown type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from assignors.lazy_imports import LazyMapping
from assignors.values import dataclass
from protocols.offsets_topic.records.classic import (
    LegacyOffsetCommitValue,
    OffsetCommitValue,
)
from protocols.offsets_topic.records.schema import Key, RecordType, RecordValue

_PACKAGE = "protocols.offsets_topic.records"

RECORD_TYPES: Final[Mapping[int, RecordType]] = LazyMapping(
    {
        0: f"{_PACKAGE}.classic:LEGACY_OFFSET_COMMIT",
        1: f"{_PACKAGE}.classic:OFFSET_COMMIT",
        2: f"{_PACKAGE}.classic:GROUP_METADATA",
        3: f"{_PACKAGE}.consumer:CONSUMER_GROUP_METADATA",
        4: f"{_PACKAGE}.consumer:CONSUMER_GROUP_PARTITION_METADATA",
        5: f"{_PACKAGE}.consumer:CONSUMER_GROUP_MEMBER_METADATA",
        6: f"{_PACKAGE}.consumer:CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
        7: f"{_PACKAGE}.consumer:CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
        8: f"{_PACKAGE}.consumer:CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        10: f"{_PACKAGE}.share:SHARE_GROUP_MEMBER_METADATA",
        11: f"{_PACKAGE}.share:SHARE_GROUP_METADATA",
        12: f"{_PACKAGE}.share:SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
        13: f"{_PACKAGE}.share:SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
        14: f"{_PACKAGE}.share:SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        15: f"{_PACKAGE}.share:SHARE_GROUP_STATE_PARTITION_METADATA",
        16: f"{_PACKAGE}.consumer:CONSUMER_GROUP_REGULAR_EXPRESSION",
        17: f"{_PACKAGE}.streams:STREAMS_GROUP_METADATA",
        19: f"{_PACKAGE}.streams:STREAMS_GROUP_MEMBER_METADATA",
        20: f"{_PACKAGE}.streams:STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA",
        21: f"{_PACKAGE}.streams:STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
        22: f"{_PACKAGE}.streams:STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        23: f"{_PACKAGE}.streams:STREAMS_GROUP_TOPOLOGY",
    }
)
"""Every record type that Kafka 4.4 reads, by number. Types 9 and 18 are retired.

Share and streams groups are imported on first use: a run has none.
"""


class UnknownKey(NamedTuple):
    """A key of a type that Kafka 4.4 does not know: a load warns and skips the record."""

    record_type: int
    content: bytes
    """The bytes after the type."""


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value that Kafka 4.4 cannot read: of an unknown type, or of an unknown version.

    Under a known key it makes a load fail; under an :class:`UnknownKey` it is skipped.
    """

    raw: bytes
    """All bytes, with the version if there is one."""

    @property
    def value_version(self) -> int | None:
        """The version it begins with; None if it is too short to have one."""
        return int.from_bytes(self.raw[:2], signed=True) if len(self.raw) > 1 else None


Value = RecordValue | OffsetCommitValue | LegacyOffsetCommitValue | UnknownValue


class Record(NamedTuple):
    """One record of the log; ``value`` None is a tombstone."""

    key: Key
    value: Value | None


def group_of(key: Key) -> str | None:
    """Return the id of the group of a key; None if its type is unknown."""
    return None if isinstance(key, UnknownKey) else key[0]
