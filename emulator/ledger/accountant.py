"""The accountant: events in, one at a time; the ledger out.

The rules are those of ``consumer-client.md`` 0.2, applied as records are processed instead of
when an epoch closes, so that the order in which owners worked is known. What is kept grows
with epochs and entries, never with records or time. It works from whatever words a history
has: a real Kafka's, with epochs, processing and accepted commits alone, gives a ledger too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.closing import Balance, close_books
from emulator.ledger.entries import Ledger
from emulator.ledger.fates import Fates
from emulator.ledger.leaders import Leaders
from emulator.ledger.offsets import OffsetBook
from emulator.ledger.ownership import Ownership
from emulator.ledger.roots import Roots
from emulator.ledger.truncation import Truncations
from emulator.ledger.work import Work

Handler = Callable[[ev.Event, Any], None]


class Accountant:
    """Keeps the books of a run; ``feed`` it every event in order, then ``close`` it once.

    *shared_assignors*: names of assignors that give a partition to several members on purpose.
    Each member of such a group is a reader of its own: what it processed twice, and what it never
    saw because another's commit passed it, is counted for it alone.
    """

    def __init__(self, shared_assignors: Collection[str] = ()) -> None:
        self._roots = Roots()
        self._offsets = OffsetBook()
        self._leaders = Leaders()
        self._ownership = Ownership(self._roots, self._offsets, self._leaders, shared_assignors)
        self._truncations = Truncations(self._ownership, self._offsets)
        self._work = Work(self._ownership)
        self._fates = Fates(self._ownership, self._offsets, self._leaders)
        self._log_ends: dict[TopicPartition, int] = {}
        self._handlers = self._table()

    def feed(self, event: ev.Event) -> None:
        """Account one event."""
        self._roots.follow(event)
        self._leaders.follow(event)
        handler = self._handlers.get(type(event.what))
        if handler is not None:
            handler(event, event.what)

    def close(self) -> Ledger:
        """Apply the rules for the end of a run and return the ledger."""
        balance = Balance(
            accounts=tuple(self._ownership.accounts.values()),
            retired=tuple(self._ownership.retired),
            partials=tuple(self._work.partials),
            log_ends=self._log_ends,
            processed=self._work.processed,
            reprocessed=self._work.reprocessed,
            duplicates_avoided=self._ownership.duplicates_avoided,
        )
        return close_books(balance, self._offsets, self._ownership)

    def _table(self) -> dict[type, Handler]:
        owns, works, fates = self._ownership, self._work, self._fates
        return {
            ev.TopicCreated: owns.topic_created,
            ev.PartitionsAdded: owns.topics.add,
            ev.TopicDeleted: owns.topic_deleted,
            ev.ConsumerStarted: self._started,
            ev.ConsumerStopped: self._stopped,
            ev.ConsumerPaused: owns.paused,
            ev.MemberRemoved: owns.member_removed,
            ev.ClientDropped: owns.client_dropped,
            ev.JoinPhaseEnded: owns.joined,
            ev.GroupStabilised: owns.stabilised,
            ev.BrokerDown: owns.broker_down,
            ev.CoordinatorMoved: owns.coordinator_moved,
            ev.RecordsTruncated: self._truncations.truncated,
            ev.ReadOn: self._truncations.read_on,
            ev.EpochOpened: owns.epoch_opened,
            ev.EpochClosed: works.epoch_closed,
            ev.Processed: works.worked,
            ev.PartlyProcessed: works.partly_worked,
            ev.NotProcessed: works.let_go,
            ev.Polled: works.polled,
            ev.CommitSent: self._offsets.sent,
            ev.CommitAccepted: fates.accepted,
            ev.CommitRefused: fates.refused,
            ev.CommitAnswered: fates.answered,
            ev.MessageLost: fates.message_lost,
            ev.OffsetsDropped: self._offsets.drop,
            ev.RunEnded: self._run_ended,
        }

    def _started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        self._ownership.consumer_started(event, what)
        self._fates.started(what)

    def _stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        self._ownership.consumer_stopped(event, what)
        self._fates.stopped(what)

    def _run_ended(self, _: ev.Event, what: ev.RunEnded) -> None:
        self._log_ends = dict(what.log_ends)
        for name, partition, position in what.positions:
            holding = self._ownership.consumer(name).holdings.get(partition)
            if holding is not None:
                holding[0].position = max(holding[0].position, position)
                holding[0].keep_back()
