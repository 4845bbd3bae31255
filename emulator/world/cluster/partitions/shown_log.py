"""A partition as one broker shows it to one kind of reader, and the records in ranges of its offsets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.replicas import Belief, ReplicaSet
from protocols.messages import EpochStart
from protocols.messages.records import Gaps

if TYPE_CHECKING:
    from protocols.messages.removed import Removed


class StaleLog:
    """A stalled partition, as shown by a broker with stale metadata that no longer leads it."""

    __slots__ = ("_epoch", "_era", "_log", "_until_us", "_written", "record_size", "replicas")

    def __init__(self, log: PartitionLog, belief: Belief) -> None:
        self._log = log
        self._epoch = belief.epoch
        self._until_us = belief.until_us
        self._era = log.era(belief.until_us)
        self.replicas = log.replicas
        self.record_size = log.record_size
        self._written = log.written

    @property
    def gaps(self) -> Gaps | Removed | None:
        """Which offsets hold no record."""
        return self._log.gaps

    @property
    def start(self) -> int:
        """The log start offset."""
        return self._log.start

    @property
    def delivered(self) -> Gaps | Removed | None:
        """Which offsets hold no record for a reader of all records."""
        return self.gaps

    def end(self, now: int) -> int:
        """Return the log end offset."""
        return self._offset(self._log.appended(min(now, self._until_us)))

    def _offset(self, serial: int) -> int:
        written = self._written
        return self._era.history.offset(serial) if written is None else written.end_of(serial)

    def high_watermark(self, now: int) -> int:
        """Return the offset below which everything is visible at ``now``."""
        safe_us = self._log.safe_us(min(now, self._until_us))
        return self._offset(self._log.appended(safe_us))

    def visible_us(self, offset: int) -> int:
        """Return when the record at ``offset`` became visible; ``NEVER`` if it does not."""
        if self._written is not None:
            offset = self._written.records_before(offset)
        when = self._log.serial_visible_us(self._era.history.serial(offset))
        return when if when <= self._until_us else NEVER

    def phase(self, offset: int) -> None:
        """Return None: nothing is appended any more."""
        del offset

    def first_at_or_after(self, instant_us: int, now: int) -> int:
        """Return the first offset appended at or after ``instant_us``; -1 if there is none."""
        return self._log.first_at_or_after(instant_us, min(now, self._until_us))

    def led_by(self, broker: int) -> bool:
        """Return whether a broker believes that it leads this partition."""
        return self._log.led_by(broker)

    def last_appended_at(self, end: int) -> int:
        """Return the append time of the last record before *end*."""
        return self._log.last_appended_at(end, self._era)

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """The start offset of each leader epoch that this leader knows."""
        known = self._era.epochs if self._era.until_us < NEVER else self._log.epochs
        return tuple(start for start in known if start.epoch <= self._epoch)


class CommittedLog:
    """The committed records of one partition, as one broker shows them: up to the last stable offset.

    The last stable offset is the first offset of the first open transaction, or the high watermark
    (``UnifiedLog.lastStableOffset``, ``Partition.fetchOffsetSnapshot``). So the records of a transaction
    become readable all at once, with its marker, and those that were aborted never.

    A transaction ends with its last record. One that is not full when its producer stops ends with the last
    record that there is; its marker is not modelled.
    """

    __slots__ = ("_gaps", "_shown", "_whole", "delivered", "gaps", "record_size", "replicas")

    def __init__(self, whole: PartitionLog, shown: PartitionLog | StaleLog) -> None:
        """Create the view of what a broker shows of a log whose producers are transactional."""
        assert whole.written is not None, "transactions have markers"
        self._whole = whole
        self._shown = shown
        self._gaps = whole.written
        self.gaps: Gaps | None = whole.written
        self.delivered = whole.committed_gaps
        self.record_size = whole.record_size
        self.replicas: ReplicaSet = whole.replicas

    @property
    def start(self) -> int:
        """The log start offset."""
        return self._shown.start

    def end(self, now: int) -> int:
        """Return the log end offset."""
        return self._shown.end(now)

    def high_watermark(self, now: int) -> int:
        """Return the last stable offset: below it every transaction has ended."""
        visible = self._shown.high_watermark(now)
        serial = self._gaps.records_before(visible)
        open_records = serial % self._gaps.records
        if not open_records or not self._arrives(serial):
            return visible
        return self._gaps.end_of(serial - open_records)

    def _arrives(self, serial: int) -> bool:
        """Return whether a record is ever appended, by its place among all of its partition."""
        return self._whole.appended_at(self._gaps.end_of(serial)) < NEVER

    def visible_us(self, offset: int) -> int:
        """Return when the transaction of the record at ``offset`` has ended and is visible."""
        serial, size = self._gaps.records_before(offset), self._gaps.records
        if not self._arrives(serial):
            return NEVER
        whole = range(serial, serial - serial % size + size)
        last = whole[bisect_left(whole, True, key=lambda place: not self._arrives(place)) - 1]
        return self._shown.visible_us(self._gaps.end_of(last))

    def last_appended_at(self, end: int) -> int:
        """Return the append time of the last record before *end*."""
        return self._whole.last_appended_at(end)

    def phase(self, offset: int) -> None:
        """Return None: the times of transactions follow no rule."""
        del offset

    def first_at_or_after(self, instant_us: int, now: int) -> int:
        """Return the first offset appended at or after ``instant_us``; -1 if there is none."""
        found = self._shown.first_at_or_after(instant_us, now)
        return found if found < self.high_watermark(now) else -1

    def led_by(self, broker: int) -> bool:
        """Return whether a broker believes that it leads this partition."""
        return self._shown.led_by(broker)

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """The start offset of each leader epoch that this leader knows."""
        return self._shown.epochs


ShownLog = PartitionLog | StaleLog | CommittedLog


def runs_of(
    log: PartitionLog | None, first: int, end: int, *, committed: bool
) -> Iterable[tuple[int, int]]:
    """Return the ranges of offsets that hold records only; *committed*: for such a reader."""
    if log is None or log.gaps is None:
        return ((first, end),)
    gaps = log.committed_gaps if committed else log.gaps
    assert gaps is not None, "readers of committed records skip at least as much"
    return gaps.runs(first, end)


def records_in(log: ShownLog, first: int, end: int) -> int:
    """Return the number of records in a range of offsets."""
    return end - first if log.gaps is None else log.gaps.count_in(first, end)


def bytes_in(log: ShownLog, first: int, end: int) -> int:
    """Return the size of the records in a range of offsets."""
    return records_in(log, first, end) * log.record_size


def offset_after(log: ShownLog, offset: int, records: int) -> int:
    """Return the offset before which so many records from *offset* on are."""
    return offset + records if log.gaps is None else log.gaps.move(offset, records)
