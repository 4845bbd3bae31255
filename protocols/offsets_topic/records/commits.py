"""Record types 0 and 1: a committed offset.

Source: ``LegacyOffsetCommitKey/Value.json``, ``OffsetCommitKey/Value.json`` (KIP-211, KIP-320,
KIP-848 for the topic id).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from protocols.offsets_topic.records.layout import (
    INT32,
    INT64,
    STRING,
    UUID,
    Field,
    RecordType,
    Struct,
    UnknownTags,
)

ZERO_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id of a commit that carries none."""

NO_EXPIRY: Final = -1
"""The expire timestamp of a commit that lasts as long as its group and the broker let it."""

UNKNOWN_EPOCH: Final = -1
"""The leader epoch of a commit that carries none."""

_VERSION_WITH_EXPIRY = 1
_NEWEST_VERSION = 4


class OffsetCommitKey(NamedTuple):
    """Record type 1."""

    group: str
    topic: str
    partition: int
    record_type: Literal[1] = 1


class OffsetCommitValue(NamedTuple):
    """Up to where a group has consumed a partition.

    A tuple, alone among the values: there are millions, and a frozen dataclass takes ten times
    as long to make.
    """

    offset: int
    """The next one to read."""

    commit_timestamp: int
    """Epoch ms, the coordinator's clock."""

    leader_epoch: int = UNKNOWN_EPOCH
    """Of the last record read."""

    metadata: str = ""
    expire_timestamp: int = NO_EXPIRY
    """Epoch ms; only version 1 has it (:func:`expiring`)."""

    topic_id: str = ZERO_TOPIC_ID
    value_version: int = _NEWEST_VERSION
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


OFFSET_COMMIT: Final = RecordType(
    number=1,
    key=Struct(
        OffsetCommitKey,
        (Field("group", STRING), Field("topic", STRING), Field("partition", INT32)),
    ),
    value=Struct(
        OffsetCommitValue,
        (
            Field("offset", INT64),
            Field("leaderEpoch", INT32, since=3, default=UNKNOWN_EPOCH),
            Field("metadata", STRING),
            Field("commitTimestamp", INT64),
            Field("expireTimestamp", INT64, since=1, until=1, default=NO_EXPIRY),
            Field("topicId", UUID, since=4, tag=0, default=ZERO_TOPIC_ID),
        ),
    ),
    last_version=_NEWEST_VERSION,
    flexible_since=4,
    written_version=_NEWEST_VERSION,
)


def expiring(value: OffsetCommitValue, expire_timestamp: int) -> OffsetCommitValue:
    """Return a commit that brings its own end, as 4.4 writes it: in version 1.

    That version has neither leader epoch nor topic id, so they are lost.
    """
    return value._replace(
        expire_timestamp=expire_timestamp,
        leader_epoch=UNKNOWN_EPOCH,
        topic_id=ZERO_TOPIC_ID,
        value_version=_VERSION_WITH_EXPIRY,
    )


class LegacyOffsetCommitKey(NamedTuple):
    """Record type 0, the oldest form: read as if it were of type 1, never written."""

    group: str
    topic: str
    partition: int
    record_type: Literal[0] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyOffsetCommitValue:
    """What :class:`OffsetCommitValue` was in the oldest form."""

    offset: int
    metadata: str = ""
    commit_timestamp: int
    value_version: int = 0
    trailing: bytes = b""


LEGACY_OFFSET_COMMIT: Final = RecordType(
    number=0,
    key=Struct(
        LegacyOffsetCommitKey,
        (Field("group", STRING), Field("topic", STRING), Field("partition", INT32)),
    ),
    value=Struct(
        LegacyOffsetCommitValue,
        (Field("offset", INT64), Field("metadata", STRING), Field("commitTimestamp", INT64)),
    ),
    flexible_since=1,
    written_version=None,
)
