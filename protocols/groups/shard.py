"""The state of one offsets partition's coordinator, and the types of its group handlers.

A :class:`Shard` has three parts. :class:`Durable` holds the newest record of every key of the log,
up to the last record proposed; only replay creates a new one, live and at load. ``groups`` holds
classic groups in memory: a classic group changes in memory first and writes one record for each
generation, so memory may be ahead of the log. ``soft`` holds the soft state of consumer groups.

A handler takes a group or a shard and a :class:`Moment` and returns a :class:`Turn`: the new
state, effects to carry out at once, records to propose, and steps that wait for durability.
:class:`GroupKind` lists the operations that each group type implements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from immutables import Map

from assignors.registry import SERVER_SIDE, find_server_assignor
from assignors.types import Assignment, Subscriptions, TopicPartition, Topics
from assignors.values import dataclass
from protocols.groups.topics import TopicsImage
from protocols.java_maps import NOTHING, TimelineMap
from protocols.machine import Effect
from protocols.messages import OffsetCommitRequest, OffsetFetchRequest, TopicDescription
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataValue, OffsetCommitValue, Record
from protocols.settings import BrokerSettings

G = TypeVar("G")

PartitionOffsets = TimelineMap[int, OffsetCommitValue]
TopicOffsets = TimelineMap[str, PartitionOffsets]

_NO_GROUPS: TimelineMap[str, Any] = TimelineMap()
_NO_TOPICS: TopicOffsets = TimelineMap()


@dataclass(frozen=True, slots=True)
class Durable:
    """The state in a shard's log: the newest record of every key."""

    groups: TimelineMap[str, Any] = _NO_GROUPS
    """By id: the state that the group's records define. None: a group that has only offsets."""

    offsets: Map[str, TopicOffsets] = NOTHING
    """Group to topic to partition."""

    def is_classic(self, group_id: str) -> bool:
        """Return whether a group is classic; a group that does not exist counts as classic."""
        return is_classic(self.groups.get(group_id))

    def topics_of(self, group_id: str) -> TopicOffsets:
        """Return the committed offsets of a group by topic."""
        return self.offsets.get(group_id, _NO_TOPICS)

    def offset(self, group_id: str, topic: str, partition: int) -> OffsetCommitValue | None:
        """Return one committed offset, or None."""
        partitions = self.topics_of(group_id).get(topic)
        return None if partitions is None else partitions.get(partition)


def is_classic(logged: Any) -> bool:
    """Return whether a group's durable state is that of a classic group, or absent.

    Imports no module of another type: these are imported when a group of that type appears.
    """
    return logged is None or isinstance(logged, GroupMetadataValue)


_NOTHING_DURABLE = Durable()


@dataclass(frozen=True, slots=True)
class Shard(Generic[G]):
    """All groups of one offsets partition."""

    groups: Map[str, G] = NOTHING
    """Classic groups in memory; the log has the same group ids."""

    durable: Durable = _NOTHING_DURABLE
    soft: Map[str, Any] = NOTHING
    """Soft state by group id; a group without an entry has none."""

    def with_group(self, group_id: str, group: G) -> Shard[G]:
        """Return the shard with one group in memory in a new state."""
        return Shard(self.groups.set(group_id, group), self.durable, self.soft)

    def without_group(self, group_id: str) -> Shard[G]:
        """Return the shard without one group in memory."""
        return Shard(self.groups.delete(group_id), self.durable, self.soft)

    def with_soft(self, group_id: str, soft: Any) -> Shard[G]:
        """Return the shard with new soft state of one group."""
        return Shard(self.groups, self.durable, self.soft.set(group_id, soft))


S = TypeVar("S")
T = TypeVar("T")

ServerAssignor = Callable[[Topics, Subscriptions], Assignment]
"""Assigns the partitions of a consumer group (``ConsumerGroupPartitionAssignor``)."""

TopicsByName = Mapping[str, TopicDescription] | None
"""The topics that a broker knows; None: every topic exists."""

_NO_IMAGE = TopicsImage()


class Fix(Enum):
    """A correction of the coordinator that older versions of Kafka do not have."""

    STATIC_REJOIN = "static_rejoin"
    """The log gets the new member id of a static member that is back in a stable group (KAFKA-10284,
    Kafka 2.7)."""

    PENDING_SYNCS = "pending_syncs"
    """A member that has sent no SyncGroup within the rebalance timeout is removed (KAFKA-12890, Kafka
    3.0)."""

    NEW_MEMBERS = "new_members"
    """A new member is removed if its first join phase lasts longer than 5 minutes (KAFKA-7610, Kafka
    2.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """The broker on which a coordinator runs."""

    settings: BrokerSettings
    epoch_ms: int
    """The wall clock at the start of the run."""

    new_id: Callable[[str], str]
    """Generates a member id from its prefix."""

    topics: TopicsByName = None

    image: TopicsImage = _NO_IMAGE
    """The same topics; empty if every topic exists."""

    assignors: Mapping[str, ServerAssignor] = field(default_factory=lambda: SERVER_SIDE)
    """The coordinator's assignors by name."""

    lacks: Collection[Fix] = ()
    """The corrections that this version of the coordinator does not have."""

    pattern_us: int = 0
    """What its background thread takes to look patterns up among the topics."""

    def __post_init__(self) -> None:
        """Raise AssignorNotFoundError for unknown assignors, ValueError for none."""
        offered = self.settings.group_consumer_assignors
        if not offered or len(set(offered)) < len(offered):
            raise ValueError(
                f"group.consumer.assignors is {list(offered)!r}; it needs at least one name, "
                f"none of them twice. There are: {', '.join(self.assignors)}."
            )
        for name in offered:
            if name not in self.assignors:
                find_server_assignor(name)


class Moment(NamedTuple):
    """The current time and broker."""

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
        """Return the time that is *milliseconds* from now, in microseconds.

        A negative duration, which a request may contain, counts as 0.
        """
        return self.now_us + (milliseconds * 1000 if milliseconds > 0 else 0)


def ids_in_timer(name: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield every (group id, member id) that the name of a member's timer can denote.

    The parts of a name are joined by dashes without escaping; the first pair that names an existing
    group and member is meant.
    """
    place = name.find("-", len(prefix))
    while place != -1:
        yield name[len(prefix) : place], name[place + 1 :]
        place = name.find("-", place + 1)


class Retry(NamedTuple):
    """The action of a timer, retried a little later if its records cannot be written."""

    group_id: str
    timer: str


class LateTimers(NamedTuple):
    """Timers of a member that change once its turn is durable; if the append fails, they stay."""

    group_id: str
    member_id: str
    ends: tuple[str, ...]
    starts: tuple[tuple[str, int], ...]
    """The name of each, and how long it runs from then on, in milliseconds."""


Waiting = Any
"""A step of a turn that waits until everything proposed so far is durable.

A ``Send`` is a reply, a ``Report`` is a fact that holds from then on, a :class:`Retry` belongs to
a timer, :class:`LateTimers` to a consumer group; anything else belongs to a classic group.
"""


@dataclass(frozen=True, slots=True)
class Turn(Generic[S]):
    """The result of a handler."""

    state: S
    effects: tuple[Effect, ...] = ()
    """To be carried out at once."""

    records: tuple[Record, ...] = ()
    """To be proposed as one atomic batch."""

    waits: tuple[Waiting, ...] = ()

    def then(self, move: Callable[[S], Turn[T]]) -> Turn[T]:
        """Run another handler on the new state; append its effects, records and waits."""
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

    def after_append(self, *waits: Waiting) -> Turn[S]:
        """Return the same turn with more steps that wait for its records."""
        return Turn(self.state, self.effects, self.records, self.waits + waits)


AnyShard = Shard[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKind:
    """One type of group."""

    validate_commit: Callable[
        [AnyShard, OffsetCommitRequest, Moment], ErrorCode | tuple[Effect, ...]
    ]
    """Return the error of a rejected commit, or the effects of one beside storing offsets."""

    create_for_commit: Callable[[AnyShard, str, Moment], AnyShard]
    """Create the group of a first commit, if there is none."""

    validate_fetch: Callable[[Durable, OffsetFetchRequest], ErrorCode | None]
    """Return the error if a fetch is rejected, else None."""

    validate_delete: Callable[[AnyShard, str], ErrorCode | None]
    """Return the error if a group cannot be deleted, else None."""

    delete: Callable[..., Turn[AnyShard]]
    """Delete a group (a shard, its *group_id*) without members; its offsets are already deleted."""

    validate_offset_delete: Callable[[AnyShard, str], ErrorCode | None]
    """Return the error if offsets of a group cannot be deleted, else None."""

    is_subscribed: Callable[[AnyShard, str, str], bool]
    """Return whether a subscription to a topic protects its offsets."""

    expires_from_ms: Callable[[AnyShard, str, TopicPartition, OffsetCommitValue], int | None]
    """Return the time from which the retention of an offset counts, or None while it is in use."""

    may_be_removed: Callable[[AnyShard, str], bool]
    """Return whether a group may be removed once it has no offsets."""

    on_loaded: Callable[..., Turn[AnyShard]]
    """Start a loaded group (a shard, its *group_id*, *at*)."""

    on_unloaded: Callable[[AnyShard, str, Moment], Turn[AnyShard]]
    """Unload a group; pending requests get NOT_COORDINATOR."""
