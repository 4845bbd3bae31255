"""What became of commits: accepted, refused, lost on the way, or counted without a word."""

from __future__ import annotations

from collections.abc import Iterator

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.entries import Link
from emulator.ledger.epochs import Epoch, Trouble
from emulator.ledger.leaders import Leaders
from emulator.ledger.offsets import Committed, InFlight, OffsetBook
from emulator.ledger.ownership import Ownership, link_to

TOOK = "took the commit"
ACKNOWLEDGED = "acknowledged the commit"
"""What a coordinator that had been replaced did with a commit."""

SILENT = ("NETWORK_EXCEPTION", "REQUEST_TIMED_OUT")
"""How a commit ends of which its sender does not learn whether it was taken."""


class Fates:
    """Follows each commit and tells the epoch it speaks of when it did not come to count."""

    def __init__(self, ownership: Ownership, offsets: OffsetBook, leaders: Leaders) -> None:
        self._ownership = ownership
        self._offsets = offsets
        self._leaders = leaders
        self._in_vain: dict[str, list[Epoch]] = {}
        """Commits that a replaced coordinator took and has not answered, by name."""

        self._dead: set[str] = set()
        """Consumers whose process died without a word."""

    def accepted(self, event: ev.Event, what: ev.CommitAccepted) -> None:
        """Store what the coordinator appended; who has been replaced stores nothing for long."""
        self._offsets.taken(what)
        leader = self._leaders.of(what.group)
        successor = leader.replaced(what)
        if successor is not None:
            self._taken_in_vain(event, what, successor, leader.leader)
            return
        holdings = self._ownership.consumer(what.consumer).holdings

        def honest(partition: TopicPartition, committed: Committed) -> bool:
            """Say whether the sender's epoch began below what is committed, knowing it."""
            holding = holdings.get(partition)
            if holding is None:
                return False
            epoch, since = holding[0], committed.event
            return since is None or (epoch.start < committed.offset and epoch.opened_event > since)

        self._offsets.accept(event, what, honest)
        for epoch, offset in self._spoken_of(what):
            if epoch.limit is not None and offset > epoch.limit:
                self._offsets.of(epoch.group, epoch.partition).beyond = epoch.cut
        if what.consumer in self._dead:
            self._nobody_hears(what.consumer)

    def started(self, what: ev.ConsumerStarted) -> None:
        """Note that a process is there again to be answered."""
        self._dead.discard(what.consumer)

    def stopped(self, what: ev.ConsumerStopped) -> None:
        """Note that nobody hears of commits that were taken and not answered yet."""
        if what.how != "closed":
            self._dead.add(what.consumer)
            self._nobody_hears(what.consumer)

    def _nobody_hears(self, consumer: str) -> None:
        for flight in self._offsets.taken_from(consumer):
            self._offsets.unheard(flight)

    def _taken_in_vain(
        self, event: ev.Event, what: ev.CommitAccepted, successor: Link, leader: int
    ) -> None:
        text = f"broker {what.broker}, replaced by broker {leader}, appended commit {what.commit}"
        link = link_to(event, f"{text} of {what.consumer} at log offset {what.log_offset}")
        for epoch, offset in self._spoken_of(what):
            if epoch.stale is None or epoch.stale.offset < offset:
                epoch.stale = Trouble(offset, link, TOOK, successor)
                self._in_vain.setdefault(what.commit, []).append(epoch)

    def refused(self, event: ev.Event, what: ev.CommitRefused) -> None:
        """Tell the epochs a commit speaks of that it was refused."""
        self._offsets.landed(what.consumer, what.commit)
        self._turned_away(event, what, what.error)

    def answered(self, event: ev.Event, what: ev.CommitAnswered) -> None:
        """Note a commit whose sender was told of a failure.

        Any error but those of :data:`SILENT` comes from a broker that did not take it, such as
        one that still loads the group.
        """
        flight = self._offsets.landed(what.consumer, what.commit)
        for epoch in self._in_vain.pop(what.commit, ()):
            if what.error == "NONE" and epoch.stale is not None:
                epoch.stale = epoch.stale._replace(error=ACKNOWLEDGED)
        if flight is None:
            return
        if what.error == "NONE":
            self._offsets.heard(flight)
            return
        if flight.accepted or what.error in SILENT:
            self._unheard(event, flight, what.error)
        else:
            self._turned_away(event, flight.sent, what.error)

    def _turned_away(
        self, event: ev.Event, commit: ev.CommitRefused | ev.CommitSent, error: str
    ) -> None:
        link = link_to(event, f"commit {commit.commit} of {commit.consumer} refused: {error}")
        for epoch, offset in self._spoken_of(commit):
            if epoch.refused is None or epoch.refused.offset < offset:
                epoch.refused = Trouble(offset, link, error)

    def message_lost(self, event: ev.Event, what: ev.MessageLost) -> None:
        """Note a commit whose request or response never arrived."""
        if not what.commit:
            return
        for party in (what.sender, what.receiver):
            flight = self._offsets.flight(party, what.commit)
            if flight is not None:
                self._unheard(event, flight, what.kind)

    def _unheard(self, event: ev.Event, flight: InFlight, detail: str) -> None:
        """A commit's sender will not hear of it: it counts unseen, or never came to count."""
        if flight.accepted:
            self._offsets.unheard(flight)
            return
        sent = flight.sent
        link = link_to(event, f"commit {sent.commit} of {sent.consumer} lost on its way: {detail}")
        for epoch, offset in self._spoken_of(sent):
            if epoch.lost is None or epoch.lost.offset < offset:
                epoch.lost = Trouble(offset, link, detail)

    def _spoken_of(
        self, commit: ev.CommitAccepted | ev.CommitRefused | ev.CommitSent
    ) -> Iterator[tuple[Epoch, int]]:
        """Yield the epochs whose progress a commit tells, and how far."""
        for partition, offset in commit.offsets:
            epoch = self._ownership.committer(commit.consumer, commit.group, partition)
            if epoch is not None:
                yield epoch, offset
