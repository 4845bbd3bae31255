"""A pool of workers: they process records while the application thread polls on.

The records of a lane (a partition, a key, or one record) are processed one after the other. Lanes
with waiting records take turns. The application thread hands records over, and waits for workers
where the pool is full or drained.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator

from assignors.types import TopicPartition
from emulator.world.consumer import own_code
from emulator.world.consumer.handling.failures import Failures, Reaction, raised_at
from emulator.world.consumer.handling.frontier import Frontier, Job
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess, RecordHandler
from emulator.world.draws import draw, stream_key
from emulator.world.kernel import Rank, Then
from protocols.consumer.fetch_buffer import Handed
from protocols.machine import Call


class Lanes:
    """The records that wait for a worker, by lane; lanes take turns."""

    def __init__(self) -> None:
        self._lanes: dict[Hashable, deque[Job]] = {}
        """Of each lane with a waiting or running record: those that wait."""

        self._ready: deque[Hashable] = deque()
        """Lanes with a waiting record and none running, in turn."""

        self._running: set[Hashable] = set()
        self.waiting = 0

    def add(self, job: Job) -> None:
        """Append a record to its lane."""
        lane = self._lanes.get(job.lane)
        if lane is None:
            lane = self._lanes[job.lane] = deque()
            self._ready.append(job.lane)
        lane.append(job)
        self.waiting += 1

    def take(self) -> Job | None:
        """Return the record to begin next; None: no lane is ready."""
        if not self._ready:
            return None
        name = self._ready.popleft()
        self._running.add(name)
        self.waiting -= 1
        return self._lanes[name].popleft()

    def finish(self, job: Job) -> None:
        """Release the lane of a record that is finished."""
        self._running.discard(job.lane)
        if self._lanes[job.lane]:
            self._ready.append(job.lane)
        else:
            del self._lanes[job.lane]

    def drop(self, partitions: frozenset[TopicPartition]) -> list[Job]:
        """Remove the waiting records of some partitions; return them."""
        dropped = []
        for name, lane in list(self._lanes.items()):
            gone = [job for job in lane if job.partition in partitions]
            if not gone:
                continue
            dropped += gone
            kept = deque(job for job in lane if job.partition not in partitions)
            self._lanes[name] = kept
            if not kept and name not in self._running:
                del self._lanes[name]
        self._ready = deque(name for name in self._ready if name in self._lanes)
        self.waiting -= len(dropped)
        return dropped


def record_handler(
    process: ConsumerProcess, application: ConsumerApplication, failures: Failures | None
) -> RecordHandler:
    """Return the workers of a process, or the code of the user."""
    if process.blueprint.group.pool is None:
        return own_code.handler.OwnCode(process, application)
    return Workers(process, application, failures)


class Workers:
    """The workers of one process."""

    def __init__(
        self,
        process: ConsumerProcess,
        application: ConsumerApplication,
        failures: Failures | None,
    ) -> None:
        self._process = process
        self._application = application
        self._blueprint = process.blueprint
        self._kernel = process.run.kernel
        pool = process.blueprint.group.pool
        assert pool is not None, "only groups with a pool have workers"
        self._pool = pool
        self._failures = failures
        self._lanes = Lanes()
        self._running: dict[Job, None] = {}
        self._frontier = Frontier(process, application)
        self._waits: dict[int, tuple[Callable[[], bool], Then]] = {}
        """By number: what the application, or its rebalance listener, waits for; how it continues."""

        self._number = 0
        self._room: int | None = None
        """The wait for room in the queue."""

        self._waits_for_room = False
        """Whether the queue was full at the last poll, and the application waits or has paused."""

        self._has_paused = False
        self._hang_us = 0
        """A fault lengthens the next record by this."""

    # -- records --------------------------------------------------------------------------------

    def listen(self, call: Call, then: Then) -> None:  # noqa: ARG002  workers do not listen
        """Continue with a call of the rebalance listener."""
        then()

    def take(self, ranges: Iterable[Handed], then: Then) -> None:
        """Take the records of a poll, and continue."""
        for part in ranges:
            epoch = self._process.progress.epoch_of(part.partition)
            for offset in range(part.first, part.next_offset):
                lane = self._lane(part.partition, offset)
                self._lanes.add(Job(lane, part.partition, offset, epoch))
            self._frontier.unfinished[part.partition] += part.next_offset - part.first
        self._begin()
        then()

    def _lane(self, tp: TopicPartition, offset: int) -> Hashable:
        match self._pool.order:
            case "partition":
                return tp
            case "key":
                key = stream_key(self._blueprint.seed, "key", str(tp))
                return tp, int(draw(key, offset) * self._pool.keys)
        return tp, offset

    def _begin(self) -> None:
        """Give waiting records to free workers."""
        while len(self._running) < self._pool.workers:
            job = self._lanes.take()
            if job is None:
                return
            job.began_us = self._kernel.now
            self._running[job] = None
            self._frontier.write_poison_met(job)
            work_us = self._blueprint.work_us(job.partition, job.offset) + self._hang_us
            self._hang_us = 0
            self._end_at(job, job.began_us + work_us)

    def _end_at(self, job: Job, when: int) -> None:
        index = self._blueprint.index
        self._kernel.at(when, Rank.APPLICATION, index, lambda _: self._ended(job))

    def _ended(self, job: Job) -> None:
        process = self._process
        if not process.alive or process.hold(lambda: self._ended(job)):
            return
        reaction = self._reaction(job)
        if reaction is Reaction.STOP:
            process.stop("failed", None, raised_at(job.partition, job.offset))
            return
        del self._running[job]
        self._lanes.finish(job)
        self._frontier.count(job, skipped=reaction is Reaction.SKIPPED)
        self._frontier.release(job.partition, 1)
        if process.run.triggers.awaited(self._blueprint.name, "record done"):
            self._application.step("record done", self._go_on)
        else:
            self._go_on()

    def _reaction(self, job: Job) -> Reaction:
        """Return what becomes of a record after the work on it."""
        if self._failures is None or self._blueprint.poison is None:
            return Reaction.PROCESSED
        rule = self._blueprint.poison.failing(job.partition, job.offset)
        if rule is None:
            return Reaction.PROCESSED
        return self._failures.react(rule, job.partition, job.offset)

    def _go_on(self) -> None:
        self._begin()
        self._look()

    # -- revocation -----------------------------------------------------------------------------

    def revoked(self, tp: TopicPartition, why: str, event: int) -> None:
        """End the epoch of a partition, with the last record of it that is still processed."""
        self._frontier.forget(tp)
        if self._pool.revoked == "discard":
            self.discard(frozenset((tp,)))
        self._frontier.close(tp, why, event)

    def discard(self, partitions: frozenset[TopicPartition]) -> None:
        """Drop the records of some partitions that no worker has begun."""
        for job in self._lanes.drop(partitions):
            self._frontier.release(job.partition, 1)

    # -- waits of the application thread ----------------------------------------------------------

    @property
    def _is_full(self) -> bool:
        """Whether no more records are to be polled."""
        return self._lanes.waiting + len(self._running) >= self._pool.queue

    def make_room(self, then: Then) -> bool:
        """Return whether the application may poll: it pauses its partitions, or waits, if not.

        If it has to wait, it continues with *then*.
        """
        self._waits_for_room = self._has_to_wait
        if self._pool.when_full == "pause":
            self._pause()
            return True
        if not self._waits_for_room:
            return True
        self._room = self._await(lambda: not self._has_to_wait, then)
        return False

    @property
    def _has_to_wait(self) -> bool:
        """Whether the queue is full, or was and has not come down to the number to resume at."""
        resume_at = self._pool.resume_at
        if self._is_full or resume_at is None or not self._waits_for_room:
            return self._is_full
        return self._lanes.waiting + len(self._running) > resume_at

    def _pause(self) -> None:
        """Pause what is assigned, or resume it."""
        fetcher = self._process.client.consumer.fetcher
        if not self._waits_for_room:
            if self._has_paused:
                fetcher.pause(())
            self._has_paused = False
        elif not (self._has_paused and self._pool.pause_call == "once"):
            self._has_paused = True
            fetcher.pause(fetcher.positions.assigned)

    def finish(
        self, partitions: Iterable[TopicPartition], commit: Callable[[Then], None], then: Then
    ) -> None:
        """Drain the pool and commit, in the order of the pool's settings, then continue."""
        if self._pool.commit_first:
            commit(lambda: self._drain(partitions, then))
        else:
            self._drain(partitions, lambda: commit(then))

    def _drain(self, partitions: Iterable[TopicPartition], then: Then) -> None:
        """Continue when the records of some partitions are finished, or time is up."""
        wanted = frozenset(partitions)
        if self._pool.drain == "none":
            then()
            return
        if self._pool.drain == "running":
            self.discard(wanted)
        number = self._await(lambda: not any(self._frontier.unfinished[tp] for tp in wanted), then)
        if number is not None:
            when, index = self._kernel.now + self._pool.drain_for, self._blueprint.index
            self._kernel.at(when, Rank.APPLICATION, index, lambda _: self._give_up(number))

    def _await(self, is_done: Callable[[], bool], then: Then) -> int | None:
        """Continue when something is done; return the number of the wait, None if it is done."""
        if is_done():
            then()
            return None
        self._number += 1
        self._waits[self._number] = is_done, then
        return self._number

    def _look(self) -> None:
        """Let the application thread continue if what it waits for has happened."""
        for number in list(self._waits):
            if self._process.alive and number in self._waits and self._waits[number][0]():
                self._waits.pop(number)[1]()

    def _give_up(self, number: int) -> None:
        process = self._process
        if number not in self._waits or not process.alive:
            return
        if not process.hold(lambda: self._give_up(number)):
            self._waits.pop(number)[1]()

    def leave_room(self) -> bool:
        """Stop waiting for room in the queue; return whether the application did."""
        return self._room is not None and self._waits.pop(self._room, None) is not None

    # -- interruptions --------------------------------------------------------------------------

    def hang(self, length_us: int) -> None:
        """Make the next record that is begun take longer."""
        self._hang_us += length_us

    def in_progress(self) -> Iterator[tuple[TopicPartition, int, int]]:
        """Yield partition, offset and begin of each record in progress."""
        for job in self._running:
            yield job.partition, job.offset, job.began_us
