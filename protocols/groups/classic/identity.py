"""Who a request is from, as far as its group knows.

Source: ``ClassicGroup.validateMember`` and the checks before it (spec classic-coordinator 3).
"""

from __future__ import annotations

from protocols.groups.classic.group import Group, supports
from protocols.groups.classic.states import State, Who
from protocols.groups.turn import Moment
from protocols.messages import (
    UNKNOWN_MEMBER_ID,
    JoinGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    SyncGroupRequest,
)


def by_ids(group: Group, member_id: str, instance_id: str | None) -> Who:
    """Make out a member by its ids; a wrong instance outweighs a right member id."""
    if instance_id is not None:
        holder = group.static_members.get(instance_id)
        if holder is None:
            return Who.STRANGER
        if holder != member_id:
            return Who.FENCED
    return Who.MEMBER if member_id in group.members else Who.STRANGER


def of_generation(group: Group, member_id: str, instance_id: str | None, generation_id: int) -> Who:
    """Make out a member by its ids and by the generation it believes in."""
    who = by_ids(group, member_id, instance_id)
    stale = who is Who.MEMBER and generation_id != group.generation
    return Who.STALE if stale else who


def who_joins(group: Group, request: JoinGroupRequest, at: Moment) -> Who:
    """Make out who sends a JoinGroup: room and protocols are looked at before the ids [Q6]."""
    if not _has_room(group, request.member_id, at.settings.group_max_size):
        return Who.SURPLUS
    if not supports(group, request.protocol_type, request.protocols):
        return Who.UNSUPPORTED
    if request.member_id == UNKNOWN_MEMBER_ID:
        return _without_id(group, request)
    if request.member_id in group.pending_joins:
        return Who.PENDING if request.group_instance_id is None else Who.PENDING_INSTANCE
    who = by_ids(group, request.member_id, request.group_instance_id)
    if who is not Who.MEMBER:
        return who
    if group.members[request.member_id].protocols != request.protocols:
        return Who.CHANGED
    return Who.LEADER if request.member_id == group.leader_id else Who.MEMBER


def _has_room(group: Group, member_id: str, size_max: int) -> bool:
    """Say whether ``group.max.size`` lets this one in (KIP-389)."""
    match group.state:
        case State.PREPARING_REBALANCE:
            return member_id in group.joining or len(group.joining) < size_max
        case State.COMPLETING_REBALANCE | State.STABLE:
            return member_id in group.members or len(group.members) < size_max
        case _:
            return True


def _without_id(group: Group, request: JoinGroupRequest) -> Who:
    if request.group_instance_id is None:
        return Who.NEWCOMER if request.version >= 4 else Who.OLD_NEWCOMER
    known = request.group_instance_id in group.static_members
    return Who.RESTARTED if known else Who.NEW_INSTANCE


def who_syncs(group: Group, request: SyncGroupRequest) -> Who:
    """Make out who sends a SyncGroup; protocol names that are left out fit any (KIP-559)."""
    who = of_generation(group, request.member_id, request.group_instance_id, request.generation_id)
    if who is not Who.MEMBER:
        return who
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol_name
    ):
        return Who.OTHER_PROTOCOL
    return Who.LEADER if request.member_id == group.leader_id else Who.MEMBER


def _differs(given: str | None, own: str | None) -> bool:
    return given is not None and own is not None and given != own


def who_leaves(group: Group, entry: LeavingMember) -> Who:
    """Make out whom one entry of a LeaveGroup means."""
    if entry.member_id == UNKNOWN_MEMBER_ID:
        named = entry.group_instance_id in group.static_members
        return Who.INSTANCE if named else Who.STRANGER
    if entry.member_id in group.pending_joins:
        return Who.PENDING
    return by_ids(group, entry.member_id, entry.group_instance_id)


def who_commits(group: Group | None, request: OffsetCommitRequest) -> Who:
    """Make out who sends an OffsetCommit; without members a missing generation is enough."""
    no_generation = request.generation_id < 0
    if group is None or group.state is State.EMPTY:
        return Who.NOBODY if no_generation else Who.STRANGER
    if no_generation and not request.member_id and request.group_instance_id is None:
        return Who.NOBODY
    return of_generation(group, request.member_id, request.group_instance_id, request.generation_id)
