"""Record types 3 to 8 and 16: a group of the consumer protocol and its members (KIP-848).

Such a group is written as one record per fact. Fields that a later release added are tagged.

Source: ``ConsumerGroupMetadata*``, ``ConsumerGroupPartitionMetadata*``,
``ConsumerGroupMemberMetadata*``, ``ConsumerGroupTargetAssignmentMetadata*``,
``ConsumerGroupTargetAssignmentMember*``, ``ConsumerGroupCurrentMemberAssignment*`` and
``ConsumerGroupRegularExpression*.json``.
"""

from typing import Annotated, Final, Literal, NamedTuple

from assignors.values import dataclass
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

# -- type 3: the group's epoch ---------------------------------------------------------------


class ConsumerGroupMetadataKey(NamedTuple):
    """The key of record type 3."""

    group_id: str
    record_type: Literal[3] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataValue(RecordValue):
    """The epoch of a group."""

    epoch: Int32
    metadata_hash: Annotated[Int64, Tag(0)] = 0
    """Hash of the subscribed topics' metadata; 0: unknown."""


CONSUMER_GROUP_METADATA: Final = RecordType(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue)


# -- type 4: the subscribed topics -----------------------------------------------------------


class ConsumerGroupPartitionMetadataKey(NamedTuple):
    """The key of record type 4."""

    group_id: str
    record_type: Literal[4] = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata(Part):
    """The racks of the replicas of one partition."""

    partition: Int32
    racks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata(Part):
    """One topic as the group saw it."""

    topic_id: Uuid
    topic_name: str
    num_partitions: Int32
    partition_metadata: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue(RecordValue):
    """The subscribed topics; only 4.0 wrote it, later releases write tombstones alone."""

    topics: tuple[TopicMetadata, ...]


CONSUMER_GROUP_PARTITION_METADATA: Final = RecordType(
    ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue, is_written=False
)


# -- type 5: a member ------------------------------------------------------------------------


class ConsumerGroupMemberMetadataKey(NamedTuple):
    """The key of record type 5."""

    group_id: str
    member_id: str
    record_type: Literal[5] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol(Part):
    """One assignor that a classic member supports."""

    name: str
    metadata: bytes
    """A subscription of the consumer protocol (``embedded``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberMetadata(Part):
    """The metadata of a member that uses the classic protocol."""

    session_timeout_ms: Int32 = 0
    supported_protocols: tuple[ClassicProtocol, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue(RecordValue):
    """The metadata that a member sent."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    """With a slash in front, such as ``/10.0.0.7``."""

    subscribed_topic_names: tuple[str, ...]
    """Sorted."""

    subscribed_topic_regex: str | None
    """Empty if the member never sent one."""

    rebalance_timeout_ms: Int32
    server_assignor: str | None
    classic_member_metadata: Annotated[ClassicMemberMetadata | None, Tag(0)] = (
        ClassicMemberMetadata()
    )
    """None, which is written, for a member of the consumer protocol; absent means the default."""


CONSUMER_GROUP_MEMBER_METADATA: Final = RecordType(
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue
)


# -- types 6 and 7: the target assignment ----------------------------------------------------


class ConsumerGroupTargetAssignmentMetadataKey(NamedTuple):
    """The key of record type 6."""

    group_id: str
    record_type: Literal[6] = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue(RecordValue):
    """The group epoch for which the target was computed."""

    assignment_epoch: Int32
    assignment_timestamp: Annotated[Int64, Tag(0)] = 0
    """Epoch ms; 0: unknown, or the group is empty."""


CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: Final = RecordType(
    ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue
)


class ConsumerGroupTargetAssignmentMemberKey(NamedTuple):
    """The key of record type 7."""

    group_id: str
    member_id: str
    record_type: Literal[7] = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions(Part):
    """Partitions of one topic, by its id."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue(RecordValue):
    """The target assignment of one member."""

    topic_partitions: tuple[TopicPartitions, ...]


CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = RecordType(
    ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue
)


# -- type 8: the current assignment ----------------------------------------------------------


class ConsumerGroupCurrentMemberAssignmentKey(NamedTuple):
    """The key of record type 8."""

    group_id: str
    member_id: str
    record_type: Literal[8] = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPartitions(Part):
    """Partitions of one topic, and the epochs in which the member got them."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]
    assignment_epochs: Annotated[tuple[Int32, ...] | None, Tag(0)] = ()
    """One per partition; if their number differs, the member's epoch counts for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue(RecordValue):
    """The assignment of one member, and the partitions that it has to revoke."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    """0 stable, 1 unrevoked partitions, 2 unreleased partitions, else unknown."""

    assigned_partitions: tuple[AssignedPartitions, ...]
    partitions_pending_revocation: tuple[AssignedPartitions, ...]


CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = RecordType(
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue
)


# -- type 16: a pattern of topic names -------------------------------------------------------


class ConsumerGroupRegularExpressionKey(NamedTuple):
    """The key of record type 16."""

    group_id: str
    regular_expression: str
    record_type: Literal[16] = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionValue(RecordValue):
    """The topics that match a pattern."""

    topics: tuple[str, ...]
    """Sorted."""

    version: Int64
    """The version of the cluster's metadata at the look-up."""

    timestamp: Int64
    """Epoch ms of the look-up."""


CONSUMER_GROUP_REGULAR_EXPRESSION: Final = RecordType(
    ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue
)
