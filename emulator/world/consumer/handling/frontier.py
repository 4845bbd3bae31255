"""Count records that are finished in any order, and find the offset to commit.

Of each partition the records before the first unfinished one count as processed; those that
overtook it are written one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from assignors.types import TopicPartition
from emulator.world.consumer.epoch import Epoch
from emulator.world.consumer.handling.handler import RecordWork
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess
from protocols.consumer.fetch_buffer import Handed


class Job:
    """One record that was handed over, and its work."""

    __slots__ = ("began_us", "epoch", "lane", "offset", "partition")

    def __init__(
        self, lane: Hashable, tp: TopicPartition, offset: int, epoch: Epoch | None
    ) -> None:
        self.lane = lane
        self.partition = tp
        self.offset = offset
        self.epoch = epoch
        """The ownership epoch of the partition at that time."""

        self.began_us = 0


class Frontier:
    """The unfinished records of one process, and what it acknowledged."""

    def __init__(self, process: ConsumerProcess, application: ConsumerApplication) -> None:
        self._process = process
        self._application = application
        self._offsets = process.blueprint.commit.offsets
        self._acknowledged: dict[TopicPartition, int] = {}
        self.unfinished: Counter[TopicPartition] = Counter()

    def write_poison_met(self, job: Job) -> None:
        """Write that work on a record begins, if it is poisoned."""
        if self._process.blueprint.poison is not None:
            self._process.write_poison_met((Handed(job.partition, job.offset, job.offset + 1),))

    def count(self, job: Job, *, skipped: bool) -> None:
        """Count a record as processed, and as ready to be committed if it still belongs to it."""
        tp, progress = job.partition, self._process.progress
        work = RecordWork(tp, job.offset, job.began_us, self._process.run.kernel.now)
        epoch = progress.epoch_of(tp)
        if epoch is None:
            return
        if self._application.seen is not None and not skipped:
            self._application.seen.deliver(tp, job.offset)
        if self._process.run.recorder.on_record is not None and not skipped:
            self._process.run.recorder.on_record(work)
        if epoch is not job.epoch:
            if not skipped:
                progress.write_out_of_order(work, epoch.generation, earlier=True)
            return
        if job.offset != progress.next_record(tp, epoch.done):
            epoch.finish_out_of_order(job.offset, failed=skipped)
            if not skipped:
                progress.write_out_of_order(work, epoch.generation, earlier=False)
        elif skipped:
            self._skip(tp, job.offset)
        else:
            progress.worked(tp, job.offset + 1, job.began_us)
        self._pass_finished(tp, epoch)
        if epoch.ended is None:
            self._acknowledge(tp, job.offset + 1, epoch.done)

    def _pass_finished(self, tp: TopicPartition, epoch: Epoch) -> None:
        """Move over the records that were finished before those in front of them."""
        progress, finished = self._process.progress, epoch.out_of_order or {}
        while (offset := progress.next_record(tp, epoch.done)) in finished:
            if finished.pop(offset):
                self._skip(tp, offset)
            else:
                progress.write(tp)
                progress.pass_one(tp, offset)

    def _skip(self, tp: TopicPartition, offset: int) -> None:
        """Continue behind a record whose processing failed."""
        cause = self._process.run.causes.disturbed.get(self._process.blueprint.name)
        self._process.progress.skip(Handed(tp, offset, offset + 1), "skipped", cause)

    def _acknowledge(self, tp: TopicPartition, next_offset: int, done: int) -> None:
        """Note the offset to commit, by the policy."""
        commits, known = self._application.commits, self._acknowledged.get(tp)
        commits.processed(1)
        match self._offsets:
            case "frontier":
                next_offset = done
            case "highest":
                next_offset = max(next_offset, known or 0)
        if next_offset != known and (known is not None or next_offset > 0):
            self._acknowledged[tp] = next_offset
            commits.uncommitted[tp] = next_offset

    def release(self, tp: TopicPartition, records: int) -> None:
        """Note that so many records of a partition are no longer in hand; its epoch may end."""
        self.unfinished[tp] -= records
        epoch = self._process.progress.epoch_of(tp)
        if not self.unfinished[tp] and epoch is not None and epoch.ended is not None:
            self._process.progress.close(tp, *epoch.ended)

    def forget(self, tp: TopicPartition) -> None:
        """Forget what was acknowledged of a partition that is revoked, or sought in."""
        self._acknowledged.pop(tp, None)

    def close(self, tp: TopicPartition, why: str, event: int) -> None:
        """End the epoch of a partition, with the last record of it that is still processed."""
        epoch = self._process.progress.epoch_of(tp)
        if epoch is not None and self.unfinished[tp]:
            epoch.ended = epoch.ended or (why, event)
        else:
            self._process.progress.close(tp, why, event)
