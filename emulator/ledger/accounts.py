"""Accounts: the coverage, owners and draft entries of each partition of each group.

A truncation of a log moves the truncated records to an account of their own, a :class:`Tail`. A
:class:`PartitionAccount` is an account without causes, for logs of processing that show neither
sessions nor assignments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import EpochClosed, OffsetGaps, PartlyProcessed, PositionSource, Processed
from emulator.events.run import records_between
from emulator.ledger.cluster import LogLayers
from emulator.ledger.coverage import Coverage, Repeat
from emulator.ledger.entries import Cause, Link, Owner, Root
from emulator.ledger.epochs import Attribution, Epoch

MAX_ALTERNATIONS = 16
"""Entries kept for each pair of concurrent owners; later ones are merged regardless of order."""

MAX_PARTITION_SEGMENTS = 8_192
"""Segments of a partition account: the first owner of a record is exact within these."""


class AccountKey(NamedTuple):
    """Identifies an account."""

    group: str
    partition: TopicPartition
    reader: str = ""
    """The member, if the assignor intentionally assigns partitions to several members, because each
    of them is counted separately; otherwise empty.
    """


@dataclass(slots=True, eq=False)
class Draft:
    """An entry being built: a range that ``second`` processed after ``first``."""

    first: Epoch
    second: Epoch
    attribution: Attribution
    start: int
    end: int
    first_us: int
    second_us: int
    records: int
    """Records in the range, as ``second`` found them."""

    def adjoins(self, start: int) -> bool:
        """Return whether no record for ``second`` is between its end and *start*."""
        return self.end <= start and not records_between(self.second.gaps, self.end, start)


class Drafts:
    """The draft entries of one account."""

    __slots__ = ("_alternations", "_newest", "drafts")

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self._newest: dict[tuple[int, int, Attribution], Draft] = {}
        self._alternations: dict[tuple[int, int], int] = {}

    def record(self, repeat: Repeat, second: Epoch, attribution: Attribution, at_us: int) -> None:
        """Add a reprocessed range to the draft it continues, or to a new one."""
        draft = self._continued(repeat, second, attribution)
        records = second.records(repeat.start, repeat.end)
        if draft is not None:
            draft.end = repeat.end
            draft.records += records
            return
        first = repeat.first
        first_us = first.finished_us(repeat.start)
        draft = Draft(
            first, second, attribution, repeat.start, repeat.end, first_us, at_us, records
        )
        self.drafts.append(draft)
        self._newest[second.number, first.number, attribution] = draft
        pair = _pair(second, first)
        self._alternations[pair] = self._alternations.get(pair, 0) + 1

    def _continued(self, repeat: Repeat, second: Epoch, attribution: Attribution) -> Draft | None:
        """Return the draft that ends where *repeat* starts and has the same owners and cause."""
        first = repeat.first
        draft = self._newest.get((second.number, first.number, attribution))
        if draft is not None and draft.adjoins(repeat.start):
            return draft
        if self._alternations.get(_pair(second, first), 0) < MAX_ALTERNATIONS:
            return None
        draft = self._newest.get((first.number, second.number, attribution))
        return draft if draft is not None and draft.adjoins(repeat.start) else None

    def split(self, first: int) -> Drafts:
        """Remove the drafts that reach beyond *first* and return them."""
        tail = Drafts()
        tail.drafts = [draft for draft in self.drafts if draft.end > first]
        self.drafts = [draft for draft in self.drafts if draft.end <= first]
        self._newest = {key: draft for key, draft in self._newest.items() if draft.end <= first}
        return tail


class Tail(NamedTuple):
    """The records that a truncation removed from a log, with their account."""

    incarnation: int
    """The log incarnation that began with the truncation."""

    first: int
    account: Account


@dataclass(slots=True, eq=False)
class Account:
    """One log of one partition as one group, or one reader of a group, processed it."""

    group: str
    partition: TopicPartition
    topic_id: str
    coverage: Coverage
    latest: Epoch | None = None
    """The epoch opened last: its owner is the current owner, or was the last one."""

    log_incarnation: int = 0
    """Counts truncations of the log."""

    reader: str = ""
    """The member that is counted separately, see :class:`AccountKey`."""

    log_layers: LogLayers = ((0, 0),)
    tails: tuple[Tail, ...] = ()
    """The truncated records, in order of truncation."""

    truncated: tuple[int, Attribution] | None = None
    """Of a tail: its end offset, and the cause of the truncation."""

    open: tuple[Epoch, ...] = ()
    """The open epochs, in order of opening."""

    unread_gaps: bool = False
    """Whether an epoch began below the base, so that unread gaps may lie ahead."""

    overtakes: bool = False
    """Whether workers have finished records out of their order."""

    undone: tuple[Attribution, ...] = ()
    """Why results are gone, of each restored backup."""

    processed: int = 0
    """Completed processings of its records."""

    _drafts: Drafts | None = None

    @property
    def drafts(self) -> list[Draft]:
        """The entries of its reprocessed ranges, in order of their beginning."""
        return [] if self._drafts is None else self._drafts.drafts

    @property
    def reader_gone(self) -> bool:
        """Whether it counts one member alone, and that member is gone: it has no next owner."""
        gone = self.latest is not None and self.latest.closed_by is not None
        return gone and bool(self.reader)

    def parts(self, epoch: Epoch, first: int, end: int) -> Iterable[tuple[Account, int, int]]:
        """Split a range that *epoch* processed by the accounts of its records.

        An epoch that began before a truncation may still process truncated records.
        """
        if epoch.limit is None or end <= epoch.limit:
            return ((self, first, end),)
        return self._split(epoch, first, end)

    def _split(self, epoch: Epoch, first: int, end: int) -> Iterator[tuple[Account, int, int]]:
        tails = [tail for tail in self.tails if tail.incarnation > epoch.log_incarnation]
        while first < end:
            account = next((tail.account for tail in tails if tail.first <= first), self)
            border = min((t.first for t in tails if t.first > first), default=end)
            yield account, first, min(border, end)
            first = min(border, end)

    def pass_over(self, epoch: Epoch, first: int) -> int:
        """Move over offsets without a record for *epoch*; return from where its next records count.

        A gap that has been there from the beginning counts with the records behind it. In one that compaction
        made, other owners may have processed records.
        """
        gaps = epoch.gaps
        assert gaps is not None, "without gaps each offset holds a record"
        if isinstance(gaps, OffsetGaps):
            return epoch.finished
        self.coverage.compact(gaps.within(epoch.finished, first))
        self.coverage.pass_over(epoch, first)
        return first

    def truncations_between(self, older: int, newer: int | None = None) -> list[int]:
        """Return the offsets of the truncations after log incarnation *older*, up to *newer*."""
        return [
            tail.first
            for tail in self.tails
            if tail.incarnation > older and (newer is None or tail.incarnation <= newer)
        ]

    def split_by_incarnation(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Split a range by log incarnation: yield start, end, incarnation."""
        for index, (first, incarnation) in enumerate(self.log_layers):
            last = index + 1 == len(self.log_layers)
            low, high = max(first, start), end if last else min(self.log_layers[index + 1][0], end)
            if low < high:
                yield low, high, incarnation

    def owners(self) -> Iterator[Epoch]:
        """Yield the open epochs and the latest one."""
        yield from self.open
        if self.latest is not None:
            yield self.latest

    def truncate(self, first: int, incarnation: int) -> Account:
        """Remove the records from *first* on; return them as a separate account."""
        tail = replace(
            self,
            coverage=self.coverage.split(first),
            open=(),
            tails=(),
            processed=0,
            _drafts=None if self._drafts is None else self._drafts.split(first),
        )
        below = (layer for layer in self.log_layers if layer[0] < first)
        self.log_layers = (*below, (first, incarnation))
        self.log_incarnation = incarnation
        self.tails += (Tail(incarnation, first, tail),)
        return tail

    def record(self, repeat: Repeat, second: Epoch, attribution: Attribution, at_us: int) -> None:
        """Add a reprocessed range to its entries."""
        if self._drafts is None:
            self._drafts = Drafts()
        self._drafts.record(repeat, second, attribution, at_us)


def _pair(one: Epoch, other: Epoch) -> tuple[int, int]:
    return (min(one.number, other.number), max(one.number, other.number))


Holding = tuple[Epoch, Account]
"""An open epoch and its account."""


@dataclass(slots=True, eq=False)
class Consumer:
    """One consumer process as the ledger knows it."""

    name: str
    incarnation: int = 0
    holdings: dict[TopicPartition, Holding] = field(default_factory=dict)
    trouble: Link | None = None
    """The newest sign that it may be a zombie: paused, removed from its group, or dropped out."""

    ended: dict[TopicPartition, Holding] = field(default_factory=dict)
    """What its last process held when it ended."""

    def holding_of(self, fact: Processed) -> Holding | None:
        """Return what a consumer held when it processed a range.

        The work of a process that has ended is processed when a database commits its transaction.
        """
        present, last = self.holdings.get(fact.partition), self.ended.get(fact.partition)
        if last is None or (last[0].generation, last[0].finished) != (fact.generation, fact.first):
            return present
        return last if present is None or fact.began_us < present[0].opened_us else present

    def note_position(self, fact: EpochClosed) -> None:
        """Note what poll had returned of a partition when the process ended, before this event."""
        last = self.ended.get(fact.partition)
        if last is not None and last[0].generation == fact.generation:
            last[0].position = max(last[0].position, fact.position)


@dataclass(frozen=True, slots=True)
class PartialWork:
    """One record that was in flight when its process ended."""

    fact: PartlyProcessed
    topic_id: str
    owner: Owner
    link: Link
    root: Root | None
    log_incarnation: int = 0


# -- a partition without causes ------------------------------------------------------------------

SKIPPED = Attribution(Cause.SKIPPED, "", None, (), None, None)
REPROCESSED = Attribution(Cause.REVOKED, "", None, (), None, None)
"""Placeholders: callers of a partition account find the causes themselves."""


class Reprocessed(NamedTuple):
    """A range that one owner processed after another owner, or after itself."""

    start: int
    end: int
    first_owner: str
    first_us: int
    second_owner: str
    second_us: int


class PartitionAccount:
    """Counts one partition from ranges and their owners, without causes.

    Call :meth:`process` in order of time, then read :meth:`repeats` and :meth:`gaps`. An owner
    begins a new epoch when it returns to an offset below the end of what it has finished.
    """

    __slots__ = ("_account", "_epochs", "_numbers", "_partition", "reprocessed")

    def __init__(self, partition: TopicPartition, base: int) -> None:
        """Begin at offset *base*; ranges must not begin below it."""
        coverage = Coverage(base, max_segments=MAX_PARTITION_SEGMENTS)
        self._account = Account("", partition, "", coverage)
        self._partition = partition
        self._epochs: dict[str, Epoch] = {}
        self._numbers = 0
        self.reprocessed = 0

    @property
    def frontier(self) -> int:
        """The end of what was processed or skipped."""
        return self._account.coverage.frontier

    def process(self, owner: str, first: int, next_offset: int, at_us: int) -> None:
        """Count [*first*, *next_offset*) as finished by *owner* at *at_us*."""
        epoch = self._epochs.get(owner)
        if epoch is None or first < epoch.cursor:
            epoch = self._open(owner, first, at_us)
        account = self._account
        coverage = account.coverage
        coverage.skip(coverage.frontier, first, SKIPPED)
        for repeat in coverage.process(epoch, first, next_offset):
            self.reprocessed += repeat.end - repeat.start
            account.record(repeat, epoch, REPROCESSED, at_us)
        epoch.advance(next_offset, at_us)

    def skip_to(self, end: int) -> None:
        """Count everything below *end* that was not processed as skipped."""
        coverage = self._account.coverage
        coverage.skip(coverage.frontier, end, SKIPPED)

    def distinct(self) -> int:
        """Return the number of records processed at least once."""
        return self._account.coverage.processed()

    def repeats(self) -> Iterator[Reprocessed]:
        """Yield the reprocessed ranges, in order of time."""
        for draft in self._account.drafts:
            yield Reprocessed(
                draft.start,
                draft.end,
                draft.first.consumer,
                draft.first_us,
                draft.second.consumer,
                draft.second_us,
            )

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges that were skipped and never processed, in order of offset."""
        return ((gap.start, gap.end) for gap in self._account.coverage.gaps())

    def _open(self, owner: str, first: int, at_us: int) -> Epoch:
        self._numbers += 1
        epoch = self._epochs[owner] = Epoch(
            number=self._numbers,
            group="",
            consumer=owner,
            incarnation=0,
            generation=-1,
            partition=self._partition,
            start=first,
            source=PositionSource.UNKNOWN.value,
            opened_us=at_us,
            row=self._numbers,
            cursor=first,
            position=first,
        )
        return epoch
