"""The replay of consumer, share and streams groups, which have one record per fact.

They have the same facts under different record types, so each rule is written once, and a table
maps types to rules.

Source: ``GroupMetadataManager.replay`` and ``getOrMaybeCreatePersisted…Group``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from immutables import Map

from protocols.offsets_topic.ownership import replayed_epochs
from protocols.offsets_topic.records import Key, Value
from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.offsets_topic.replay.groups import (
    LEFT_EPOCH,
    NO_TARGET_EPOCH,
    ClassicGroup,
    Group,
    GroupType,
    Member,
    MemberGroup,
)
from protocols.values import replace

Rule = Callable[[MemberGroup, Any, Any], MemberGroup | None]
"""Applies a record (its key, and its value or None) to the group; None: it is removed."""


def member_group_replayed(
    groups: Map[str, Group], group_id: str, key: Key, value: Value | None
) -> Map[str, Group]:
    """Apply a record about a consumer, share or streams group.

    Raise BrokenLogError if a load fails.
    """
    group_type, rule = _RULES[key.record_type]
    group = _group_of_type(groups.get(group_id), group_type, group_id)
    if group is None:
        if value is None:
            return groups
        group = MemberGroup(group_type)
    changed = rule(group, key, value)
    if changed is not None:
        return groups.set(group_id, changed)
    return groups.delete(group_id) if group_id in groups else groups


def _group_of_type(group: Group | None, wanted: GroupType, group_id: str) -> MemberGroup | None:
    """Return the group of a record; a new one replaces a simple group."""
    match group:
        case None:
            return None
        case ClassicGroup() if group.is_simple:
            return MemberGroup(wanted)
        case MemberGroup() if group.type is wanted:
            return group
    there = "classic" if isinstance(group, ClassicGroup) else group.type
    raise BrokenLogError(f"a record of a {wanted} group, but {group_id} is a {there} group")


# -- the group itself ------------------------------------------------------------------------


def _epoch(group: MemberGroup, key: Any, value: Any) -> MemberGroup | None:
    if value is not None:
        return replace(group, epoch=value.epoch, more=group.more.set(key, value))
    if group.members:
        raise BrokenLogError(f"the group is deleted while it has {len(group.members)} members")
    if group.targets and group.type is not GroupType.STREAMS:
        raise BrokenLogError(f"the group is deleted while it has {len(group.targets)} targets")
    if group.target_epoch != NO_TARGET_EPOCH:
        raise BrokenLogError("the group is deleted before its target epoch")
    return None


def _target_epoch(group: MemberGroup, _: Any, value: Any) -> MemberGroup:
    if value is not None:
        return replace(group, target_epoch=value.assignment_epoch)
    if group.targets:
        raise BrokenLogError(f"the target epoch is deleted before {len(group.targets)} targets")
    return replace(group, target_epoch=NO_TARGET_EPOCH)


def _more(group: MemberGroup, key: Any, value: Any) -> MemberGroup:
    if value is not None:
        return replace(group, more=group.more.set(key, value))
    return replace(group, more=group.more.delete(key)) if key in group.more else group


# -- its members -----------------------------------------------------------------------------


def _member(group: MemberGroup, key: Any, value: Any) -> MemberGroup:
    member_id = key.member_id
    member = group.members.get(member_id)
    if value is not None:
        return _with_member(group, member_id, replace(member or Member(), metadata=value))
    if member is None:
        return group
    if member.epoch != LEFT_EPOCH:
        raise BrokenLogError(f"member {member_id} is deleted before its current assignment")
    if member_id in group.targets:
        raise BrokenLogError(f"member {member_id} is deleted before its target")
    return replace(group, members=group.members.delete(member_id))


def _target(group: MemberGroup, key: Any, value: Any) -> MemberGroup:
    if value is not None:
        return replace(group, targets=group.targets.set(key.member_id, value))
    if key.member_id not in group.targets:
        return group
    return replace(group, targets=group.targets.delete(key.member_id))


def _current(group: MemberGroup, key: Any, value: Any) -> MemberGroup:
    member = group.members.get(key.member_id)
    if value is not None:
        old = member or Member()
        return _moved(group, key, old, replace(old, current=value, epoch=value.member_epoch))
    if member is None:
        return group
    return _moved(group, key, member, replace(member, current=None, epoch=LEFT_EPOCH))


def _moved(group: MemberGroup, key: Any, before: Member, after: Member) -> MemberGroup:
    if group.type is GroupType.CONSUMER:
        epochs = replayed_epochs(group.epochs, key.member_id, before.owned, after.owned)
        group = replace(group, epochs=epochs)
    return _with_member(group, key.member_id, after)


def _with_member(group: MemberGroup, member_id: str, member: Member) -> MemberGroup:
    return replace(group, members=group.members.set(member_id, member))


# -- which type is which ---------------------------------------------------------------------


class _Place(NamedTuple):
    group_type: GroupType
    rule: Rule


_RULES: Final = {
    number: _Place(group_type, rule)
    for group_type, rules in (
        (
            GroupType.CONSUMER,
            {3: _epoch, 4: _more, 5: _member, 6: _target_epoch, 7: _target, 8: _current, 16: _more},
        ),
        (
            GroupType.SHARE,
            {10: _member, 11: _epoch, 12: _target_epoch, 13: _target, 14: _current, 15: _more},
        ),
        (
            GroupType.STREAMS,
            {17: _epoch, 19: _member, 20: _target_epoch, 21: _target, 22: _current, 23: _more},
        ),
    )
    for number, rule in rules.items()
}
