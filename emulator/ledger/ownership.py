"""Ownership: consumers, their epochs, and the accounts they work on.

When an epoch opens, its ranges to reprocess and to skip are determined, with their causes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.events.consumers import RESETS
from emulator.ledger.accounts import Account, AccountKey, Consumer, Holding
from emulator.ledger.attribution import Attributions, Roots
from emulator.ledger.causes import NOT_IN_THE_LOG, Opening
from emulator.ledger.cluster import INSTANT, UNKNOWN_COORDINATOR, Coordinators, Topics, link_to
from emulator.ledger.commits import NONE_COMMITTED, Committed, CommittedOffsets
from emulator.ledger.coverage import Coverage
from emulator.ledger.entries import Cause, Link, Step
from emulator.ledger.epochs import Epoch, FailedCommit, PendingRepeat

SKIPPING_RESETS = (ev.PositionSource.LATEST, ev.PositionSource.BY_DURATION)

SET_EXPLICITLY = (ev.PositionSource.SEEK, ev.PositionSource.TRUNCATED)
ENDS = {ev.End.KILLED.value: ev.End.CRASHED.value}
"""Why the epochs of a process ended, if that differs from how the process ended."""


class Ownership:
    """Consumers, epochs and accounts after the events so far."""

    def __init__(
        self,
        roots: Roots,
        offsets: CommittedOffsets,
        coordinators: Coordinators,
        shared_assignors: Collection[str] = (),
    ) -> None:
        self.accounts: dict[AccountKey, Account] = {}
        self.retired: list[Account] = []
        """The accounts of deleted topics and of truncated records."""

        self.topics = Topics()
        self.attributions = Attributions(
            roots, coordinators, lambda name: self.consumer(name).trouble
        )
        self.duplicates_avoided = 0
        self._consumers: dict[str, Consumer] = {}
        self._epochs = 0
        self._broker_down: Link | None = None
        self._moved: dict[str, Link] = {}
        self._offsets = offsets
        self._coordinators = coordinators
        self._shared_assignors = frozenset(shared_assignors)
        self._sharing: set[str] = set()
        """Groups whose assignor intentionally assigns a partition to several members."""

        self._outside: set[str] = set()
        """Groups whose offsets are kept outside Kafka."""

        self.on_closed: Callable[[Holding], None] | None = None
        """Called with what an owner held when it ends, in a run with compaction."""

        self._deleted: dict[AccountKey, Account] = {}
        """Those of deleted topics that have not been created again."""

        self._stable: dict[str, ev.Instant] = {}
        """Group: when it was first stable."""

    def consumer(self, name: str) -> Consumer:
        """Return the consumer with a name."""
        consumer = self._consumers.get(name)
        if consumer is None:
            consumer = self._consumers[name] = Consumer(name)
        return consumer

    def open_epoch(self, consumer: str, partition: TopicPartition) -> Epoch | None:
        """Return the open epoch of a consumer on a partition."""
        holding = self.consumer(consumer).holdings.get(partition)
        return None if holding is None else holding[0]

    def committer(self, consumer: str, group: str, partition: TopicPartition) -> Epoch | None:
        """Return the epoch whose progress a commit reports: the open one, or the last one."""
        holding = self.consumer(consumer).holdings.get(partition)
        if holding is not None:
            return holding[0]
        account = self.accounts.get(self._key(group, consumer, partition))
        latest = None if account is None else account.latest
        return latest if latest is not None and latest.consumer == consumer else None

    def topic_is_newer(self, epoch: Epoch) -> bool:
        """Return whether the topic was created again after an epoch began."""
        created = self.topics.of(epoch.partition.topic).sizes
        return bool(created) and created[0][1] > (epoch.opened_us, epoch.row)

    def _key(self, group: str, consumer: str, partition: TopicPartition) -> AccountKey:
        return AccountKey(group, partition, consumer if group in self._sharing else "")

    # -- topics, consumers, coordinators -----------------------------------------------------

    def on_topic_created(self, event: ev.Event, fact: ev.TopicCreated) -> None:
        """Add a topic; an earlier one of the same name no longer exists."""
        self._retire(fact.topic)
        self._deleted = {k: a for k, a in self._deleted.items() if k.partition.topic != fact.topic}
        self.topics.on_created(event, fact)

    def on_topic_deleted(self, _: ev.Event, fact: ev.TopicDeleted) -> None:
        """Retire the accounts of a topic; who has not noticed may still begin epochs on them."""
        self._deleted |= {k: a for k, a in self.accounts.items() if k.partition.topic == fact.topic}
        self._retire(fact.topic)
        self.topics.delete(fact.topic)

    def _retire(self, topic: str) -> None:
        """Retire the accounts of a deleted topic; epochs that are open continue on them."""
        for key in [key for key in self.accounts if key.partition.topic == topic]:
            self.retired.append(self.accounts.pop(key))
        self._offsets.forget_topic(topic)

    def on_consumer_started(self, event: ev.Event, fact: ev.ConsumerStarted) -> None:
        """Begin a new incarnation of a consumer."""
        consumer = self.consumer(fact.consumer)
        self._close_all(event, consumer, ev.End.CRASHED.value)
        consumer.incarnation, consumer.trouble = fact.incarnation, None

    def on_consumer_stopped(self, event: ev.Event, fact: ev.ConsumerStopped) -> None:
        """Close the epochs that a process left open."""
        consumer = self.consumer(fact.consumer)
        consumer.ended = dict(consumer.holdings)
        self._close_all(event, consumer, ENDS.get(fact.how, fact.how))

    def _close_all(self, event: ev.Event, consumer: Consumer, why: str) -> None:
        for holding in consumer.holdings.values():
            self.close(event, holding, why)
        consumer.holdings.clear()

    def on_paused(self, event: ev.Event, fact: ev.ConsumerPaused) -> None:
        """Note that a process may become a zombie."""
        self.consumer(fact.consumer).trouble = link_to(event, Step.PAUSED, fact.consumer)

    def on_member_removed(self, event: ev.Event, fact: ev.MemberRemoved) -> None:
        """Note that the process of a removed member may be a zombie, unless it left."""
        if fact.why != ev.Departure.LEFT:
            link = link_to(event, Step.REMOVED, fact.consumer, fact.group, fact.why)
            self.consumer(fact.consumer).trouble = link

    def on_client_dropped(self, event: ev.Event, fact: ev.ClientDropped) -> None:
        """Note that a client dropped out of its group."""
        link = link_to(event, Step.DROPPED_OUT, fact.consumer, fact.group, fact.reason)
        self.consumer(fact.consumer).trouble = link

    def on_listener_called(self, event: ev.Event, fact: ev.ListenerCalled) -> None:
        """Note which partitions a consumer has given up, though its workers may still be at them."""
        is_given = fact.call == "assigned"
        for partition in fact.partitions:
            epoch = self.open_epoch(fact.consumer, partition)
            if epoch is not None:
                link = link_to(event, Step.GIVEN_UP, fact.consumer, str(partition), fact.call)
                epoch.given_up, epoch.why = (None, "") if is_given else (link, fact.call)

    def on_join_phase_ended(self, _: ev.Event, fact: ev.JoinPhaseEnded) -> None:
        """Note whether a group's assignor intentionally shares partitions."""
        if fact.protocol in self._shared_assignors:
            self._sharing.add(fact.group)

    def on_stable(self, event: ev.Event, fact: ev.GroupStabilised) -> None:
        """Note when a group was first stable."""
        self._stable.setdefault(fact.group, event.instant)

    def on_broker_down(self, event: ev.Event, fact: ev.BrokerDown) -> None:
        """Note a failure of any broker: messages to it may be lost."""
        self._broker_down = link_to(event, Step.BROKER_DOWN, fact.broker)

    def on_coordinator_moved(self, event: ev.Event, fact: ev.CoordinatorMoved) -> None:
        """Note a move that may lose appended commits."""
        link = link_to(event, Step.COORDINATOR_MOVED, fact.broker, fact.group)
        self._moved[fact.group] = link

    def on_offsets_read(self, _: ev.Event, fact: ev.OffsetsRead) -> None:
        """Note that a group keeps its offsets outside Kafka, whatever happens to its coordinator."""
        self._outside.add(fact.group)

    # -- epochs ------------------------------------------------------------------------------

    def on_epoch_opened(self, event: ev.Event, fact: ev.EpochOpened) -> None:
        """Open an epoch and find why it starts there; close the consumer's open one first."""
        consumer = self.consumer(fact.consumer)
        held = consumer.holdings.get(fact.partition)
        if held is not None:
            self.close(event, held, ev.End.REOPENED.value)
        self._epochs += 1
        epoch = Epoch(
            number=self._epochs,
            group=fact.group,
            consumer=fact.consumer,
            incarnation=consumer.incarnation,
            generation=fact.generation,
            partition=fact.partition,
            start=fact.offset,
            source=sys.intern(f"{fact.source}, {fact.why}") if fact.why else fact.source,
            opened_us=event.at_us,
            row=event.row,
            cursor=fact.offset,
            position=fact.offset,
            event=event.id,
            cause=event.cause,
        )
        self._begin(epoch, consumer, fact)

    def _begin(self, epoch: Epoch, consumer: Consumer, fact: ev.EpochOpened) -> None:
        account = self._account(epoch)
        epoch.log_incarnation = account.log_incarnation
        topic, number = self.topics.of(epoch.partition.topic), epoch.partition.partition
        epoch.gaps = epoch.passable = topic.gaps_for(epoch.group, number)
        committed = self._offsets.of(epoch.group, epoch.partition)
        before = account.latest
        if before is not None and _continues(epoch, before, account, committed):
            before.marks.forget_below(epoch.start)
            committed.on_epoch_opened()
        else:
            self._judge(self._opening(epoch, account, committed, fact), account)
        account.latest = epoch
        account.open = (*account.open, epoch)
        consumer.holdings[epoch.partition] = (epoch, account)

    def _opening(
        self, epoch: Epoch, account: Account, committed: Committed, fact: ev.EpochOpened
    ) -> Opening:
        in_kafka = epoch.group not in self._outside
        return Opening(
            epoch=epoch,
            before=account.latest,
            source=fact.source,
            why=fact.why,
            committed=committed,
            failover=self._failover(epoch.group) if in_kafka else None,
            outage=self._broker_down if in_kafka else None,
            undecided=self._undecided(account.latest, epoch.start) if in_kafka else None,
            coordinators=self._coordinators.of(epoch.group) if in_kafka else UNKNOWN_COORDINATOR,
        )

    def account_of(self, key: AccountKey) -> Account | None:
        """Return the account of a partition, also that of a deleted topic until it is created again."""
        return self.accounts.get(key) or self._deleted.get(key)

    def _account(self, epoch: Epoch) -> Account:
        """Return the account of an epoch; the first epoch of a partition sets its base.

        A partition that existed when the group was first stable counts from the first start, a
        later one from its first offset.
        """
        stable = self._stable.setdefault(epoch.group, epoch.opened.instant)
        key = self._key(epoch.group, epoch.consumer, epoch.partition)
        account = self.account_of(key)
        if account is None:
            topic, number = self.topics.of(epoch.partition.topic), epoch.partition.partition
            base = epoch.start
            if topic.created(number) > stable:
                base = min(base, topic.log_start(number))
            coverage = Coverage(base, gaps=topic.gaps_for(epoch.group, number))
            account = Account(key.group, key.partition, topic.topic_id, coverage)
            account.reader = key.reader
            account.log_layers = topic.log_layers_of(number)
            account.log_incarnation = account.log_layers[-1][1]
            self.accounts[key] = account
        return account

    def _judge(self, opening: Opening, account: Account) -> None:
        """Find the ranges that an epoch skips and will reprocess, with their causes."""
        self._skip(opening, account)
        if opening.before is not None:
            self._expect_repeats(opening, opening.before)
        self.duplicates_avoided += _duplicates_avoided(opening)
        _correct_committed(opening)

    def _skip(self, opening: Opening, account: Account) -> None:
        start, coverage = opening.start, account.coverage
        reset = opening.source in SKIPPING_RESETS and opening.why in NOT_IN_THE_LOG
        if reset and opening.before is not None:
            attribution = self.attributions.for_skip(opening)
            coverage.replace_attributions(opening.before, attribution)
        if start < coverage.base:
            coverage.lower(start)
            account.unread_gaps = True
        if start > coverage.frontier or account.unread_gaps:
            low = coverage.base if account.unread_gaps else coverage.frontier
            coverage.skip(low, start, self.attributions.for_skip(opening))
            account.unread_gaps = any(gap.attribution is None for gap in coverage.gaps())

    def _expect_repeats(self, opening: Opening, before: Epoch) -> None:
        """Set the pending repeats: ranges that the previous owner processed, or had pending."""
        epoch = opening.epoch
        reach = (
            before.reach if _other_process(before, epoch) else max(before.reach, before.position)
        )
        if epoch.start < reach:
            attribution = self.attributions.for_repeat(opening)
            if attribution.cause is Cause.TWO_OWNERS:
                epoch.concurrent = {before.number: attribution}
            epoch.pending_repeats = tuple(
                PendingRepeat(low, high, attribution)
                for low, high in _repeatable(before, epoch.start, reach)
            )
        epoch.pending_repeats += before.pending_from(max(reach, epoch.start))
        before.marks.forget_below(epoch.start)

    def _failover(self, group: str) -> Link | None:
        """Return the newest failure or move of the group's own coordinator."""
        failed, moved = self._coordinators.of(group).failed, self._moved.get(group)
        return max(
            (link for link in (failed, moved) if link is not None), key=INSTANT, default=None
        )

    def _undecided(self, before: Epoch | None, start: int) -> FailedCommit | None:
        """Return a commit in flight of the previous owner that would cover more than *start*."""
        if before is None or before.cursor <= start:
            return None
        for flight in self._offsets.undecided(before.consumer):
            offset = dict(flight.sent.offsets).get(before.partition, start)
            if offset > start and flight.link.instant > before.opened.instant:
                return FailedCommit(offset, flight.link)
        return None

    def close(self, event: ev.Event, holding: Holding, why: str) -> None:
        """Close an epoch."""
        epoch, account = holding
        account.open = tuple([each for each in account.open if each is not epoch])
        epoch.why = why
        epoch.closed_by = event
        if self.on_closed is not None:
            self.on_closed(holding)


def _other_process(before: Epoch, epoch: Epoch) -> bool:
    """Return whether another process owned the partition; a worker of the same may still be at it."""
    return (before.consumer, before.incarnation) != (epoch.consumer, epoch.incarnation)


def _repeatable(before: Epoch, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Return the ranges from *start* to *end* that are reprocessed because the next owner starts there.

    What workers finish of a partition that was given up, after the next owner has begun, is work of
    two owners.
    """
    if before.closed_by is not None or before.given_up is None:
        return ((start, end),)
    finished = ((start, before.cursor), *sorted((before.out_of_order or {}).items()))
    return tuple((max(low, start), high) for low, high in finished if high > max(low, start))


def _duplicates_avoided(opening: Opening) -> int:
    """Return the records covered by an accepted commit whose sender assumes that it failed."""
    committed, before = opening.committed, opening.before
    if before is None or not committed.unacknowledged or committed.offset != opening.start:
        return 0
    known = committed.acknowledged_before
    low = max(before.start if known is None else known, before.start)
    return max(0, min(opening.start, before.cursor) - low)


def _correct_committed(opening: Opening) -> None:
    """Correct the committed offset to the one that the new owner fetched."""
    committed = opening.committed
    fetched = opening.source not in RESETS and opening.source not in SET_EXPLICITLY
    if fetched and committed.offset > opening.start and opening.failed_over:
        committed.correct(opening.start)
    elif opening.why == ev.ResetReason.NO_OFFSET and opening.failed_over:
        committed.correct(NONE_COMMITTED)
    else:
        committed.on_epoch_opened()


def _continues(epoch: Epoch, before: Epoch, account: Account, committed: Committed) -> bool:
    """Return whether an epoch begins exactly at the end of all others and needs no cause."""
    return (
        epoch.start == before.cursor == account.coverage.frontier
        and committed.offset <= epoch.start
        and not (before.pending_repeats or committed.unacknowledged or account.unread_gaps)
    )
