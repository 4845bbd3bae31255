"""The behaviour of an application besides its handler: its commits and its listener.

The listener commits if the policy requires it, and takes time. While a fault makes it fail, its
calls end in an exception, which poll() throws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from assignors.types import TopicPartition
from emulator.events import ListenerCalled, ListenerThrew
from emulator.scenario.model import FailListener
from emulator.scenario.resolution import has_listener
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.consumer.handling.handler import Doing, Ending
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess
from emulator.world.consumer.late_retries import LateRetries
from emulator.world.kernel import Rank
from protocols.consumer.calls import CommitResult, ExceptionName, Failed
from protocols.machine import Call, Step, Unheard
from protocols.messages import UNKNOWN_EPOCH, OffsetToCommit
from protocols.messages.records import epoch_at

if TYPE_CHECKING:
    from emulator.world.consumer.replayed_calls import ReplayedCalls

OnResult = Callable[[CommitResult], None]
Ends = dict[TopicPartition, int]
Offsets = tuple[OffsetToCommit, ...]

REBALANCING = ExceptionName.REBALANCE_IN_PROGRESS


class PolicyCommits:
    """Commits of one process; ``uncommitted``: partition to next offset, since the last one."""

    def __init__(self, process: ConsumerProcess) -> None:
        self._process = process
        self._policy = process.blueprint.commit
        self._kernel = process.run.kernel
        self._then: OnResult | None = None
        self._waiting: list[tuple[Callable[[int], Step[Any]], OnResult]] = []
        """Calls during another one, by a listener beside the application (aiokafka: ``_commit_lock``)."""

        self.uncommitted: Ends = {}
        self.on_async_failure: Callable[[Offsets], None] = lambda _: None
        self._late_retries = LateRetries(process, self)
        self.flush_late: Callable[[Call, Callable[[], None]], None] = self._late_retries.flush
        self.kept: Ends = {}
        """Offsets whose commit was refused during a rebalance, to be committed after the next poll."""

        self._attempted: Ends = {}
        self._records = 0
        self._last_us = self._kernel.now
        host = process.run.stores.get(process.blueprint.group.id)
        self._store = None if host is None else host.commits_of(process)
        self.worked = (self._store or process.progress).worked

    def processed(self, records: int) -> None:
        """Count records processed since the last commit."""
        self._records += records

    def forget(self, tp: TopicPartition) -> None:
        """Exclude a partition that is no longer owned from later commits."""
        self.uncommitted.pop(tp, None)
        self.kept.pop(tp, None)

    def abandon(self) -> None:
        """Drop what an offset store has not got: the process ends."""
        if self._store is not None:
            self._store.abandon()

    @property
    def due(self) -> bool:
        """Whether a commit by time or count is due; time counts even while no commit is needed."""
        now = self._kernel.now
        late = self._policy.every is not None and now - self._last_us >= self._policy.every
        many = self._policy.records is not None and self._records >= self._policy.records
        if late and not self.uncommitted:
            self._last_us = now
        return bool(self.uncommitted) and (late or many)

    @property
    def due_us(self) -> int:
        """When the application commits behind a batch at the earliest, if it does so by time alone."""
        every = self._policy.every if self._policy.is_by_time else None
        return NEVER if every is None else self._last_us + every

    @property
    def due_between_polls(self) -> bool:
        """Whether an application whose workers finish records has to commit before it polls on."""
        policy = self._policy
        if policy.call in ("auto", "none") or not self.uncommitted:
            return False
        return policy.when == "batch" or self.due

    def relative(self, now: int, positions: Mapping[TopicPartition, int]) -> object:
        """Return what is not committed yet, relative to *now* and to the positions."""
        ends = tuple((tp, end - positions.get(tp, 0)) for tp, end in self.uncommitted.items())
        records = self._records if self._policy.records else 0
        return ends, records, now - self._last_us if self._policy.every else 0

    def move(self, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move by whole periods."""
        for tp in self.uncommitted:
            self.uncommitted[tp] += records.get(tp, 0)
        self._last_us += later_us

    # -- sending ---------------------------------------------------------------------------------

    def commit(self, ends: Ends | None, then: OnResult) -> None:
        """Commit by the policy, then continue; None: without arguments, all polled offsets."""
        offsets = self.offsets_of(ends) if ends is not None and self._policy.arguments else None
        self._attempted = {} if ends is None else ends
        for tp in self._attempted:
            self.kept.pop(tp, None)
        self.uncommitted.clear()
        self._records = 0
        self._last_us = self._kernel.now
        if self._policy.call == "store":
            assert offsets is not None, "only processed offsets are stored"
            self._process.client.store(offsets)  # type: ignore[union-attr]  # it has a store
            then(CommitResult(()))
        elif self._policy.call == "async":
            self.send_async(offsets, then)
        else:
            self.send_sync(offsets, then)

    def commit_done(self, partitions: tuple[TopicPartition, ...], then: Callable[[], None]) -> None:
        """Commit or store the processed offsets of some partitions, as before a revocation.

        An application that names no offsets commits all that poll() has returned (``commitSync()``).
        """
        if self._policy.on_revoke and not self._policy.arguments:
            self.send_sync(None, lambda _: then())
            return
        safe = self._policy.offsets == "frontier"
        done = self._process.progress.done if safe else self.uncommitted.get
        ends = {tp: end for tp in partitions if (end := done(tp)) is not None}
        if ends and self._policy.call == "store" and not self._policy.on_revoke:
            self._process.client.store(self.offsets_of(ends))  # type: ignore[union-attr]  # it has a store
            then()
        elif ends:
            self.send_sync(self.offsets_of(ends), lambda _: then())
        else:
            then()

    def commit_kept(self, then: Callable[[], None]) -> None:
        """Commit what was kept of refused commits, then continue (``checkRebalanceCommits``)."""
        self._attempted, self.kept = self.kept, {}
        self._process.application.doing = Doing.COMMITTING
        self.send_sync(self.offsets_of(self._attempted), partial(self.went_on, then=then))

    def went_on(self, result: CommitResult, then: Callable[[], None]) -> None:
        """React to a failed commit, and continue if the process still runs."""
        self.refused(result)
        if self._process.alive:
            then()

    def send_sync(self, offsets: Offsets | None, then: OnResult) -> None:
        """Call ``commitSync``, then continue; None: without arguments."""
        if not self._write(offsets, "sync", lambda: then(CommitResult(()))):
            self._waiting.append((partial(self._process.client.commit_sync, offsets=offsets), then))
            self._call_next()

    def _call_next(self) -> None:
        if self._then is None and self._waiting and self._process.alive:
            call, self._then = self._waiting.pop(0)
            self._process.carry_out(call(self._kernel.now))

    def send_async(self, offsets: Offsets | None, then: OnResult | None = None) -> None:
        """Call ``commitAsync``, then continue; without *then* beside the application."""
        if then is not None and self._store is None and self._process.blueprint.has_two_threads:
            commit: Callable[..., Step[Any]] = self._process.client.commit_async
            self._waiting.append((partial(commit, offsets=offsets, waits=True), then))
            self._call_next()
            return
        if not self._write(offsets, "async", lambda: None):
            self._process.carry_out(self._process.client.commit_async(self._kernel.now, offsets))
        if then is not None:
            then(CommitResult(()))

    def _write(self, offsets: Offsets | None, kind: str, then: Callable[[], None]) -> bool:
        """Write offsets to the store outside Kafka; return whether it takes them."""
        if self._store is None:
            return False
        return self._store.write({e.partition: e.offset for e in offsets or ()}, kind, then)

    def offsets_of(self, ends: Ends, *, exact: bool = False) -> Offsets:
        """Return next offsets as the policy commits them; *exact*: as code of the user gave them."""
        back = 1 if self._policy.off_by_one and not exact else 0
        new, epoch = OffsetToCommit, self._epoch
        return tuple([new(tp, max(0, end - back), epoch(tp, end)) for tp, end in ends.items()])

    def _epoch(self, tp: TopicPartition, end: int) -> int:
        """Return the leader epoch of the last record before ``end``, if the policy sends it."""
        if not self._policy.leader_epoch:
            return UNKNOWN_EPOCH
        reading = self._process.client.consumer.positions.readings.get(tp)
        return UNKNOWN_EPOCH if reading is None else epoch_at(reading.epochs, end - 1)

    def committed(self, result: CommitResult) -> None:
        """Take the end of a commitSync."""
        then, self._then = self._then, None
        assert then is not None, "no commitSync is in flight"
        go_on = partial(then, result)
        go_on() if self._store is None else self._store.finish(go_on)
        self._call_next()

    def refused(self, result: CommitResult) -> bool:
        """React to a failed commit; return whether the rest of the batch is to be discarded."""
        if result.exception is None:
            return False
        if self._policy.on_refusal == "keep" and result.exception == REBALANCING:
            self.kept.update(self._attempted)
        if self._policy.on_refusal == "stop":
            self._process.stop("failed", None, result.exception)
        return self._policy.on_refusal == "discard"

    def async_failed(self, offsets: Offsets) -> None:
        """Let the application react to a failed commit."""
        self.on_async_failure(offsets)
        self._late_retries.failed(offsets)


THREW = Failed(ExceptionName.KAFKA, message="its rebalance listener threw")


def _replayed(process: ConsumerProcess, begins_us: tuple[int, ...]) -> ReplayedCalls | None:
    """Return the begins of listener calls to replay, if a capture has some of the process."""
    if not begins_us:
        return None
    from emulator.world.consumer.replayed_calls import ReplayedCalls  # noqa: PLC0415  only captures have some

    return ReplayedCalls(process, begins_us)


class Listener:
    """Runs the listener calls of one process."""

    def __init__(self, process: ConsumerProcess, application: ConsumerApplication) -> None:
        self._process = process
        self._application = application
        self._blueprint = process.blueprint
        self._kernel = process.run.kernel
        self._began_us, self._lasts_us, self._generation = 0, 0, -1
        self._given_up = Call("revoked", ())
        """Its last call about partitions that were given up."""

        self._failing: FailListener | None = None
        """The fault behind its last call that threw."""

        replay = process.run.replay
        self._not_before_us = iter((replay.listened_us or {}).get(process.name, ()))
        self._replayed = _replayed(process, (replay.called_us or {}).get(process.name, ()))

    def call(self, call: Call) -> None:
        """Begin a call."""
        if self._replayed:
            self._replayed.called()
        self._began_us = self._kernel.now
        self._generation = self._process.client.state.shown_generation
        flush = partial(self._application.commits.flush_late, call)
        if call.listener == "revoked":
            self._application.step("revoking", lambda: self._revoking(call, flush))
        else:
            self._spend(call, lambda: flush(lambda: self._ended(call)))

    def pass_over(self, unheard: Unheard) -> None:
        """Do what a call entails for the partitions; the client goes on by itself."""
        self._process.settle()
        self._generation = self._process.client.state.shown_generation
        call = Call(unheard.listener, unheard.partitions)
        self._settle(call, self._process.write_listener_call(self._listener_event(call)))

    def _revoking(self, call: Call, flush: Callable[[Callable[[], None]], None]) -> None:
        policy = self._blueprint.commit
        stores = policy.call == "store" and self._blueprint.group.pool is not None
        commits = policy.on_revoke or stores or self._blueprint.commits_by_timer
        finish, end = self._application.finish, partial(self._ended, call)
        if self._blueprint.group.listener_commits == "after":
            commit = partial(finish, call.partitions, partial(flush, end), commits=commits)
            self._spend(call, lambda: end() if self._fails(call) else commit())
        else:
            spend = partial(flush, partial(self._spend, call, end))
            finish(call.partitions, spend, commits=commits)

    def _spend(self, call: Call, then: Callable[[], None]) -> None:
        """Let the time of a call pass, and code of the user run, then continue."""
        then = partial(self._application.listen, call, then)
        now = self._kernel.now
        self._lasts_us = self._takes_us(call, now)
        when = max(now + self._lasts_us, next(self._not_before_us, 0))
        if when == now:
            then()
        else:
            order = (Rank.APPLICATION, self._blueprint.index)
            self._kernel.at(when, *order, lambda _: self._spent(then))

    def _takes_us(self, call: Call, now: int) -> int:
        group = self._blueprint.group
        if call.listener not in group.listener_calls:
            return 0
        return self._blueprint.listener_us(now) + group.listener_partition * len(call.partitions)

    def _spent(self, then: Callable[[], None]) -> None:
        if self._process.alive and not self._process.hold(lambda: self._spent(then)):
            then()

    def _ended(self, call: Call) -> None:
        process = self._process
        event = process.write_listener_call(self._listener_event(call))
        if self._fails(call):
            self._failing = process.listener_fault
            self._threw(call, event)
            return
        if self._blueprint.profile.takes_calls_for_whole and self._is_part(call):
            self._failing = None
            self._threw(call, event)
            return
        self._settle(call, event)
        self._return(call)

    def _settle(self, call: Call, event: int) -> None:
        """End the epochs of partitions that were given up, at the *event* of the call.

        If the position of such a partition came after that call, the next assignment ends its epoch.
        """
        assigned = call.listener == "assigned"
        kept = self._process.client.state.assignment if assigned else ()
        self._given_up = given_up = self._given_up if assigned else call
        self._close_epochs(given_up, (tp for tp in given_up.partitions if tp not in kept), event)
        self._process.run.triggers.reached(self._blueprint.name, call.listener)

    def _fails(self, call: Call) -> bool:
        """Return whether a fault makes this call throw, before the commits that come after its time."""
        fault = self._process.listener_fault
        return fault is not None and fault.call in (None, call.listener)

    def _is_part(self, call: Call) -> bool:
        """Return whether the consumer has other partitions than those of a call."""
        return not set(self._process.client.state.assignment) <= set(call.partitions)

    def _close_epochs(self, call: Call, partitions: Iterable[TopicPartition], event: int) -> None:
        why = "closed" if self._application.ending is Ending.BEGUN else call.listener
        for tp in partitions:
            self._application.revoked(tp, why, event)
            self._application.commits.forget(tp)

    def _return(self, call: Call) -> None:
        """Return control to the client, if the process still runs."""
        process = self._process
        if process.alive and not process.hold(lambda: self._return(call)):
            self._application.listened()
            lasted: Any = {"lasted_us": self._lasts_us} if self._blueprint.has_two_threads else {}
            process.carry_out(process.client.called(call, self._kernel.now, **lasted))

    def _threw(self, call: Call, event: int) -> None:
        """End a call with an exception: only partitions that the client revokes are closed."""
        process = self._process
        name, group = self._blueprint.name, self._blueprint.group.id
        threw = ListenerThrew(
            consumer=name, group=group, call=call.listener, partitions=call.partitions
        )
        cause = process.run.causes.disturbed.get(name)
        process.run.recorder.write(threw, cause)
        self._application.listened()
        step = process.client.called(call, self._kernel.now, THREW)
        kept = frozenset(process.client.state.assignment)
        if call.listener != "assigned":
            self._close_epochs(call, (tp for tp in call.partitions if tp not in kept), event)
        process.carry_out(step)

    def catches(self, failed: Failed) -> bool:
        """Catch the listener's exception if the application does so, and poll again later."""
        fault = self._failing
        if failed != THREW or fault is None or not fault.caught:
            return False
        self._application.doing = Doing.RECOVERING
        when = self._kernel.now + fault.backoff
        self._kernel.at(when, Rank.APPLICATION, self._blueprint.index, lambda _: self._poll_again())
        return True

    def _poll_again(self) -> None:
        if self._process.alive and not self._process.hold(self._poll_again):
            self._application.poll()

    def _listener_event(self, call: Call) -> ListenerCalled:
        group = self._blueprint.group
        return ListenerCalled(
            consumer=self._blueprint.name,
            group=group.id,
            generation=self._generation,
            call=call.listener,
            partitions=call.partitions,
            began_us=self._began_us if has_listener(group, self._blueprint.member) else -1,
        )
