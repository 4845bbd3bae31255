"""Ownership epochs: who processed a partition from where to where, and why it began there.

An :class:`Epoch` begins whenever a consumer initialises its position of a partition, and ends
when the consumer stops processing the partition for good. For a zombie that is later than the
time at which the group removed it.

Each range that an owner finished is a :class:`Mark`. Equal ranges at equal intervals are one
:class:`Series`. The marks are numbered, and which of them are kept follows from their numbers alone:
the newest :data:`RECENT`, every second of as many before them, every fourth of twice as many before
those, and so on. So a time comes out the same whether ranges were given one by one or as a series.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import Event, OffsetGaps, ProgressCounted
from emulator.events.run import end_of_finished
from emulator.ledger.cluster import link_to
from emulator.ledger.entries import Cause, Link, Owner, Root, Step

if TYPE_CHECKING:
    from emulator.events.offsets import Removed

RECENT = 32
"""The number of newest marks that are all kept."""

Ends = tuple[tuple[int, int], ...]
"""For each range that was finished: its next offset, and when."""


class Mark(NamedTuple):
    """At ``at_us`` everything below ``processed`` was finished."""

    number: int
    processed: int
    at_us: int

    @property
    def last(self) -> int:
        """The number of its last mark: its own."""
        return self.number

    def mark(self, _number: int) -> Mark:
        """Return the mark with a number: itself."""
        return self

    def after(self, _offset: int) -> int:
        """Return the number of its first mark beyond an offset below its end: its own."""
        return self.number

    def without(self, _offset: int) -> Mark:
        """Return it without the marks up to an offset below its end: itself."""
        return self


class Series(NamedTuple):
    """The marks of ``times`` equal periods, each ``records`` and ``every_us`` after the one before."""

    number: int
    """Of its first mark."""

    ends: Ends
    """The marks of the first period."""

    records: int
    every_us: int
    times: int
    forgotten: int = 0
    """Its marks up to this offset are not needed any more."""

    @property
    def last(self) -> int:
        """The number of its last mark."""
        return self.number + self.times * len(self.ends) - 1

    @property
    def processed(self) -> int:
        """The end of what was finished after the last period."""
        return self.ends[-1][0] + (self.times - 1) * self.records

    def mark(self, number: int) -> Mark:
        """Return the mark with a number."""
        period, place = divmod(number - self.number, len(self.ends))
        processed, at_us = self.ends[place]
        return Mark(number, processed + period * self.records, at_us + period * self.every_us)

    def after(self, offset: int) -> int:
        """Return the number of the first mark beyond *offset*, which is below the end."""
        offset = max(offset, self.forgotten)
        period = max(0, (offset - self.ends[-1][0]) // self.records + 1)
        ends = [processed + period * self.records for processed, _ in self.ends]
        return self.number + period * len(ends) + bisect_right(ends, offset)

    def without(self, offset: int) -> Series:
        """Return it without the marks up to *offset*, which is below the end."""
        return self._replace(forgotten=max(offset, self.forgotten))


class Marks:
    """The progress of one epoch."""

    __slots__ = ("_count", "_kept", "_most")

    def __init__(self) -> None:
        self._count = 0
        self._kept: list[Mark | Series] = []
        """In order of number; also some that need not be kept."""

        self._most = 2 * RECENT

    def add(self, processed: int, at_us: int) -> None:
        """Add a mark: everything below *processed* was finished at *at_us*."""
        self._kept.append(Mark(self._count, processed, at_us))
        self._count += 1
        if len(self._kept) >= self._most:
            self._thin()

    def add_series(self, first: int, ends: Ends, every_us: int, times: int) -> None:
        """Add *times* periods: *ends* are the marks of the first one, which began at offset *first*."""
        self._kept.append(Series(self._count, ends, ends[-1][0] - first, every_us, times))
        self._count += times * len(ends)
        if len(self._kept) >= self._most:
            self._thin()

    def forget_below(self, offset: int) -> None:
        """Drop the marks up to *offset*: a successor began there."""
        self._kept = [each.without(offset) for each in self._kept if each.processed > offset]

    def finished_us(self, offset: int) -> int | None:
        """Return when the record at *offset* was finished, as the marks that are left show it."""
        wanted = -1
        for each in self._kept:
            if wanted < 0 and each.processed > offset:
                wanted = self._kept_from(each.after(offset))
            if 0 <= wanted <= each.last:
                return each.mark(max(wanted, each.number)).at_us
        return None

    @property
    def last_us(self) -> int | None:
        """When the last range was finished; None: no mark of it is left."""
        return self._kept[-1].mark(self._kept[-1].last).at_us if self._kept else None

    def _stride(self, number: int) -> int:
        """Return the distance of the kept marks at the age of mark *number*."""
        age = max(0, self._count - 1 - number)
        return 1 << (age // RECENT).bit_length()

    def _kept_from(self, number: int) -> int:
        """Return the number of the first kept mark from *number* on."""
        while number % (stride := self._stride(number)):
            following = number + stride - number % stride
            number = min(following, self._count - RECENT * stride // 2)
        return number

    def _thin(self) -> None:
        """Drop the marks that need not be kept."""
        kept: list[Mark | Series] = []
        newest = self._count - 1
        for each in self._kept:
            if type(each) is Mark:
                if not each.number % (1 << ((newest - each.number) // RECENT).bit_length()):
                    kept.append(each)
                continue
            number = self._kept_from(each.after(0))
            while number <= each.last:
                kept.append(each.mark(number))
                number = self._kept_from(number + 1)
        self._kept = kept
        self._most = max(2 * RECENT, len(kept) + RECENT)


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
    """The owner that started below or beyond the end of the previous one; None if there is none."""


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

    opened_us: int
    row: int
    """When, and in which row of the events, its beginning is shown."""

    cursor: int
    """The end of what it has finished, in the log after its truncations."""

    position: int
    """The end of what poll returned, at the resolution of the events."""

    event: int | None = None
    cause: int | None = None
    """Id and cause of the event in this row."""

    closed_by: Event | None = None
    """The event that shows its end; None while it is open."""

    why: str = ""
    """Why it ended, as in ``EpochClosed``, or is given up."""

    given_up: Link | None = None
    """The call of the rebalance listener that took the partition; workers may still be at it."""

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

    out_of_order: dict[int, int] | None = None
    """First to next offset of what it has finished beyond the cursor; None: no worker has overtaken."""

    gaps: OffsetGaps | Removed | None = None
    """Which offsets of its partition hold no record now; None: all hold one."""

    passable: OffsetGaps | Removed | None = None
    """The same without what it had fetched before compaction removed it."""

    concurrent: dict[int, Attribution] | None = None
    """By number of another epoch: the attribution of the records that both processed."""

    @property
    def ended_us(self) -> int:
        """When it ended; while it is open, when it began."""
        return self.opened_us if self.closed_by is None else self.closed_by.at_us

    @property
    def opened(self) -> Link:
        """The link that shows its beginning."""
        values = (self.consumer, str(self.partition), self.start, self.source)
        return Link(self.event, self.opened_us, Step.OPENED, values, self.row, self.cause)

    def advance(self, next_offset: int, at_us: int) -> None:
        """Move the cursor to *next_offset*, finished at *at_us*."""
        self.cursor = end_of_finished(next_offset, self.out_of_order, self.passable)
        self.marks.add(self.cursor, at_us)

    def advance_evenly(self, fact: ProgressCounted) -> None:
        """Move the cursor over equal periods."""
        self.cursor = fact.next_offset
        self.marks.add_series(fact.first, fact.ends, fact.every_us, fact.times)

    def records(self, first: int, next_offset: int) -> int:
        """Return the number of records in a range that it processed.

        The range may have markers of transactions in it, and no records that compaction removed before.
        """
        if isinstance(self.gaps, OffsetGaps):
            return self.gaps.count_in(first, next_offset)
        return next_offset - first

    def finish_out_of_order(self, first: int, next_offset: int) -> None:
        """Note a range that a worker has finished before records in front of it."""
        if self.out_of_order is None:
            self.out_of_order = {}
        self.out_of_order[first] = next_offset

    @property
    def reach(self) -> int:
        """The end of what it may have processed; of workers that overtake, once it is closed: what was polled."""
        if not self.overtakes:
            return self.cursor
        returned = self.cursor if self.closed_by is None else self.position
        return max(self.cursor, returned, *(self.out_of_order or {}).values())

    @property
    def is_kept(self) -> bool:
        """Whether it is open and was not given up."""
        return self.closed_by is None and self.given_up is None

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
