"""Groups as a log makes them: their values, and the states that follow from these.

Source: ``ClassicGroup``, ``ModernGroup``, ``ConsumerGroup``, ``ShareGroup``, ``StreamsGroup``
(spec kip848, sections 1.1, 1.3 and 8; classic-coordinator 5.3).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from immutables import Map

from protocols.java_maps import NOTHING
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
"""What a group is at before its first record 3 (before 4.3 it was 0)."""

NEW_MEMBER_EPOCH: Final = 0
LEFT_EPOCH: Final = -1
"""Of a member whose current assignment was deleted; what is left of it goes with its metadata."""

NO_TARGET_EPOCH: Final = -1
"""Of a group whose target was deleted, as must be before the group itself is."""


class GroupType(enum.StrEnum):
    """By which protocol a group lives."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupState(enum.StrEnum):
    """A group's state as Kafka names it to administrators."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"
    """Of a group that is not there."""


class MemberState(enum.StrEnum):
    """How far a member is on its way to its target."""

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
    """A classic group: its newest record is all of it."""

    metadata: GroupMetadataValue | None = None
    """None: a group that came into being by a committed offset, without a record of its own."""

    @property
    def is_simple(self) -> bool:
        """Whether nobody has ever used it as a group: records of another type may replace it."""
        return self.metadata is None or not (self.metadata.protocol_type or self.metadata.members)

    @property
    def state(self) -> GroupState:
        """What a load makes of it: a rebalance under way is not in the log."""
        return GroupState.STABLE if self.metadata and self.metadata.members else GroupState.EMPTY


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group that is written fact by fact."""

    metadata: MemberMetadata | None = None
    """None: not known, as where only its current assignment was written."""

    current: CurrentAssignment | None = None
    """None: nothing was ever assigned, or it was deleted."""

    epoch: int = NEW_MEMBER_EPOCH

    @property
    def state(self) -> MemberState:
        """The state its current assignment says; a new member is stable."""
        if self.current is None:
            return MemberState.STABLE
        tasks = isinstance(self.current, StreamsGroupCurrentMemberAssignmentValue)
        known = _TASK_STATES if tasks else _PARTITION_STATES
        return known.get(self.current.state, MemberState.UNKNOWN)


@dataclass(frozen=True, slots=True)
class MemberGroup:
    """A consumer, share or streams group."""

    type: GroupType
    epoch: int = NEW_GROUP_EPOCH
    target_epoch: int = NEW_GROUP_EPOCH
    members: Map[str, Member] = NOTHING
    targets: Map[str, Target] = NOTHING
    """What each member shall have; of members that are not there yet, too."""

    more: Map[Key, Value] = NOTHING
    """Newest values of the records that say no more than themselves: patterns, topologies."""

    @property
    def state(self) -> GroupState | None:
        """The state that follows from epochs and members.

        None: not to be known from the log. That is so for a streams group with members, whose
        state depends on the topics there are.
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
