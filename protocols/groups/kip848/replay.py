"""Replay records into a group: the only way to create a :class:`Group`, live and at load.

Each record concerns one member or the group, in any order that a compacted log may have; only
records that can never be written are rejected.

Source: ``GroupMetadataManager.replay`` for types 3 to 8 and 16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, Final

from immutables import Map

from protocols.groups.kip848.group import (
    LEFT_EPOCH,
    NO_TARGET_EPOCH,
    NOTHING_ASSIGNED,
    AssignedEpochs,
    CurrentAssignment,
    Group,
    Member,
    MemberState,
)
from protocols.groups.kip848.soft import session_timer
from protocols.offsets_topic.ownership import replayed_epochs
from protocols.offsets_topic.records import Key, Record, Value
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)
from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.values import replace

_STATES: Final = {int(state): state for state in MemberState}

Rule = Callable[[Group, Any, Any], Group | None]
"""Apply a record (its key, and its value or None) to the group; None: the group is removed."""


def replayed(group: Group, records: Iterable[Record]) -> Group:
    """Apply records that do not remove the group."""
    for key, value in records:
        after = RULES[key.record_type](group, key, value)
        assert after is not None, "a record removes the group"
        group = after
    return group


def group_replayed(
    group: Group | None, group_id: str, key: Key, value: Value | None
) -> Group | None:
    """Apply one record to the group with that id, which may be absent before or after.

    Raise BrokenLogError if a load would fail.
    """
    if group is None:
        if value is None:
            return None
        group = Group(group_id)
    return RULES[key.record_type](group, key, value)


# -- the group itself --------------------------------------------------------------------------


def _epoch(group: Group, _: Any, value: Any) -> Group | None:
    if value is not None:
        return replace(group, epoch=value.epoch, metadata_hash=value.metadata_hash)
    if group.members:
        raise BrokenLogError(f"the group is deleted while it has {len(group.members)} members")
    if group.targets:
        raise BrokenLogError(f"the group is deleted while it has {len(group.targets)} targets")
    if group.target_epoch != NO_TARGET_EPOCH:
        raise BrokenLogError("the group is deleted before its target epoch")
    return None


def _topic_metadata(group: Group, _: Any, value: Any) -> Group:
    return replace(group, holds_topic_metadata=value is not None)


def _target_epoch(group: Group, _: Any, value: Any) -> Group:
    if value is not None:
        return replace(
            group,
            target_epoch=value.assignment_epoch,
            assigned_ms=value.assignment_timestamp,
        )
    if group.targets:
        raise BrokenLogError(f"the target epoch is deleted before {len(group.targets)} targets")
    return replace(group, target_epoch=NO_TARGET_EPOCH, assigned_ms=0)


def _pattern(group: Group, key: Any, value: Any) -> Group:
    pattern = key.regular_expression
    old = group.patterns.get(pattern)
    topics = _recounted(
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


def _member(group: Group, key: Any, value: Any) -> Group:
    member_id = key.member_id
    member = group.member(member_id)
    if value is not None:
        old = member or _new_member(group, member_id)
        return _with_metadata(group, old, value, replace(old, metadata=value))
    if member is None:
        return group
    if member.current.epoch != LEFT_EPOCH:
        raise BrokenLogError(f"member {member_id} is deleted before its current assignment")
    if member_id in group.targets:
        raise BrokenLogError(f"member {member_id} is deleted before its target")
    return _with_metadata(group, member, None, None)


def _new_member(group: Group, member_id: str) -> Member:
    return Member(member_id, session_timer=session_timer(group.group_id, member_id))


def _with_metadata(
    group: Group,
    old: Member,
    metadata: ConsumerGroupMemberMetadataValue | None,
    member: Member | None,
) -> Group:
    """Replace *old* by *member*, or remove it if None; update every index."""
    before, member_id, members = old.metadata, old.member_id, group.members
    return replace(
        group,
        members=members.without(member_id) if member is None else members.put(member_id, member),
        static_members=_static(group.static_members, member_id, before, metadata),
        name_readers=_recounted(
            group.name_readers,
            before.subscribed_topic_names,
            metadata.subscribed_topic_names if metadata else (),
        ),
        pattern_users=_recounted(group.pattern_users, _pattern_of(before), _pattern_of(metadata)),
        votes=_recounted(group.votes, _vote_of(before), _vote_of(metadata)),
        classic_members=group.classic_members + _uses_classic(metadata) - _uses_classic(before),
    )


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


def _recounted(counts: Map[str, int], before: Iterable[str], after: Iterable[str]) -> Map[str, int]:
    """Return the count of each name after one member's list changed from *before* to *after*."""
    if before == after:
        return counts
    old, new = set(before), set(after)
    for name in sorted(old - new):
        left = counts[name] - 1
        counts = counts.set(name, left) if left else counts.delete(name)
    for name in sorted(new - old):
        counts = counts.set(name, counts.get(name, 0) + 1)
    return counts


# -- targets and current assignments -----------------------------------------------------------


def _target(group: Group, key: Any, value: Any) -> Group:
    targets = group.targets
    if value is not None:
        wanted = {listed.topic_id: listed.partitions for listed in value.topic_partitions}
        return replace(group, targets=targets.set(key.member_id, wanted))
    if key.member_id not in targets:
        return group
    return replace(group, targets=targets.delete(key.member_id))


def _current(group: Group, key: Any, value: Any) -> Group:
    member_id = key.member_id
    member = group.member(member_id)
    if value is None:
        if member is None:
            return group
        gone = replace(NOTHING_ASSIGNED, epoch=LEFT_EPOCH, previous_epoch=LEFT_EPOCH)
        return _moved(group, member, gone)
    return _moved(group, member or _new_member(group, member_id), current_of(value))


def _moved(group: Group, member: Member, current: CurrentAssignment) -> Group:
    return replace(
        group,
        members=group.members.put(member.member_id, replace(member, current=current)),
        held=replayed_epochs(group.held, member.member_id, member.current, current),
    )


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
    """Return assignment epochs; without one per partition, each gets the member epoch."""
    return {
        topic.topic_id: (
            dict(zip(topic.partitions, topic.assignment_epochs, strict=True))
            if topic.assignment_epochs and len(topic.assignment_epochs) == len(topic.partitions)
            else dict.fromkeys(topic.partitions, otherwise)
        )
        for topic in listed
    }


RULES: Final[MappingProxyType[int, Rule]] = MappingProxyType(
    {
        3: _epoch,
        4: _topic_metadata,
        5: _member,
        6: _target_epoch,
        7: _target,
        8: _current,
        16: _pattern,
    }
)
"""By record type."""
