"""What handlers did: finished, begun and cut off, let go."""

from __future__ import annotations

from emulator import events as ev
from emulator.ledger.accounting import Repeat
from emulator.ledger.accounts import Account, Holding, PartialWork
from emulator.ledger.entries import Owner
from emulator.ledger.epochs import Blame, Epoch
from emulator.ledger.ownership import Ownership, link_to


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
        if what.first > epoch.finished:
            blame = self._blames.for_hole(event, epoch)
            for books, start, end in account.parts(epoch, epoch.finished, what.first):
                books.coverage.pass_over(start, end, blame)
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
        for books, start, end in account.parts(epoch, first, next_offset):
            for repeat in books.coverage.work(epoch, start, end):
                self.reprocessed += repeat.end - repeat.start
                for part, blame in self._blamed(repeat, epoch):
                    books.book(part, epoch, blame, event.at_us)
        epoch.advance(next_offset, event.at_us)
        epoch.keep_back()

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
        layer = _layer(holding, what.offset) if holding else 0
        self.partials.append(PartialWork(what, topic_id, owner, link, root, layer))

    def let_go(self, event: ev.Event, what: ev.NotProcessed) -> None:
        """Account a range that was handed out and let go."""
        holding = self._ownership.consumer(what.consumer).holdings.get(what.partition)
        if holding is None:
            return
        epoch, account = holding
        blame = self._blames.for_letting_go(event, what, epoch)
        first = min(what.first, epoch.finished)
        for books, start, end in account.parts(epoch, first, what.next_offset):
            books.coverage.pass_over(start, end, blame)
        epoch.advance(max(epoch.finished, what.next_offset), event.at_us)
        epoch.keep_back()

    def polled(self, _: ev.Event, what: ev.Polled) -> None:
        """Move the positions of what a poll handed out."""
        holdings = self._ownership.consumer(what.consumer).holdings
        for partition, _first, next_offset in what.ranges:
            holding = holdings.get(partition)
            if holding is not None:
                holding[0].position = max(holding[0].position, next_offset)
                holding[0].keep_back()

    def epoch_closed(self, event: ev.Event, what: ev.EpochClosed) -> None:
        """Close an epoch; what it finished and nobody wrote down is accounted first."""
        holding = self._ownership.consumer(what.consumer).holdings.pop(what.partition, None)
        if holding is None:
            return
        epoch, account = holding
        if what.processed > epoch.finished:
            self._account(event, epoch, account, epoch.finished, what.processed)
        epoch.position = max(epoch.position, what.position)
        self._ownership.end(event, holding, what.why)


def _layer(holding: Holding, offset: int) -> int:
    """Return of which incarnation of the log a record is that an owner works on."""
    epoch, account = holding
    (books, _, _), *_ = account.parts(epoch, offset, offset + 1)
    (_, _, incarnation), *_ = books.layers(offset, offset + 1)
    return incarnation
