"""The commits of an application by its policy: when it commits, what, and what follows a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from assignors.types import TopicPartition
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.consumer.handling.handler import Doing
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.kernel import Rank
from protocols.consumer.calls import CommitResult, ExceptionName
from protocols.machine import Call, Step
from protocols.messages import UNKNOWN_EPOCH, OffsetToCommit
from protocols.messages.records import epoch_at

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
            self._process.application.go_on(then, CommitResult(()))

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


class LateRetries:
    """Failed asynchronous commits that an application sends again later, over newer ones: a bug.

    ``retry_older`` of a policy sends them after a time, ``retry_older_in`` keeps them for the next
    rebalance: as the acknowledgements that a listener container flushes when partitions are revoked
    (spring-projects/spring-kafka#511), or as the commits that a library sends again when a rebalance
    has ended (zio/zio-kafka#437), also for partitions that another member owns by then.
    """

    def __init__(self, process: ConsumerProcess, commits: PolicyCommits) -> None:
        self._process = process
        self._policy = process.blueprint.commit
        self._commits = commits
        self._kept: dict[TopicPartition, OffsetToCommit] = {}
        """For the next rebalance: of each partition the offset that failed last."""

    def failed(self, offsets: Offsets) -> None:
        """Take a commit that has failed."""
        if self._policy.retry_older_in is not None:
            self._kept.update((each.partition, each) for each in offsets)
        elif self._policy.retry_older is not None:
            kernel, index = self._process.run.kernel, self._process.blueprint.index
            due_us = kernel.now + self._policy.retry_older
            kernel.at(due_us, Rank.APPLICATION, index, lambda _: self._send_again(offsets))

    def _send_again(self, offsets: Offsets) -> None:
        if self._process.alive and not self._process.hold(
            lambda: self._send_again(offsets), client=True
        ):
            self._process.run.recorder.disturbances += 1  # no period has it again
            self._process.unfold()
            self._commits.send_async(offsets)

    def flush(self, call: Call, then: Callable[[], None]) -> None:
        """Send in a listener call what was kept for it, then continue.

        Before a revocation the application waits for the answer; what fails then is dropped.
        """
        if call.listener != self._policy.retry_older_in or not self._kept:
            then()
            return
        kept, self._kept = tuple(self._kept.values()), {}
        if call.listener == "revoked":
            self._commits.send_sync(kept, lambda _: then())
        else:
            self._commits.send_async(kept)
            self._process.application.go_on(then)
