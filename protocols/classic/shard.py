"""The state of one offsets partition's coordinator, and what a handler says about it.

A :class:`Shard` has two parts. :class:`Durable` is what its log says, up to the last record
proposed: only :func:`replayed` makes a new one, live and at load. ``groups`` is what the
coordinator has in memory: classic groups move there first and write one record a generation,
so memory may be ahead of the log (spec classic-coordinator 5.3).

A handler takes a shard or a group and returns a :class:`Turn`: the value after it, effects to
carry out at once, records to propose, and what waits until they are durable.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

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
    """Apply records in their order: the only way to a new durable state (spec 5.3)."""
    for key, run in itertools.groupby(records, _run_of):
        if isinstance(key, GroupMetadataKey):
            for record in run:
                durable = _group_replayed(durable, key.group, record)
        else:
            durable = _offsets_replayed(durable, key, run)
    return durable


def _run_of(record: Record) -> GroupMetadataKey | tuple[str, str, bool]:
    """Neighbours that one change of a map can take together."""
    key = record.key
    if isinstance(key, GroupMetadataKey):
        return key
    assert isinstance(key, OffsetCommitKey), "classic groups have records of types 1 and 2"
    return key.group, key.topic, record.value is None


def _group_replayed(durable: Durable, group_id: str, record: Record) -> Durable:
    value = record.value
    if value is not None:
        assert isinstance(value, GroupMetadataValue), "the value of another key"
        return replace(durable, groups=durable.groups.hold(group_id, value))
    if group_id not in durable.groups:
        return durable
    return replace(durable, groups=durable.groups.without(group_id))


def _offsets_replayed(
    durable: Durable, run: tuple[str, str, bool], records: Iterable[Record]
) -> Durable:
    group_id, topic, gone = run
    topics = durable.topics_of(group_id)
    partitions = topics.get(topic) or _NO_PARTITIONS
    if gone:
        return _with_topics(durable, group_id, _without_offsets(topics, topic, partitions, records))
    partitions = partitions.put_all(_offset_of(record) for record in records)
    stored = _with_topics(durable, group_id, topics.hold(topic, partitions))
    if group_id in durable.groups:
        return stored
    return replace(stored, groups=durable.groups.put(group_id, None))


def _offset_of(record: Record) -> tuple[int, OffsetCommitValue]:
    key, value = record
    assert isinstance(key, OffsetCommitKey)
    assert isinstance(value, OffsetCommitValue), "the value of another key"
    return key.partition, value


def _without_offsets(
    topics: TopicOffsets, topic: str, partitions: PartitionOffsets, records: Iterable[Record]
) -> TopicOffsets:
    """A map that becomes empty is dropped, so its order starts afresh."""
    for record in records:
        assert isinstance(record.key, OffsetCommitKey)
        if record.key.partition in partitions:
            partitions = partitions.without(record.key.partition)
    if partitions:
        return topics.hold(topic, partitions)
    return topics.without(topic) if topic in topics else topics


def _with_topics(durable: Durable, group_id: str, topics: TopicOffsets) -> Durable:
    if topics:
        return Durable(durable.groups, durable.offsets.set(group_id, topics))
    if group_id in durable.offsets:
        return Durable(durable.groups, durable.offsets.delete(group_id))
    return durable


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
