"""Consumer, share and streams groups as recorded in the log: the newest value of each record.

Source: ``ModernGroup``, ``ConsumerGroup``, ``ShareGroup``, ``StreamsGroup``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from immutables import Map

from assignors.values import dataclass
from protocols.java_maps import NOTHING
from protocols.offsets_topic.group_rules import (
    LEFT_EPOCH,
    NEW_GROUP_EPOCH,
    NEW_MEMBER_EPOCH,
    NO_TARGET_EPOCH,
    Changes,
    ClassicGroup,
    GroupState,
    GroupType,
    PartitionEpochs,
    consumer_group_state,
    replayed_epochs,
)
from protocols.offsets_topic.records import Key, Value
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
from protocols.values import replace

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


class MemberState(enum.StrEnum):
    """The state of a member in its reconciliation.

    Source: ``org.apache.kafka.coordinator.group.modern.MemberState``, and that of ``streams``.
    """

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
        if not self.members or self.type is GroupType.CONSUMER:
            arrived = (self._has_arrived(member) for member in self.members.values())
            return consumer_group_state(self.members, self.epoch, self.target_epoch, arrived)
        return GroupState.STABLE if self.type is GroupType.SHARE else None

    def _has_arrived(self, member: Member) -> bool:
        return member.state is MemberState.STABLE and member.epoch == self.target_epoch

    def epoch_of(self, member_id: str) -> int | None:
        """Return the epoch of a member; None if there is no such member."""
        member = self.members.get(member_id)
        return None if member is None else member.epoch


Group = ClassicGroup | MemberGroup


# -- how the rules change a group ------------------------------------------------------------


def _with_epoch(group: MemberGroup, key: Any, value: Any) -> MemberGroup:
    return replace(group, epoch=value.epoch, more=group.more.set(key, value))


def _with_target_epoch(group: MemberGroup, value: Any) -> MemberGroup:
    return replace(group, target_epoch=NO_TARGET_EPOCH if value is None else value.assignment_epoch)


def _with_metadata(group: MemberGroup, member_id: str, value: Any) -> MemberGroup:
    if value is None:
        return replace(group, members=group.members.delete(member_id))
    member = group.members.get(member_id) or Member()
    return _with_member(group, member_id, replace(member, metadata=value))


def _with_target(group: MemberGroup, member_id: str, value: Any) -> MemberGroup:
    targets = group.targets
    kept = targets.delete(member_id) if value is None else targets.set(member_id, value)
    return replace(group, targets=kept)


def _with_current(group: MemberGroup, member_id: str, value: Any) -> MemberGroup:
    before = group.members.get(member_id) or Member()
    epoch = LEFT_EPOCH if value is None else value.member_epoch
    after = replace(before, current=value, epoch=epoch)
    if group.type is GroupType.CONSUMER:
        epochs = replayed_epochs(group.epochs, member_id, before.owned, after.owned)
        group = replace(group, epochs=epochs)
    return _with_member(group, member_id, after)


def _with_member(group: MemberGroup, member_id: str, member: Member) -> MemberGroup:
    return replace(group, members=group.members.set(member_id, member))


def _with_other(group: MemberGroup, key: Any, value: Any) -> MemberGroup:
    if value is not None:
        return replace(group, more=group.more.set(key, value))
    return replace(group, more=group.more.delete(key)) if key in group.more else group


CHANGES: Final[Changes[MemberGroup]] = Changes(
    new=lambda group_type, _: MemberGroup(group_type),
    epoch=_with_epoch,
    target_epoch=_with_target_epoch,
    metadata=_with_metadata,
    target=_with_target,
    current=_with_current,
    other=_with_other,
)
