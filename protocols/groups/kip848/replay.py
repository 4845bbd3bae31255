"""Carry out what records change in a group: the only way to create a :class:`Group`.

The rules (when a load fails, what is ignored) are in ``protocols/offsets_topic/group_rules.py``;
here are the changes, with the indexes, live and at load.

Source: ``GroupMetadataManager.replay`` for types 3 to 8 and 16.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from immutables import Map

from assignors.java import hash_map_order, length_of_set_copy
from protocols.groups.kip848.group import (
    NOTHING_ASSIGNED,
    AssignedEpochs,
    CurrentAssignment,
    Group,
    Member,
    MemberState,
    TargetPartitions,
)
from protocols.groups.kip848.soft import session_timer
from protocols.groups.topics import topic_id_hash
from protocols.java_maps import recounted
from protocols.offsets_topic.group_rules import (
    LEFT_EPOCH,
    NO_TARGET_EPOCH,
    RULES,
    Changes,
    GroupType,
    replayed_epochs,
)
from protocols.offsets_topic.records import Record
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupTargetAssignmentMemberValue,
)
from protocols.values import replace

_STATES: Final = {int(state): state for state in MemberState}


def replayed(group: Group, records: Iterable[Record]) -> Group:
    """Apply records that do not remove the group; raise ValueError if one does."""
    for key, value in records:
        after = RULES[key.record_type].apply(CHANGES, group, key, value)
        if after is None:
            raise ValueError(f"{key} removes group {group.group_id}")
        group = after
    return group


# -- the group itself --------------------------------------------------------------------------


def _new(_: GroupType, group_id: str) -> Group:
    return Group(group_id)


def _with_epoch(group: Group, _: Any, value: Any) -> Group:
    return replace(group, epoch=value.epoch, metadata_hash=value.metadata_hash)


def _with_target_epoch(group: Group, value: Any) -> Group:
    if value is None:
        return replace(group, target_epoch=NO_TARGET_EPOCH, assigned_ms=0)
    return replace(
        group, target_epoch=value.assignment_epoch, assigned_ms=value.assignment_timestamp
    )


def _with_other(group: Group, key: Any, value: Any) -> Group:
    """Apply a record 4 or a resolved pattern."""
    if isinstance(key, ConsumerGroupPartitionMetadataKey):
        return replace(group, holds_topic_metadata=value is not None)
    return _with_pattern(group, key, value)


def _with_pattern(group: Group, key: Any, value: Any) -> Group:
    pattern = key.regular_expression
    old = group.patterns.get(pattern)
    topics = recounted(
        group.pattern_topics, old.topics if old else (), value.topics if value else ()
    )
    if value is not None:
        patterns = group.patterns.set(pattern, value)
    elif old is not None:
        patterns = group.patterns.delete(pattern)
    else:
        return group
    return replace(group, patterns=patterns, pattern_topics=topics)


# -- members -----------------------------------------------------------------------------------


def _with_metadata(group: Group, member_id: str, value: Any) -> Group:
    old = group.member(member_id) or _new_member(group, member_id)
    return _reindexed(group, old, value, None if value is None else replace(old, metadata=value))


def _new_member(group: Group, member_id: str) -> Member:
    return Member(member_id, session_timer=session_timer(group.group_id, member_id))


def _reindexed(
    group: Group,
    old: Member,
    metadata: ConsumerGroupMemberMetadataValue | None,
    member: Member | None,
) -> Group:
    """Replace *old* by *member*, or remove it if None; update every index."""
    before, member_id, members = old.metadata, old.member_id, group.members
    after = replace(
        group,
        members=members.without(member_id) if member is None else members.put(member_id, member),
        static_members=_static(group.static_members, member_id, before, metadata),
        name_readers=recounted(
            group.name_readers,
            before.subscribed_topic_names,
            metadata.subscribed_topic_names if metadata else (),
        ),
        pattern_users=recounted(group.pattern_users, _pattern_of(before), _pattern_of(metadata)),
        votes=recounted(group.votes, _vote_of(before), _vote_of(metadata)),
        classic_members=group.classic_members + _uses_classic(metadata) - _uses_classic(before),
    )
    return replace(after, counted=after.counts())


def _uses_classic(metadata: ConsumerGroupMemberMetadataValue | None) -> bool:
    return metadata is not None and metadata.classic_member_metadata is not None


def _pattern_of(metadata: ConsumerGroupMemberMetadataValue | None) -> tuple[str, ...]:
    return (
        (metadata.subscribed_topic_regex,) if metadata and metadata.subscribed_topic_regex else ()
    )


def _vote_of(metadata: ConsumerGroupMemberMetadataValue | None) -> tuple[str, ...]:
    return (metadata.server_assignor,) if metadata and metadata.server_assignor else ()


def _static(
    known: Map[str, str],
    member_id: str,
    before: ConsumerGroupMemberMetadataValue,
    metadata: ConsumerGroupMemberMetadataValue | None,
) -> Map[str, str]:
    """Update the instance ids; one that now belongs to another member is kept."""
    old, new = before.instance_id, None if metadata is None else metadata.instance_id
    if old is not None and old != new and known.get(old) == member_id:
        known = known.delete(old)
    return known if new is None else known.set(new, member_id)


# -- targets and current assignments -----------------------------------------------------------


def _with_target(group: Group, member_id: str, value: Any) -> Group:
    if value is None:
        return replace(group, targets=group.targets.delete(member_id))
    return replace(group, targets=group.targets.set(member_id, _target(value)))


def _target(value: ConsumerGroupTargetAssignmentMemberValue) -> TargetPartitions:
    """Return the content of record 7 in the order of Kafka's maps (``Assignment.fromRecord``)."""
    return in_map_order({each.topic_id: each.partitions for each in value.topic_partitions})


def in_map_order(listed: TargetPartitions) -> TargetPartitions:
    """Return partitions in the order of a new ``HashMap`` of topic ids to a ``HashSet`` of each list."""
    topics = hash_map_order(listed, topic_id_hash) if len(listed) > 1 else listed
    return {topic: _in_set_order(listed[topic]) for topic in topics}


def _in_set_order(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(hash_map_order(numbers, int, length_of_set_copy(len(numbers))))


def _with_current(group: Group, member_id: str, value: Any) -> Group:
    member = group.member(member_id) or _new_member(group, member_id)
    current = NOTHING_LEFT if value is None else current_of(value)
    after = replace(
        group,
        members=group.members.put(member_id, replace(member, current=current)),
        held=replayed_epochs(group.held, member_id, member.current, current),
    )
    return replace(after, counted=after.counts())


NOTHING_LEFT: Final = replace(NOTHING_ASSIGNED, epoch=LEFT_EPOCH, previous_epoch=LEFT_EPOCH)
"""The current assignment of a member after its tombstone."""


def current_of(value: ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    """Return the content of record 8."""
    given = max(value.member_epoch, 0)
    return CurrentAssignment(
        value.member_epoch,
        value.previous_member_epoch,
        _STATES.get(value.state, MemberState.UNKNOWN),
        _assigned_epochs(value.assigned_partitions, given),
        _assigned_epochs(value.partitions_pending_revocation, given),
    )


def _assigned_epochs(listed: tuple[AssignedPartitions, ...], otherwise: int) -> AssignedEpochs:
    """Return assignment epochs by topic, in the order of a new ``HashMap``.

    Source: ``Utils.assignmentFromTopicPartitions``.
    """
    by_id = {topic.topic_id: topic for topic in listed}
    topics = hash_map_order(by_id, topic_id_hash) if len(by_id) > 1 else by_id
    return {topic_id: _epochs_of(by_id[topic_id], otherwise) for topic_id in topics}


def _epochs_of(topic: AssignedPartitions, otherwise: int) -> dict[int, int]:
    """Return the assignment epochs of a topic, in the order of a new ``HashMap``.

    Without one per partition, each is the member epoch.
    """
    numbers, epochs = topic.partitions, topic.assignment_epochs
    if not epochs or len(epochs) != len(numbers):
        return dict.fromkeys(hash_map_order(numbers, int), otherwise)
    by_number = dict(zip(numbers, epochs, strict=True))
    return {number: by_number[number] for number in hash_map_order(numbers, int)}


CHANGES: Final[Changes[Group]] = Changes(
    new=_new,
    epoch=_with_epoch,
    target_epoch=_with_target_epoch,
    metadata=_with_metadata,
    target=_with_target,
    current=_with_current,
    other=_with_other,
)
