"""The rules by which records become groups, for the coordinator and every other reader of the log.

A reader keeps a group in its own form: the coordinator with indexes, ``rebalance log`` with the
newest values. The rules say what a record changes and when a load fails; :class:`Changes` carries
the change out. Consumer, share and streams groups have the same facts under different record
types, so each rule is written once, and :data:`RULES` maps types to rules.

Source: ``GroupMetadataManager.replay``, ``getOrMaybeCreatePersisted…Group``,
``ConsumerGroup.addPartitionEpochs`` and ``removePartitionEpochs``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from immutables import Map

from assignors.values import dataclass
from protocols.java_maps import NOTHING
from protocols.offsets_topic.records import (
    GroupMetadataValue,
    Key,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownValue,
    Value,
)
from protocols.offsets_topic.records.errors import BrokenLogError

NEW_GROUP_EPOCH: Final = 1
"""Group and target epoch of a group before its first record of them (0 before Kafka 4.3)."""

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


def consumer_group_state(
    members: Sized, epoch: int, target_epoch: int, arrived: Iterable[bool]
) -> GroupState:
    """Return the state of a consumer group, checked in the order of ``ConsumerGroup.maybeUpdateGroupState``.

    *arrived*: for each member, whether it has all of the target and nothing else.
    """
    if not members:
        return GroupState.EMPTY
    if epoch > target_epoch:
        return GroupState.ASSIGNING
    return GroupState.STABLE if all(arrived) else GroupState.RECONCILING


@dataclass(frozen=True, slots=True)
class ClassicGroup:
    """A classic group: its newest record is its whole state."""

    metadata: GroupMetadataValue | None = None
    """None: a group that was created by a committed offset, without a record of its own."""

    @property
    def is_simple(self) -> bool:
        """Whether it has no members and no protocol type, so that another type may replace it.

        Source: ``ClassicGroup.isSimpleGroup``.
        """
        return self.metadata is None or not (self.metadata.protocol_type or self.metadata.members)

    @property
    def state(self) -> GroupState:
        """The state after a load: a rebalance in progress is not in the log."""
        return GroupState.STABLE if self.metadata and self.metadata.members else GroupState.EMPTY


# -- what the rules know of a group, and what they do with it --------------------------------------


class ReplayedGroup(Protocol):
    """A consumer, share or streams group in the form that a reader keeps."""

    @property
    def type(self) -> GroupType:
        """Its type."""

    @property
    def members(self) -> Sized:
        """Its members."""

    @property
    def targets(self) -> Collection[str]:
        """The ids of the members that have a target."""

    @property
    def target_epoch(self) -> int:
        """The group epoch for which the target was computed."""

    def epoch_of(self, member_id: str) -> int | None:
        """Return the epoch of a member; None if there is no such member."""


G = TypeVar("G", bound=ReplayedGroup)


class Changes(NamedTuple, Generic[G]):
    """How a reader changes its form of a group; each function returns a new one.

    A value of None is a tombstone. A member is created by its first record of any type.
    """

    new: Callable[[GroupType, str], G]
    """Return a new group of a type, with its id."""

    epoch: Callable[[G, Any, Any], G]
    """Take the group epoch of a key and a value, never a tombstone."""

    target_epoch: Callable[[G, Any], G]
    metadata: Callable[[G, str, Any], G]
    """Take the metadata of a member; a tombstone removes the member."""

    target: Callable[[G, str, Any], G]
    """Take the target of a member; a tombstone removes the target, which exists."""

    current: Callable[[G, str, Any], G]
    """Take the current assignment of a member; a tombstone, for a known member only, empties it."""

    other: Callable[[G, Any, Any], G]
    """Take a record that the rules do not look into: key and value."""


# -- the rules ---------------------------------------------------------------------------------


Rule = Callable[[Changes[Any], Any, Any, Any], Any]
"""Applies a key and a value to a group; returns the new group, or None if it is removed."""


def _epoch(changes: Changes[G], group: G, key: Any, value: Any) -> G | None:
    if value is not None:
        return changes.epoch(group, key, value)
    if group.members:
        raise BrokenLogError(f"the group is deleted while it has {len(group.members)} members")
    if group.targets and group.type is not GroupType.STREAMS:
        raise BrokenLogError(f"the group is deleted while it has {len(group.targets)} targets")
    if group.target_epoch != NO_TARGET_EPOCH:
        raise BrokenLogError("the group is deleted before its target epoch")
    return None


def _target_epoch(changes: Changes[G], group: G, _: Any, value: Any) -> G:
    if value is None and group.targets:
        raise BrokenLogError(f"the target epoch is deleted before {len(group.targets)} targets")
    return changes.target_epoch(group, value)


def _metadata(changes: Changes[G], group: G, key: Any, value: Any) -> G:
    member_id = key.member_id
    if value is None:
        epoch = group.epoch_of(member_id)
        if epoch is None:
            return group
        if epoch != LEFT_EPOCH:
            raise BrokenLogError(f"member {member_id} is deleted before its current assignment")
        if member_id in group.targets:
            raise BrokenLogError(f"member {member_id} is deleted before its target")
    return changes.metadata(group, member_id, value)


def _target(changes: Changes[G], group: G, key: Any, value: Any) -> G:
    if value is None and key.member_id not in group.targets:
        return group
    return changes.target(group, key.member_id, value)


def _current(changes: Changes[G], group: G, key: Any, value: Any) -> G:
    if value is None and group.epoch_of(key.member_id) is None:
        return group
    return changes.current(group, key.member_id, value)


def _other(changes: Changes[G], group: G, key: Any, value: Any) -> G:
    return changes.other(group, key, value)


class TypedRule(NamedTuple):
    """A rule, and the type of the groups that have the record."""

    group_type: GroupType
    apply: Rule


RULES: Final[Mapping[int, TypedRule]] = {
    number: TypedRule(group_type, rule)
    for group_type, rules in (
        (
            GroupType.CONSUMER,
            {
                3: _epoch,
                4: _other,
                5: _metadata,
                6: _target_epoch,
                7: _target,
                8: _current,
                16: _other,
            },
        ),
        (
            GroupType.SHARE,
            {10: _metadata, 11: _epoch, 12: _target_epoch, 13: _target, 14: _current, 15: _other},
        ),
        (
            GroupType.STREAMS,
            {17: _epoch, 19: _metadata, 20: _target_epoch, 21: _target, 22: _current, 23: _other},
        ),
    )
    for number, rule in rules.items()
}
"""By record type."""


# -- one record --------------------------------------------------------------------------------


def as_replayed(record: Record) -> Record:
    """Return the record that a load applies: a commit of type 0 becomes one of type 1."""
    key, value = record
    if not isinstance(key, LegacyOffsetCommitKey):
        return record
    newer = OffsetCommitKey(key.group, key.topic, key.partition)
    if not isinstance(value, LegacyOffsetCommitValue):
        return Record(newer, value)
    stored = OffsetCommitValue(
        offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
    )
    return Record(newer, stored)


def group_replayed(
    changes: Changes[G], group: ClassicGroup | G | None, key: Any, value: Value | None
) -> G | None:
    """Apply a record of :data:`RULES`; return its group, or None if there is none afterwards.

    Raise BrokenLogError if a load fails.
    """
    group_type, rule = RULES[key.record_type]
    found = _of_type(changes, group, group_type, key[0])
    if found is None:
        if value is None:
            return None
        found = changes.new(group_type, key[0])
    applied: G | None = rule(changes, found, key, value)
    return applied


def _of_type(
    changes: Changes[G], group: ClassicGroup | G | None, wanted: GroupType, group_id: str
) -> G | None:
    """Return the group of a record; a new one replaces a simple group."""
    if group is None:
        return None
    if isinstance(group, ClassicGroup):
        if group.is_simple:
            return changes.new(wanted, group_id)
        found = GroupType.CLASSIC
    elif group.type is wanted:
        return group
    else:
        found = group.type
    raise BrokenLogError(f"a record of a {wanted} group, but {group_id} is a {found} group")


def classic_replayed(key: Key, value: Value | None) -> ClassicGroup | None:
    """Apply a classic group's record, which replaces any group; a tombstone removes the group.

    Raise BrokenLogError for a value of another key.
    """
    if value is None:
        return None
    if not isinstance(value, GroupMetadataValue):
        raise wrong_value(key, value)
    return ClassicGroup(value)


def wrong_value(key: Key, value: Value) -> BrokenLogError:
    """Return the error for a value of another key."""
    return BrokenLogError(f"a {type(value).__name__} under a {type(key).__name__}")


def require_known_version(key: Key, value: Value | None) -> None:
    """Raise BrokenLogError for a value of a version that Kafka 4.4 does not know."""
    if isinstance(value, UnknownValue):
        version = value.value_version
        raise BrokenLogError(f"version {version} of a value of type {key.record_type} is not known")


# -- which epoch owns a partition (KIP-848) --------------------------------------------------------


PartitionEpochs = Map[str, Map[int, int]]
"""By topic id and partition: the epoch of the member that owns it or has to revoke it."""

_NO_PARTITIONS: Final[Map[int, int]] = NOTHING


class Owned(Protocol):
    """The partitions of one member, by topic id."""

    @property
    def epoch(self) -> int:
        """The member's epoch."""

    @property
    def assigned(self) -> Mapping[str, Iterable[int]]:
        """The partitions that it owns."""

    @property
    def revoking(self) -> Mapping[str, Iterable[int]]:
        """The partitions that it has to revoke."""


def replayed_epochs(
    epochs: PartitionEpochs, member_id: str, before: Owned, after: Owned
) -> PartitionEpochs:
    """Return the epochs after the current assignment of a member changed.

    A compacted log may have a partition's new owner before its old one, so an entry of another
    epoch is kept. Raise BrokenLogError if the partition is owned at the same or a later epoch.
    """
    for topic in {**before.assigned, **before.revoking, **after.assigned, **after.revoking}:
        partitions = epochs.get(topic, _NO_PARTITIONS).mutate()
        for number in _of_topic(before, topic):
            if partitions.get(number) == before.epoch:
                del partitions[number]
        for number in _of_topic(after, topic):
            owned_at = partitions.get(number)
            if owned_at is not None and owned_at >= after.epoch:
                raise BrokenLogError(
                    f"member {member_id} is given {topic}-{number} at epoch {after.epoch}, "
                    f"but it is still owned at epoch {owned_at}"
                )
            partitions[number] = after.epoch
        left = partitions.finish()
        if left:
            epochs = epochs.set(topic, left)
        elif topic in epochs:
            epochs = epochs.delete(topic)
    return epochs


def _of_topic(owned: Owned, topic: str) -> tuple[int, ...]:
    return (*owned.assigned.get(topic, ()), *owned.revoking.get(topic, ()))
