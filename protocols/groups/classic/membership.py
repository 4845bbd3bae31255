"""Identify the sender of a request; add, update and remove members of a classic group.

A change of a member updates all dependent values: the instance ids, the number of members that
support each protocol, the order of the member map, the leader.

Source: ``ClassicGroup.validateMember``, ``add``, ``remove``, ``updateMember``,
``replaceStaticMember``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from immutables import Map

from assignors.java import hash_map_length
from protocols.groups.classic.group import Group, Member, V, first_in_order, supports, without
from protocols.groups.classic.states import Sender, State
from protocols.groups.shard import Moment
from protocols.java_maps import recounted, spread
from protocols.messages import (
    UNKNOWN_MEMBER_ID,
    Header,
    JoinGroupRequest,
    LeavingMember,
    Protocol,
    SyncGroupRequest,
)
from protocols.values import replace

T = TypeVar("T")


def with_member(group: Group, member: Member, protocol_type: str, header: Header) -> Group:
    """Return the group with a new member whose JoinGroup is parked."""
    count = len(group.members) + 1
    return replace(
        group,
        protocol_type=group.protocol_type if group.members else protocol_type,
        leader_id=member.member_id if group.leader_id is None else group.leader_id,
        members=group.members.set(member.member_id, member),
        static_members=(
            group.static_members
            if member.instance_id is None
            else group.static_members.set(member.instance_id, member.member_id)
        ),
        pending_joins=without(group.pending_joins, member.member_id),
        joining=group.joining.set(member.member_id, header),
        newcomers=group.newcomers.set(member.member_id, None),
        support=recounted(group.support, (), _names(member.protocols)),
        table_length=hash_map_length(count, group.table_length),
        insertions=group.insertions + 1,
    )


def without_member(group: Group, member_id: str) -> Group:
    """Return the group without a member id or pending member id; elect a new leader if necessary.

    Its parked requests are dropped; a caller that answers them does so first.
    """
    member = group.members.get(member_id)
    if member is None:
        return replace(
            group,
            pending_joins=without(group.pending_joins, member_id),
            pending_syncs=without(group.pending_syncs, member_id),
        )
    rest = replace(
        group,
        members=group.members.delete(member_id),
        static_members=(
            group.static_members
            if member.instance_id is None
            else group.static_members.delete(member.instance_id)
        ),
        pending_syncs=without(group.pending_syncs, member_id),
        joining=without(group.joining, member_id),
        syncing=without(group.syncing, member_id),
        newcomers=without(group.newcomers, member_id),
        assignments=without(group.assignments, member_id),
        user_data=without(group.user_data, member_id),
        support=recounted(group.support, _names(member.protocols), ()),
    )
    if rest.leader_id != member_id:
        return rest
    heir = first_in_order(rest, rest.members.values())
    return replace(rest, leader_id=None if heir is None else heir.member_id)


def without_members(group: Group, removed: Sequence[Member]) -> Group:
    """Return the group without several members, none of which has a parked request."""
    if not removed:
        return group
    members = group.members.mutate()
    for member in removed:
        del members[member.member_id]
    rest = members.finish()

    def left(entries: Map[str, V]) -> Map[str, V]:
        return Map((key, value) for key, value in entries.items() if key in rest)

    heir = group.leader_id
    if heir not in rest:
        first = first_in_order(group, rest.values())
        heir = None if first is None else first.member_id
    return replace(
        group,
        leader_id=heir,
        members=rest,
        static_members=Map(
            (instance, holder)
            for instance, holder in group.static_members.items()
            if holder in rest
        ),
        pending_syncs=left(group.pending_syncs),
        newcomers=left(group.newcomers),
        assignments=left(group.assignments),
        user_data=left(group.user_data),
        support=support_of(rest.values()),
    )


def with_protocols(
    group: Group, member: Member, protocols: tuple[Protocol, ...], timeouts_ms: tuple[int, int]
) -> Group:
    """Return the group with a member's protocols and (rebalance, session) timeouts replaced."""
    rebalance_ms, session_ms = timeouts_ms
    if (
        member.protocols == protocols
        and member.rebalance_timeout_ms == rebalance_ms
        and member.session_timeout_ms == session_ms
    ):
        return group
    changed = replace(
        member,
        protocols=protocols,
        rebalance_timeout_ms=rebalance_ms,
        session_timeout_ms=session_ms,
    )
    return replace(
        group,
        members=group.members.set(member.member_id, changed),
        support=recounted(group.support, _names(member.protocols), _names(protocols)),
    )


def with_request_parked(
    group: Group, member_id: str, header: Header, request: JoinGroupRequest
) -> Group:
    """Return the group with the JoinGroup of a known member parked, and the member as it says."""
    timeouts_ms = request.rebalance_timeout_ms, request.session_timeout_ms
    group = with_protocols(group, group.members[member_id], request.protocols, timeouts_ms)
    return replace(group, joining=group.joining.set(member_id, header))


def renamed(group: Group, old: Member, new_id: str, timer: str) -> Group:
    """Return the group with a static member under a new id; the old id has no parked request.

    Leadership, instance id and assignment move to the new id; ``pending_syncs`` does not change.
    In the member map this is a removal and an insertion.
    """
    assert old.instance_id is not None
    new = replace(
        old, member_id=new_id, timer=timer, spread=spread(new_id), arrived=group.insertions
    )
    return replace(
        group,
        leader_id=new_id if group.leader_id == old.member_id else group.leader_id,
        members=group.members.delete(old.member_id).set(new_id, new),
        static_members=group.static_members.set(old.instance_id, new_id),
        joining=without(group.joining, old.member_id),
        syncing=without(group.syncing, old.member_id),
        newcomers=without(group.newcomers, old.member_id),
        assignments=_renamed(group.assignments, old.member_id, new_id),
        user_data=_renamed(group.user_data, old.member_id, new_id),
        insertions=group.insertions + 1,
    )


def _renamed(values: Map[str, T], old_id: str, new_id: str) -> Map[str, T]:
    """Return the values by member id, with that of one member under a new id."""
    value = values.get(old_id)
    return values if value is None else values.delete(old_id).set(new_id, value)


def support_of(members: Iterable[Member]) -> Map[str, int]:
    """Return the number of *members* that offer each protocol."""
    counts = Counter(name for member in members for name in set(_names(member.protocols)))
    return Map(counts)


def _names(protocols: tuple[Protocol, ...]) -> tuple[str, ...]:
    return tuple(offer.name for offer in protocols)


def sender_by_ids(group: Group, member_id: str, instance_id: str | None) -> Sender:
    """Identify a sender by its ids; a wrong instance id outweighs a correct member id."""
    if instance_id is not None:
        holder = group.static_members.get(instance_id)
        if holder is None:
            return Sender.UNKNOWN
        if holder != member_id:
            return Sender.FENCED
    return Sender.MEMBER if member_id in group.members else Sender.UNKNOWN


def sender_in_generation(
    group: Group, member_id: str, instance_id: str | None, generation_id: int
) -> Sender:
    """Identify a sender by its ids and its generation."""
    sender = sender_by_ids(group, member_id, instance_id)
    stale = sender is Sender.MEMBER and generation_id != group.generation
    return Sender.STALE if stale else sender


def sender_of_join(group: Group, request: JoinGroupRequest, at: Moment) -> Sender:
    """Identify the sender of a JoinGroup: group size and protocols are checked before the ids."""
    if not _has_room(group, request.member_id, at.settings.group_max_size):
        return Sender.SURPLUS
    if not supports(group, request.protocol_type, request.protocols):
        return Sender.UNSUPPORTED
    if request.member_id == UNKNOWN_MEMBER_ID:
        return _without_id(group, request)
    if request.member_id in group.pending_joins:
        return Sender.PENDING if request.group_instance_id is None else Sender.PENDING_INSTANCE
    sender = sender_by_ids(group, request.member_id, request.group_instance_id)
    if sender is not Sender.MEMBER:
        return sender
    if group.members[request.member_id].protocols != request.protocols:
        return Sender.CHANGED
    return Sender.LEADER if request.member_id == group.leader_id else Sender.MEMBER


def _has_room(group: Group, member_id: str, size_max: int) -> bool:
    """Return whether ``group.max.size`` admits a member (KIP-389)."""
    match group.state:
        case State.PREPARING_REBALANCE:
            return member_id in group.joining or len(group.joining) < size_max
        case State.COMPLETING_REBALANCE | State.STABLE:
            return member_id in group.members or len(group.members) < size_max
        case _:
            return True


def _without_id(group: Group, request: JoinGroupRequest) -> Sender:
    if request.group_instance_id is None:
        return Sender.NEWCOMER if request.version >= 4 else Sender.OLD_NEWCOMER
    known = request.group_instance_id in group.static_members
    return Sender.RESTARTED if known else Sender.NEW_INSTANCE


def sender_of_sync(group: Group, request: SyncGroupRequest) -> Sender:
    """Identify the sender of a SyncGroup; an omitted protocol name matches any (KIP-559)."""
    sender = sender_in_generation(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    if sender is not Sender.MEMBER:
        return sender
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol_name
    ):
        return Sender.OTHER_PROTOCOL
    return Sender.LEADER if request.member_id == group.leader_id else Sender.MEMBER


def _differs(given: str | None, own: str | None) -> bool:
    return given is not None and own is not None and given != own


def sender_of_leave(group: Group, entry: LeavingMember) -> Sender:
    """Identify the member of one LeaveGroup entry."""
    if entry.member_id == UNKNOWN_MEMBER_ID:
        named = entry.group_instance_id in group.static_members
        return Sender.INSTANCE if named else Sender.UNKNOWN
    if entry.member_id in group.pending_joins:
        return Sender.PENDING
    return sender_by_ids(group, entry.member_id, entry.group_instance_id)
