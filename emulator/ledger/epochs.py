"""Ownership epochs: what one consumer does with one partition from one start position.

An epoch begins whenever a consumer (re)initialises its position and ends when it stops
processing the partition for good, which for a zombie is later than the group thinks
(``consumer-client.md``, 0.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assignors.types import TopicPartition
from emulator.ledger.entries import Cause, Link, Owner, Root

MARKS = 64
"""So many times of progress an epoch remembers; older ones are thinned first."""


class Mark(NamedTuple):
    """By ``at_us`` everything below ``processed`` was finished."""

    processed: int
    at_us: int


class Trouble(NamedTuple):
    """A commit of an epoch that did not come to count; covers what lies below ``offset``."""

    offset: int
    link: Link
    error: str = ""
    behind: Link | None = None
    """What led to it, where it does not tell by itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Blame:
    """Why a range will be, or was, processed again or passed over."""

    cause: Cause
    detail: str
    root: Root | None
    chain: tuple[Link, ...]
    before: Epoch | None
    """The owner before."""

    after: Epoch | None
    """The owner that began where it should not have; None where nobody came."""


class Debt(NamedTuple):
    """A range processed before, which an epoch processes again if it goes on."""

    start: int
    end: int
    blame: Blame


@dataclass(slots=True, eq=False)
class Epoch:
    """One ownership epoch and what must be remembered of it."""

    number: int
    """Counts openings over the run."""

    group: str
    consumer: str
    incarnation: int
    generation: int
    partition: TopicPartition
    start: int
    source: str
    """Where its start came from, in the words of ``EpochOpened``."""

    opened_event: int
    opened_us: int
    cursor: int
    """The end of what it has finished."""

    position: int
    """The end of what poll handed out, as far as events have told."""

    closed_event: int | None = None
    """None while it works."""

    closed_us: int = 0
    why: str = ""
    """How it ended, in the words of ``EpochClosed``."""

    debts: tuple[Debt, ...] = ()
    marks: list[Mark] = field(default_factory=list)
    refused: Trouble | None = None
    lost: Trouble | None = None
    stale: Trouble | None = None
    """A commit of its that a leader took which had been replaced."""

    log_incarnation: int = 0
    """Of the log it reads; there may have been truncations since."""

    limit: int | None = None
    """From here on the log that it reads is gone; None: nothing of it is."""

    cut: Link | None = None
    """The truncation that took it."""

    beyond: int | None = None
    """The end of what it has finished of that."""

    concurrent: dict[int, Blame] | None = None
    """Blame for what it and another epoch, by number, both worked on."""

    def advance(self, next_offset: int, at_us: int) -> None:
        """Move the cursor to *next_offset*, finished by *at_us*."""
        self.cursor = next_offset
        marks = self.marks
        marks.append(Mark(next_offset, at_us))
        if len(marks) >= MARKS:
            del marks[0 : MARKS // 2 : 2]

    @property
    def finished(self) -> int:
        """The end of what it has finished, also of what is gone."""
        return self.cursor if self.beyond is None else self.beyond

    def strand(self, limit: int) -> None:
        """Note that the log it reads is gone from *limit* on; in what is left it stands there."""
        self.limit = limit if self.limit is None else min(limit, self.limit)
        self.keep_back()

    def go_over(self, incarnation: int, cuts: list[int], lowest: int) -> None:
        """Read another incarnation of the log from now on, which was cut since in these places.

        *lowest*: where that begins; what was owed from there on was owed of what is gone.
        """
        self.strand(lowest)
        self.debts = self.debts_from(0)
        self.log_incarnation = incarnation
        self.limit = min(cuts, default=None)
        self.beyond = None

    def keep_back(self) -> None:
        """Let it stand, in the log as it is, no further than it can have come there."""
        if self.limit is None:
            return
        if self.cursor > self.limit:
            self.beyond = max(self.cursor, self.finished)
            self.cursor = self.limit
        self.position = min(self.position, self.limit)

    def forget_below(self, offset: int) -> None:
        """Drop the times of progress nobody will ask for: a successor began at *offset*."""
        self.marks = [mark for mark in self.marks if mark.processed > offset]

    def finished_us(self, offset: int) -> int:
        """Return by when the record at *offset* was finished, as far as events have told."""
        for mark in self.marks:
            if mark.processed > offset:
                return mark.at_us
        return self.opened_us if self.closed_event is None else self.closed_us

    def debt_at(self, offset: int) -> Debt | None:
        """Return the debt that covers *offset*, if one does."""
        for debt in self.debts:
            if debt.start <= offset < debt.end:
                return debt
        return None

    def debts_from(self, offset: int) -> tuple[Debt, ...]:
        """Return what is owed at *offset* and beyond, but for what is gone."""
        return tuple(
            Debt(max(debt.start, offset), end, debt.blame)
            for debt in self.debts
            if (end := self._left(debt.end)) > max(offset, debt.start)
        )

    def _left(self, end: int) -> int:
        return end if self.limit is None else min(end, self.limit)

    def owner_at(self, at_us: int) -> Owner:
        """Return this epoch's owner as an entry names it."""
        return Owner(self.consumer, self.incarnation, self.generation, at_us)

    @property
    def opened(self) -> Link:
        """The step of a chain in which it began."""
        text = f"{self.consumer} began {self.partition} at {self.start} ({self.source})"
        return Link(self.opened_event, self.opened_us, text)

    @property
    def closed(self) -> Link | None:
        """The step of a chain in which it ended; None while it works."""
        if self.closed_event is None:
            return None
        text = f"{self.consumer} stopped {self.partition} at {self.cursor} ({self.why})"
        return Link(self.closed_event, self.closed_us, text)
