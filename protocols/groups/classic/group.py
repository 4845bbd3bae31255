"""The in-memory state of a classic group and its members.

Values are frozen and their maps persistent. The members that join, wait or sync are kept in maps
of their own, so that one request costs O(log n) and the end of a phase empties a map instead of
updating every member. The durable state of a group is kept in ``shard.py`` and built by replay
only.

Source: ``ClassicGroup``, ``ClassicGroupMember``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from immutables import Map

from assignors.java import DEFAULT_LENGTH, hash_map_order, java_hash
from assignors.types import Subscription, TopicPartition
from assignors.values import dataclass
from protocols.groups import shard as shared
from protocols.groups.classic.states import PREDECESSORS, State
from protocols.groups.shard import Turn
from protocols.java_maps import NOTHING
from protocols.messages import CONSUMER_PROTOCOL_TYPE, Header, Protocol
from protocols.values import replace

V = TypeVar("V")

Partitions = tuple[TopicPartition, ...]

ANSWERED = Header("", -1, "", "")
"""Marks a parked request that was answered with an error while its member still waits."""


@dataclass(frozen=True, slots=True)
class Member:
    """The coordinator's record of one consumer."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[Protocol, ...]
    """In order of preference."""

    timer: str
    """Name of the member's session timer."""

    spread: int
    """Hash of the member id; determines the slot in the member map."""

    arrived: int
    """Number of insertions into the member map before this one; orders members of equal slots."""


class Window(NamedTuple):
    """One window of the initial rebalance delay (KIP-134)."""

    length_ms: int
    remaining_ms: int
    """By how much the delay may still be extended after this window."""


@dataclass(frozen=True, slots=True)
class Group:
    """One classic group, in full."""

    group_id: str
    state: State = State.EMPTY
    previous_state: State = State.DEAD
    state_since_ms: int | None = None
    """Epoch ms of the last transition; None if an old record does not contain it."""

    generation: int = 0
    protocol_type: str | None = None
    """Kept when the group becomes empty."""

    protocol_name: str | None = None
    leader_id: str | None = None
    members: Map[str, Member] = NOTHING
    static_members: Map[str, str] = NOTHING
    """Instance id to member id."""

    pending_joins: Map[str, None] = NOTHING
    """Member ids handed out and not yet used to join."""

    joining: Map[str, Header] = NOTHING
    """Members whose JoinGroup is parked."""

    syncing: Map[str, Header] = NOTHING
    """Members whose SyncGroup is parked."""

    pending_syncs: Map[str, Member] = NOTHING
    """Member ids that have not sent SyncGroup in this generation; a replaced id stays in it."""

    newcomers: Map[str, None] = NOTHING
    """Members whose first join phase has not ended."""

    assignments: Map[str, Partitions] = NOTHING
    """The last durable assignment; a member without an entry has no partitions."""

    user_data: Map[str, bytes] = NOTHING
    """What the leader's assignor has sent with it to the assignors of members."""

    support: Map[str, int] = NOTHING
    """Protocol name to the number of members that offer it."""

    subscribed_topics: frozenset[str] | None = None
    """None if unknown."""

    new_member_added: bool = False
    """Whether a member joined in the current window of the initial delay; may outlast the delay."""

    window: Window | None = None
    """Set while the initial rebalance delay runs."""

    table_length: int = DEFAULT_LENGTH
    """Number of slots of the member map, which never shrinks."""

    insertions: int = 0


def transition(group: Group, state: State, now_ms: int) -> Group:
    """Return the group in another state; an invalid transition is an internal error."""
    assert group.state in PREDECESSORS[state], f"{group.state.label} to {state.label}"
    return replace(group, state=state, previous_state=group.state, state_since_ms=now_ms)


# -- derived values --------------------------------------------------------------------------


def all_joined(group: Group) -> bool:
    """Return whether every member and every pending member id has sent JoinGroup."""
    return len(group.joining) == len(group.members) and not group.pending_joins


def rebalance_timeout_ms(group: Group) -> int:
    """Return the largest rebalance timeout of the members, 0 without members."""
    return max((member.rebalance_timeout_ms for member in group.members.values()), default=0)


def in_order(group: Group) -> list[Member]:
    """Return the members in the order of the coordinator's hash map."""
    mask = group.table_length - 1
    return sorted(
        group.members.values(), key=lambda member: (member.spread & mask) << 40 | member.arrived
    )


def by_member(group: Group) -> tuple[tuple[str, Partitions], ...]:
    """Return every member with its last assignment."""
    ids = (member.member_id for member in in_order(group))
    return tuple((member_id, group.assignments.get(member_id, ())) for member_id in ids)


def first_in_order(group: Group, among: Iterable[Member]) -> Member | None:
    """Return the member that comes first in the hash map, or None if there is none."""
    mask = group.table_length - 1
    return min(among, key=lambda member: (member.spread & mask, member.arrived), default=None)


def metadata_of(member: Member, protocol_name: str | None) -> Subscription:
    """Return a member's subscription for one protocol, which the member must offer."""
    return next(offer.metadata for offer in member.protocols if offer.name == protocol_name)


def shared_protocols(group: Group) -> frozenset[str]:
    """Return the names of the protocols that every member offers."""
    everyone = len(group.members)
    return frozenset(name for name, count in group.support.items() if count == everyone)


def supports(group: Group, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
    """Return whether a JoinGroup with these protocols is acceptable.

    An empty group accepts any type. Otherwise all members must offer one of the names; this holds
    for any name while there are no members, as in the initial delay after the first member left.
    A requester that is a member counts with its previous list.

    Source: ``ClassicGroup.supportsProtocols``.
    """
    if group.state is State.EMPTY:
        return bool(protocol_type) and bool(protocols)
    if protocol_type != group.protocol_type:
        return False
    everyone = len(group.members)
    return any(group.support.get(offer.name, 0) == everyone for offer in protocols)


def select_protocol(group: Group) -> str:
    """Return the assignor of the next generation; the group must have members.

    Each member votes for the first of its protocols that all members offer; the most votes win.
    Of tied names, the one that comes first in Java's hash map wins.
    """
    candidates = shared_protocols(group)
    votes = dict[str, int]()
    for member in in_order(group):
        vote = next(offer.name for offer in member.protocols if offer.name in candidates)
        votes[vote] = votes.get(vote, 0) + 1
    return max(hash_map_order(votes, java_hash), key=votes.__getitem__)


def topics_of(group: Group) -> frozenset[str] | None:
    """Return the topics that the members subscribe to, or None if they are unknown."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    if not group.members:
        return frozenset()
    topics = set[str]()
    for member in group.members.values():
        topics.update(metadata_of(member, group.protocol_name).topics)
    return frozenset(topics)


def is_subscribed(group: Group, topic: str) -> bool:
    """Return whether a subscription protects the offsets of *topic*."""
    if group.subscribed_topics is None:
        return group.protocol_type == CONSUMER_PROTOCOL_TYPE
    return topic in group.subscribed_topics


def without(entries: Map[str, V], key: str) -> Map[str, V]:
    """Return *entries* without *key*, which may be absent."""
    return entries.delete(key) if key in entries else entries


Shard = shared.Shard[Group]
"""The state of a coordinator shard, as the classic handlers see it."""


class JoinWaits(NamedTuple):
    """A parked JoinGroup; it fails if its turn is not durable in time, but the member stays."""

    group_id: str
    member_id: str
    header: Header


class SyncWaits(NamedTuple):
    """A parked SyncGroup; it fails if its turn is not durable in time, but the member stays."""

    group_id: str
    member_id: str
    header: Header


class AssignmentStored(NamedTuple):
    """The leader's assignment; it is sent to the members once it is durable."""

    group_id: str
    generation: int
    leader_id: str
    assignments: Map[str, Partitions]
    user_data: Map[str, bytes]


class InstanceStored(NamedTuple):
    """A restarted static member; it is answered once durable, and reverted if the append fails."""

    group_id: str
    old: Member
    """The member as it was before the restart."""

    new_id: str
    old_leader_id: str
    header: Header
    version: int


Waiting = JoinWaits | SyncWaits | AssignmentStored | InstanceStored
"""The steps of a classic group's turn that wait until everything proposed so far is durable."""


def on_group(shard: Shard, turn: Turn[Group]) -> Turn[Shard]:
    """Return a group's turn as a turn of its shard."""
    after = shard.with_group(turn.state.group_id, turn.state)
    return Turn(after, turn.effects, turn.records, turn.waits)


def state_of(group: Group | None) -> State:
    """Return the column of the verdict tables for a group that may be absent."""
    return State.ABSENT if group is None else group.state


SESSION = "heartbeat-"
JOIN = "join-"
SYNC = "sync-"


def session_timer(group_id: str, member_id: str) -> str:
    """Return the name of a member's session timer; a pending member id has one, too."""
    return f"{SESSION}{group_id}-{member_id}"


def join_timer(group_id: str) -> str:
    """Return the name of the timer that ends a join phase."""
    return JOIN + group_id


def sync_timer(group_id: str) -> str:
    """Return the name of the timer that ends the wait for SyncGroups."""
    return SYNC + group_id
