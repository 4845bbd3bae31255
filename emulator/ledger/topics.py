"""Which topic a name means at present, and since when its partitions exist."""

from __future__ import annotations

from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator.events import Event, PartitionsAdded, TopicCreated
from emulator.ledger.accounts import Strata

ALWAYS = -1
"""The creating event of what existed before the events begin."""


@dataclass(slots=True, eq=False)
class Topic:
    """One topic from creation to deletion."""

    topic_id: str = ""
    log_starts: tuple[int, ...] = ()
    sizes: list[tuple[int, int]] = field(default_factory=list)
    """(number of partitions, id of the event since which), ascending."""

    strata: dict[int, Strata] = field(default_factory=dict)
    """Of the partitions whose logs were truncated."""

    def truncate(self, partition: int, first: int, incarnation: int) -> None:
        """Let a new incarnation of a partition's log begin at *first*."""
        below = [layer for layer in self.strata_of(partition) if layer[0] < first]
        self.strata[partition] = (*below, (first, incarnation))

    def strata_of(self, partition: int) -> Strata:
        """Return from where on the records of a partition are of which incarnation."""
        return self.strata.get(partition, ((0, 0),))

    def created(self, partition: int) -> int:
        """Return the id of the event that created *partition*."""
        for size, event in self.sizes:
            if partition < size:
                return event
        return ALWAYS

    def log_start(self, partition: int) -> int:
        """Return the first offset *partition* had when it was created."""
        return self.log_starts[partition] if partition < len(self.log_starts) else 0


class TopicBook:
    """The topics that exist, by name."""

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}

    def of(self, name: str) -> Topic:
        """Return the topic called *name*; one the events never created has always been there."""
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = Topic()
        return topic

    def create(self, event: Event, what: TopicCreated) -> None:
        """Take in a new topic."""
        sizes = [(len(what.log_starts), event.id)]
        self._topics[what.topic] = Topic(what.topic_id, what.log_starts, sizes)

    def add(self, event: Event, what: PartitionsAdded) -> None:
        """Take in new partitions of a topic."""
        self.of(what.topic).sizes.append((what.partitions, event.id))

    def delete(self, name: str) -> None:
        """Forget a topic; the next one of this name is another."""
        self._topics.pop(name, None)

    def partitions(self, name: str) -> tuple[TopicPartition, ...]:
        """Return the partitions of a topic that the events created."""
        sizes = self.of(name).sizes
        return tuple(TopicPartition(name, number) for number in range(sizes[-1][0] if sizes else 0))
