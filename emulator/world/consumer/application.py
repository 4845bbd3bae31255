"""The application thread of a consumer: poll, work, commit by policy, listen, close.

At any time it waits for exactly one of: poll, the end of some work, a commitSync, the end of a
listener call, close (:class:`Doing`). Each method is one thing that happens to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from assignors.types import TopicPartition
from emulator.world.consumer import handling
from emulator.world.consumer.handling.handler import Batch, Doing, Ending
from emulator.world.consumer.interfaces import ConsumerProcess, RecordHandler
from emulator.world.consumer.listener import Listener
from emulator.world.consumer.policy import PolicyCommits
from emulator.world.consumer.shutdown import Shutdown
from emulator.world.kernel import Rank, order_of
from protocols.consumer.calls import CommitResult, Failed
from protocols.consumer.fetch_buffer import Handed
from protocols.machine import Call


class Application:
    """The application thread of a process."""

    def __init__(self, process: ConsumerProcess) -> None:
        self._process, self._run = process, process.run
        self._blueprint = blueprint = process.blueprint
        self._kernel = process.run.kernel
        self._order = order_of(Rank.APPLICATION, process.blueprint.index)
        self.doing = Doing.POLLING
        self.batch: Batch | None = None
        self._token, self._awaited = 0, False
        self._per_record = blueprint.per_record or process.run.recorder.by_record
        self.commits = PolicyCommits(process)
        self.listener = Listener(process, self)
        self._pending_hang_us = 0
        self._paused_us: list[int] = []
        commits = blueprint.commit.is_by_time or not blueprint.plain
        self.uncommitted = self.commits.uncommitted if commits else None
        sent = process.progress.deliveries
        self.seen = handling.deduplication.Deduplicator(process, sent) if sent else None
        self._worked_through = self.seen.worked if self.seen else self.commits.worked
        self._failures = handling.failures.Failures(process, self) if blueprint.poison else None
        make = None if blueprint.group.is_serial else handling.pool.record_handler
        self._workers: RecordHandler | None = make and make(process, self, self._failures)
        self.shutdown = Shutdown(process, self, self._workers)

    # -- poll -----------------------------------------------------------------------------------

    def poll(self) -> None:
        """Call poll, or close if that was asked for."""
        if self.ending is not Ending.NOT_ASKED:
            self.shutdown.close()
            return
        if self._process.calls:
            self._process.make_calls()
        if self._workers is not None and not self._workers.make_room(self.poll):
            self.doing = Doing.WORKING
            return
        if self._failures is not None:
            self._failures.before_poll()
        self.doing = Doing.POLLING
        now = self._kernel.now
        if self._process.polls(now) or (self.calm and self._process.polls_in_vain(now)):
            return
        self._process.carry_out(self._process.client.poll(now, self._blueprint.poll_timeout_us))

    def polled(self, ranges: tuple[Handed, ...]) -> None:
        """Take what poll returned."""
        if self.commits.kept:
            self.commits.commit_kept(lambda: self._take(ranges))
        else:
            self._take(ranges)

    def _take(self, ranges: tuple[Handed, ...]) -> None:
        if self._workers is not None:
            self.step("polled", self._workers.take, ranges, self._handed_over)
            return
        if not ranges:  # a commit by time may be due nevertheless
            self.commit_finished((), self.poll)
            return
        begin = self._commit_before if self._blueprint.commit.when == "before" else self._work
        self.step("polled", begin, ranges)

    # -- a pool of workers, or code of the user ---------------------------------------------------

    def _handed_over(self) -> None:
        """Commit what is due, and poll."""
        if self.commits.due_between_polls:
            self._commit(
                dict(self.commits.uncommitted), lambda r: self.commits.went_on(r, self.poll)
            )
        else:
            self.poll()

    def finish(
        self, partitions: tuple[TopicPartition, ...], then: Callable[[], None], *, commits: bool
    ) -> None:
        """Finish and commit work on some partitions before they are given up, then continue."""
        commit = partial(self.commits.commit_done, partitions) if commits else lambda then: then()
        if self._workers is None or self.ending is Ending.BEGUN:
            commit(then)
        else:
            self._workers.finish(partitions, commit, then)

    def revoked(self, tp: TopicPartition, why: str, event: int) -> None:
        """Stop processing a partition for good; workers may still have records of it."""
        if self._workers is not None:
            self._workers.revoked(tp, why, event)
        elif self.busy:
            self._process.progress.retire(tp, why, event)
        else:
            self._process.progress.close(tp, why, event)

    def step(self, name: str, then: Callable[..., None], *given: object) -> None:
        """Pass a step that faults may wait for; then go on."""
        self._run.triggers.reached(self._blueprint.name, name)
        self.go_on(then, *given)

    def go_on(self, then: Callable[..., None], *given: object) -> None:
        """Call *then* with *given* if no fault has just ended the process; later if one has paused it."""
        if self._paused_us and self._process.hold(partial(then, *given)):
            return
        if self._process.alive:
            then(*given)

    def threw(self, failed: Failed) -> None:
        """Take an exception of poll: end with it, unless the application catches it (listener)."""
        if not self.listener.catches(failed):
            self.shutdown.fail(failed)

    # -- for the loop that polls in the client's place ------------------------------------------

    @property
    def calm(self) -> bool:
        """Whether the handler has only to work on records."""
        return self.ending is Ending.NOT_ASKED and not (self._pending_hang_us or self.commits.kept)

    def work_on(self, batch: Batch) -> None:
        """Begin a batch whose end the poll loop awaits."""
        self.batch, self.doing, self._awaited = batch, Doing.WORKING, True

    def end_uncounted(self) -> None:
        """End a batch whose records are counted already."""
        self.batch = None
        self.doing = Doing.POLLING

    def end_counted(self) -> None:
        """End that batch."""
        batch = self.batch
        assert batch is not None, "work ended that was not begun"
        self.count(batch, batch.count)
        self.batch = None
        self.doing = Doing.POLLING

    # -- periods ------------------------------------------------------------------------------

    def relative(self, now: int, positions: Mapping[TopicPartition, int]) -> object:
        """Return what it does, relative to *now* and to the positions; None: no poll, work or commit."""
        batch, doing = self.batch, self.doing
        if not self.calm or self._paused_us:
            return None
        commits = self.commits.relative(now, positions)
        if batch is None:
            return (doing, commits) if doing in (Doing.POLLING, Doing.COMMITTING) else None
        work = batch.relative(now, positions) if doing is Doing.WORKING else None
        return None if work is None else (work, commits)

    def move(self, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move by whole periods; the kernel has moved the end of the work."""
        if self.batch is not None:
            self.batch = self.batch.moved(later_us, records)
        self.commits.move(later_us, records)

    # -- work -----------------------------------------------------------------------------------

    def _commit_before(self, ranges: tuple[Handed, ...]) -> None:
        self._commit(None, lambda result: self._work_unless_refused(ranges, result))

    def _work_unless_refused(self, ranges: tuple[Handed, ...], result: CommitResult) -> None:
        if self.commits.refused(result):
            self._discard(ranges)
        else:
            self._work(ranges)

    def _work(self, ranges: tuple[Handed, ...]) -> None:
        if self.ending is Ending.AFTER_RECORD:
            self.shutdown.close()
            return
        batch = Batch.of(ranges, self._kernel.now)
        self._blueprint.plan(batch)
        if self._blueprint.group.poison:
            self._process.write_poison_met(ranges)
        self.batch = batch
        if self._pending_hang_us:
            batch.lengthen(0, self._pending_hang_us)
            self._pending_hang_us = 0
        self.await_batch(batch)

    def await_batch(self, batch: Batch) -> None:
        """Wait for the end of the batch, or of its next record if each is watched."""
        self._token = token = self._token + 1
        if batch.reported == batch.count:
            self._batch_done(batch)
            return
        self.doing, self._awaited = Doing.WORKING, True
        if self.seen is not None:
            self.seen.begin(*batch.record(batch.reported))
        when = batch.end_us(batch.reported if self._each_record or batch.flaws else batch.count - 1)
        end = self._kernel.push(when, self._order, lambda _: self._worked(token))
        end.recurs = True

    def await_again(self, batch: Batch) -> None:
        """Await a batch that has changed; between two records its work goes on by itself."""
        if self._awaited:
            self.await_batch(batch)

    def _worked(self, token: int) -> None:
        if token != self._token or not self._process.alive or self._paused_us:
            return
        self._awaited = False
        batch = self.batch
        assert batch is not None, "work ended that was not begun"
        if batch.flaws:
            rule = batch.flaws.get(batch.reported)
            if rule is None:
                self.count(batch, batch.reported + 1)
            elif self._failures is not None and not self._failures.ended(batch, rule):
                return
        else:
            self._report(batch, self._kernel.now)
        if self._each_record or batch.reported < batch.count:
            self.step("record done", self._after_record, batch)
        else:
            self._batch_done(batch)

    @property
    def _each_record(self) -> bool:
        """Whether each record is watched: by the policy, or by a fault that waits for one."""
        return self._per_record or self._run.triggers.awaited(self._blueprint.name, "record done")

    def _report(self, batch: Batch, until_us: int) -> None:
        """Count what is finished by ``until_us`` as processed."""
        finished = batch.finished(until_us)
        if finished > batch.reported:
            self.count(batch, finished)

    def count(self, batch: Batch, finished: int) -> None:
        """Count the records of a batch up to a number as processed."""
        began = batch.began_us(batch.reported)
        self._process.progress.report(batch, batch.reported, finished)
        for part in batch.part(batch.reported, finished):
            self._worked_through(part.partition, part.next_offset, began)
            if self.uncommitted is not None:
                self.uncommitted[part.partition] = part.next_offset
        self.commits.processed(finished - batch.reported)
        batch.reported = finished

    def _discard(self, ranges: tuple[Handed, ...]) -> None:
        """Discard records after a refused commit, and poll again."""
        cause = self._run.causes.refused.get(self._blueprint.name)
        for part in ranges:
            self._process.progress.skip(part, "discarded", cause)
        self.batch = None
        self.poll()

    def settle(self) -> None:
        """Count what is finished by now, before it is read."""
        if self.doing is Doing.WORKING and self.batch is not None and not self.batch.flaws:
            self._report(self.batch, min(self._paused_us, default=self._kernel.now))

    def records_in_progress(self) -> Iterator[tuple[TopicPartition, int, int]]:
        """Yield partition, offset and begin of each record in progress."""
        if self._workers is not None:
            yield from self._workers.in_progress()
        batch = self.batch
        if self.doing is Doing.WORKING and batch is not None and batch.reported < batch.count:
            tp, offset = batch.record(batch.reported)
            yield tp, offset, batch.began_us(batch.reported)

    # -- commits by policy ------------------------------------------------------------------------

    def _after_record(self, batch: Batch) -> None:
        tp, offset = batch.record(batch.reported - 1)
        policy, go_on = self._blueprint.commit, partial(self._next_record, batch)
        if policy.when == "record":
            self._commit({tp: offset + 1}, go_on)
        elif policy.when == "every" and not policy.between_batches and self.commits.due:
            self._commit(dict(self.commits.uncommitted), go_on)
        else:
            self.await_batch(batch)

    def _next_record(self, batch: Batch, result: CommitResult) -> None:
        if self.commits.refused(result):
            self._discard(tuple(batch.part(batch.reported, batch.count)))
            return
        if self.ending is Ending.AFTER_RECORD:
            self.shutdown.close()
            return
        batch.shift(self._kernel.now - batch.end_us(batch.reported - 1))
        self.await_batch(batch)

    def _batch_done(self, batch: Batch) -> None:
        self.batch = None
        self.step("batch done", self._after_batch, batch)

    def _after_batch(self, batch: Batch) -> None:
        if self.ending is Ending.AFTER_RECORD:
            self.shutdown.close()
        else:
            self.commit_finished(batch.ranges, self.poll)

    def commit_finished(self, ranges: Iterable[Handed], then: Callable[[], None]) -> None:
        """Commit finished records as the policy does after a batch, then continue."""
        policy = self._blueprint.commit
        ends = {part.partition: part.next_offset for part in ranges}
        if policy.when == "batch" and policy.call in ("sync", "async", "store") and ends:
            self._commit(ends, lambda result: self.commits.went_on(result, then))
        elif policy.when == "every" and policy.between_batches and self.commits.due:
            self._commit(dict(self.commits.uncommitted), lambda r: self.commits.went_on(r, then))
        else:
            then()

    def _commit(
        self, ends: dict[TopicPartition, int] | None, then: Callable[[CommitResult], None]
    ) -> None:
        self.doing = Doing.COMMITTING
        self.commits.commit(ends, then)

    # -- the rebalance listener -------------------------------------------------------------------

    def call(self, call: Call) -> None:
        """Run the listener."""
        if not self.busy:
            self.doing = Doing.LISTENING
        self.listener.call(call)

    @property
    def busy(self) -> bool:
        """Whether it works or commits: a client in the background calls the listener beside that."""
        return self.doing in (Doing.WORKING, Doing.COMMITTING)

    def listen(self, call: Call, then: Callable[[], None]) -> None:
        """Let the handler take part in a listener call, then continue."""
        then() if self._workers is None else self._workers.listen(call, then)

    def listened(self) -> None:
        """Take the end of a listener call."""
        if self.busy:
            return
        self.doing = Doing.CLOSING if self.ending is Ending.BEGUN else Doing.POLLING

    # -- interruptions ----------------------------------------------------------------------------

    def hang(self, length_us: int) -> None:
        """Make the handler hang on the next record that it begins."""
        if self._workers is not None:
            self._workers.hang(length_us)
            return
        self._process.unfold()
        batch = self.batch
        if batch is not None and self.doing is Doing.WORKING:
            until_us = min(self._paused_us, default=self._kernel.now)
            following = batch.finished(until_us) + 1
            if following < batch.count:
                batch.lengthen(following, length_us)
                self.await_again(batch)
                return
        self._pending_hang_us += length_us

    def pause(self) -> None:
        """Pause at the present position, until it was resumed as often as paused."""
        self.settle()
        self._paused_us.append(self._kernel.now)

    def resume(self) -> None:
        """Continue with the record in progress."""
        self._paused_us.pop()
        batch = self.batch
        if self.doing is Doing.WORKING and batch is not None and not self._paused_us:
            batch.resume(batch.reported, self._kernel.now)
            self.await_again(batch)

    @property
    def ending(self) -> Ending:
        """Whether it was asked to end, and how."""
        return self.shutdown.ending

    def closed(self) -> None:
        """Take the end of close(): the process ends."""
        self.shutdown.closed()

    def abandon(self) -> None:
        """Cancel all future actions: the process no longer exists."""
        self._token += 1
        self.commits.abandon()
