"""The ownership epochs of one process, and the progress of its handler in each.

Progress is written in ranges, and only before it is read: before a commit is sent,
when an epoch closes, at the end. So the events of a run do not depend on how its polls fell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from assignors.types import TopicPartition
from emulator.events import (
    EpochClosed,
    EpochOpened,
    NotProcessed,
    PartlyProcessed,
    Processed,
    ProcessedOutOfOrder,
    ReadOn,
)
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.partitions.shown_log import runs_of
from emulator.world.consumer.epoch import Epoch, Unwritten
from emulator.world.consumer.handling.handler import Batch, RecordWork
from emulator.world.run import Recorder
from protocols.consumer.fetch_buffer import NO_PARTITIONS, Handed

if TYPE_CHECKING:
    from emulator.world.consumer.blueprints import Blueprint
    from emulator.world.consumer.handling.seen_set import Deliveries

LogOf = Callable[[TopicPartition], PartitionLog | None]


class Owners:
    """The owners of a group's partitions: open epochs, and the progress of each partition."""

    __slots__ = ("deliveries", "done", "holders")

    def __init__(self, deliveries: Deliveries | None = None) -> None:
        self.deliveries = deliveries
        """What the group has delivered to its deduplication; None: it has none."""

        self.done: dict[TopicPartition, int] = {}
        """The progress of the present or last owner of a partition."""

        self.holders: dict[TopicPartition, tuple[Progress, ...]] = {}
        """The processes with an open epoch; two while a zombie works on beside the new owner."""

    def truncated(self, tp: TopicPartition, first: int) -> None:
        """Note for the owners of a partition that its log lost all from ``first`` on."""
        if tp in self.done:
            self.done[tp] = min(self.done[tp], first)
        if self.deliveries is not None:
            self.deliveries.truncated(tp, first)
        for holder in self.holders.get(tp, ()):
            holder.behind |= {tp}


class Progress:
    """The epochs of one process: what it was handed, has finished, and has written."""

    def __init__(
        self,
        blueprint: Blueprint,
        recorder: Recorder,
        owners: Owners,
        settle: Callable[[], None],
        unfold: Callable[[], None],
        log_of: LogOf,
    ) -> None:
        self._consumer = blueprint.name
        self._group = blueprint.group.id
        self._recorder = recorder
        self._by_record = recorder.by_record
        self._on_record = recorder.on_record
        self._epochs: dict[TopicPartition, Epoch] = {}
        self._retired: dict[TopicPartition, list[Epoch]] = {}
        """Epochs that ended while the handler still works on records that they were handed."""

        self._waiting: dict[TopicPartition, tuple[EpochOpened, int | None]] = {}
        """Epochs that begin when the handler has finished the records of such an earlier one."""

        self._owners = owners
        self._settle = settle
        """Counts what the handler has finished by now."""

        self._unfold = unfold
        """Stops polling by arithmetic: each batch is written from now on."""

        self.log_of = log_of
        self._committed = blueprint.reads_committed
        self.behind = NO_PARTITIONS
        """Partitions whose logs were truncated since their epochs began."""

    def open(self, opened: EpochOpened, cause: int | None) -> None:
        """Begin an epoch where the client set its position; an open one ends."""
        tp = opened.partition
        if tp in self._retired:
            self._waiting[tp] = (opened, cause)
            return
        if tp in self._epochs:
            self.close(tp, "reopened", cause)
        others = self._owners.holders.get(tp, ())
        for other in others:
            other.write_now(tp)
        self._owners.holders[tp] = (*others, self)
        self._epochs[tp] = Epoch(opened.generation, opened.offset, self.log_of(tp))
        self._owners.done[tp] = opened.offset
        self._recorder.write(opened, cause)

    def take(self, part: Handed) -> None:
        """Note the records that poll returned."""
        self._epochs[part.partition].take(part.first, part.next_offset)

    def handed(self, tp: TopicPartition, next_offset: int) -> None:
        """Note the end of what poll returned, of a partition without gaps."""
        self._epochs[tp].position = next_offset

    @property
    def deliveries(self) -> Deliveries | None:
        """What the group has delivered to its deduplication; None: it has none."""
        return self._owners.deliveries

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Note that the consumer has sought back to its first unprocessed record."""
        self._epochs[tp].seek(offset)

    def read_on(self, part: Handed, epoch: int) -> None:
        """Write an event at the first records of an incarnation that began after this epoch.

        *epoch*: the leader epoch of the last record that was handed out.
        """
        tp = part.partition
        mine, log = self._epochs.get(tp), self.log_of(tp)
        if tp not in self.behind or mine is None or log is None:
            return
        incarnation = log.incarnation_of(epoch)
        if incarnation <= mine.incarnation:
            return
        lowest = min(cut.offset for cut in log.cuts[mine.incarnation : incarnation])
        self.write(tp)
        read_on = ReadOn(
            consumer=self._consumer,
            group=self._group,
            partition=tp,
            offset=max(part.first, lowest),
            incarnation=incarnation,
        )
        self._recorder.write(read_on)
        mine.incarnation = incarnation
        if incarnation == log.incarnation:
            self.behind -= {tp}

    def worked(self, tp: TopicPartition, next_offset: int, began_us: int) -> None:
        """Note that the handler returned for all records before ``next_offset``."""
        epoch = self._in_hand(tp)
        if epoch is None:
            return
        if epoch.written == epoch.done:
            epoch.began_us = began_us
        epoch.done = next_offset
        if tp in self._retired:
            self._write(tp, epoch)
            self._close_if_finished(tp)
            return
        self._owners.done[tp] = next_offset
        if self._by_record or len(self._owners.holders[tp]) > 1:
            self.write(tp)

    def _in_hand(self, tp: TopicPartition) -> Epoch | None:
        """Return the epoch whose records the handler works on: one that has ended comes first."""
        if self._retired and tp in self._retired:
            return self._retired[tp][0]
        return self._epochs.get(tp)

    def _close_if_finished(self, tp: TopicPartition) -> None:
        """Close an epoch that has ended if the handler has finished the last of its records."""
        epoch = self._retired[tp][0]
        if epoch.done >= epoch.position:
            self._close_retired(tp)

    def _close_retired(self, tp: TopicPartition) -> None:
        left = self._retired[tp]
        self._write_close(tp, left.pop(0))
        if not left:
            del self._retired[tp]
            if tp in self._waiting:
                self.open(*self._waiting.pop(tp))

    def epoch_of(self, tp: TopicPartition) -> Epoch | None:
        """Return the present epoch of a partition."""
        return self._epochs.get(tp)

    def write_out_of_order(self, work: RecordWork, generation: int, *, earlier: bool) -> None:
        """Write a record that was finished before those in front, or in an *earlier* epoch."""
        finished = ProcessedOutOfOrder(
            consumer=self._consumer,
            group=self._group,
            generation=generation,
            partition=work.partition,
            first=work.offset,
            next_offset=work.offset + 1,
            began_us=work.began_us,
            earlier_epoch=earlier,
        )
        self._recorder.write_data(finished)

    def next_record(self, tp: TopicPartition, offset: int) -> int:
        """Return the first offset from *offset* on that holds a record for this reader."""
        epoch, log = self._epochs.get(tp), self.log_of(tp)
        if epoch is not None and epoch.handed is not None:
            return next((max(low, offset) for low, end in epoch.handed if end > offset), offset)
        return offset if log is None else log.behind_gap(offset, committed=self._committed)

    def pass_one(self, tp: TopicPartition, offset: int) -> None:
        """Move over the next record, which is finished and was written out of order."""
        epoch = self._epochs[tp]
        epoch.done = epoch.written = self._owners.done[tp] = offset + 1

    def report(self, batch: Batch, begin: int, end: int) -> None:
        """Report the work on records ``begin`` up to ``end`` of a batch, if that is asked for."""
        if self._on_record is not None:
            for work in batch.work(begin, end):
                if work.partition in self._epochs:
                    self._on_record(work)

    def skip(self, part: Handed, why: str, cause: int | None) -> None:
        """Note records that were handed out and will not be processed by this epoch."""
        tp = part.partition
        epoch = self._in_hand(tp)
        if epoch is None:
            return
        self._write(tp, epoch)
        dropped = NotProcessed(
            consumer=self._consumer,
            group=self._group,
            partition=tp,
            first=part.first,
            next_offset=part.next_offset,
            why=why,
        )
        self._recorder.write(dropped, cause)
        epoch.written = epoch.done = part.next_offset
        if tp in self._retired:
            self._close_if_finished(tp)
        else:
            self._owners.done[tp] = part.next_offset

    def partly(self, tp: TopicPartition, offset: int, began_us: int, cause: int) -> None:
        """Write the record in progress when the process died."""
        cut_off = PartlyProcessed(
            consumer=self._consumer,
            group=self._group,
            partition=tp,
            offset=offset,
            began_us=began_us,
        )
        self._recorder.write(cut_off, cause)

    def done(self, tp: TopicPartition) -> int | None:
        """Return the handler's progress in ``tp``; None if this process does not own it."""
        epoch = self._in_hand(tp)
        return None if epoch is None else epoch.done

    def write(self, tp: TopicPartition) -> None:
        """Write what was finished since the last time."""
        self._write(tp, self._epochs[tp])

    def _write(self, tp: TopicPartition, epoch: Epoch) -> None:
        if epoch.done <= epoch.written:
            return
        for first, next_offset in self._finished(tp, epoch):
            finished = Processed(
                consumer=self._consumer,
                group=self._group,
                generation=epoch.generation,
                partition=tp,
                first=first,
                next_offset=next_offset,
                began_us=epoch.began_us,
            )
            self._recorder.write_data(finished)
        epoch.written = epoch.done

    def _finished(self, tp: TopicPartition, epoch: Epoch) -> Iterable[tuple[int, int]]:
        """Return the ranges of records that are finished and not written yet, without gaps."""
        if epoch.handed is None:
            return self.runs(tp, epoch.written, epoch.done)
        return epoch.finished()

    def write_finished(self, tp: TopicPartition) -> None:
        """Write what was finished of a partition, also of an epoch that has ended since."""
        epoch = self._in_hand(tp)
        if epoch is not None:
            self._write(tp, epoch)

    def runs(self, tp: TopicPartition, first: int, end: int) -> Iterable[tuple[int, int]]:
        """Return the parts of a range of offsets that hold records only, for this reader."""
        return runs_of(self.log_of(tp), first, end, committed=self._committed)

    def write_now(self, tp: TopicPartition) -> None:
        """Write the progress up to now: another process begins on ``tp``."""
        self._unfold()
        self._settle()
        if tp in self._epochs:
            self.write(tp)

    def write_all(self, partitions: Iterable[TopicPartition]) -> None:
        """Write the progress of those of ``partitions`` that are owned."""
        for tp in partitions:
            epoch = self._epochs.get(tp)
            if epoch is not None:
                self._write(tp, epoch)

    def close(self, tp: TopicPartition, why: str, cause: int | None) -> None:
        """End an epoch: this process stops processing ``tp`` for good."""
        self._waiting.pop(tp, None)
        if tp not in self._epochs:
            return
        self.write(tp)
        self.behind -= {tp}
        epoch = self._epochs.pop(tp)
        epoch.ended = epoch.ended or (why, cause)
        self._write_close(tp, epoch)

    def retire(self, tp: TopicPartition, why: str, cause: int | None) -> None:
        """End an epoch whose records the handler still works on, as soon as it has finished them."""
        epoch = self._epochs.get(tp)
        if epoch is None or epoch.done >= epoch.position:
            self.close(tp, why, cause)
            return
        self.write(tp)
        epoch.ended = why, cause
        self._retired.setdefault(tp, []).append(self._epochs.pop(tp))

    def close_retired(self) -> None:
        """End all such epochs: the handler works on nothing any more."""
        self._waiting.clear()
        for tp in sorted(self._retired):
            while tp in self._retired:
                self._close_retired(tp)

    def _write_close(self, tp: TopicPartition, epoch: Epoch) -> None:
        assert epoch.ended is not None, "an epoch is closed with its end"
        why, cause = epoch.ended
        self._owners.holders[tp] = tuple([o for o in self._owners.holders[tp] if o is not self])
        closed = EpochClosed(
            consumer=self._consumer,
            group=self._group,
            generation=epoch.generation,
            partition=tp,
            processed=epoch.done,
            position=epoch.position,
            why=why,
        )
        self._recorder.write(closed, cause)

    def relative(self, positions: Mapping[TopicPartition, int]) -> object:
        """Return all progress but :meth:`unwritten`, relative to the positions; None: irregular."""
        if self.behind or not self.alone or self._epochs.keys() != positions.keys():
            return None
        found = []
        for tp, epoch in self._epochs.items():
            ends = (epoch.done - positions[tp], epoch.position - positions[tp])
            found.append((tp, epoch.generation, *ends, epoch.done > epoch.written))
        return tuple(found)

    def unwritten(self) -> dict[TopicPartition, Unwritten]:
        """Return the finished records of each partition that are in no event yet."""
        owned = self._epochs.items()
        return {tp: Unwritten(e.written, e.began_us) for tp, e in owned if e.done > e.written}

    def move(self, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move by whole periods with so many records of each partition."""
        for tp, epoch in self._epochs.items():
            count = records.get(tp, 0)
            epoch.written += count
            epoch.done += count
            epoch.position += count
            epoch.began_us += later_us
            self._owners.done[tp] += count

    @property
    def alone(self) -> bool:
        """Whether no other process has an epoch of a partition that this one owns."""
        holders = self._owners.holders
        return all(len(holders[tp]) == 1 for tp in self._epochs)

    def positions(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield the end of what was handed out, by partition owned or still worked on."""
        working = {tp: left[0] for tp, left in self._retired.items()} | self._epochs
        for tp in sorted(working):
            yield tp, working[tp].position

    @property
    def owned(self) -> tuple[TopicPartition, ...]:
        """The partitions with an open epoch, sorted."""
        return tuple(sorted(self._epochs))
