"""What follows when a turn's records turn out durable, or fail.

The group may have moved on meanwhile, so each case is judged against the group of then.

Source: the append futures of ``GroupMetadataManager`` and the exceptional path of
``GroupCoordinatorService`` (spec classic-coordinator 0.2 to 0.3, 1.10, 1.11).
"""

from __future__ import annotations

from dataclasses import replace

from protocols.groups.answers import seen_as
from protocols.groups.classic import static, sync
from protocols.groups.classic.group import Group
from protocols.groups.classic.parked import given_up
from protocols.groups.classic.shard import (
    AssignmentStored,
    InstanceStored,
    JoinWaits,
    Shard,
    SyncWaits,
    Waiting,
    on_group,
)
from protocols.groups.turn import Moment, Turn
from protocols.machine import Send
from protocols.messages import JoinGroupResponse, SyncGroupResponse
from protocols.messages.errors import ErrorCode


def succeeded(shard: Shard, what: Waiting, at: Moment) -> Turn[Shard]:
    """Go on with what waited: everything it depends on is durable."""
    group = shard.groups.get(what.group_id)
    if group is None:
        return Turn(shard)
    match what:
        case AssignmentStored():
            return on_group(shard, sync.stabilised(group, what, at))
        case InstanceStored():
            return on_group(shard, static.stored(group, what))
        case _:
            return Turn(shard)


def failed(shard: Shard, what: Waiting, error: ErrorCode, at: Moment) -> Turn[Shard]:
    """Give up what waited: its append failed with *error*, or took too long."""
    group = shard.groups.get(what.group_id)
    if group is None:
        return Turn(shard)
    match what:
        case AssignmentStored():
            return on_group(shard, sync.not_stored(group, what, error, at))
        case InstanceStored():
            return on_group(shard, static.not_stored(group, what, error, at))
        case JoinWaits():
            return on_group(shard, _join_failed(group, what, error))
        case SyncWaits():
            return on_group(shard, _sync_failed(group, what, error))


def _join_failed(group: Group, what: JoinWaits, error: ErrorCode) -> Turn[Group]:
    """Tell the client; its member stays, and counts as joined [Q2]."""
    joining = given_up(group.joining, what.member_id, what.header)
    if joining is None:
        return Turn(group)
    answer = JoinGroupResponse(error=seen_as(error))
    return Turn(replace(group, joining=joining), (Send(what.header, answer),))


def _sync_failed(group: Group, what: SyncWaits, error: ErrorCode) -> Turn[Group]:
    syncing = given_up(group.syncing, what.member_id, what.header)
    if syncing is None:
        return Turn(group)
    answer = SyncGroupResponse(error=seen_as(error))
    return Turn(replace(group, syncing=syncing), (Send(what.header, answer),))
