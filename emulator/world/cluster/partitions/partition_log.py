"""The log of one topic partition as arithmetic: its records, their visibility, its leaders.

A record is visible to consumers when its high watermark has passed it: one replication delay after
it was appended, at once where the leader is alone in the ISR, unless a replica that counts as in
sync has stopped (``Partition.maybeIncrementLeaderHW``): then no record of the partition becomes
visible until that is noticed or over.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from emulator.scenario.model import Topic
from emulator.world.cluster.partitions.arrivals import (
    IN_FLIGHT,
    NEVER,
    Appended,
    Arrivals,
    Visibility,
)
from emulator.world.cluster.partitions.offset_gaps import committed_gaps_of, gaps_of
from emulator.world.cluster.replicas import WHOLE, Era, ReplicaSet, Truncation
from protocols.messages import EpochStart
from protocols.messages.records import Gaps

if TYPE_CHECKING:
    from protocols.messages.removed import Removed

_FIRST_EPOCH: tuple[EpochStart, ...] = (EpochStart(0, 0),)


class PartitionLog:
    """One partition: a backlog, then the records that its producer appends."""

    __slots__ = (
        "_acked_by_leader_alone",
        "_arrivals",
        "_backlog",
        "_backlog_us",
        "_begins",
        "_counted",
        "_epochs",
        "_eras",
        "_history",
        "_replication_us",
        "_visibility",
        "committed_gaps",
        "cuts",
        "gaps",
        "is_compacted",
        "is_transactional",
        "record_size",
        "replicas",
        "start",
        "written",
    )

    def __init__(
        self,
        topic: Topic,
        arrivals: Arrivals,
        backlog: int,
        replicas: ReplicaSet,
        replication_us: int,
    ) -> None:
        self._arrivals = arrivals
        self._backlog = backlog
        self._backlog_us = topic.backlog_at
        self._replication_us = replication_us if len(replicas.brokers) > 1 else 0
        self._acked_by_leader_alone = topic.acks == "1"
        self._visibility: Visibility | None = None
        """None: its high watermark never stalled."""

        self._epochs = _FIRST_EPOCH
        self._counted = 1
        """The number of elections in ``_epochs``, or before a truncation."""

        self._begins: int | None = None
        """The start of the next leader epoch, if it is not the end of the log."""

        self.written = gaps_of(topic)
        """Which offsets its producer leaves without a record; None: none."""

        self.gaps: Gaps | Removed | None = self.written
        """Which offsets hold no record; None: all do."""

        self.is_compacted = topic.is_compacted
        """Whether the log cleaner removes records, so that there are more gaps over time."""

        self.is_transactional = topic.transaction_records is not None
        self.committed_gaps: Gaps | Removed | None = committed_gaps_of(topic)
        """The same for readers of committed records."""

        self._history = WHOLE
        self._eras: tuple[Era, ...] = ()
        self.cuts: tuple[EpochStart, ...] = ()
        """The leader epochs that began with a truncation, and where: one for each incarnation of
        the log after the first."""

        self.replicas = replicas
        self.record_size = topic.record_size
        self.start = 0

    def end(self, now: int) -> int:
        """Return the log end offset: all records appended by ``now`` that were not truncated."""
        before = self._backlog if now >= self._backlog_us else 0
        serial = before + self._arrivals.count(now)
        if self.written is not None:
            return self.written.end_of(serial)
        return serial if self._history is WHOLE else self._history.offset(serial)

    @property
    def delivered(self) -> Gaps | Removed | None:
        """Which offsets hold no record for a reader of all records."""
        return self.gaps

    def behind_gap(self, offset: int, *, committed: bool = False) -> int:
        """Return the first offset from *offset* on that holds a record, or will hold one; -1 of -1."""
        gaps = self.committed_gaps if committed else self.gaps
        return offset if gaps is None or offset < 0 else gaps.next_record(offset)

    def append(self, at_us: int) -> None:
        """Append a record of a consumer, which arrives then; no producer writes to the topic."""
        arrivals = self._arrivals
        if not isinstance(arrivals, Appended):
            arrivals = self._arrivals = Appended()
        arrivals.add(at_us)

    def appended(self, now: int) -> int:
        """Return the number of records ever appended by ``now``."""
        before = self._backlog if now >= self._backlog_us else 0
        return before + self._arrivals.count(now)

    def high_watermark(self, now: int) -> int:
        """Return the offset below which everything is visible at ``now``."""
        if self._visibility is None:
            return self.end(now - self._replication_us)
        return self.end(self._visibility.as_of(now))

    def safe_us(self, now: int) -> int:
        """Return the append time up to which everything is visible at ``now``."""
        if self._visibility is None:
            return now - self._replication_us
        return self._visibility.as_of(now)

    def visible_us(self, offset: int) -> int:
        """Return when the record at ``offset`` becomes visible.

        ``NEVER`` while the high watermark is stalled for an unknown time.
        """
        if self._history is not WHOLE:
            offset = self._history.serial(offset)
        elif self.written is not None:
            offset = self.written.records_before(offset)
        if self._visibility is None and offset >= self._backlog:
            when = self._arrivals.time(offset - self._backlog) + self._replication_us
            return when if when < NEVER else NEVER  # noqa: FURB136 (a call costs more)
        return self.serial_visible_us(offset)

    def serial_visible_us(self, serial: int) -> int:
        """Return when a record becomes visible, by its place among all that were appended."""
        if self._visibility is None:
            if serial < self._backlog:
                return self._backlog_us + self._replication_us
            return min(NEVER, self._arrivals.time(serial - self._backlog) + self._replication_us)
        return self._visibility.when(self._serial_appended_at(serial))

    def phase(self, offset: int) -> int | None:
        """Return the rest that decides the times from *offset* on relative to its own; None: no rule.

        Two offsets of one phase are followed by records at the same intervals.
        """
        if self._history is not WHOLE or self.gaps is not None or offset < self._backlog:
            return None
        index, visibility = offset - self._backlog, self._visibility
        if visibility is not None and not visibility.is_steady(self._arrivals.time(index)):
            return None
        return self._arrivals.phase(index)

    def led_by(self, broker: int) -> bool:
        """Return whether a broker believes that it leads this partition."""
        return self.replicas.led_by(broker)

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """The start offset of each leader epoch, ascending."""
        elections = self.replicas.elections
        while self._counted < len(elections):
            epoch, began_us = elections[self._counted]
            begins = self.end(began_us) if self._begins is None else self._begins
            self._epochs += (EpochStart(epoch, begins),)
            self._begins = None
            self._counted += 1
        return self._epochs

    @property
    def incarnation(self) -> int:
        """The number of truncations of the log."""
        return len(self.cuts)

    def incarnation_of(self, epoch: int) -> int:
        """Return the incarnation of the log in which a leader epoch appended its records."""
        return bisect_right(self.cuts, epoch, key=lambda cut: cut.epoch)

    def appended_at(self, offset: int) -> int:
        """Return the append time of the record at ``offset``; of the backlog: its creation."""
        if self.written is not None:
            return self._serial_appended_at(self.written.records_before(offset))
        return self._serial_appended_at(self._history.serial(offset))

    def last_appended_at(self, end: int, era: Era | None = None) -> int:
        """Return the append time of the last record before *end*, in an era or now."""
        if self.written is not None:
            return self._serial_appended_at(self.written.records_before(end) - 1)
        history = self._history if era is None else era.history
        return self._serial_appended_at(history.serial(end - 1))

    def _serial_appended_at(self, serial: int) -> int:
        if serial < self._backlog:
            return self._backlog_us
        return self._arrivals.time(serial - self._backlog)

    def first_at_or_after(self, instant_us: int, now: int) -> int:
        """Return the first offset appended at or after ``instant_us``; -1 if there is none yet."""
        offset = max(self.end(instant_us - 1), self.start) if instant_us > 0 else self.start
        return offset if offset < self.high_watermark(now) else -1

    # -- replicas --------------------------------------------------------------------------------

    @property
    def is_stalled(self) -> bool:
        """Whether the high watermark cannot advance."""
        return self._visibility is not None and self._visibility.is_stalled

    def stall(self, now: int) -> None:
        """Stall the high watermark: an in-sync replica stopped fetching, or too few are in sync."""
        if self._visibility is None:
            self._visibility = Visibility(self._replication_us)
        self._visibility.stall(now)

    def move(self, now: int, late_us: int = 0, metadata_us: int = 0) -> None:
        """Move the high watermark again, later than usual by *late_us* (slow disks).

        *metadata_us*: after a stall, the time until the leader has the metadata that lets it move.
        A leader alone in the ISR waits for no follower (``Partition.maybeIncrementLeaderHW``).
        """
        if len(self.replicas.isr_of_leader) == 1:
            late_us -= self._replication_us
        if self._visibility is None:
            if not late_us:
                return
            self._visibility = Visibility(self._replication_us)
        if not self._visibility.is_stalled:
            self._visibility.move(now, late_us)
            return
        resumed_us = now + metadata_us
        self._visibility.move(resumed_us, late_us, self._first_requests(resumed_us))

    def _first_requests(self, now: int) -> tuple[int, ...]:
        """Return the append times of the first records that become visible when it resumes.

        They become visible one by one if producers wait for each of them: not with ``acks=1``.
        """
        if self._acked_by_leader_alone:
            return ()
        waiting = range(self.high_watermark(now), self.end(now - self._replication_us))
        return tuple(self.appended_at(offset) for offset in waiting[:IN_FLIGHT])

    def copied_by(self, since_us: int, late_us: int = 0) -> int:
        """Return the append time up to which a follower that fetched until then has the records.

        A record takes half of a replication to the follower; the news takes the other half back.
        """
        return since_us - self._replication_us // 2 - late_us

    def is_behind(self, broker: int, until_us: int, now: int) -> bool:
        """Return whether a follower that has everything appended by *until_us* lacks records."""
        del broker
        return self.end(now) > self.end(until_us)

    def caught_up(self, broker: int, until_us: int, now: int) -> bool:
        """Return whether a follower that has everything appended until then has all durable records.

        Records that a leader alone has had for less than half of a replication count as replicated.
        """
        del broker
        on_its_way_us = self.copied_by(now)
        return self.end(until_us) >= min(self.high_watermark(now), self.end(on_its_way_us))

    @property
    def replication_us(self) -> int:
        """The time from an append to the high watermark that covers it, undisturbed."""
        return self._replication_us

    def on_new_leader(
        self, complete_us: int, wrote_until_us: int, now: int, *, clean: bool
    ) -> Truncation | None:
        """Continue from the copy of a new leader, which is complete up to an append time.

        Acknowledged records that are not in the copy are lost: with ``acks=all`` the visible ones,
        with ``acks=1`` all that the last leader had appended until it stopped, except those of the
        last instant, which it could not answer any more. The others were not acknowledged:
        producers retry them, and they are the new leader's first records. Return the lost records;
        None if there are none.
        """
        epochs, visible_us = self.epochs, self.safe_us(now)
        safe_before_us = (
            max(visible_us, wrote_until_us - 1) if self._acked_by_leader_alone else visible_us
        )
        has_us = max(complete_us, visible_us) if clean else complete_us
        first, following = self.appended(has_us), self.appended(safe_before_us)
        begin, end = self._history.offset(first), self._history.offset(following)
        if begin >= end:
            return None
        self._eras += (Era(now, self._history, epochs),)
        self._history = self._history.without(first, following)
        self._epochs = tuple(start for start in epochs if start.offset < begin)
        self._begins = begin
        self.start = min(self.start, begin)
        self.cuts += (EpochStart(self.replicas.epoch + 1, begin),)
        return Truncation(begin, end, self.incarnation)

    def era(self, at_us: int) -> Era:
        """Return the log as it was at a time, elections of that very instant left out."""
        now = Era(NEVER, self._history, self.epochs)
        return next((era for era in self._eras if era.until_us >= at_us), now)

    def compact(self, removed: Removed) -> None:
        """Remove the records at some offsets, besides those removed before."""
        self.gaps = self.committed_gaps = removed

    def retain(self, oldest_us: int) -> bool:
        """Remove records appended before ``oldest_us``; return whether there were any."""
        before = self.start
        self.start = max(before, self.end(oldest_us - 1) if oldest_us > 0 else 0)
        return self.start > before
