"""What classic handlers say of their shard, and what waits until their records are durable.

A handler takes a shard or a group and returns a turn (``protocols.groups.turn``). Classic
groups move in memory first and write one record a generation, so some of what follows from a
turn has to wait for the log, and is judged against the group of then (``afterwards.py``).
"""

from __future__ import annotations

from typing import NamedTuple

from immutables import Map

from protocols.groups import shard as shared
from protocols.groups.classic.group import Group, Member, Partitions
from protocols.groups.classic.states import State
from protocols.groups.turn import Turn
from protocols.messages import Header

Shard = shared.Shard[Group]
"""A coordinator's state, as classic handlers see it."""


class JoinWaits(NamedTuple):
    """A parked JoinGroup fails if its turn is not durable in time, though its member stays."""

    group_id: str
    member_id: str
    header: Header


class SyncWaits(NamedTuple):
    """The same for a parked SyncGroup."""

    group_id: str
    member_id: str
    header: Header


class AssignmentStored(NamedTuple):
    """Once durable, the leader's assignment is handed out."""

    group_id: str
    generation: int
    leader_id: str
    assignments: Map[str, Partitions]


class InstanceStored(NamedTuple):
    """Once durable, a restarted static member is told that nothing changed; else it never was."""

    group_id: str
    old: Member
    """The member as it was before the restart."""

    new_id: str
    old_leader_id: str
    header: Header
    version: int


Waiting = JoinWaits | SyncWaits | AssignmentStored | InstanceStored
"""What a classic group's turn leaves until everything proposed so far is durable."""


def on_group(shard: Shard, turn: Turn[Group]) -> Turn[Shard]:
    """Return a group's turn as its shard's."""
    after = shard.with_group(turn.state.group_id, turn.state)
    return Turn(after, turn.effects, turn.records, turn.waits)


def state_of(group: Group | None) -> State:
    """Return the column of the verdict tables for a group that may be absent."""
    return State.ABSENT if group is None else group.state
