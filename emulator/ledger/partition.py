"""The books of one partition alone: ranges and their owners in, repeats and gaps out.

This is the accounting of :mod:`accounting` and :mod:`accounts` without all that says why: for
histories in which a processing log tells who did what and when, and nothing tells of sessions,
assignments or refusals. An owner begins a new epoch when it goes back below what it has finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assignors.types import TopicPartition
from emulator.ledger.accounting import Coverage
from emulator.ledger.accounts import Account
from emulator.ledger.entries import Cause
from emulator.ledger.epochs import Blame, Epoch

SEGMENTS = 8_192
"""So many segments of a partition are told apart: who was first is exact as far back as that."""

PASSED = Blame(Cause.SKIPPED, "", None, (), None, None)
AGAIN = Blame(Cause.REVOKED, "", None, (), None, None)
"""Two placeholders: whoever asks these books finds causes elsewhere."""


class Repeated(NamedTuple):
    """A range that one owner processed after another, or after itself."""

    start: int
    end: int
    first_owner: str
    first_us: int
    second_owner: str
    second_us: int


class PartitionBooks:
    """Counts one partition; ``work`` in order of time, then ``repeats`` and ``gaps``."""

    __slots__ = ("_account", "_epochs", "_numbers", "_partition", "reprocessed")

    def __init__(self, partition: TopicPartition, base: int) -> None:
        """Begin at offset *base*; nothing below it may be worked on."""
        coverage = Coverage(base, segments=SEGMENTS)
        self._account = Account("", partition, "", coverage)
        self._partition = partition
        self._epochs: dict[str, Epoch] = {}
        self._numbers = 0
        self.reprocessed = 0

    @property
    def frontier(self) -> int:
        """The end of what was processed or passed over."""
        return self._account.coverage.frontier

    def work(self, owner: str, first: int, next_offset: int, at_us: int) -> None:
        """Account [*first*, *next_offset*) as finished by *owner* at *at_us*."""
        epoch = self._epochs.get(owner)
        if epoch is None or first < epoch.cursor:
            epoch = self._open(owner, first, at_us)
        account = self._account
        coverage = account.coverage
        if first > coverage.frontier:
            coverage.pass_over(coverage.frontier, first, PASSED)
        for repeat in coverage.work(epoch, first, next_offset):
            self.reprocessed += repeat.end - repeat.start
            account.book(repeat, epoch, AGAIN, at_us)
        epoch.advance(next_offset, at_us)

    def pass_over(self, end: int) -> None:
        """Account everything below *end* that nobody processed as passed over."""
        coverage = self._account.coverage
        if end > coverage.frontier:
            coverage.pass_over(coverage.frontier, end, PASSED)

    def distinct(self) -> int:
        """Count the records processed at least once."""
        return self._account.coverage.processed()

    def repeats(self) -> Iterator[Repeated]:
        """Yield what was processed again, in order of time."""
        for draft in self._account.drafts:
            yield Repeated(
                draft.start,
                draft.end,
                draft.first.consumer,
                draft.first_us,
                draft.second.consumer,
                draft.second_us,
            )

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Yield what was passed over and never processed, in order of offset."""
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
            source="unknown",
            opened_event=-1,
            opened_us=at_us,
            cursor=first,
            position=first,
        )
        return epoch
