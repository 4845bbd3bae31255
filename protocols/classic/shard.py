"""The state of one offsets partition's coordinator, and what a handler says about it.

A :class:`Shard` has two parts. :class:`Durable` is what its log says, up to the last record
proposed: only :func:`replayed` makes a new one, live and at load. ``groups`` is what the
coordinator has in memory: classic groups move there first and write one record a generation,
so memory may be ahead of the log (spec classic-coordinator 5.3).

A handler takes a shard or a group and returns a :class:`Turn`: the value after it, effects to
carry out at once, records to propose, and what waits until they are durable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from immutables import Map

from protocols.classic.group import Group, Member, Partitions
from protocols.classic.states import State
from protocols.java_maps import NOTHING, TimelineMap
from protocols.messages import Header, TopicDescription
from protocols.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
)
from protocols.settings import BrokerSettings
from protocols.step import Effect, Send

if TYPE_CHECKING:
    from protocols.records import Value

S = TypeVar("S")
T = TypeVar("T")

PartitionOffsets = TimelineMap[int, OffsetCommitValue]
TopicOffsets = TimelineMap[str, PartitionOffsets]

_NO_GROUPS: TimelineMap[str, GroupMetadataValue | None] = TimelineMap()
_NO_TOPICS: TopicOffsets = TimelineMap()
_NO_PARTITIONS: PartitionOffsets = TimelineMap()


# -- what is durable -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Durable:
    """What a shard's log says: the newest record of every key."""

    groups: TimelineMap[str, GroupMetadataValue | None] = _NO_GROUPS
    """None: a simple group, known by its offsets alone."""

    offsets: Map[str, TopicOffsets] = NOTHING
    """Group to topic to partition."""

    def topics_of(self, group_id: str) -> TopicOffsets:
        """Return the committed offsets of a group by topic."""
        return self.offsets.get(group_id, _NO_TOPICS)

    def offset(self, group_id: str, topic: str, partition: int) -> OffsetCommitValue | None:
        """Return one committed offset, or None."""
        partitions = self.topics_of(group_id).get(topic)
        return None if partitions is None else partitions.get(partition)


def replayed(durable: Durable, records: Iterable[Record]) -> Durable:
    """Apply records in their order: the only way to a new durable state (spec 5.3).

    Offsets that are stored one after the other, without a tombstone or a group's record between
    them, are put into each topic's map at once: nothing that is kept depends on the order among
    topics but which came first.
    """
    stored: _Stored = {}
    for record in records:
        key, value = record
        if isinstance(value, OffsetCommitValue):
            assert isinstance(key, OffsetCommitKey), "the value of another key"
            group_id, topic, partition, _ = key
            stored.setdefault((group_id, topic), []).append((partition, value))
            continue
        durable = _offsets_replayed(durable, stored)
        stored.clear()
        if isinstance(key, GroupMetadataKey):
            durable = _group_replayed(durable, key.group, value)
        else:
            assert isinstance(key, OffsetCommitKey), "classic groups have records of types 1 and 2"
            assert value is None, "the value of another key"
            durable = _without_offset(durable, key)
    return _offsets_replayed(durable, stored)


_Stored = dict[tuple[str, str], list[tuple[int, OffsetCommitValue]]]
"""By group and topic, in the order in which these came: partitions and their offsets."""


def _group_replayed(durable: Durable, group_id: str, value: Value | None) -> Durable:
    if value is not None:
        assert isinstance(value, GroupMetadataValue), "the value of another key"
        return replace(durable, groups=durable.groups.hold(group_id, value))
    if group_id not in durable.groups:
        return durable
    return replace(durable, groups=durable.groups.without(group_id))


def _offsets_replayed(durable: Durable, stored: _Stored) -> Durable:
    for (group_id, topic), offsets in stored.items():
        topics = durable.topics_of(group_id)
        partitions = (topics.get(topic) or _NO_PARTITIONS).put_all(offsets)
        groups = durable.groups
        if group_id not in groups:
            groups = groups.put(group_id, None)
        held = durable.offsets.set(group_id, topics.hold(topic, partitions))
        durable = Durable(groups, held)
    return durable


def _without_offset(durable: Durable, key: OffsetCommitKey) -> Durable:
    """A map that becomes empty is dropped, so its order starts afresh."""
    topics = durable.topics_of(key.group)
    partitions = topics.get(key.topic)
    if partitions is None or key.partition not in partitions:
        return durable
    partitions = partitions.without(key.partition)
    topics = topics.hold(key.topic, partitions) if partitions else topics.without(key.topic)
    if topics:
        return Durable(durable.groups, durable.offsets.set(key.group, topics))
    return Durable(durable.groups, durable.offsets.delete(key.group))


# -- the shard -------------------------------------------------------------------------------


_NOTHING_DURABLE = Durable()


@dataclass(frozen=True, slots=True)
class Shard:
    """All groups of one offsets partition; the log's and the memory's hold the same ids."""

    groups: Map[str, Group] = NOTHING
    durable: Durable = _NOTHING_DURABLE

    def with_group(self, group: Group) -> Shard:
        """Return the shard with one group in a new state."""
        return Shard(self.groups.set(group.group_id, group), self.durable)

    def without_group(self, group_id: str) -> Shard:
        """Return the shard with one group forgotten."""
        return Shard(self.groups.delete(group_id), self.durable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """What a shard knows of the broker it is on."""

    settings: BrokerSettings
    epoch_ms: int
    """The wall clock when the run began."""

    new_id: Callable[[str], str]
    """Makes a member id from its prefix."""

    topics: Mapping[str, TopicDescription] | None = None
    """By name; None: every topic exists."""


class Moment(NamedTuple):
    """When, and on which broker."""

    now_us: int
    broker: Broker

    @property
    def now_ms(self) -> int:
        """The broker's wall clock, epoch ms."""
        return self.broker.epoch_ms + self.now_us // 1000

    @property
    def settings(self) -> BrokerSettings:
        """The broker's configuration."""
        return self.broker.settings

    def after(self, milliseconds: int) -> int:
        """Return the time so many milliseconds from now, in microseconds."""
        return self.now_us + milliseconds * 1000


# -- what a handler says ---------------------------------------------------------------------


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


Waiting = Send | JoinWaits | SyncWaits | AssignmentStored | InstanceStored
"""What a turn leaves until everything proposed so far is durable; a Send is a reply."""


@dataclass(frozen=True, slots=True)
class Turn(Generic[S]):
    """What a handler decided."""

    state: S
    effects: tuple[Effect, ...] = ()
    """To be carried out at once."""

    records: tuple[Record, ...] = ()
    """To be proposed as one atomic batch."""

    waits: tuple[Waiting, ...] = ()

    def then(self, move: Callable[[S], Turn[T]]) -> Turn[T]:
        """Make one more move from here; what it wants comes after what we want."""
        turn = move(self.state)
        return Turn(
            turn.state,
            self.effects + turn.effects,
            self.records + turn.records,
            self.waits + turn.waits,
        )

    def also(self, *effects: Effect) -> Turn[S]:
        """Return the same turn with more effects at its end."""
        return Turn(self.state, self.effects + effects, self.records, self.waits)

    def at_last(self, *waits: Waiting) -> Turn[S]:
        """Return the same turn with more that waits for its records."""
        return Turn(self.state, self.effects, self.records, self.waits + waits)


def on_group(shard: Shard, turn: Turn[Group]) -> Turn[Shard]:
    """Return a group's turn as its shard's."""
    return Turn(shard.with_group(turn.state), turn.effects, turn.records, turn.waits)


def state_of(group: Group | None) -> State:
    """Return the column of the verdict tables for a group that may be absent."""
    return State.ABSENT if group is None else group.state
