"""Hosts of group machines: one for each broker that believes it leads an offsets partition.

A host loads the log into a coordinator, passes requests, timers and changes of the log to it, and
carries out its effects. Two hosts of one partition may run concurrently while the older leader does
not know that it was replaced; each has its own timers and log.

While its broker's disk is slow, a host does one append at a time; requests may take time, too. Other events are queued
meanwhile, as in Kafka; their records go into one batch, which is written when all of them have run
(``group.coordinator.append.linger.ms`` = -1). On a full disk appends fail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from assignors.values import dataclass
from emulator.events import CoordinatorLoaded, CoordinatorMoved, CoordinatorUnloaded
from emulator.world.cluster.broker_threads import (
    CoordinatorThread,
    Load,
    Loaders,
    reading_us,
    thread_of,
)
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.controller import Controller
from emulator.world.cluster.coordinator_events import CoordinatorEvents, not_appended
from emulator.world.cluster.offsets_log.appends import Appends, Rejected
from emulator.world.cluster.offsets_log.leader_log import LeaderLog
from emulator.world.cluster.offsets_log.stored_log import StoredBatch
from emulator.world.cluster.replicas import NO_BROKER, ReplicaSet
from emulator.world.cluster.topics import Topics
from emulator.world.kernel import Deadlines, Rank
from emulator.world.run import Run
from protocols.coordinator.durability import OPERATION_TIMEOUT
from protocols.coordinator.machine import GroupCoordinator, Phase
from protocols.facts import CommitAccepted, Fact, TargetComputed
from protocols.groups.shard import Fix
from protocols.machine import Append, CancelTimer, Report, Send, SetTimer, Step
from protocols.messages import Envelope, Header, Message
from protocols.values import NOT_REPLACED

MAX_BROKERS = 1_001
"""Greater than the number of brokers: orders the hosts of one partition at equal times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorContext:
    """The parts of a run that its coordinators use."""

    run: Run
    brokers: Brokers
    controller: Controller
    topics: Topics
    loaders: Loaders
    events: CoordinatorEvents
    answer: Callable[[int, Header, Message], None]
    """Sends a response of a broker."""

    on_serving: Callable[[int, int | None], None]
    """Called with the number of a partition whose coordinator became active, and the cause."""


class OffsetsPartition(Protocol):
    """The offsets partition of a host, as the host uses it."""

    number: int
    groups: frozenset[str]
    hosts: dict[int, Host]
    replicas: ReplicaSet

    @property
    def load_us(self) -> Callable[[int], int]:
        """The fixed part of a load, in microseconds, by the time when the load began."""

    def new_member_id(self, prefix: str) -> str:
        """Return a new member id."""

    def emit(self, host: Host, fact: Fact) -> None:
        """Write a fact that a coordinator reports."""


class Host:
    """One coordinator of one offsets partition, on one broker."""

    def __init__(
        self, context: CoordinatorContext, shard: OffsetsPartition, broker: int, log: LeaderLog
    ) -> None:
        run = self._run = context.run
        self._context = context
        self._brokers = context.brokers
        self._shard = shard
        self.log_partition = shard.number
        order = shard.number * MAX_BROKERS + broker
        self.timers = Deadlines(run.kernel, Rank.BROKER_TIMER, order, self._wake)
        self._late: set[str] = set()
        """Timers that fired while the broker was paused or busy."""

        self._queue: deque[Callable[[], None]] = deque()
        """Actions that wait for the disk, or for the coordinator's thread."""

        self._appends = Appends(run, context.brokers, shard.number, broker, log, self._on_written)
        self._thread = thread_of(run, shard.number, self._on_written)
        self._began_us, self._read_us = run.kernel.now, 0
        self.broker, self.log = broker, log
        self.coordinator = GroupCoordinator(
            run.broker_settings,
            new_id=shard.new_member_id,
            epoch_ms=run.epoch_ms,
            pattern_us=run.scenario.cluster.pattern_time,
            lacks=frozenset(map(Fix, run.scenario.cluster.outdated)),
        )

    # -- life cycle ------------------------------------------------------------------------------

    def load(self, cause: int | None) -> None:
        """Wait for the broker's loader to read the log; requests are rejected until then."""
        self.topics_changed()
        loaded = partial(self._loaded, cause)
        self._context.loaders.of(self.broker).load(Load(self._shard.number, self._load_us, loaded))

    def _load_us(self) -> int:
        self._read_us = self._run.kernel.now
        amount = self.log.log.amount(self.log.end)
        return self._shard.load_us(self._began_us) + reading_us(self._run.scenario.cluster, amount)

    def _loaded(self, cause: int | None) -> None:
        again = partial(self._loaded, cause)
        if self._is_discarded or self._brokers.hold(self.broker, again):
            return
        self.begin()
        now, log = self._run.kernel.now, self.log
        amount = log.log.amount(log.end)
        loaded = CoordinatorLoaded(
            log_partition=self._shard.number,
            broker=self.broker,
            leader_epoch=log.epoch,
            size=amount.size,
            records=amount.records,
            high_watermark=log.high_watermark,
            waited_us=self._read_us - self._began_us,
            loaded_us=now - self._read_us,
            log_end=log.end,
            segments=log.log.segments,
        )
        event = self._run.recorder.write(loaded, cause)
        self._write_moved(event)
        self._context.on_serving(self._shard.number, event)

    def _write_moved(self, cause: int) -> None:
        for group in sorted(self._shard.groups):
            moved = CoordinatorMoved(
                group=group,
                broker=self.broker,
                generation=self.coordinator.generation(group),
                loaded_us=self._run.kernel.now - self._began_us,
            )
            self._run.recorder.write(moved, cause)

    def begin(self) -> None:
        """Replay the log into the coordinator and begin to serve."""
        coordinator, log, now = self.coordinator, self.log, self._run.kernel.now
        self.topics_changed()
        self._carry_out(coordinator.durable(log.high_watermark, now))
        coordinator.replay(log.log.read(log.end))
        self._carry_out(coordinator.loaded(now, log.end))

    def unload(self, cause: int | None) -> None:
        """Unload the coordinator: another broker leads. Every parked request is answered."""
        self._context.loaders.of(self.broker).cancel(self._shard.number)
        loading = self.coordinator.phase is Phase.LOADING
        self._carry_out(self.coordinator.unload(self._run.kernel.now))
        unloaded = CoordinatorUnloaded(
            log_partition=self._shard.number,
            broker=self.broker,
            leader_epoch=self.log.epoch,
            loading=loading,
        )
        self._run.recorder.write(unloaded, cause)
        waited = self._queue
        self.discard()
        for action in waited:
            action()

    def discard(self) -> None:
        """Discard the coordinator: its broker died."""
        self.timers.close()
        self._late.clear()
        self._queue = deque()
        self._appends.drop()
        if self._thread is not None:
            self._thread.stop()
        self.coordinator.unload(self._run.kernel.now)

    @property
    def serves(self) -> bool:
        """Whether it has loaded the log, and serves its groups."""
        return self.coordinator.phase is Phase.ACTIVE

    @property
    def replaced_broker(self) -> int:
        """Its broker, if another one has been elected and it has not learned that; or -1."""
        ours = self._shard.replicas.leader in (self.broker, NO_BROKER)
        return NOT_REPLACED if ours else self.broker

    @property
    def _is_discarded(self) -> bool:
        return self._shard.hosts.get(self.broker) is not self

    # -- requests, timers, log changes -------------------------------------------------------------

    def handle(self, envelope: Envelope) -> None:
        """Handle a group request that has reached the broker."""
        self.timers.fire_before(envelope.header.client)
        self._begin(envelope)

    def _begin(self, envelope: Envelope) -> None:
        if self._is_busy:
            self._queue.append(partial(self._begin, envelope))
            return
        if self._thread is None or not self.serves or not self._thread.begins(envelope.body):
            self._handle(envelope)
        else:
            self._queue.appendleft(partial(self._handle, envelope))

    def _handle(self, envelope: Envelope) -> None:
        step = self.coordinator.handle(envelope, self._run.kernel.now)
        self._context.events.handled(envelope, step)
        self._carry_out(step, envelope.header.client)

    def _wake(self, timer: str, now: int) -> None:
        if timer == OPERATION_TIMEOUT and not self._renew_timeout(now):
            return
        again = partial(self._wake_late, timer)
        if self._waits(again) or self._brokers.hold(self.broker, again):
            self._late.add(timer)
        elif self.serves:
            self._carry_out(self.coordinator.wake(timer, now))

    def _renew_timeout(self, now: int) -> bool:
        """Return whether an operation has timed out; else set the timer to the oldest that waits.

        Kafka cancels the timeout of one that has ended (``CoordinatorRuntime``): it never waits for the disk.
        """
        due_us = self.coordinator.log.renew_timeout()
        if due_us is not None and due_us <= now:
            return True
        self.timers.renew_or_cancel(OPERATION_TIMEOUT, due_us)
        return False

    def _wake_late(self, timer: str) -> None:
        """Handle a timer that fired meanwhile, unless it was set again or cancelled."""
        if timer in self._late:
            self._late.remove(timer)
            self._wake(timer, self._run.kernel.now)

    def durable(self, log_offset: int) -> None:
        """Note that everything below a log offset is replicated; this precedes other events."""
        if self.serves:
            if self._is_busy:
                self._queue.appendleft(partial(self.durable, log_offset))
            else:
                self._carry_out(self.coordinator.durable(log_offset, self._run.kernel.now))

    def topics_changed(self) -> None:
        """Pass the current topics to the coordinator."""
        topics = self._context.topics.describe(None)
        self.coordinator.topics_changed(topics, self._run.kernel.now)

    def topic_deleted(self, topic: str, topic_id: str) -> None:
        """Make the coordinator drop the offsets of a deleted topic."""
        if self._waits(partial(self.topic_deleted, topic, topic_id)):
            return
        if self.serves:
            self._carry_out(self.coordinator.topic_deleted(topic, topic_id, self._run.kernel.now))

    # -- a slow disk -----------------------------------------------------------------------------

    def _waits(self, action: Callable[[], None]) -> bool:
        """Queue an action while the coordinator is busy; return whether it is queued."""
        if not self._is_busy:
            return False
        self._queue.append(action)
        return True

    @property
    def _is_busy(self) -> bool:
        """Whether an append is in progress, or the thread handles a request that takes time."""
        thread = self._thread
        return self._appends.is_busy or (thread is not None and thread.is_busy)

    def _on_written(self, _: object) -> None:
        """Run actions that waited until the coordinator is busy again: all are one batch."""
        if self._is_busy or self._is_discarded:
            return
        if self._brokers.hold(self.broker, partial(self._on_written, None)):
            return
        self._close_batch()
        while self._queue and not self._is_busy:
            self._queue.popleft()()
        self._close_batch()

    # -- effects ---------------------------------------------------------------------------------

    def _carry_out(self, step: Step[Any], client: str = "") -> None:
        for effect in step.effects:  # tests of types in a row: class patterns take twice the time
            if isinstance(effect, Send):
                assert isinstance(effect.to, Header), "a coordinator only responds"
                self._context.answer(self.broker, effect.to, effect.message)
            elif isinstance(effect, Report):
                self._emit(effect.fact, step)
            elif isinstance(effect, SetTimer):
                self._late.discard(effect.name)
                self.timers.set(effect.name, effect.deadline_us, client)
            elif isinstance(effect, Append):
                self._appends.add(effect.records)
            elif isinstance(effect, CancelTimer):
                self._late.discard(effect.name)
                self.timers.cancel(effect.name)
        self._close_batch()
        self._run.triggers.coordinator_done()

    def _emit(self, fact: Fact, step: Step[Any]) -> None:
        """Write a fact of the machine; a commit that cannot be appended was not accepted."""
        if type(fact) is CommitAccepted:
            error = self._appends.error_of(step)
            if error is not None:
                fact = not_appended(fact, error)
        elif type(fact) is TargetComputed and self._thread is not None:
            self._run_assignor(fact, self._thread)
        self._shard.emit(self, fact)

    def _run_assignor(self, fact: TargetComputed, thread: CoordinatorThread) -> None:
        """Keep the thread busy while the coordinator's assignor computes, if that takes time."""
        members, partitions = self.coordinator.target_size(fact.group)
        us = thread.assignor_us(fact.group, members, partitions)
        if us:
            self._context.events.assignor_ran(fact, members, partitions, us)
            thread.work(us)

    def _close_batch(self) -> None:
        """Write the open batch if it is full, or if all actions queued at its opening have run.

        Where requests take time, the queue may never be empty: each action has its own batch.
        """
        if self._appends.is_empty:
            return
        is_last = not self._queue or self._thread is not None
        if not self._appends.is_busy and (self._appends.is_full or is_last):
            self._appends.write()
        rejected = self._appends.take_rejected()
        if rejected is not None:
            self._roll_back(rejected)

    def _roll_back(self, rejected: Rejected) -> None:
        """Revert records that could not be written, and answer requests that waited for them."""
        if self.serves:
            now = self._run.kernel.now
            self._carry_out(self.coordinator.rejected(rejected.log_offset, rejected.error, now))

    # -- periods ---------------------------------------------------------------------------------

    def relative(self, now: int) -> object:
        """Return groups and log relative to *now* and to its end; None: something else waits."""
        if self._queue or self._late or self._is_busy or not self.log.is_regular:
            return None
        found = self.coordinator.recurring(now)
        if found is None:
            return None
        self.timers.renew_or_cancel(OPERATION_TIMEOUT, self.coordinator.log.renew_timeout())
        return found, self.log.relative(now)

    def expires_nothing(self) -> bool:
        """Return whether no check for expired offsets finds any while the groups stay as they are."""
        return not self._brokers.disk_us(self.broker) and self.coordinator.expires_nothing()

    def skip(self, period: Sequence[StoredBatch], later_us: int, times: int) -> None:
        """Append the last of several periods again; *period*: its batches as they will be."""
        self.log.skip(period, later_us, times)
        entries = [entry for b in period for entry in enumerate(b.records, b.first)]
        self.coordinator.skip(entries, self.log.end)

    # -- queries ---------------------------------------------------------------------------------

    @property
    def log_end(self) -> int:
        """The log offset of the next record, as the coordinator counts."""
        return self._appends.end

    def check(self) -> None:
        """Assert the invariants of the coordinator, if it serves."""
        if self.serves:
            self.coordinator.check()
            assert self.coordinator.next_log_offset == self._appends.end, "machine and log agree"
