"""Build the ledger of a run from its events, one at a time.

Records are counted when they are processed, not when an epoch closes, so that the order of owners
is known. Memory grows with epochs and entries, not with records or time. Epochs, processing and
accepted commits are enough: the history of a real cluster gives a ledger, too.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.events.run import records_between
from emulator.ledger.accounts import Account, Holding, PartialWork
from emulator.ledger.attribution import Roots
from emulator.ledger.closing import Closing, ledger_of
from emulator.ledger.cluster import Coordinators, Handler, link_to
from emulator.ledger.commits import CommitOutcomes, CommittedOffsets
from emulator.ledger.coverage import Repeat
from emulator.ledger.entries import Ledger, Owner, Step
from emulator.ledger.epochs import Attribution, Epoch
from emulator.ledger.ownership import Ownership
from emulator.ledger.truncations import Truncations

if TYPE_CHECKING:
    from emulator.ledger.compaction import Compactions
    from emulator.ledger.restores import Restores
    from emulator.ledger.totals import PartitionTotals


class LedgerBuilder:
    """Builds the ledger of a run; pass every event to ``feed`` in order, then call ``close`` once.

    *shared_assignors*: names of assignors that intentionally assign a partition to several members.
    Each member of such a group is counted separately: its reprocessing, and the records that it
    never processed because another member's commit passed them.
    """

    def __init__(self, shared_assignors: Collection[str] = ()) -> None:
        self._roots = Roots()
        self._offsets = CommittedOffsets()
        self._coordinators = Coordinators()
        self._ownership = Ownership(
            self._roots, self._offsets, self._coordinators, shared_assignors
        )
        self._processing = Processing(self._ownership)
        self._truncations = Truncations(self._ownership, self._offsets)
        self._outcomes = CommitOutcomes(self._ownership, self._offsets, self._coordinators)
        self._restores: Restores | None = None
        self._compactions: Compactions | None = None
        self._log_ends: dict[TopicPartition, int] = {}
        self._read: dict[str, tuple[TopicPartition, ...]] = {}
        """Group: the partitions of its topics at the last sample of lag."""

        self.follow: Final = self._roots.follow
        """Takes every control event before the :attr:`handlers` of its type do."""

        self.handlers: Final = self._coordinators.before(self._table())
        """What counts an event, by its type."""

    def feed(self, event: ev.Event) -> None:
        """Count one event."""
        self.follow(event)
        for handler in self.handlers.get(type(event.what), ()):
            handler(event, event.what)

    def close(self) -> Ledger:
        """Apply the rules for the end of a run and return the ledger."""
        closing = Closing(
            accounts=tuple(self._ownership.accounts.values()),
            retired=tuple(self._ownership.retired),
            partials=tuple(self._processing.partials),
            log_ends=self._log_ends,
            read=self._read,
            processed=self._processing.processed,
            reprocessed=self._processing.reprocessed,
            undone=0 if self._restores is None else self._restores.undone,
            duplicates_avoided=self._ownership.duplicates_avoided,
        )
        return ledger_of(closing, self._offsets, self._ownership)

    def partitions(self) -> tuple[PartitionTotals, ...]:
        """Return the totals of each partition; call it after ``close``."""
        from emulator.ledger.totals import totals_of  # noqa: PLC0415  a run needs none

        accounts, retired = self._ownership.accounts.values(), self._ownership.retired
        return tuple(totals_of(accounts, retired, self._log_ends))

    def _table(self) -> dict[type, Handler]:
        ownership, processing, outcomes = self._ownership, self._processing, self._outcomes
        return {
            ev.TopicCreated: ownership.on_topic_created,
            ev.OffsetGaps: ownership.topics.on_offset_gaps,
            ev.PartitionsAdded: ownership.topics.on_partitions_added,
            ev.TopicDeleted: ownership.on_topic_deleted,
            ev.ConsumerStarted: self._on_consumer_started,
            ev.ConsumerStopped: self._on_consumer_stopped,
            ev.ConsumerPaused: ownership.on_paused,
            ev.MemberRemoved: ownership.on_member_removed,
            ev.ClientDropped: ownership.on_client_dropped,
            ev.ListenerCalled: ownership.on_listener_called,
            ev.JoinPhaseEnded: ownership.on_join_phase_ended,
            ev.GroupStabilised: ownership.on_stable,
            ev.BrokerDown: ownership.on_broker_down,
            ev.CoordinatorMoved: ownership.on_coordinator_moved,
            ev.RecordsTruncated: self._truncations.on_truncated,
            ev.ReadOn: self._truncations.on_read_on,
            ev.EpochOpened: ownership.on_epoch_opened,
            ev.EpochClosed: processing.on_epoch_closed,
            ev.Processed: processing.on_processed,
            ev.ProgressCounted: processing.on_progress_counted,
            ev.ProcessedOutOfOrder: processing.on_processed_out_of_order,
            ev.PartlyProcessed: processing.on_partly_processed,
            ev.NotProcessed: processing.on_not_processed,
            ev.Polled: processing.on_polled,
            ev.ProcessingFailed: processing.on_failed,
            ev.CommitSent: self._offsets.on_sent,
            ev.CommitAccepted: outcomes.on_accepted,
            ev.OffsetsStored: outcomes.on_stored,
            ev.OffsetsRead: ownership.on_offsets_read,
            ev.CommitRefused: outcomes.on_refused,
            ev.CommitAnswered: outcomes.on_answered,
            ev.MessageLost: outcomes.on_message_lost,
            ev.OffsetsDropped: self._offsets.on_dropped,
            ev.StoreRestored: self._on_restored,
            ev.RecordsCompacted: self._on_compacted,
            ev.LagSampled: self._on_lag_sampled,
            ev.RunEnded: self._on_run_ended,
        }

    def _on_restored(self, event: ev.Event, fact: ev.StoreRestored) -> None:
        if self._restores is None:
            from emulator.ledger.restores import Restores  # noqa: PLC0415  few runs have one

            self._restores = Restores(self._ownership, self._offsets)
        self._restores.on_restored(event, fact)

    def _on_compacted(self, event: ev.Event, fact: ev.RecordsCompacted) -> None:
        if self._compactions is None:
            from emulator.ledger.compaction import Compactions  # noqa: PLC0415  few runs have one

            self._compactions = Compactions(self._ownership)
            self._ownership.on_closed = self._compactions.on_closed
        self._compactions.on_compacted(event, fact)

    def _on_consumer_started(self, event: ev.Event, fact: ev.ConsumerStarted) -> None:
        self._ownership.on_consumer_started(event, fact)
        self._outcomes.on_started(fact)

    def _on_consumer_stopped(self, event: ev.Event, fact: ev.ConsumerStopped) -> None:
        self._ownership.on_consumer_stopped(event, fact)
        self._outcomes.on_stopped(fact)

    def _on_lag_sampled(self, _: ev.Event, fact: ev.LagSampled) -> None:
        """Note the partitions that a group reads, also those that never had an owner."""
        self._read[fact.group] = fact.partitions

    def _on_run_ended(self, _: ev.Event, fact: ev.RunEnded) -> None:
        self._log_ends = dict(fact.log_ends)
        for name, partition, position in fact.positions:
            epoch = self._ownership.open_epoch(name, partition)
            if epoch is not None:
                epoch.position = max(epoch.position, position)
                epoch.clamp()


class Processing:
    """Counts what handlers processed, had in flight at the end, or did not process."""

    def __init__(self, ownership: Ownership) -> None:
        self.processed = 0
        self.reprocessed = 0
        self.partials: list[PartialWork] = []
        self._ownership = ownership
        self._attributions = ownership.attributions

    def on_processed(self, event: ev.Event, fact: ev.Processed) -> None:
        """Count a range whose handler returned."""
        consumer = self._ownership.consumer(fact.consumer)
        holding = consumer.holding_of(fact)
        if holding is None or fact.first < holding[0].cursor:
            self._open_implied(event, fact)
            holding = consumer.holdings[fact.partition]
        first = fact.first
        if first > holding[0].finished:
            first = self._pass_gap(event, holding, first)
        self._finish(event, holding, first, fact.next_offset)

    def _pass_gap(self, event: ev.Event, holding: Holding, first: int) -> int:
        """Note what was skipped in front of a range; return where the range begins then."""
        (epoch, account), begins = holding, first
        if not records_between(epoch.gaps, epoch.finished, first):
            begins = account.pass_over(epoch, first)
        if begins > epoch.finished:
            attribution = self._attributions.for_gap(event, epoch)
            for each, start, end in account.parts(epoch, epoch.finished, first):
                each.coverage.skip(start, end, attribution)
        return begins

    def on_progress_counted(self, event: ev.Event, fact: ev.ProgressCounted) -> None:
        """Count equal periods together, or one by one where records may be reprocessed."""
        rest: ev.ProgressCounted | None = fact
        while rest is not None:
            holding = self._ownership.consumer(fact.consumer).holdings.get(fact.partition)
            if holding is not None and _is_at_frontier(holding, rest.first):
                self._count_evenly(holding, rest)
                return
            for at_us, each in rest.singly():
                self.on_processed(event._replace(at_us=at_us), each)
            rest = rest.later()

    def _count_evenly(self, holding: Holding, fact: ev.ProgressCounted) -> None:
        epoch, account = holding
        count = account.coverage.count(fact.first, fact.next_offset)
        self.processed += count
        account.processed += count
        account.coverage.process(epoch, fact.first, fact.next_offset)
        epoch.advance_evenly(fact)

    def _open_implied(self, event: ev.Event, fact: ev.Processed) -> None:
        """Open an epoch that the history shows only by its processing."""
        opened = ev.EpochOpened(
            consumer=fact.consumer,
            group=fact.group,
            generation=fact.generation,
            partition=fact.partition,
            offset=fact.first,
            source=ev.PositionSource.UNKNOWN.value,
        )
        self._ownership.on_epoch_opened(event, opened)

    def on_processed_out_of_order(self, event: ev.Event, fact: ev.ProcessedOutOfOrder) -> None:
        """Count a range that a worker finished before records in front of it.

        The records that it overtook have not been skipped: the owner is still at work on them.
        """
        holding = self._ownership.consumer(fact.consumer).holdings.get(fact.partition)
        if holding is None:
            return
        epoch, account = holding
        epoch.overtakes = account.overtakes = account.unread_gaps = True
        account.coverage.leave(fact.first)
        self._count(event, epoch, account, fact.first, fact.next_offset)
        if not fact.earlier_epoch:
            epoch.finish_out_of_order(fact.first, fact.next_offset)

    def _finish(self, event: ev.Event, holding: Holding, first: int, next_offset: int) -> None:
        """Count a range at the end of what its owner has finished."""
        epoch, account = holding
        self._count(event, epoch, account, first, next_offset)
        epoch.advance(next_offset, event.at_us)
        if epoch.limit is not None:
            epoch.clamp()

    def _count(
        self, event: ev.Event, epoch: Epoch, account: Account, first: int, next_offset: int
    ) -> None:
        for each, start, end in account.parts(epoch, first, next_offset):
            count = epoch.records(start, end)
            self.processed += count
            each.processed += count
            for repeat in each.coverage.process(epoch, start, end):
                self.reprocessed += epoch.records(repeat.start, repeat.end)
                for part, attribution in self._attributed(repeat, epoch):
                    each.record(part, epoch, attribution, event.at_us)

    def _attributed(self, repeat: Repeat, epoch: Epoch) -> list[tuple[Repeat, Attribution]]:
        """Split a repeat by the cause of each part.

        A pending repeat of the epoch explains it, unless a newer owner has processed the range
        since. Anything else is the work of two concurrent owners.
        """
        if repeat.last.number > epoch.number:
            return [(repeat, self._attributions.for_concurrence(epoch, repeat.last))]
        parts, at = [], repeat.start
        while at < repeat.end:
            pending = epoch.pending_at(at)
            if pending is None:
                starts = (p.start for p in epoch.pending_repeats if p.start > at)
                end = min(starts, default=repeat.end)
                attribution = self._attributions.for_concurrence(epoch, repeat.last)
            else:
                end, attribution = pending.end, pending.attribution
            end = min(end, repeat.end)
            parts.append((repeat._replace(start=at, end=end), attribution))
            at = end
        return parts

    def on_partly_processed(self, event: ev.Event, fact: ev.PartlyProcessed) -> None:
        """Note a record that was in flight when its process ended."""
        consumer = self._ownership.consumer(fact.consumer)
        holding = consumer.holdings.get(fact.partition)
        if holding is None:
            topic_id = self._ownership.topics.of(fact.partition.topic).topic_id
            generation, incarnation = -1, 0
        else:
            topic_id, generation = holding[1].topic_id, holding[0].generation
            incarnation = _incarnation_at(holding, fact.offset)
        link = link_to(event, Step.IN_FLIGHT, fact.consumer, fact.offset)
        root = self._attributions.root_of(link, fact.consumer, fact.group)
        owner = Owner(fact.consumer, consumer.incarnation, generation, event.at_us)
        self.partials.append(PartialWork(fact, topic_id, owner, link, root, incarnation))

    def on_not_processed(self, event: ev.Event, fact: ev.NotProcessed) -> None:
        """Count a range that the handler skipped or the client discarded."""
        holding = self._ownership.consumer(fact.consumer).holdings.get(fact.partition)
        if holding is None:
            return
        epoch, account = holding
        attribution = self._attributions.for_not_processed(event, fact, epoch)
        first = min(fact.first, epoch.finished)
        for each, start, end in account.parts(epoch, first, fact.next_offset):
            each.coverage.skip(start, end, attribution)
        epoch.advance(max(epoch.finished, fact.next_offset), event.at_us)
        epoch.clamp()

    def on_polled(self, _: ev.Event, fact: ev.Polled) -> None:
        """Advance the positions of the partitions that a poll returned records of."""
        holdings = self._ownership.consumer(fact.consumer).holdings
        for partition, _first, next_offset in fact.ranges:
            holding = holdings.get(partition)
            if holding is not None:
                holding[0].position = max(holding[0].position, next_offset)
                holding[0].clamp()

    def on_failed(self, _: ev.Event, fact: ev.ProcessingFailed) -> None:
        """Move the positions of a consumer back that seeks to its first unprocessed records."""
        if fact.then in ("seek", "pause"):
            for epoch, _account in self._ownership.consumer(fact.consumer).holdings.values():
                epoch.position = epoch.finished

    def on_epoch_closed(self, event: ev.Event, fact: ev.EpochClosed) -> None:
        """Close an epoch; first count what it finished without an event."""
        consumer = self._ownership.consumer(fact.consumer)
        holding = consumer.holdings.pop(fact.partition, None)
        if holding is None:
            consumer.note_position(fact)
            return
        epoch, _ = holding
        if fact.processed > epoch.finished:
            self._finish(event, holding, epoch.finished, fact.processed)
        epoch.position = max(epoch.position, fact.position)
        self._ownership.close(event, holding, fact.why)


def _is_at_frontier(holding: Holding, first: int) -> bool:
    """Return whether *first* is the end of all that any owner has processed so far."""
    epoch, account = holding
    return epoch.limit is None and first == epoch.cursor == account.coverage.frontier


def _incarnation_at(holding: Holding, offset: int) -> int:
    """Return the log incarnation of a record that an owner processes."""
    epoch, account = holding
    (part, _, _), *_ = account.parts(epoch, offset, offset + 1)
    (_, _, incarnation), *_ = part.split_by_incarnation(offset, offset + 1)
    return incarnation
