"""The invariants of classic groups; asserted by ``GroupCoordinator.check``."""

from __future__ import annotations

from protocols.groups.classic.group import (
    Group,
    Shard,
    select_protocol,
    session_timer,
    shared_protocols,
)
from protocols.groups.classic.membership import support_of
from protocols.groups.classic.states import State
from protocols.groups.shard import Durable
from protocols.java_maps import spread
from protocols.offsets_topic.records import GroupMetadataValue


def check(shard: Shard) -> None:
    """Assert the invariants of the classic groups of an active shard."""
    logged = {
        group_id
        for group_id, value in shard.durable.groups.entries.items()
        if value is None or isinstance(value, GroupMetadataValue)
    }
    assert set(shard.groups) == logged, "memory and log name the same"
    for group_id, group in shard.groups.items():
        assert group.group_id == group_id
        _check_log(group, shard.durable)
        check_group(group)


def _check_log(group: Group, durable: Durable) -> None:
    value = durable.groups.get(group.group_id)
    assert value is None or value.generation <= group.generation, "the log is never ahead"
    topics = durable.topics_of(group.group_id)
    assert all(topics.entries.values()), "a topic without offsets is dropped"


def check_group(group: Group) -> None:
    """Assert the invariants of one group."""
    assert group.state not in (State.ABSENT, State.DEAD)
    assert group.generation >= 0
    _check_members(group)
    _check_waiting(group)
    _CHECKS[group.state](group)


def _check_members(group: Group) -> None:
    members = group.members
    named = {
        member.instance_id: member.member_id
        for member in members.values()
        if member.instance_id is not None
    }
    assert dict(group.static_members) == named, "one living member for each instance"
    assert group.support == support_of(members.values())
    assert (group.leader_id in members) == bool(members), "members have a leader among them"
    assert bool(members) <= (group.protocol_type is not None)
    assert bool(members) <= bool(shared_protocols(group)), "one protocol that all offer"
    places = [member.arrived for member in members.values()]
    assert len(set(places)) == len(places)
    assert all(place < group.insertions for place in places)
    assert group.table_length & group.table_length - 1 == 0
    assert 4 * len(members) <= 3 * group.table_length
    for member_id, member in members.items():
        assert member.member_id == member_id
        assert member.timer == session_timer(group.group_id, member_id)
        assert member.spread == spread(member_id)


def _check_waiting(group: Group) -> None:
    members = set(group.members)
    assert not members & set(group.pending_joins), "a member that has joined is pending"
    assert set(group.joining) <= members
    assert set(group.syncing) <= members
    assert set(group.newcomers) <= members
    assert set(group.assignments) <= members
    assert not set(group.syncing) & set(group.pending_syncs)


def _check_empty(group: Group) -> None:
    assert not group.members
    assert group.protocol_name is None
    assert not group.pending_syncs
    assert group.window is None


def _check_preparing(group: Group) -> None:
    assert not group.syncing
    assert not group.pending_syncs
    assert (group.window is not None) <= (group.previous_state is State.EMPTY)


def _check_completing(group: Group) -> None:
    assert group.members
    assert group.window is None
    assert not group.joining
    assert group.protocol_name in shared_protocols(group)
    synced = set(group.syncing) | set(group.pending_syncs)
    assert set(group.members) <= synced, "each member has sent SyncGroup or has yet to"
    assert group.generation > 0


def _check_stable(group: Group) -> None:
    assert group.members
    assert group.window is None
    assert not group.syncing
    assert all(group.members[member_id].instance_id for member_id in group.joining)
    assert group.protocol_name == select_protocol(group) or group.joining
    assert group.generation > 0


_CHECKS = {
    State.EMPTY: _check_empty,
    State.PREPARING_REBALANCE: _check_preparing,
    State.COMPLETING_REBALANCE: _check_completing,
    State.STABLE: _check_stable,
}
