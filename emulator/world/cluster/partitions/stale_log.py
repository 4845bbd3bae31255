"""A partition as a broker shows it that leads it no longer and does not know that yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.replicas import Belief
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
