"""A partition as a reader with ``isolation.level=read_committed`` gets it: up to the last stable offset.

The last stable offset is the first offset of the first open transaction, or the high watermark
(``UnifiedLog.lastStableOffset``, ``Partition.fetchOffsetSnapshot``). So the records of a transaction
become readable all at once, with its marker, and those that were aborted never.

A transaction ends with its last record. One that is not full when its producer stops ends with the last
record that there is; its marker is not modelled.
"""

from __future__ import annotations

from bisect import bisect_left

from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.partitions.stale_log import StaleLog
from emulator.world.cluster.replicas import ReplicaSet
from protocols.messages import EpochStart
from protocols.messages.records import Gaps


class CommittedLog:
    """The committed records of one partition, as one broker shows them."""

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
