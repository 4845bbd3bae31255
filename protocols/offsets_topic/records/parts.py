"""Parts that the tables of several record types share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from protocols.offsets_topic.records.layout import (
    INT32,
    STRING,
    UUID,
    Array,
    Field,
    Struct,
    UnknownTags,
)

GROUP_KEY: Final = (Field("groupId", STRING),)
"""A key that names a group."""

MEMBER_KEY: Final = (*GROUP_KEY, Field("memberId", STRING))
"""A key that names a member of a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions:
    """Some partitions of one topic, by its id."""

    topic_id: str
    partitions: tuple[int, ...]
    unknown_tags: UnknownTags = ()


TOPIC_PARTITIONS: Final = Struct(
    TopicPartitions, (Field("topicId", UUID), Field("partitions", Array(INT32)))
)

TARGET: Final = (Field("topicPartitions", Array(TOPIC_PARTITIONS)),)
"""What a member shall have."""
