"""Record types 6 to 8: who shall have what in a group of the consumer protocol, and who has.

Source: ``ConsumerGroupTargetAssignmentMetadata*``, ``ConsumerGroupTargetAssignmentMember*`` and
``ConsumerGroupCurrentMemberAssignment*.json`` (KIP-848).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from protocols.offsets_topic.records.layout import (
    INT8,
    INT32,
    INT64,
    UUID,
    Array,
    Field,
    RecordType,
    Struct,
    UnknownTags,
)
from protocols.offsets_topic.records.parts import GROUP_KEY, MEMBER_KEY, TARGET, TopicPartitions

# -- types 6 and 7: where the group is going -------------------------------------------------


class ConsumerGroupTargetAssignmentMetadataKey(NamedTuple):
    """Record type 6."""

    group_id: str
    record_type: Literal[6] = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    """For which group epoch the target was computed."""

    assignment_epoch: int
    assignment_timestamp: int = 0
    """Epoch ms; 0: not known, or nobody is left."""

    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: Final = RecordType(
    number=6,
    key=Struct(ConsumerGroupTargetAssignmentMetadataKey, GROUP_KEY),
    value=Struct(
        ConsumerGroupTargetAssignmentMetadataValue,
        (Field("assignmentEpoch", INT32), Field("assignmentTimestamp", INT64, tag=0, default=0)),
    ),
)


class ConsumerGroupTargetAssignmentMemberKey(NamedTuple):
    """Record type 7."""

    group_id: str
    member_id: str
    record_type: Literal[7] = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue:
    """What a member shall have."""

    topic_partitions: tuple[TopicPartitions, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = RecordType(
    number=7,
    key=Struct(ConsumerGroupTargetAssignmentMemberKey, MEMBER_KEY),
    value=Struct(ConsumerGroupTargetAssignmentMemberValue, TARGET),
)


# -- type 8: where a member is ---------------------------------------------------------------


class ConsumerGroupCurrentMemberAssignmentKey(NamedTuple):
    """Record type 8."""

    group_id: str
    member_id: str
    record_type: Literal[8] = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPartitions:
    """Partitions of one topic, and since when the member has them."""

    topic_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = ()
    """One a partition; of another number, it counts as not given: the member's epoch is meant."""

    unknown_tags: UnknownTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    """What a member has, and what it was told to give up."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    """0 stable, 1 unrevoked partitions, 2 unreleased partitions, else unknown."""

    assigned_partitions: tuple[AssignedPartitions, ...]
    partitions_pending_revocation: tuple[AssignedPartitions, ...]
    value_version: int = 0
    unknown_tags: UnknownTags = ()
    trailing: bytes = b""


_ASSIGNED_PARTITIONS = Struct(
    AssignedPartitions,
    (
        Field("topicId", UUID),
        Field("partitions", Array(INT32)),
        Field("assignmentEpochs", Array(INT32), nullable=True, tag=0, default=()),
    ),
)
CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = RecordType(
    number=8,
    key=Struct(ConsumerGroupCurrentMemberAssignmentKey, MEMBER_KEY),
    value=Struct(
        ConsumerGroupCurrentMemberAssignmentValue,
        (
            Field("memberEpoch", INT32),
            Field("previousMemberEpoch", INT32),
            Field("state", INT8),
            Field("assignedPartitions", Array(_ASSIGNED_PARTITIONS)),
            Field("partitionsPendingRevocation", Array(_ASSIGNED_PARTITIONS)),
        ),
    ),
)
