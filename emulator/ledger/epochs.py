"""Ownership epochs: who processed a partition from where to where, and why it began there.

An :class:`Epoch` begins whenever a consumer initialises its position of a partition, and ends
when the consumer stops processing the partition for good. For a zombie that is later than the
time at which the group removed it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assignors.types import TopicPartition
from emulator.events import Event, ProgressCounted
from emulator.ledger.cluster import link_to
from emulator.ledger.entries import Cause, Link, Owner, Root, Step
from emulator.ledger.progress import Marks, end_of_finished


class FailedCommit(NamedTuple):
    """A commit of an epoch that had no effect; it covers the offsets below ``offset``."""

    offset: int
    link: Link
    error: str = ""
    reason: Link | None = None
    """The event that made it fail, where ``link`` does not show it."""


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """The cause of reprocessing or skipping a range, with its evidence."""

    cause: Cause
    detail: str
    root: Root | None
    chain: tuple[Link, ...]
    before: Epoch | None
    """The previous owner."""

    after: Epoch | None
    """The owner that started below or beyond the end of the previous one; None if there is
    none."""


class PendingRepeat(NamedTuple):
    """A processed range that an epoch will reprocess if it continues."""

    start: int
    end: int
    attribution: Attribution


@dataclass(slots=True, eq=False)
class Epoch:
    """One ownership epoch with the state that the ledger keeps of it."""

    number: int
    """Counts openings over the run."""

    group: str
    consumer: str
    incarnation: int
    generation: int
    partition: TopicPartition
    start: int
    source: str
    """Where its start offset came from, as in ``EpochOpened``."""

    opened: Link
    cursor: int
    """The end of what it has finished, in the log after its truncations."""

    position: int
    """The end of what poll returned, at the resolution of the events."""

    closed_by: Event | None = None
    """The event that shows its end; None while it is open."""

    why: str = ""
    """Why it ended, as in ``EpochClosed``."""

    pending_repeats: tuple[PendingRepeat, ...] = ()
    marks: Marks = field(default_factory=Marks)
    refused: FailedCommit | None = None
    lost: FailedCommit | None = None
    stale: FailedCommit | None = None
    """A commit that a replaced leader accepted."""

    log_incarnation: int = 0
    """Incarnation of the log it reads; the log may have been truncated since."""

    limit: int | None = None
    """The log that it reads was truncated at this offset; None: it was not."""

    truncation: Link | None = None
    beyond: int | None = None
    """The end of what it has finished above ``limit``."""

    overtakes: bool = False
    """Whether it has finished records out of their order."""

    out_of_order: dict[int, int] = field(default_factory=dict)
    """First to next offset of what it has finished beyond the cursor: workers may overtake."""

    concurrent: dict[int, Attribution] | None = None
    """By number of another epoch: the attribution of the records that both processed."""

    @property
    def ended_us(self) -> int:
        """When it ended; while it is open, when it began."""
        return (self.closed_by or self.opened).at_us

    def advance(self, next_offset: int, at_us: int) -> None:
        """Move the cursor to *next_offset*, finished at *at_us*."""
        self.cursor = end_of_finished(next_offset, self.out_of_order)
        self.marks.add(self.cursor, at_us)

    def advance_evenly(self, fact: ProgressCounted) -> None:
        """Move the cursor over equal periods."""
        self.cursor = fact.next_offset
        self.marks.add_series(fact.first, fact.ends, fact.every_us, fact.times)

    @property
    def reach(self) -> int:
        """The end of what it may have processed: where workers overtake, all that poll returned."""
        if not self.overtakes:
            return self.cursor
        return max(self.cursor, self.position, *self.out_of_order.values())

    @property
    def finished(self) -> int:
        """The end of what it has finished, records of a truncated range included."""
        return self.cursor if self.beyond is None else self.beyond

    def truncate(self, limit: int) -> None:
        """Note that the log it reads was truncated at *limit*."""
        self.limit = limit if self.limit is None else min(limit, self.limit)
        self.clamp()

    def switch_log(self, incarnation: int, truncations: list[int], lowest: int) -> None:
        """Continue on another incarnation of the log, truncated since at *truncations*.

        *lowest*: the first offset of that incarnation; pending repeats beyond it are dropped.
        """
        self.truncate(lowest)
        self.pending_repeats = self.pending_from(0)
        self.log_incarnation = incarnation
        self.limit = min(truncations, default=None)
        self.beyond = None

    def clamp(self) -> None:
        """Limit cursor and position to the log as it is after its truncation."""
        if self.limit is None:
            return
        if self.cursor > self.limit:
            self.beyond = max(self.cursor, self.finished)
            self.cursor = self.limit
        self.position = min(self.position, self.limit)

    def finished_us(self, offset: int) -> int:
        """Return when the record at *offset* was finished, at the resolution of the marks."""
        finished_us = self.marks.finished_us(offset)
        return self.ended_us if finished_us is None else finished_us

    @property
    def last_finished_us(self) -> int:
        """When it finished its last records, or ended if a successor has begun beyond them."""
        last_us = self.marks.last_us
        return self.ended_us if last_us is None else last_us

    def pending_at(self, offset: int) -> PendingRepeat | None:
        """Return the pending repeat that contains *offset*, if there is one."""
        for pending in self.pending_repeats:
            if pending.start <= offset < pending.end:
                return pending
        return None

    def pending_from(self, offset: int) -> tuple[PendingRepeat, ...]:
        """Return the pending repeats from *offset* on, without truncated records."""
        return tuple(
            PendingRepeat(max(pending.start, offset), end, pending.attribution)
            for pending in self.pending_repeats
            if (end := self._end_in_log(pending.end)) > max(offset, pending.start)
        )

    def _end_in_log(self, end: int) -> int:
        return end if self.limit is None else min(end, self.limit)

    def owner_at(self, at_us: int) -> Owner:
        """Return this epoch's owner as in an entry."""
        return Owner(self.consumer, self.incarnation, self.generation, at_us)

    @property
    def closed(self) -> Link | None:
        """The link that shows its end; None while it is open."""
        if self.closed_by is None:
            return None
        values = (self.consumer, str(self.partition), self.cursor, self.why)
        return link_to(self.closed_by, Step.CLOSED, *values)
