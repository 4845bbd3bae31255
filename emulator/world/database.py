"""Offsets in the user's own database, each written in the transaction of the results before it.

A batch is one transaction: its results and, for each partition, the offset behind the last record. The
records count as processed when the database has committed; until then they have no result. A process
that ends before that, or whose transaction is fenced, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assignors.types import TopicPartition
from emulator.events import (
    OffsetsStored,
    PositionSource,
    Processed,
    ResultsRolledBack,
)
from emulator.scenario.model import Database
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.consumer.seeking import seek
from emulator.world.kernel import Kernel, Rank, Then
from emulator.world.store_requests import (
    Offsets,
    answer,
    begin_commit,
    stored,
    write_answer,
    write_read,
)
from emulator.world.store_service import StoreService
from protocols.consumer.offset_table import OffsetTable
from protocols.consumer.store_history import NOTHING_STORED, Key
from protocols.messages import OffsetFetchRequest, OffsetToCommit

FENCED, STOPPED, UNAVAILABLE = "fenced", "stopped", "unavailable"


class DatabaseHost:
    """The database of a run."""

    def __init__(self, kernel: Kernel, settings: Database, seed: int) -> None:
        self._kernel = kernel
        self.settings = settings
        self.service = StoreService(kernel, "database", settings, seed)
        self.table = OffsetTable(settings.transactions)
        self._commits: dict[str, Transactions] = {}

    def commits_of(self, process: ConsumerProcess) -> Transactions:
        """Return the transactions of a process that has just started."""
        transactions = self._commits[process.name] = Transactions(process, self)
        return transactions

    def stop(self, fault: int) -> None:
        """Make it unavailable; transactions in flight are rolled back."""
        self.table.queue.clear()
        self.service.stop(fault)

    def restore(self, offsets: Mapping[Key, int]) -> None:
        """Replace all offsets by those of a backup."""
        self.table.restore(offsets)

    def fail(self, process: ConsumerProcess, again: Then) -> None:
        """React to an error as the application does: try again later, or end the process."""
        if self.settings.on_failure == "stop":
            process.stop("failed", self.service.fault, "the database is down")
            return

        def retry(_: object = None) -> None:
            if process.alive and not process.hold(retry):
                again()

        when = self._kernel.now + self.settings.backoff
        self._kernel.at(when, Rank.APPLICATION, process.index, retry)

    def committed(self, group: str, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the stored offsets of a group, for readers outside the cluster."""
        found = {tp: self.table.read((group, tp)) for tp in partitions}
        return {tp: offset for tp, offset in found.items() if offset != NOTHING_STORED}

    def fetch(
        self, process: ConsumerProcess, correlation_id: int, request: OffsetFetchRequest
    ) -> bool:
        """Read the offsets of a process's partitions in one query, and answer its client."""
        partitions, name = request.partitions or (), process.name

        def found(offsets: Offsets) -> None:
            self._commits[name].note_read(offsets)
            answer(process, correlation_id, offsets)

        self.query(process, partitions, found)
        return True

    def accepted(self, process: ConsumerProcess, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Do nothing: no client of this group commits to Kafka."""

    def query(
        self,
        process: ConsumerProcess,
        partitions: tuple[TopicPartition, ...],
        then: Callable[[Offsets], None],
    ) -> None:
        """Read offsets for a process; continue if it still runs."""
        asked_us, consumer = self._kernel.now, process.blueprint.name
        group = process.blueprint.group.id

        def answered() -> None:
            offsets = tuple((tp, self.table.read((group, tp))) for tp in partitions)
            if self.service.down:
                failed()
            elif process.alive:
                write_read(process, offsets, asked_us)
                then(offsets)

        def failed() -> None:
            if process.alive and not process.hold(failed):
                self.fail(process, lambda: self.query(process, partitions, then))

        when = asked_us + self.service.read_us(consumer, asked_us)
        self.service.finish(when, Rank.AT_CLIENT, process.index, answered, failed)


class Transactions:
    """The transactions of one process."""

    def __init__(self, process: ConsumerProcess, host: DatabaseHost) -> None:
        self._process = process
        self._host = host
        self._kernel = process.run.kernel
        self._expected: dict[TopicPartition, int] = {}
        """The offset that this process read or wrote last."""

        self._open: dict[TopicPartition, tuple[int, int, int]] = {}
        """Results that are not committed: first offset, next offset, begin of the work."""

        self._in_flight = False
        """Whether a COMMIT is on its way: the application waits for its answer."""

        self._last_epochs: dict[TopicPartition, int] = {}
        """The generations of the epochs in which an ended process did the work of that COMMIT."""

        self._count = 0

    def note_read(self, offsets: Offsets) -> None:
        """Note the offsets at which the process begins."""
        self._expected.update(offsets)

    def worked(self, tp: TopicPartition, next_offset: int, began_us: int) -> None:
        """Add records to the transaction; they are processed when it is committed."""
        held = self._open.get(tp)
        done = self._process.progress.done(tp)
        first = next_offset if done is None else done
        if held is not None:
            first, _, began_us = held
        self._open[tp] = first, next_offset, began_us

    def finish(self, then: Then) -> None:
        """Continue: a transaction that is waited for says itself when it is committed."""
        then()

    def write(self, ends: dict[TopicPartition, int], kind: str, then: Then) -> bool:
        """Commit the transaction with the offsets of its partitions, then continue."""
        process, host, now = self._process, self._host, self._kernel.now
        process.settle()
        self._count += 1
        number, processed = f"db{self._count}", tuple(ends.values())
        sent = begin_commit(process, number, kind, tuple(ends.items()), processed)
        waited_us, when = host.table.queue.submit(now, host.service.write_us(sent.consumer))
        commit = stored("database", sent, now, waited_us)

        def again() -> None:
            self._on_unavailable(
                commit, lambda: host.fail(process, lambda: self._again(ends, kind, then))
            )

        def arrived() -> None:
            if host.service.down:
                again()
            else:
                self._arrived(commit, then)

        self._in_flight = True
        host.service.finish(when, Rank.AT_BROKER, process.index, arrived, again)
        return True

    def _on_unavailable(self, commit: OffsetsStored, then: Then) -> None:
        """Roll back the transaction of an ended process; a running one has to try again."""
        self._in_flight = False
        if self._process.alive:
            self._answer(commit, UNAVAILABLE, then)
        else:
            self._roll_back(STOPPED)

    def _again(self, ends: dict[TopicPartition, int], kind: str, then: Then) -> None:
        """Commit the same transaction once more."""
        self.write(ends, kind, then)

    def _arrived(self, commit: OffsetsStored, then: Then) -> None:
        """Commit, unless the transaction is fenced; also if the process has ended meanwhile."""
        self._in_flight = False
        rows = {(commit.group, tp): offset for tp, offset in commit.offsets}
        expected = None
        if self._host.settings.fenced:
            expected = {(commit.group, tp): self._expected[tp] for tp, _ in commit.offsets}
        if self._host.table.commit(rows, expected):
            self._committed(commit)
            self._answer(commit, "NONE", then)
        else:
            self._roll_back(FENCED)
            self._answer(commit, FENCED, lambda: self._begin_again(commit, then))

    def _committed(self, commit: OffsetsStored) -> None:
        group = commit.group
        results = {(group, tp): (first, end) for tp, (first, end, _) in self._open.items()}
        self._host.service.note({(group, tp): end for tp, end in commit.offsets}, results)
        if self._process.alive:
            self._count_processed()
        else:
            self._write_processed(commit)
        self._open.clear()
        self._expected.update(commit.offsets)
        self._process.run.recorder.write_data(commit)

    def _count_processed(self) -> None:
        progress = self._process.progress
        for tp, (_, next_offset, began_us) in self._open.items():
            progress.worked(tp, next_offset, began_us)
        progress.write_all(self._open)

    def _write_processed(self, commit: OffsetsStored) -> None:
        """Write the work of a process that has ended: it has its results from now on."""
        process = self._process
        for tp, (begin, end, began_us) in self._open.items():
            for first, next_offset in process.progress.runs(tp, begin, end):
                processed = Processed(
                    consumer=commit.consumer,
                    group=commit.group,
                    generation=self._last_epochs[tp],
                    partition=tp,
                    first=first,
                    next_offset=next_offset,
                    began_us=began_us,
                )
                process.run.recorder.write_data(processed)

    def _answer(self, commit: OffsetsStored, error: str, then: Then) -> None:
        process = self._process
        if not process.alive or process.hold(lambda: self._answer(commit, error, then)):
            return
        fault = None if error == FENCED else self._host.service.fault
        write_answer(process, commit, error, fault)
        then()

    def abandon(self) -> None:
        """Roll back what is open, as the process ends, but not a transaction whose COMMIT is on its way."""
        if not self._in_flight:
            self._roll_back(STOPPED)
        for tp in self._open:
            epoch = self._process.progress.epoch_of(tp)
            self._last_epochs[tp] = -1 if epoch is None else epoch.generation

    def _roll_back(self, why: str) -> None:
        process = self._process
        for tp, (first, next_offset, _) in sorted(self._open.items()):
            lost = ResultsRolledBack(
                consumer=process.blueprint.name,
                group=process.blueprint.group.id,
                partition=tp,
                first=first,
                next_offset=next_offset,
                why=why,
            )
            process.run.recorder.write(lost, process.run.causes.disturbed.get(lost.consumer))
        self._open.clear()

    def _begin_again(self, commit: OffsetsStored, then: Then) -> None:
        """Read the offsets again after a fenced transaction, and seek to them."""
        partitions = tuple(tp for tp, _ in commit.offsets)
        self._host.query(self._process, partitions, lambda offsets: self._seek(offsets, then))

    def _seek(self, offsets: Offsets, then: Then) -> None:
        """Seek to stored offsets; to the beginning where there is none any more."""
        process = self._process
        if not process.alive or process.hold(lambda: self._seek(offsets, then)):
            return
        positions = process.client.consumer.positions
        self.note_read(offsets)
        for tp, offset in offsets:
            if tp in positions.readings and process.progress.done(tp) is not None:
                found = offset != NOTHING_STORED
                source = PositionSource.COMMITTED if found else PositionSource.EARLIEST
                seek(process, tp, max(offset, 0), source, None)
        then()
