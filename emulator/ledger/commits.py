"""Committed offsets, and the outcomes of commits: accepted, refused, lost, or unacknowledged.

The committed offset of a group's partition is the newest accepted one. An epoch may start there long after
the commit, so :class:`Committed` also keeps what the ledger then needs for the cause: its sender, and its fate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.ledger.cluster import Coordinators, OffsetsPartition, link_to
from emulator.ledger.entries import Link, Step
from emulator.ledger.epochs import Epoch, FailedCommit

MAX_IN_FLIGHT = 256
"""Unanswered commits remembered for each consumer."""

NONE_COMMITTED = -1

BY_AN_ADMINISTRATOR, BY_A_BACKUP = "by an administrator", "by a restored backup"

ACCEPTED, ACKNOWLEDGED = "accepted the commit", "acknowledged the commit"
"""How a replaced coordinator handled a commit."""

NO_ANSWER = ("NETWORK_EXCEPTION", "REQUEST_TIMED_OUT")
"""Errors after which the sender does not know whether its commit was accepted."""


@dataclass(slots=True, eq=False)
class Committed:
    """The committed offset of one partition of one group."""

    offset: int = NONE_COMMITTED
    accepted: Link | None = None
    """The link of the event that shows that it was accepted, if one does; without values."""

    consumer: str = ""
    commit: str = ""
    processed: int | None = None
    """The end of what its sender had processed when it sent the commit, if the events show it."""

    in_close: bool = False
    """Whether close() made it, by auto-commit."""

    rewound_from: int | None = None
    """The higher committed offset that it, or an earlier one, overwrote; until an epoch begins."""

    reset_from: int | None = None
    """The offset before a reset, ``NONE_COMMITTED`` if none; until an epoch begins or a commit."""

    reset_by: str = ""
    """:data:`BY_AN_ADMINISTRATOR` or :data:`BY_A_BACKUP`."""

    outside: bool = False
    """Whether a store outside Kafka has had offsets of the partition, perhaps besides Kafka."""

    unacknowledged: bool = False
    """Whether its sender got no response and assumes that it failed."""

    acknowledged: bool = False
    """Whether its sender was answered: all replicas in sync had it."""

    acknowledged_before: int | None = None
    """The newest earlier committed offset that its sender knows to be accepted."""

    of_old_topic: bool = False
    """Whether its sender read a topic of the same name that had been deleted before."""

    truncation: Link | None = None
    """The truncation that made the log end below the offset, unknown to the sender."""

    dropped: Link | None = None
    dropped_why: str = ""
    dropped_members: int = -1
    """The number of members of the group when the offset was removed; -1: unknown."""

    @property
    def link(self) -> Link | None:
        """The link that shows it."""
        values = (self.consumer, self.offset)
        return None if self.accepted is None else replace(self.accepted, values=values)

    def reset(self, offset: int, by: str) -> None:
        """Apply a reset to *offset*, by an administrator or a backup, which is not a rewind."""
        reset_from = self.offset if self.reset_from is None else self.reset_from
        self.accept(offset, own_progress=True)
        self.reset_from, self.reset_by = reset_from, by

    def accept(self, offset: int, *, own_progress: bool, answered: bool = True) -> None:
        """Apply an accepted *offset*.

        *own_progress*: a lower offset is the sender's real progress, not a rewind. *answered*:
        whether the sender of the previous commit knows its outcome by now.
        """
        old, self.reset_from = self.offset, None
        if answered and not self.unacknowledged:
            self.acknowledged_before = None if old == NONE_COMMITTED else old
        self.unacknowledged = False
        if own_progress:
            self.rewound_from = None
        elif offset < old:
            self.rewound_from = max(old, self.rewound_from or 0)
        elif self.rewound_from is not None and offset >= self.rewound_from:
            self.rewound_from = None
        self.offset, self.truncation, self.dropped, self.dropped_why = offset, None, None, ""
        self.of_old_topic = self.in_close = self.acknowledged = False

    def acknowledge(self, offset: int, commit: str) -> None:
        """Note that the sender of this *commit*, or of an earlier one, learned that it was accepted."""
        self.acknowledged = self.acknowledged or commit == self.commit
        if commit != self.commit and offset <= self.offset:
            self.acknowledged_before = max(offset, self.acknowledged_before or 0)

    def drop(self, link: Link, fact: ev.OffsetsDropped) -> None:
        """Remove the offset, because the coordinator removed it."""
        self.correct(NONE_COMMITTED)
        self.dropped, self.dropped_why, self.dropped_members = link, fact.why, fact.members

    def correct(self, offset: int) -> None:
        """Set the offset that the coordinator holds, whatever was accepted before."""
        self.offset, self.accepted, self.processed, self.commit = offset, None, None, ""
        self.on_epoch_opened()

    def on_epoch_opened(self) -> None:
        """Discard the values that concern only the epoch that has just begun."""
        self.rewound_from, self.unacknowledged, self.acknowledged_before = None, False, None
        self.reset_from = None


@dataclass(slots=True, eq=False)
class InFlight:
    """A commit that was sent and not yet answered."""

    event: ev.Event
    sent: ev.CommitSent
    accepted: bool = False

    @property
    def link(self) -> Link:
        """The link of a chain that the event of the commit shows."""
        return link_to(self.event, Step.COMMIT_SENT, self.sent.consumer, self.sent.commit)


OwnProgress = Callable[[TopicPartition, Committed], bool]
"""Returns whether a commit below the present one is its sender's own progress."""


class CommittedOffsets:
    """The committed offsets of all groups, and all commits in flight."""

    __slots__ = ("_committed", "_flights")

    def __init__(self) -> None:
        self._committed = defaultdict[str, defaultdict[TopicPartition, Committed]](
            lambda: defaultdict(Committed)
        )
        self._flights: dict[str, dict[str, InFlight]] = {}

    def of(self, group: str, partition: TopicPartition) -> Committed:
        """Return the committed offset, ``NONE_COMMITTED`` if there is none."""
        return self._committed[group][partition]

    def on_sent(self, event: ev.Event, fact: ev.CommitSent) -> None:
        """Store a commit until its outcome is known."""
        flights = self._flights.setdefault(fact.consumer, {})
        flights[fact.commit] = InFlight(event, fact)
        if len(flights) > MAX_IN_FLIGHT:
            del flights[next(iter(flights))]

    def flight(self, consumer: str, commit: str) -> InFlight | None:
        """Return a commit in flight."""
        return self._flights.get(consumer, {}).get(commit)

    def complete(self, consumer: str, commit: str) -> InFlight | None:
        """Remove a commit in flight, which was answered or refused, and return it."""
        return self._flights.get(consumer, {}).pop(commit, None)

    def undecided(self, consumer: str) -> Iterator[InFlight]:
        """Yield the commits of *consumer* that no coordinator has accepted, oldest first."""
        return (each for each in self._flights.get(consumer, {}).values() if not each.accepted)

    def unanswered(self, consumer: str) -> list[InFlight]:
        """Return the commits of *consumer* that were accepted and not answered."""
        return [flight for flight in self._flights.get(consumer, {}).values() if flight.accepted]

    def accept(
        self, event: ev.Event, fact: ev.CommitAccepted | ev.OffsetsStored, is_own: OwnProgress
    ) -> None:
        """Store accepted offsets; *is_own* is asked about those that lower an offset."""
        flight = self.flight(fact.consumer, fact.commit)
        accepted = link_to(event, Step.COMMITTED)
        processed: tuple[int, ...] = ()
        if flight is not None and flight.sent.offsets == fact.offsets:
            processed = flight.sent.processed
        of_group = self._committed[fact.group]
        for index, (partition, offset) in enumerate(fact.offsets):
            committed = of_group[partition]
            if flight is not None and flight.sent.kind == ev.CommitKind.ADMIN:
                committed.reset(offset, BY_AN_ADMINISTRATOR)
            else:
                answered = self.flight(committed.consumer, committed.commit) is None
                own = offset < committed.offset and is_own(partition, committed)
                committed.accept(offset, own_progress=own, answered=answered)
            committed.accepted = accepted
            committed.consumer, committed.commit = fact.consumer, fact.commit
            committed.processed = processed[index] if processed else None
            committed.in_close = flight is not None and flight.sent.kind == ev.CommitKind.CLOSE

    def acknowledge(self, flight: InFlight) -> None:
        """Note that the sender of an accepted commit got the answer."""
        for partition, offset in flight.sent.offsets:
            self.of(flight.sent.group, partition).acknowledge(offset, flight.sent.commit)

    def leave_unacknowledged(self, flight: InFlight) -> None:
        """Note that the sender of an accepted commit will not get an answer."""
        if flight.sent.kind == ev.CommitKind.ADMIN:
            return
        for partition, _ in flight.sent.offsets:
            committed = self.of(flight.sent.group, partition)
            if committed.commit == flight.sent.commit:
                committed.unacknowledged = True

    def on_dropped(self, event: ev.Event, fact: ev.OffsetsDropped) -> None:
        """Remove committed offsets that the coordinator removed."""
        for partition in fact.partitions:
            link = link_to(event, Step.OFFSETS_DROPPED, str(partition), fact.why)
            self.of(fact.group, partition).drop(link, fact)

    def truncate(self, partition: TopicPartition, first: int, link: Link) -> None:
        """Note that offsets beyond *first* were committed for records that were truncated."""
        for of_group in self._committed.values():
            if (committed := of_group.get(partition)) and committed.offset > first:
                committed.truncation = link

    def forget_topic(self, topic: str) -> None:
        """Remove the committed offsets of a deleted topic."""
        for of_group in self._committed.values():
            for partition in [each for each in of_group if each.topic == topic]:
                del of_group[partition]


class Committers(Protocol):
    """Looks up the epochs whose progress a commit reports."""

    def open_epoch(self, consumer: str, partition: TopicPartition) -> Epoch | None:
        """Return the open epoch of a consumer on a partition."""

    def committer(self, consumer: str, group: str, partition: TopicPartition) -> Epoch | None:
        """Return the open epoch, or the one just closed."""

    def topic_is_newer(self, epoch: Epoch) -> bool:
        """Return whether the topic was created again after an epoch began."""


class CommitOutcomes:
    """Follows each commit; notes failures in the epochs whose progress it reports."""

    def __init__(
        self, committers: Committers, offsets: CommittedOffsets, coordinators: Coordinators
    ) -> None:
        self._committers = committers
        self._offsets = offsets
        self._coordinators = coordinators
        self._at_stale_leader: dict[str, list[Epoch]] = {}
        """Commits that a replaced coordinator accepted and has not answered, by name."""

        self._dead: set[str] = set()
        """Consumers whose process ended without closing the consumer."""

    def on_accepted(self, event: ev.Event, fact: ev.CommitAccepted) -> None:
        """Store what the coordinator appended, unless it had been replaced."""
        flight = self._offsets.flight(fact.consumer, fact.commit)
        if flight is not None:
            flight.accepted = True
        coordinators = self._coordinators.of(fact.group)
        successor = coordinators.successor_of(event, fact)
        if successor is not None:
            self._note_stale(event, fact, successor, coordinators)
            return
        self._accept(event, fact)

    def on_stored(self, event: ev.Event, fact: ev.OffsetsStored) -> None:
        """Store what an offset store outside Kafka wrote; it refuses nothing."""
        flight = self._offsets.flight(fact.consumer, fact.commit)
        for partition, _ in fact.offsets:
            self._offsets.of(fact.group, partition).outside = True
        if flight is not None:
            flight.accepted = True
        if flight is None or flight.sent.kind is not ev.CommitKind.DUAL:
            self._accept(event, fact)

    def _accept(self, event: ev.Event, fact: ev.CommitAccepted | ev.OffsetsStored) -> None:
        def own_progress(partition: TopicPartition, committed: Committed) -> bool:
            """Return whether the sender's epoch knowingly began below the committed offset."""
            epoch, since = self._committers.open_epoch(fact.consumer, partition), committed.accepted
            if epoch is None:
                return False
            began_below = epoch.start < committed.offset
            return since is None or (began_below and epoch.opened.instant > since.instant)

        self._offsets.accept(event, fact, own_progress)
        for epoch, offset in self._epochs_of(fact):
            if epoch.limit is not None and offset > epoch.limit:
                self._offsets.of(epoch.group, epoch.partition).truncation = epoch.truncation
            if self._committers.topic_is_newer(epoch):
                self._offsets.of(epoch.group, epoch.partition).of_old_topic = True
        if fact.consumer in self._dead:
            self._leave_unacknowledged(fact.consumer)

    def on_started(self, fact: ev.ConsumerStarted) -> None:
        """Note that a process runs again and can get answers."""
        self._dead.discard(fact.consumer)

    def on_stopped(self, fact: ev.ConsumerStopped) -> None:
        """Note that a process that was not closed gets no more answers to its commits."""
        if fact.how != ev.End.CLOSED:
            self._dead.add(fact.consumer)
            self._leave_unacknowledged(fact.consumer)

    def _leave_unacknowledged(self, consumer: str) -> None:
        for flight in self._offsets.unanswered(consumer):
            self._offsets.leave_unacknowledged(flight)

    def _note_stale(
        self, event: ev.Event, fact: ev.CommitAccepted, successor: Link, now: OffsetsPartition
    ) -> None:
        values = (fact.consumer, fact.commit, fact.broker, now.leader, fact.log_offset)
        link = link_to(event, Step.COMMIT_TO_STALE_LEADER, *values)
        for epoch, offset in self._epochs_of(fact):
            if epoch.stale is None or epoch.stale.offset < offset:
                epoch.stale = FailedCommit(offset, link, ACCEPTED, successor)
                self._at_stale_leader.setdefault(fact.commit, []).append(epoch)

    def on_refused(self, event: ev.Event, fact: ev.CommitRefused) -> None:
        """Note in the epochs of a commit that it was refused."""
        self._offsets.complete(fact.consumer, fact.commit)
        self._note_refused(event, fact, fact.error)

    def on_answered(self, event: ev.Event, fact: ev.CommitAnswered) -> None:
        """Note the answer that the sender of a commit got.

        Any error except :data:`NO_ANSWER` comes from a broker that did not accept the commit,
        such as one that is still loading the group.
        """
        flight = self._offsets.complete(fact.consumer, fact.commit)
        for epoch in self._at_stale_leader.pop(fact.commit, ()):
            if fact.error == "NONE" and epoch.stale is not None:
                epoch.stale = epoch.stale._replace(error=ACKNOWLEDGED)
        if flight is None:
            return
        if fact.error == "NONE":
            self._offsets.acknowledge(flight)
            return
        if flight.accepted or fact.error in NO_ANSWER:
            self._note_unanswered(event, flight, fact.error)
        else:
            self._note_refused(event, flight.sent, fact.error)

    def _note_refused(
        self, event: ev.Event, commit: ev.CommitRefused | ev.CommitSent, error: str
    ) -> None:
        link = link_to(event, Step.COMMIT_REFUSED, commit.consumer, commit.commit, error)
        for epoch, offset in self._epochs_of(commit):
            if epoch.refused is None or epoch.refused.offset < offset:
                epoch.refused = FailedCommit(offset, link, error)

    def on_message_lost(self, event: ev.Event, fact: ev.MessageLost) -> None:
        """Note a commit whose request or response was lost."""
        if not fact.commit:
            return
        for party in (fact.sender, fact.receiver):
            flight = self._offsets.flight(party, fact.commit)
            if flight is not None:
                self._note_unanswered(event, flight, fact.kind)

    def _note_unanswered(self, event: ev.Event, flight: InFlight, detail: str) -> None:
        """Note a commit without an answer: accepted but unacknowledged, or lost."""
        if flight.accepted:
            self._offsets.leave_unacknowledged(flight)
            return
        link = link_to(event, Step.COMMIT_LOST, flight.sent.consumer, flight.sent.commit, detail)
        for epoch, offset in self._epochs_of(flight.sent):
            if epoch.lost is None or epoch.lost.offset < offset:
                epoch.lost = FailedCommit(offset, link, detail)

    def _epochs_of(
        self, commit: ev.CommitAccepted | ev.CommitRefused | ev.CommitSent | ev.OffsetsStored
    ) -> Iterator[tuple[Epoch, int]]:
        """Yield the epochs whose progress a commit reports, each with the offset."""
        for partition, offset in commit.offsets:
            epoch = self._committers.committer(commit.consumer, commit.group, partition)
            if epoch is not None:
                yield epoch, offset
