"""Who owns what: the consumers, their epochs, and the accounts they work on.

Each epoch is judged when it opens: what it will process again, what it passes over, and why.
"""

from __future__ import annotations

from collections.abc import Collection

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.accounting import Coverage
from emulator.ledger.accounts import Account, AccountKey, Consumer, Holding
from emulator.ledger.blames import Blames
from emulator.ledger.entries import Cause, Link
from emulator.ledger.epochs import Debt, Epoch, Trouble
from emulator.ledger.leaders import Leaders
from emulator.ledger.offsets import NONE_COMMITTED, Committed, OffsetBook
from emulator.ledger.openings import RESETS, Opening
from emulator.ledger.roots import Roots
from emulator.ledger.topics import TopicBook
from emulator.ledger.truncation_causes import BEYOND

PASSING = ("latest", "by_duration")
"""Resets that pass records over."""

ENDS = {"killed": "crashed"}
"""How epochs ended that a process left open, where it has another name than the process's end."""


class Ownership:
    """Consumers, epochs and accounts as the events have told so far."""

    def __init__(
        self,
        roots: Roots,
        offsets: OffsetBook,
        leaders: Leaders,
        shared_assignors: Collection[str] = (),
    ) -> None:
        self.accounts: dict[AccountKey, Account] = {}
        self.retired: list[Account] = []
        """The accounts of topics that were deleted."""

        self.topics = TopicBook()
        self.blames = Blames(roots, leaders, lambda name: self.consumer(name).trouble)
        self.duplicates_avoided = 0
        self._consumers: dict[str, Consumer] = {}
        self._epochs = 0
        self._failed: Link | None = None
        self._moved: dict[str, Link] = {}
        self._offsets = offsets
        self._leaders = leaders
        self._shared_assignors = frozenset(shared_assignors)
        self._sharing: set[str] = set()
        """Groups that give a partition to several members on purpose."""

        self._stable: dict[str, int] = {}

    def consumer(self, name: str) -> Consumer:
        """Return what is known of the consumer called *name*."""
        consumer = self._consumers.get(name)
        if consumer is None:
            consumer = self._consumers[name] = Consumer(name)
        return consumer

    def committer(self, name: str, group: str, partition: TopicPartition) -> Epoch | None:
        """Return the epoch a commit speaks of: the one open, or the one just closed."""
        holding = self.consumer(name).holdings.get(partition)
        if holding is not None:
            return holding[0]
        account = self.accounts.get(self._key(group, name, partition))
        latest = None if account is None else account.latest
        return latest if latest is not None and latest.consumer == name else None

    def _key(self, group: str, consumer: str, partition: TopicPartition) -> AccountKey:
        return AccountKey(group, partition, consumer if group in self._sharing else "")

    # -- topics, consumers, coordinators -----------------------------------------------------

    def topic_created(self, event: ev.Event, what: ev.TopicCreated) -> None:
        """Take in a topic; one of the same name before it is gone."""
        self._retire(what.topic)
        self.topics.create(event, what)

    def topic_deleted(self, _: ev.Event, what: ev.TopicDeleted) -> None:
        """Set aside the accounts of a topic."""
        self._retire(what.topic)
        self.topics.delete(what.topic)

    def _retire(self, topic: str) -> None:
        """Put the accounts of a deleted topic aside; who still holds them goes on there."""
        for key in [key for key in self.accounts if key.partition.topic == topic]:
            self.retired.append(self.accounts.pop(key))
        self._offsets.forget_topic(topic)

    def consumer_started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        """Begin a new incarnation."""
        consumer = self.consumer(what.consumer)
        self._abandon(event, consumer, "crashed")
        consumer.incarnation, consumer.trouble = what.incarnation, None

    def consumer_stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        """Close what a process still held when it ended."""
        self._abandon(event, self.consumer(what.consumer), ENDS.get(what.how, what.how))

    def _abandon(self, event: ev.Event, consumer: Consumer, why: str) -> None:
        """Close what a process held when it ended without closing it."""
        for holding in consumer.holdings.values():
            self.end(event, holding, why)
        consumer.holdings.clear()

    def paused(self, event: ev.Event, what: ev.ConsumerPaused) -> None:
        """Note that a process may become a zombie."""
        self.consumer(what.consumer).trouble = link_to(event, f"{what.consumer} paused")

    def member_removed(self, event: ev.Event, what: ev.MemberRemoved) -> None:
        """Note that a member may have become a zombie, unless it left."""
        if what.why != "left":
            text = f"{what.consumer} removed from {what.group}: {what.why}"
            self.consumer(what.consumer).trouble = link_to(event, text)

    def client_dropped(self, event: ev.Event, what: ev.ClientDropped) -> None:
        """Note that a consumer let go of its group."""
        text = f"{what.consumer} dropped out of {what.group}: {what.reason}"
        self.consumer(what.consumer).trouble = link_to(event, text)

    def joined(self, _: ev.Event, what: ev.JoinPhaseEnded) -> None:
        """Note whether a group's assignor shares partitions on purpose."""
        if what.protocol in self._shared_assignors:
            self._sharing.add(what.group)

    def stabilised(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        """Note when a group first became stable."""
        self._stable.setdefault(what.group, event.id)

    def broker_down(self, event: ev.Event, what: ev.BrokerDown) -> None:
        """Note a failure that appended commits may not survive."""
        self._failed = link_to(event, f"broker {what.broker} went down")

    def coordinator_moved(self, event: ev.Event, what: ev.CoordinatorMoved) -> None:
        """Note a move that appended commits may not survive."""
        text = f"broker {what.broker} became coordinator of {what.group}"
        self._moved[what.group] = link_to(event, text)

    # -- epochs ------------------------------------------------------------------------------

    def epoch_opened(self, event: ev.Event, what: ev.EpochOpened) -> None:
        """Open an epoch and judge where it begins; one the consumer has there ends."""
        consumer = self.consumer(what.consumer)
        held = consumer.holdings.get(what.partition)
        if held is not None:
            self.end(event, held, "reopened")
        self._epochs += 1
        epoch = Epoch(
            number=self._epochs,
            group=what.group,
            consumer=what.consumer,
            incarnation=consumer.incarnation,
            generation=what.generation,
            partition=what.partition,
            start=what.offset,
            source=f"{what.source}, {what.why}" if what.why else what.source,
            opened_event=event.id,
            opened_us=event.at_us,
            cursor=what.offset,
            position=what.offset,
        )
        self._begin(epoch, consumer, what)

    def _begin(self, epoch: Epoch, consumer: Consumer, what: ev.EpochOpened) -> None:
        """Set an epoch on its account and judge where it begins."""
        account = self._account(epoch)
        epoch.log_incarnation = account.log_incarnation
        committed = self._offsets.of(epoch.group, epoch.partition)
        if account.latest is not None and _is_clean(epoch, account, committed):
            account.latest.forget_below(epoch.start)
            committed.epoch_began()
        else:
            self._judge(self._opening(epoch, account, committed, what), account)
        account.latest = epoch
        account.open.append(epoch)
        consumer.holdings[epoch.partition] = (epoch, account)

    def _opening(
        self, epoch: Epoch, account: Account, committed: Committed, what: ev.EpochOpened
    ) -> Opening:
        return Opening(
            epoch=epoch,
            before=account.latest,
            source=what.source,
            why=what.why,
            committed=committed,
            failover=self._failover(epoch.group),
            outage=self._failed,
            undecided=self._undecided(account.latest, epoch.start),
            coordinators=self._leaders.of(epoch.group),
        )

    def _account(self, epoch: Epoch) -> Account:
        """Return the account of an epoch; the first one on a partition sets its base.

        A partition that was there when the group first became stable counts from the first
        start, one that came later from its beginning.
        """
        stable = self._stable.setdefault(epoch.group, epoch.opened_event)
        key = self._key(epoch.group, epoch.consumer, epoch.partition)
        account = self.accounts.get(key)
        if account is None:
            topic, number = self.topics.of(epoch.partition.topic), epoch.partition.partition
            base = epoch.start
            if topic.created(number) > stable:
                base = min(base, topic.log_start(number))
            coverage = Coverage(base)
            account = Account(key.group, key.partition, topic.topic_id, coverage)
            account.reader = key.reader
            account.strata = topic.strata_of(number)
            account.log_incarnation = account.strata[-1][1]
            self.accounts[key] = account
        return account

    def _judge(self, opening: Opening, account: Account) -> None:
        """Say what an epoch passes over, what it will repeat, and why."""
        self._pass_over(opening, account)
        if opening.before is not None:
            self._owe(opening, opening.before)
        self.duplicates_avoided += _avoided(opening)
        _settle(opening)

    def _pass_over(self, opening: Opening, account: Account) -> None:
        start, coverage = opening.start, account.coverage
        if opening.source in PASSING and opening.why in BEYOND and opening.before is not None:
            coverage.blame_instead(opening.before, self.blames.for_skip(opening))
        if start < coverage.base:
            coverage.lower(start)
            account.unreached = True
        if start > coverage.frontier or (account.unreached and start > coverage.base):
            low = coverage.base if account.unreached else coverage.frontier
            coverage.pass_over(low, start, self.blames.for_skip(opening))
            account.unreached = any(gap.blame is None for gap in coverage.gaps())

    def _owe(self, opening: Opening, before: Epoch) -> None:
        """Give an epoch its debts: what the owner before did beyond its start, and owed itself."""
        epoch = opening.epoch
        if epoch.start < before.cursor:
            blame = self.blames.for_repeat(opening)
            if blame.cause is Cause.TWO_OWNERS:
                epoch.concurrent = {before.number: blame}
            epoch.debts = (Debt(epoch.start, before.cursor, blame),)
        epoch.debts += before.debts_from(max(before.cursor, epoch.start))
        before.forget_below(epoch.start)

    def _failover(self, group: str) -> Link | None:
        """Return the newest event after which appended commits could be gone."""
        links = [link for link in (self._failed, self._moved.get(group)) if link is not None]
        return max(links, default=None)

    def _undecided(self, before: Epoch | None, start: int) -> Trouble | None:
        """Return a commit of the owner before that would cover more, and is still under way."""
        if before is None or before.cursor <= start:
            return None
        for flight in self._offsets.undecided(before.consumer):
            offset = dict(flight.sent.offsets).get(before.partition, start)
            if offset > start and flight.link.event > before.opened_event:
                return Trouble(offset, flight.link)
        return None

    def end(self, event: ev.Event, holding: Holding, why: str) -> None:
        """Close an epoch for good."""
        epoch, account = holding
        account.open.remove(epoch)
        epoch.why = why
        epoch.closed_event, epoch.closed_us = event.id, event.at_us


def link_to(event: ev.Event, what: str) -> Link:
    """Return the step of a chain that *event* is."""
    return Link(event.id, event.at_us, what)


def _avoided(opening: Opening) -> int:
    """Count what would be repeated, had not a commit counted that its owner thought failed."""
    committed, before = opening.committed, opening.before
    if before is None or not committed.unheard or committed.offset != opening.start:
        return 0
    heard = before.start if committed.heard_before is None else committed.heard_before
    return max(0, min(opening.start, before.cursor) - max(heard, before.start))


def _settle(opening: Opening) -> None:
    """Let the book agree with what the new owner was told is committed."""
    committed = opening.committed
    read = opening.source not in RESETS and opening.source not in ("seek", "truncated")
    if read and committed.offset > opening.start and opening.failed_over:
        committed.settle(opening.start)
    elif opening.why == "no offset" and opening.failed_over:
        committed.settle(NONE_COMMITTED)
    else:
        committed.epoch_began()


def _is_clean(epoch: Epoch, account: Account, committed: Committed) -> bool:
    """Say whether an epoch goes on exactly where everybody has stopped: nothing to judge."""
    before = account.latest
    return (
        before is not None
        and epoch.start == before.cursor == account.coverage.frontier
        and committed.offset <= epoch.start
        and not (before.debts or committed.unheard or account.unreached)
    )
