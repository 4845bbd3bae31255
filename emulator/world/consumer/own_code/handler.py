"""Code of the user as the handler of a process: its class is made at each start of the consumer.

The application thread runs ``handle()`` after each poll, also after one without records. Records are
counted when the code says that they are done; those that it names in no action stay in hand, and
the offset to commit stays before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from assignors.types import TopicPartition
from emulator.events import PositionSource
from emulator.scenario.checks.own_handlers import find_class
from emulator.scenario.model import OwnHandler
from emulator.world.consumer import seeking
from emulator.world.consumer.handling.frontier import Frontier, Job
from emulator.world.consumer.handling.handler import Doing, Ending
from emulator.world.consumer.handling.record_identity import Identities
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess
from emulator.world.consumer.own_code.actions import (
    Begin,
    Commit,
    Drain,
    Exit,
    Fail,
    Forward,
    Pair,
    Pause,
    Process,
    Record,
    Resume,
    Seek,
    Skip,
    Wait,
    partition_of,
    us_of,
)
from emulator.world.consumer.own_code.commits import OwnCommits
from emulator.world.consumer.own_code.consumer import Consumer
from emulator.world.consumer.own_code.failures import OwnFailures
from emulator.world.consumer.own_code.script import Guard, Script
from emulator.world.kernel import Rank, Then
from protocols.consumer.fetch_buffer import Handed
from protocols.machine import Call

Result = Callable[[object], None]


class OwnCode:
    """The user's object in one process."""

    def __init__(self, process: ConsumerProcess, application: ConsumerApplication) -> None:
        blueprint, self._kernel = process.blueprint, process.run.kernel
        given = blueprint.group.handler
        assert isinstance(given, OwnHandler), "another handler has no code of the user"
        self._process = process
        self._application = application
        self._frontier = Frontier(process, application)
        self._polls = 0
        self._jobs: dict[Record, Job] = {}
        """The records in hand that are not begun."""

        self._running: dict[Job, None] = {}
        self._sought: set[Job] = set()
        """Records in progress whose partition a ``Seek`` has left: no longer in hand."""

        self._drains: list[tuple[int, Result]] = []
        self._commits = OwnCommits(process, application)
        self._hang_us = 0
        self._identities = Identities(process.run.scenario, blueprint.seed)
        self._guard = Guard(
            given.code, blueprint.name, blueprint.group.id, lambda: self._kernel.now
        )
        self._failures = OwnFailures(process, self._guard, given.forwards)
        made = find_class(given, folders=None)
        with self._guard("the class"):
            self._code: Any = made(Consumer(process, self._running), **given.arguments)

    # -- calls of the user's methods --------------------------------------------------------------

    def take(self, ranges: Iterable[Handed], then: Then) -> None:
        """Call ``handle`` with the records of a poll, and continue when it has returned."""
        self._polls += 1
        records = [record for part in ranges for record in self._take_in_hand(part)]
        self._application.doing = Doing.WORKING
        self._guard.at = str(records[0]) if records else ""
        done = partial(self._handled, then, bool(records))
        self._run("handle", partial(self._code.handle, records), done)

    def _handled(self, then: Then, had_records: bool) -> None:
        self._guard.at = ""
        if had_records:
            self._application.step("batch done", then)
        else:
            then()

    def _take_in_hand(self, part: Handed) -> Iterator[Record]:
        tp = part.partition
        epoch = self._process.progress.epoch_of(tp)
        known = self._identities
        for offset in range(part.first, part.next_offset):
            identity = known.key(tp, offset), self._polls, known.original(tp, offset)
            record = Record(tp.topic, tp.partition, offset, *identity)
            self._jobs[record] = Job(None, tp, offset, epoch)
            yield record
        self._frontier.unfinished[tp] += part.next_offset - part.first

    def listen(self, call: Call, then: Then) -> None:
        """Call the user's listener method, if there is one, then continue."""
        method = getattr(self._code, call.listener, None)
        if method is None:
            then()
            return
        pairs = tuple((tp.topic, tp.partition) for tp in call.partitions)
        self._run(call.listener, partial(method, pairs), then)

    def finish(
        self, partitions: Iterable[TopicPartition], commit: Callable[[Then], None], then: Then
    ) -> None:
        """Before close(), call ``closing``; then commit by the policy, and continue."""
        if self._application.doing is not Doing.CLOSING:
            commit(then)
            return
        method = getattr(self._code, "closing", tuple)
        self._run("closing", method, partial(self._closing, frozenset(partitions), commit, then))

    def _closing(
        self,
        partitions: frozenset[TopicPartition],
        commit: Callable[[Then], None],
        then: Then,
    ) -> None:
        self._drop(partitions)
        commit(then)

    def _run(self, name: str, call: Callable[[], object], then: Then) -> None:
        Script(self._guard, name, self._perform, then).begin(call)

    # -- actions ----------------------------------------------------------------------------------

    def _perform(self, script: Script, action: object, go_on: Result) -> None:
        """Carry out an action, unless the process ends before it."""
        if not self._process.alive:
            script.end()
        elif script.name == "handle" and self._application.ending is Ending.AFTER_RECORD:
            script.end()
            self._application.shutdown.close()
        else:
            _PERFORMED[type(action)](self, action, partial(self._continue, script, go_on))

    def _continue(self, script: Script, go_on: Result, result: object) -> None:
        """Go on with a script, later if the process is paused; not at all if it has ended."""
        process = self._process
        if not process.alive:
            script.is_over = True
        elif not process.hold(lambda: self._continue(script, go_on, result)):
            go_on(result)

    def _later(self, us: int, then: Callable[[], None]) -> None:
        index = self._process.blueprint.index
        self._kernel.at(self._kernel.now + us, Rank.APPLICATION, index, lambda _: then())

    def _wait(self, action: Wait, go_on: Result) -> None:
        self._later(us_of(action.ms), lambda: go_on(None))

    def _exit(self, action: Exit, go_on: Result) -> None:
        del go_on
        self._process.stop("failed", None, action.reason)

    # -- records ----------------------------------------------------------------------------------

    def _process_record(self, action: Process, go_on: Result) -> None:
        self._begin(action.record, action.ms, go_on)

    def _begin_record(self, action: Begin, go_on: Result) -> None:
        self._begin(action.record, action.ms, None)
        go_on(None)

    def _begin(self, record: Record, ms: float | None, go_on: Result | None) -> None:
        self._work(record, ms, lambda job: self._ended(job, go_on))

    def _fail(self, action: Fail, go_on: Result) -> None:
        self._work(action.record, action.ms, lambda job: self._failed(job, action.record, go_on))

    def _failed(self, job: Job, record: Record, go_on: Result) -> None:
        """Take the record in hand again behind a failed attempt, unless it was sought away from."""
        if self._process.alive and not self._process.hold(lambda: self._failed(job, record, go_on)):
            del self._running[job]
            self._failures.failed(job)
            if job in self._sought:
                self._sought.discard(job)
                self._frontier.release(job.partition, 1)
            else:
                self._jobs[record] = job
            self._after_record(go_on)

    def _work(self, record: Record, ms: float | None, then: Callable[[Job], None]) -> None:
        """Begin a record, and continue when its time is over; None: its time by the scenario.

        The scenario's rules may lengthen it, as those of a poisoned record do.
        """
        job = self._job_of(record)
        job.began_us = self._kernel.now
        self._running[job] = None
        if ms is None:
            self._frontier.write_poison_met(job)
            work_us = self._process.blueprint.work_us(job.partition, job.offset)
        else:
            work_us = us_of(ms)
        hang_us, self._hang_us = self._hang_us, 0
        self._later(work_us + hang_us, lambda: then(job))

    def _job_of(self, record: Record) -> Job:
        """Take a record that is in hand and was not begun."""
        self._guard.at = str(record)
        job = self._jobs.pop(record, None)
        if job is None:
            raise self._guard.error(
                "the record is not in hand: it was done or begun before, was sought away from, or was "
                "not returned to this process"
            )
        return job

    def _ended(self, job: Job, go_on: Result | None) -> None:
        process = self._process
        if not process.alive or process.hold(lambda: self._ended(job, go_on)):
            return
        del self._running[job]
        self._sought.discard(job)
        self._done(job, skipped=False)
        after = partial(self._after_record, go_on)
        if process.run.triggers.awaited(process.blueprint.name, "record done"):
            self._application.step("record done", after)
        else:
            after()

    def _after_record(self, go_on: Result | None) -> None:
        for most, drained in list(self._drains):
            if len(self._running) <= most:
                self._drains.remove((most, drained))
                drained(None)
        if go_on is not None:
            go_on(None)

    def _done(self, job: Job, *, skipped: bool) -> None:
        self._frontier.count(job, skipped=skipped)
        self._frontier.release(job.partition, 1)

    def _skip(self, action: Skip, go_on: Result) -> None:
        self._done(self._job_of(action.record), skipped=True)
        go_on(None)

    def _forward(self, action: Forward, go_on: Result) -> None:
        job = self._job_of(action.record)
        job.began_us = self._kernel.now
        self._failures.forward(job, action)
        self._done(job, skipped=False)
        go_on(None)

    def _drain(self, action: Drain, go_on: Result) -> None:
        if len(self._running) <= action.at_most:
            go_on(None)
        else:
            self._drains.append((action.at_most, go_on))

    # -- calls on the consumer ----------------------------------------------------------------------

    def _commit(self, action: Commit, go_on: Result) -> None:
        self._commits.commit(action.offsets, go_on, sync=action.sync)

    def _pause(self, action: Pause, go_on: Result) -> None:
        fetcher = self._process.client.consumer.fetcher
        fetcher.pause(fetcher.paused | self._assigned("Pause", action.partitions))
        go_on(None)

    def _resume(self, action: Resume, go_on: Result) -> None:
        fetcher = self._process.client.consumer.fetcher
        fetcher.pause(fetcher.paused - self._assigned("Resume", action.partitions))
        go_on(None)

    def _assigned(self, action: str, pairs: Iterable[Pair] | None) -> frozenset[TopicPartition]:
        """Return these partitions, or all assigned ones."""
        assigned = frozenset(self._process.client.consumer.fetcher.positions.assigned)
        if pairs is None:
            return assigned
        wanted = [partition_of(pair) for pair in pairs]
        for tp in wanted:
            if tp not in assigned:
                owned = ", ".join(map(str, sorted(assigned))) or "none"
                raise self._guard.error(
                    f"{action} names {tp}, which is not assigned (assigned: {owned}); Kafka throws "
                    "IllegalStateException"
                )
        return frozenset(wanted)

    def _seek(self, action: Seek, go_on: Result) -> None:
        (tp,) = self._assigned("Seek", (action.partition,))
        self._drop(frozenset((tp,)))
        self._sought.update(job for job in self._running if job.partition == tp)
        self._frontier.forget(tp)
        self._application.commits.forget(tp)
        self._commits.forget(tp)
        cause = self._process.run.causes.disturbed.get(self._process.blueprint.name)
        seeking.seek(self._process, tp, action.offset, PositionSource.SEEK, cause)
        go_on(None)

    # -- as the application uses it -----------------------------------------------------------------

    def make_room(self, then: Then) -> bool:
        """Return True: the code itself decides what it takes, by ``Pause`` and ``Drain``."""
        del then
        return True

    def leave_room(self) -> bool:
        """Return False: the application never waits for room."""
        return False

    def revoked(self, tp: TopicPartition, why: str, event: int) -> None:
        """End the epoch of a partition, with the last record of it that is still processed."""
        self._frontier.forget(tp)
        self._commits.forget(tp)
        self._frontier.close(tp, why, event)

    def discard(self, partitions: frozenset[TopicPartition]) -> None:
        """Keep what is in hand: ``closing`` decides what becomes of it."""

    def _drop(self, partitions: frozenset[TopicPartition]) -> None:
        """Drop the records of some partitions that are not begun."""
        for record, job in list(self._jobs.items()):
            if job.partition in partitions:
                del self._jobs[record]
                self._frontier.release(job.partition, 1)

    def hang(self, length_us: int) -> None:
        """Make the next record that is begun take longer."""
        self._hang_us += length_us

    def in_progress(self) -> Iterator[tuple[TopicPartition, int, int]]:
        """Yield partition, offset and begin of each record in progress."""
        for job in self._running:
            yield job.partition, job.offset, job.began_us


_PERFORMED: Final[dict[type, Callable[[OwnCode, Any, Result], None]]] = {
    Process: OwnCode._process_record,  # noqa: SLF001 (a table of this class's own methods)
    Begin: OwnCode._begin_record,  # noqa: SLF001
    Drain: OwnCode._drain,  # noqa: SLF001
    Wait: OwnCode._wait,  # noqa: SLF001
    Skip: OwnCode._skip,  # noqa: SLF001
    Fail: OwnCode._fail,  # noqa: SLF001
    Forward: OwnCode._forward,  # noqa: SLF001
    Commit: OwnCode._commit,  # noqa: SLF001
    Pause: OwnCode._pause,  # noqa: SLF001
    Resume: OwnCode._resume,  # noqa: SLF001
    Seek: OwnCode._seek,  # noqa: SLF001
    Exit: OwnCode._exit,  # noqa: SLF001
}
