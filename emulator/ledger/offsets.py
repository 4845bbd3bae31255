"""What is committed, as the events tell it, and what has become of commits under way.

The committed offset of a group's partition is the newest accepted one; beside it stands what
the ledger will ask when an epoch begins there: did the commit overwrite a newer one, was it
one short, did its owner never hear that it counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assignors.types import TopicPartition
from emulator.events import CommitAccepted, CommitSent, Event, OffsetsDropped
from emulator.ledger.entries import Link

IN_FLIGHT = 256
"""So many undecided commits are remembered for each consumer."""

NONE_COMMITTED = -1

BY_ADMIN = "admin"
"""The kind of a commit by which an administrator resets offsets."""


@dataclass(slots=True, eq=False)
class Committed:
    """The committed offset of one partition of one group."""

    offset: int = NONE_COMMITTED
    event: int | None = None
    """The event that accepted it; None where the events do not show who committed it."""

    at_us: int = 0
    consumer: str = ""
    commit: str = ""
    processed: int | None = None
    """How far its sender's handler was when it sent the commit, if the events tell."""

    rewound_from: int | None = None
    """The higher committed offset it, or one before it, overwrote; until an epoch begins."""

    reset_from: int | None = None
    """What was committed before an administrator reset it, ``NONE_COMMITTED`` if nothing was;
    until an epoch begins or a consumer commits."""

    unheard: bool = False
    """Its sender was left to think that it failed."""

    heard_before: int | None = None
    """The newest committed offset before this one that its sender knew of."""

    beyond: Link | None = None
    """The truncation by which the log ended before the offset, which its sender did not know."""

    dropped: Link | None = None
    dropped_why: str = ""
    dropped_members: int = -1
    """How many members the group had when the offset vanished; -1: not known."""

    @property
    def link(self) -> Link | None:
        """The step of a chain that shows it."""
        if self.event is None:
            return None
        return Link(self.event, self.at_us, f"{self.consumer} committed {self.offset}")

    def reset(self, offset: int) -> None:
        """Take *offset* from an administrator, who means what he does."""
        reset_from = self.offset if self.reset_from is None else self.reset_from
        self.accept(offset, honest=True)
        self.reset_from = reset_from

    def accept(self, offset: int, *, honest: bool, answered: bool = True) -> None:
        """Take *offset*; an *honest* lower one is its sender's progress, not a rewind.

        *answered*: whether the sender of the commit before knows by now what came of it.
        """
        old, self.reset_from = self.offset, None
        if answered and not self.unheard:
            self.heard_before = _known(old)
        self.unheard = False
        if honest:
            self.rewound_from = None
        elif offset < old:
            self.rewound_from = max(old, self.rewound_from or 0)
        elif self.rewound_from is not None and offset >= self.rewound_from:
            self.rewound_from = None
        self.offset, self.beyond, self.dropped, self.dropped_why = offset, None, None, ""

    def hear(self, offset: int, commit: str) -> None:
        """Let a sender learn that its commit counts, though newer ones may be under way."""
        if commit != self.commit and offset <= self.offset:
            self.heard_before = max(offset, self.heard_before or 0)

    def drop(self, link: Link, what: OffsetsDropped) -> None:
        """Forget the offset: it vanished from the coordinator."""
        self.settle(NONE_COMMITTED)
        self.dropped, self.dropped_why, self.dropped_members = link, what.why, what.members

    def settle(self, offset: int) -> None:
        """Learn that the coordinator holds *offset*, whatever was accepted before."""
        self.offset, self.event, self.processed, self.commit = offset, None, None, ""
        self.epoch_began()

    def epoch_began(self) -> None:
        """Forget what only the epoch that has just begun could ask."""
        self.rewound_from, self.unheard, self.heard_before = None, False, None
        self.reset_from = None


def _known(offset: int) -> int | None:
    return None if offset == NONE_COMMITTED else offset


@dataclass(slots=True, eq=False)
class InFlight:
    """A commit that was sent and not yet answered."""

    link: Link
    sent: CommitSent
    accepted: bool = False


Honest = Callable[[TopicPartition, Committed], bool]
"""Says whether a commit below the present one is its sender's own progress."""


class OffsetBook:
    """The committed offsets of all groups, and all commits in flight."""

    __slots__ = ("_committed", "_flights")

    def __init__(self) -> None:
        self._committed: dict[tuple[str, TopicPartition], Committed] = {}
        self._flights: dict[str, dict[str, InFlight]] = {}

    def of(self, group: str, partition: TopicPartition) -> Committed:
        """Return the committed offset, ``NONE_COMMITTED`` where there is none."""
        key = (group, partition)
        committed = self._committed.get(key)
        if committed is None:
            committed = self._committed[key] = Committed()
        return committed

    def sent(self, event: Event, what: CommitSent) -> None:
        """Remember a commit until its fate is known."""
        flights = self._flights.setdefault(what.consumer, {})
        link = Link(event.id, event.at_us, f"{what.consumer} sent commit {what.commit}")
        flights[what.commit] = InFlight(link, what)
        if len(flights) > IN_FLIGHT:
            del flights[next(iter(flights))]

    def flight(self, consumer: str, commit: str) -> InFlight | None:
        """Return a commit in flight."""
        return self._flights.get(consumer, {}).get(commit)

    def landed(self, consumer: str, commit: str) -> InFlight | None:
        """Return a commit in flight and forget it: its sender knows its fate, or never will."""
        return self._flights.get(consumer, {}).pop(commit, None)

    def undecided(self, consumer: str) -> Iterator[InFlight]:
        """Yield what *consumer* has sent and the coordinator has not decided, oldest first."""
        flights = self._flights.get(consumer, {}).values()
        return (flight for flight in flights if not flight.accepted)

    def taken(self, what: CommitAccepted) -> None:
        """Note that some coordinator has decided on a commit, whether or not it will count."""
        flight = self.flight(what.consumer, what.commit)
        if flight is not None:
            flight.accepted = True

    def taken_from(self, consumer: str) -> list[InFlight]:
        """Return what *consumer* has sent, was taken, and has not been answered."""
        return [flight for flight in self._flights.get(consumer, {}).values() if flight.accepted]

    def accept(self, event: Event, what: CommitAccepted, honest: Honest) -> None:
        """Store accepted offsets; *honest* is asked about those that lower the present one."""
        flight = self.flight(what.consumer, what.commit)
        handled: tuple[int, ...] = ()
        if flight is not None and flight.sent.offsets == what.offsets:
            handled = flight.sent.processed
        for index, (partition, offset) in enumerate(what.offsets):
            committed = self.of(what.group, partition)
            lower = offset < committed.offset
            if flight is not None and flight.sent.kind == BY_ADMIN:
                committed.reset(offset)
            else:
                answered = self.flight(committed.consumer, committed.commit) is None
                told = lower and honest(partition, committed)
                committed.accept(offset, honest=told, answered=answered)
            committed.event, committed.at_us = event.id, event.at_us
            committed.consumer, committed.commit = what.consumer, what.commit
            committed.processed = handled[index] if handled else None

    def heard(self, flight: InFlight) -> None:
        """Note that the sender of an accepted commit has learned that it was."""
        for partition, offset in flight.sent.offsets:
            self.of(flight.sent.group, partition).hear(offset, flight.sent.commit)

    def unheard(self, flight: InFlight) -> None:
        """Note that the sender of an accepted commit will never learn that it was."""
        if flight.sent.kind == BY_ADMIN:
            return
        for partition, _ in flight.sent.offsets:
            committed = self.of(flight.sent.group, partition)
            if committed.commit == flight.sent.commit:
                committed.unheard = True

    def drop(self, event: Event, what: OffsetsDropped) -> None:
        """Forget committed offsets that vanished."""
        for partition in what.partitions:
            link = Link(event.id, event.at_us, f"committed offset of {partition} {what.why}")
            self.of(what.group, partition).drop(link, what)

    def truncated(self, partition: TopicPartition, first: int, link: Link) -> None:
        """Note that offsets beyond *first* were committed for records that are gone."""
        for (_, where), committed in self._committed.items():
            if where == partition and committed.offset > first:
                committed.beyond = link

    def forget_topic(self, topic: str) -> None:
        """Forget what is committed for a topic that was deleted."""
        for key in [key for key in self._committed if key[1].topic == topic]:
            del self._committed[key]
