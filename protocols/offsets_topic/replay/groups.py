"""Groups as recorded in the log: their values, and the states derived from them.

Source: ``ClassicGroup``, ``ModernGroup``, ``ConsumerGroup``, ``ShareGroup``, ``StreamsGroup``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from immutables import Map

from protocols.java_maps import NOTHING
from protocols.offsets_topic.ownership import PartitionEpochs
from protocols.offsets_topic.records import GroupMetadataValue, Key, Value
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
)
from protocols.offsets_topic.records.share import (
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
)
from protocols.offsets_topic.records.streams import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
)

MemberMetadata = (
    ConsumerGroupMemberMetadataValue
    | ShareGroupMemberMetadataValue
    | StreamsGroupMemberMetadataValue
)
Target = (
    ConsumerGroupTargetAssignmentMemberValue
    | ShareGroupTargetAssignmentMemberValue
    | StreamsGroupTargetAssignmentMemberValue
)
CurrentAssignment = (
    ConsumerGroupCurrentMemberAssignmentValue
    | ShareGroupCurrentMemberAssignmentValue
    | StreamsGroupCurrentMemberAssignmentValue
)

NEW_GROUP_EPOCH: Final = 1
"""The epoch of a group before its first record of type 3 (0 before Kafka 4.3)."""

NEW_MEMBER_EPOCH: Final = 0
LEFT_EPOCH: Final = -1
"""Epoch of a member whose current assignment was deleted; its metadata is deleted next."""

NO_TARGET_EPOCH: Final = -1
"""Target epoch of a group whose target was deleted; the group itself is deleted next."""


class GroupType(enum.StrEnum):
    """The type of a group."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupState(enum.StrEnum):
    """A group's state, as in Kafka's describe responses."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"
    """The group does not exist."""


class MemberState(enum.StrEnum):
    """The state of a member in its reconciliation."""

    STABLE = "STABLE"
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"
    UNREVOKED_TASKS = "UNREVOKED_TASKS"
    UNRELEASED_TASKS = "UNRELEASED_TASKS"
    UNKNOWN = "UNKNOWN"


_PARTITION_STATES: Final = {
    0: MemberState.STABLE,
    1: MemberState.UNREVOKED_PARTITIONS,
    2: MemberState.UNRELEASED_PARTITIONS,
}
_TASK_STATES: Final = {
    1: MemberState.STABLE,
    2: MemberState.UNREVOKED_TASKS,
    3: MemberState.UNRELEASED_TASKS,
}


@dataclass(frozen=True, slots=True)
class ClassicGroup:
    """A classic group: its newest record is its whole state."""

    metadata: GroupMetadataValue | None = None
    """None: a group that was created by a committed offset, without a record of its own."""

    @property
    def is_simple(self) -> bool:
        """Whether it has no members and no protocol type, so that another type may replace it."""
        return self.metadata is None or not (self.metadata.protocol_type or self.metadata.members)

    @property
    def state(self) -> GroupState:
        """The state after a load: a rebalance in progress is not in the log."""
        return GroupState.STABLE if self.metadata and self.metadata.members else GroupState.EMPTY


class Owned(NamedTuple):
    """The partitions of a member of a consumer group, by topic id."""

    epoch: int
    assigned: Mapping[str, tuple[int, ...]]
    revoking: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a consumer, share or streams group."""

    metadata: MemberMetadata | None = None
    """None: unknown, for example if only its current assignment was written."""

    current: CurrentAssignment | None = None
    """None: nothing was ever assigned, or it was deleted."""

    epoch: int = NEW_MEMBER_EPOCH

    @property
    def state(self) -> MemberState:
        """The state in its current assignment; a new member is stable."""
        if self.current is None:
            return MemberState.STABLE
        tasks = isinstance(self.current, StreamsGroupCurrentMemberAssignmentValue)
        known = _TASK_STATES if tasks else _PARTITION_STATES
        return known.get(self.current.state, MemberState.UNKNOWN)

    @property
    def owned(self) -> Owned:
        """Its partitions, as a member of a consumer group."""
        current = self.current
        if not isinstance(current, ConsumerGroupCurrentMemberAssignmentValue):
            return Owned(self.epoch, {}, {})
        return Owned(
            self.epoch,
            {topic.topic_id: topic.partitions for topic in current.assigned_partitions},
            {topic.topic_id: topic.partitions for topic in current.partitions_pending_revocation},
        )


@dataclass(frozen=True, slots=True)
class MemberGroup:
    """A consumer, share or streams group."""

    type: GroupType
    epoch: int = NEW_GROUP_EPOCH
    target_epoch: int = NEW_GROUP_EPOCH
    members: Map[str, Member] = NOTHING
    targets: Map[str, Target] = NOTHING
    """The target of each member; also of members without other records."""

    epochs: PartitionEpochs = NOTHING
    """Of a consumer group: the epochs at which its members own partitions."""

    more: Map[Key, Value] = NOTHING
    """The newest values of records that change nothing else: patterns, topologies."""

    @property
    def state(self) -> GroupState | None:
        """The state derived from epochs and members.

        None: unknown from the log, as for a streams group with members, whose state depends on the
        existing topics.
        """
        if not self.members:
            return GroupState.EMPTY
        if self.type is not GroupType.CONSUMER:
            return GroupState.STABLE if self.type is GroupType.SHARE else None
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        if all(self._has_arrived(member) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def _has_arrived(self, member: Member) -> bool:
        return member.state is MemberState.STABLE and member.epoch == self.target_epoch


Group = ClassicGroup | MemberGroup
