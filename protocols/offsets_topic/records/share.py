"""Record types 10 to 15: a share group (KIP-932).

The state of its partitions is elsewhere, in ``__share_group_state``.

Source: ``ShareGroup*Key/Value.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from protocols.offsets_topic.records.layout import (
    INT8,
    INT32,
    INT64,
    STRING,
    UUID,
    Array,
    Field,
    RecordType,
    Struct,
    UnknownTags,
)
from protocols.offsets_topic.records.parts import (
    GROUP_KEY,
    MEMBER_KEY,
    TARGET,
    TOPIC_PARTITIONS,
    TopicPartitions,
)

# -- types 10 and 11: a member, the group's epoch --------------------------------------------


class ShareGroupMemberMetadataKey(NamedTuple):
    """Record type 10."""

    group_id: str
    member_id: str
    record_type: Literal[10] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataValue:
    """What a member told of itself."""

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    """Sorted."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


SHARE_GROUP_MEMBER_METADATA: Final = RecordType(
    number=10,
    key=Struct(ShareGroupMemberMetadataKey, MEMBER_KEY),
    value=Struct(
        ShareGroupMemberMetadataValue,
        (
            Field("rackId", STRING, nullable=True),
            Field("clientId", STRING),
            Field("clientHost", STRING),
            Field("subscribedTopicNames", Array(STRING)),
        ),
    ),
)


class ShareGroupMetadataKey(NamedTuple):
    """Record type 11."""

    group_id: str
    record_type: Literal[11] = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataValue:
    """Which epoch the group is at."""

    epoch: int
    metadata_hash: int
    """Of all that decides an assignment but the members; 0: not known."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


SHARE_GROUP_METADATA: Final = RecordType(
    number=11,
    key=Struct(ShareGroupMetadataKey, GROUP_KEY),
    value=Struct(ShareGroupMetadataValue, (Field("epoch", INT32), Field("metadataHash", INT64))),
)


# -- types 12 to 14: who shall have what, and who has ----------------------------------------


class ShareGroupTargetAssignmentMetadataKey(NamedTuple):
    """Record type 12."""

    group_id: str
    record_type: Literal[12] = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataValue:
    """For which group epoch the target was computed."""

    assignment_epoch: int
    assignment_timestamp: int = 0
    """Epoch ms; 0: not known."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: Final = RecordType(
    number=12,
    key=Struct(ShareGroupTargetAssignmentMetadataKey, GROUP_KEY),
    value=Struct(
        ShareGroupTargetAssignmentMetadataValue,
        (Field("assignmentEpoch", INT32), Field("assignmentTimestamp", INT64, tag=0, default=0)),
    ),
)


class ShareGroupTargetAssignmentMemberKey(NamedTuple):
    """Record type 13."""

    group_id: str
    member_id: str
    record_type: Literal[13] = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberValue:
    """What a member shall have."""

    topic_partitions: tuple[TopicPartitions, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = RecordType(
    number=13,
    key=Struct(ShareGroupTargetAssignmentMemberKey, MEMBER_KEY),
    value=Struct(ShareGroupTargetAssignmentMemberValue, TARGET),
)


class ShareGroupCurrentMemberAssignmentKey(NamedTuple):
    """Record type 14."""

    group_id: str
    member_id: str
    record_type: Literal[14] = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentValue:
    """What a member has."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[TopicPartitions, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = RecordType(
    number=14,
    key=Struct(ShareGroupCurrentMemberAssignmentKey, MEMBER_KEY),
    value=Struct(
        ShareGroupCurrentMemberAssignmentValue,
        (
            Field("memberEpoch", INT32),
            Field("previousMemberEpoch", INT32),
            Field("state", INT8),
            Field("assignedPartitions", Array(TOPIC_PARTITIONS)),
        ),
    ),
)


# -- type 15: which partitions have state ----------------------------------------------------


class ShareGroupStatePartitionMetadataKey(NamedTuple):
    """Record type 15."""

    group_id: str
    record_type: Literal[15] = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionsInfo:
    """Some partitions of one topic, by its id and name."""

    topic_id: str
    topic_name: str
    partitions: tuple[int, ...]
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    """A topic, by its id and name."""

    topic_id: str
    topic_name: str
    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataValue:
    """Partitions whose state is being made, is there, or is being deleted."""

    initializing_topics: tuple[TopicPartitionsInfo, ...]
    initialized_topics: tuple[TopicPartitionsInfo, ...]
    deleting_topics: tuple[TopicInfo, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_TOPIC_INFO = Struct(TopicInfo, (Field("topicId", UUID), Field("topicName", STRING)))
_TOPIC_PARTITIONS_INFO = Struct(
    TopicPartitionsInfo, (*_TOPIC_INFO.fields, Field("partitions", Array(INT32)))
)
SHARE_GROUP_STATE_PARTITION_METADATA: Final = RecordType(
    number=15,
    key=Struct(ShareGroupStatePartitionMetadataKey, GROUP_KEY),
    value=Struct(
        ShareGroupStatePartitionMetadataValue,
        (
            Field("initializingTopics", Array(_TOPIC_PARTITIONS_INFO)),
            Field("initializedTopics", Array(_TOPIC_PARTITIONS_INFO)),
            Field("deletingTopics", Array(_TOPIC_INFO)),
        ),
    ),
)
