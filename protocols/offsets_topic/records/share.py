"""Record types 10 to 15: a share group (KIP-932).

The state of its partitions is in another topic, ``__share_group_state``.

Source: ``ShareGroup*Key/Value.json``.
"""

from typing import Annotated, Final, Literal, NamedTuple

from assignors.values import dataclass
from protocols.offsets_topic.records.consumer import TopicPartitions
from protocols.offsets_topic.records.schema import (
    Int8,
    Int32,
    Int64,
    Part,
    RecordType,
    RecordValue,
    Tag,
    Uuid,
)

# -- types 10 and 11: a member, the group's epoch --------------------------------------------


class ShareGroupMemberMetadataKey(NamedTuple):
    """The key of record type 10."""

    group_id: str
    member_id: str
    record_type: Literal[10] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataValue(RecordValue):
    """The metadata that a member sent."""

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    """Sorted."""


SHARE_GROUP_MEMBER_METADATA: Final = RecordType(
    ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue
)


class ShareGroupMetadataKey(NamedTuple):
    """The key of record type 11."""

    group_id: str
    record_type: Literal[11] = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataValue(RecordValue):
    """The epoch of a group."""

    epoch: Int32
    metadata_hash: Int64
    """Hash of the subscribed topics' metadata; 0: unknown."""


SHARE_GROUP_METADATA: Final = RecordType(ShareGroupMetadataKey, ShareGroupMetadataValue)


# -- types 12 to 14: target and current assignment -------------------------------------------


class ShareGroupTargetAssignmentMetadataKey(NamedTuple):
    """The key of record type 12."""

    group_id: str
    record_type: Literal[12] = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataValue(RecordValue):
    """The group epoch for which the target was computed."""

    assignment_epoch: Int32
    assignment_timestamp: Annotated[Int64, Tag(0)] = 0
    """Epoch ms; 0: unknown."""


SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: Final = RecordType(
    ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue
)


class ShareGroupTargetAssignmentMemberKey(NamedTuple):
    """The key of record type 13."""

    group_id: str
    member_id: str
    record_type: Literal[13] = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberValue(RecordValue):
    """The target assignment of one member."""

    topic_partitions: tuple[TopicPartitions, ...]


SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = RecordType(
    ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue
)


class ShareGroupCurrentMemberAssignmentKey(NamedTuple):
    """The key of record type 14."""

    group_id: str
    member_id: str
    record_type: Literal[14] = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentValue(RecordValue):
    """The assignment of one member."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: tuple[TopicPartitions, ...]


SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = RecordType(
    ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue
)


# -- type 15: the partitions with state ------------------------------------------------------


class ShareGroupStatePartitionMetadataKey(NamedTuple):
    """The key of record type 15."""

    group_id: str
    record_type: Literal[15] = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionsInfo(Part):
    """Partitions of one topic, by its id and name."""

    topic_id: Uuid
    topic_name: str
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo(Part):
    """A topic, by its id and name."""

    topic_id: Uuid
    topic_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataValue(RecordValue):
    """The partitions whose state is being initialised, is initialised, or is being deleted."""

    initializing_topics: tuple[TopicPartitionsInfo, ...]
    initialized_topics: tuple[TopicPartitionsInfo, ...]
    deleting_topics: tuple[TopicInfo, ...]


SHARE_GROUP_STATE_PARTITION_METADATA: Final = RecordType(
    ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue
)
