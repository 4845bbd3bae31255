"""What handlers did: finished, begun and cut off, let go."""

from __future__ import annotations

from emulator import events as ev
from emulator.measure.ledger.accounting import Repeat
from emulator.measure.ledger.accounts import Account, PartialWork
from emulator.measure.ledger.entries import Owner
from emulator.measure.ledger.epochs import Blame, Epoch
from emulator.measure.ledger.ownership import Ownership, link_to


class Work:
    """Accounts what handlers did; counts on its own what the entries must add up to."""

    def __init__(self, ownership: Ownership) -> None:
        self.processed = 0
        self.reprocessed = 0
        self.partials: list[PartialWork] = []
        self._ownership = ownership
        self._blames = ownership.blames

    def worked(self, event: ev.Event, what: ev.Processed) -> None:
        """Account a range whose handler returned."""
        consumer = self._ownership.consumer(what.consumer)
        holding = consumer.holdings.get(what.partition)
        if holding is None or what.first < holding[0].cursor:
            self._open_unseen(event, what)
            holding = consumer.holdings[what.partition]
        epoch, account = holding
        if what.first > epoch.cursor:
            blame = self._blames.for_hole(event, epoch)
            account.coverage.pass_over(epoch.cursor, what.first, blame)
        self._account(event, epoch, account, what.first, what.next_offset)

    def _open_unseen(self, event: ev.Event, what: ev.Processed) -> None:
        """Open an epoch that the history shows only by its work."""
        opened = ev.EpochOpened(
            consumer=what.consumer,
            group=what.group,
            generation=what.generation,
            partition=what.partition,
            offset=what.first,
            source="unknown",
        )
        self._ownership.epoch_opened(event, opened)

    def _account(
        self, event: ev.Event, epoch: Epoch, account: Account, first: int, next_offset: int
    ) -> None:
        self.processed += next_offset - first
        repeats = account.coverage.work(epoch, first, next_offset)
        for repeat in repeats:
            self.reprocessed += repeat.end - repeat.start
            for part, blame in self._blamed(repeat, epoch):
                account.book(part, epoch, blame, event.at_us)
        epoch.advance(next_offset, event.at_us)

    def _blamed(self, repeat: Repeat, epoch: Epoch) -> list[tuple[Repeat, Blame]]:
        """Split a repeat by what is to blame for each part of it.

        A debt the epoch opened with explains what it repeats, unless a newer owner has worked
        on it since. What neither explains, two owners did at once.
        """
        if repeat.last.number > epoch.number:
            return [(repeat, self._blames.for_concurrence(epoch, repeat.last))]
        parts, at = [], repeat.start
        while at < repeat.end:
            debt = epoch.debt_at(at)
            if debt is None:
                end = min((d.start for d in epoch.debts if d.start > at), default=repeat.end)
                blame = self._blames.for_concurrence(epoch, repeat.last)
            else:
                end, blame = debt.end, debt.blame
            end = min(end, repeat.end)
            parts.append((repeat._replace(start=at, end=end), blame))
            at = end
        return parts

    def partly_worked(self, event: ev.Event, what: ev.PartlyProcessed) -> None:
        """Note a record whose work was cut off."""
        consumer = self._ownership.consumer(what.consumer)
        holding = consumer.holdings.get(what.partition)
        topic_id = (
            holding[1].topic_id
            if holding
            else self._ownership.topics.of(what.partition.topic).topic_id
        )
        generation = holding[0].generation if holding else -1
        root = self._blames.root_of(event.id, what.consumer, what.group)
        link = link_to(event, f"{what.consumer} was cut off at {what.offset}")
        owner = Owner(what.consumer, consumer.incarnation, generation, event.at_us)
        self.partials.append(PartialWork(what, topic_id, owner, link, root))

    def let_go(self, event: ev.Event, what: ev.NotProcessed) -> None:
        """Account a range that was handed out and let go."""
        holding = self._ownership.consumer(what.consumer).holdings.get(what.partition)
        if holding is None:
            return
        epoch, account = holding
        blame = self._blames.for_letting_go(event, what, epoch)
        account.coverage.pass_over(min(what.first, epoch.cursor), what.next_offset, blame)
        epoch.advance(max(epoch.cursor, what.next_offset), event.at_us)

    def polled(self, _: ev.Event, what: ev.Polled) -> None:
        """Move the positions of what a poll handed out."""
        holdings = self._ownership.consumer(what.consumer).holdings
        for partition, _first, next_offset in what.ranges:
            holding = holdings.get(partition)
            if holding is not None:
                holding[0].position = max(holding[0].position, next_offset)

    def epoch_closed(self, event: ev.Event, what: ev.EpochClosed) -> None:
        """Close an epoch; what it finished and nobody wrote down is accounted first."""
        holding = self._ownership.consumer(what.consumer).holdings.pop(what.partition, None)
        if holding is None:
            return
        epoch, account = holding
        if what.processed > epoch.cursor:
            self._account(event, epoch, account, epoch.cursor, what.processed)
        epoch.position = max(epoch.position, what.position)
        self._ownership.end(event, holding, what.why)
