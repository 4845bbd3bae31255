"""Topics and coordinators as the events show them.

Topics: the current topic of a name, and when each of its partitions was created. Coordinators: the
leader of each offsets partition, brokers that still act as coordinator after they were replaced,
and load times. A history without broker events (one of a real cluster) has no stale coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import (
    Appended,
    BrokerDown,
    BrokerUp,
    CommitAccepted,
    CoordinatorLoaded,
    CoordinatorUnloaded,
    Event,
    Instant,
    LeaderChanged,
    OffsetGaps,
    PartitionsAdded,
    TopicCreated,
)
from emulator.ledger.entries import Link, Step

if TYPE_CHECKING:
    from emulator.events.offsets import Removed

Handler = Callable[[Event, Any], None]

OFFSETS_TOPIC = "__consumer_offsets"
NO_BROKER = -1

BEFORE_THE_RUN = Instant(-1, -1)
"""Used for a partition that existed before the first event."""

LogLayers = tuple[tuple[int, int], ...]
"""First offset and log incarnation of each layer of a log, ascending."""


INSTANT = attrgetter("instant")


def link_to(event: Event, step: Step, *values: str | int) -> Link:
    """Return the link of a chain that *event* shows."""
    return Link(event.id, event.at_us, step, values, event.row, event.cause)


@dataclass(slots=True, eq=False)
class Topic:
    """One topic from creation to deletion."""

    topic_id: str = ""
    log_starts: tuple[int, ...] = ()
    sizes: list[tuple[int, Instant]] = field(default_factory=list)
    """(number of partitions, when they were created), ascending."""

    log_layers: dict[int, LogLayers] = field(default_factory=dict)
    """Of the partitions whose logs were truncated."""

    gaps: dict[str, OffsetGaps] = field(default_factory=dict)
    """Which offsets hold no record, by group; empty name: for all others."""

    removed: dict[int, Removed] = field(default_factory=dict)
    """Of a compacted topic: the offsets whose records are gone, by partition."""

    def gaps_for(self, group: str, partition: int) -> OffsetGaps | Removed | None:
        """Return which offsets of a partition hold no record for a group; None: all hold one."""
        return self.gaps.get(group) or self.gaps.get("") or self.removed.get(partition)

    def compact(self, partition: int, gone: Removed) -> None:
        """Note that the log cleaner removed records."""
        known = self.removed.get(partition)
        self.removed[partition] = gone if known is None else known.plus(gone.ranges)

    def truncate(self, partition: int, first: int, incarnation: int) -> None:
        """Begin a new incarnation of a partition's log at *first*."""
        below = [layer for layer in self.log_layers_of(partition) if layer[0] < first]
        self.log_layers[partition] = (*below, (first, incarnation))

    def log_layers_of(self, partition: int) -> LogLayers:
        """Return first offset and incarnation of each layer of a partition's log."""
        return self.log_layers.get(partition, ((0, 0),))

    def created(self, partition: int) -> Instant:
        """Return when *partition* was created."""
        for size, instant in self.sizes:
            if partition < size:
                return instant
        return BEFORE_THE_RUN

    def log_start(self, partition: int) -> int:
        """Return the first offset of *partition* at its creation."""
        return self.log_starts[partition] if partition < len(self.log_starts) else 0


class Topics:
    """The topics that exist, by name."""

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}

    def of(self, name: str) -> Topic:
        """Return a topic; one without a creating event existed before the run."""
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = Topic()
        return topic

    def on_created(self, event: Event, fact: TopicCreated) -> None:
        """Add a topic."""
        sizes = [(len(fact.log_starts), event.instant)]
        self._topics[fact.topic] = Topic(fact.topic_id, fact.log_starts, sizes)

    def on_offset_gaps(self, _: Event, fact: OffsetGaps) -> None:
        """Note which offsets of a topic hold no record."""
        self.of(fact.topic).gaps[fact.group] = fact

    def on_partitions_added(self, event: Event, fact: PartitionsAdded) -> None:
        """Add partitions to a topic."""
        self.of(fact.topic).sizes.append((fact.partitions, event.instant))

    def delete(self, name: str) -> None:
        """Remove a topic; the next one of this name is another topic."""
        self._topics.pop(name, None)

    def partitions(self, name: str) -> tuple[TopicPartition, ...]:
        """Return the partitions of a topic that events created."""
        sizes = self.of(name).sizes
        return tuple(TopicPartition(name, number) for number in range(sizes[-1][0] if sizes else 0))


@dataclass(slots=True, eq=False)
class OffsetsPartition:
    """The leader of one offsets partition, and the leaders it has replaced."""

    leader: int = NO_BROKER
    """The leader by the controller's metadata; ``NO_BROKER``: none, or unknown."""

    epoch: int = 0
    failed: Link | None = None
    """The newest failure of a broker that led it, or that may have."""

    unclean: Link | None = None
    """The newest election of a replica that was not in sync."""

    loaded: Link | None = None
    """The newest completed load."""

    load_us: int = 0
    """Duration of that load, waiting included."""

    stale: dict[int, Link] = field(default_factory=dict)
    """Replaced brokers that still act as coordinator, each with its successor's election."""

    was_stale: list[tuple[int, Link, Instant]] = field(default_factory=list)
    """Brokers that have stopped acting as coordinator, with that election, and when they stopped."""

    def successor_of(self, event: Event, fact: CommitAccepted) -> Link | None:
        """Return the election that replaced the leader which accepted a commit, if one did.

        The event of the commit may be written after the leader has stopped.
        """
        if fact.leader_epoch >= self.epoch:
            return None
        at, elected = event.instant, self.stale.get(fact.broker)
        if elected is not None and elected.instant < at:
            return elected
        before = (link for b, link, end in self.was_stale if b == fact.broker and at < end)
        return next((link for link in before if link.instant < at), None)

    def unclean_after(self, accepted: Link) -> Link | None:
        """Return the newest unclean election if it came after a commit was accepted."""
        later = self.unclean is not None and self.unclean.instant > accepted.instant
        return self.unclean if later else None

    def stop(self, broker: int, at: Instant) -> None:
        """Note that a broker does not act as coordinator any more."""
        elected = self.stale.pop(broker, None)
        if elected is not None:
            self.was_stale.append((broker, elected, at))

    @property
    def split(self) -> Link | None:
        """The newest election whose predecessor still acts as coordinator; None if none does."""
        return max(self.stale.values(), key=INSTANT, default=None)


UNKNOWN_COORDINATOR = OffsetsPartition()
"""Used for a group whose coordinator the events do not show."""


class Coordinators:
    """The coordinators of all groups."""

    __slots__ = ("_down", "_handlers", "_number_of", "_partitions")

    def __init__(self) -> None:
        self._partitions: dict[int, OffsetsPartition] = {}
        self._number_of: dict[str, int] = {}
        """Group: its offsets partition."""

        self._down: set[int] = set()
        self._handlers: dict[type, Handler] = {
            Appended: self._on_appended,
            LeaderChanged: self._on_leader_changed,
            CoordinatorLoaded: self._on_loaded,
            CoordinatorUnloaded: self._on_unloaded,
            BrokerDown: self._on_broker_down,
            BrokerUp: self._on_broker_up,
        }

    def of(self, group: str) -> OffsetsPartition:
        """Return the coordinators of a group: the leader and those it replaced."""
        return self._partitions.get(self._number_of.get(group, NO_BROKER), UNKNOWN_COORDINATOR)

    def follow(self, event: Event) -> None:
        """Apply an event if it concerns coordinators."""
        handler = self._handlers.get(type(event.what))
        if handler is not None:
            handler(event, event.what)

    def before(self, table: Mapping[type, Handler]) -> dict[type, tuple[Handler, ...]]:
        """Return by type what an event is passed to: first to this, then to a handler of *table*."""
        return in_turn((self._handlers, table))

    def _at(self, number: int) -> OffsetsPartition:
        return self._partitions.setdefault(number, OffsetsPartition())

    def _on_appended(self, _: Event, fact: Appended) -> None:
        """Store the offsets partition of a group, and its first leader."""
        if fact.group not in self._number_of:
            self._number_of[fact.group] = fact.log_partition
            known = self._at(fact.log_partition)
            if known.leader == NO_BROKER and not known.epoch:
                known.leader = fact.broker

    def _on_leader_changed(self, event: Event, fact: LeaderChanged) -> None:
        """Apply an election; the old leader is stale until it unloads the partition."""
        if fact.partition.topic != OFFSETS_TOPIC:
            return
        known = self._at(fact.partition.partition)
        step = Step.ELECTED if fact.clean else Step.ELECTED_UNCLEAN
        link = link_to(event, step, fact.broker, str(fact.partition), fact.epoch)
        if fact.broker != NO_BROKER:
            if known.leader not in (NO_BROKER, fact.broker) and known.leader not in self._down:
                known.stale[known.leader] = link
            known.stop(fact.broker, event.instant)
            known.leader = fact.broker
        known.epoch = fact.epoch
        known.unclean = known.unclean if fact.clean else link

    def _on_loaded(self, event: Event, fact: CoordinatorLoaded) -> None:
        known = self._at(fact.log_partition)
        known.load_us = fact.waited_us + fact.loaded_us
        partition = f"{OFFSETS_TOPIC}-{fact.log_partition}"
        known.loaded = link_to(event, Step.LOADED, fact.broker, partition, known.load_us)

    def _on_unloaded(self, event: Event, fact: CoordinatorUnloaded) -> None:
        self._at(fact.log_partition).stop(fact.broker, event.instant)

    def _on_broker_down(self, event: Event, fact: BrokerDown) -> None:
        """Apply a broker failure: a broker that is down does not act as coordinator."""
        self._down.add(fact.broker)
        link = link_to(event, Step.BROKER_DOWN, fact.broker)
        for known in self._partitions.values():
            if known.leader in (NO_BROKER, fact.broker):
                known.failed = link
            known.stop(fact.broker, event.instant)

    def _on_broker_up(self, _: Event, fact: BrokerUp) -> None:
        self._down.discard(fact.broker)


def in_turn(tables: Iterable[Mapping[type, Handler]]) -> dict[type, tuple[Handler, ...]]:
    """Return by type what an event is passed to: the handlers of all tables, in their order."""
    return joined({kind: (handler,) for kind, handler in table.items()} for table in tables)


def joined(parts: Iterable[Mapping[type, tuple[Handler, ...]]]) -> dict[type, tuple[Handler, ...]]:
    """Return by type the handlers of all parts, in their order."""
    found: dict[type, tuple[Handler, ...]] = {}
    for part in parts:
        for kind, handlers in part.items():
            found[kind] = found.get(kind, ()) + handlers
    return found
