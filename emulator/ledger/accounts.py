"""One account for each partition of each group: its coverage, its owners, its entries so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from assignors.types import TopicPartition
from emulator.events import PartlyProcessed
from emulator.ledger.accounting import Coverage, Repeat
from emulator.ledger.entries import Link, Owner, Root
from emulator.ledger.epochs import Blame, Epoch

Strata = tuple[tuple[int, int], ...]
"""From which offset on the records of a log are of which incarnation, both rising."""

TURNS = 16
"""So many changes of lead between two owners are told apart; then their entries join."""


class AccountKey(NamedTuple):
    """Whose work on what is counted together."""

    group: str
    partition: TopicPartition
    reader: str = ""
    """Where an assignor gives partitions to several members on purpose, each member counts for
    itself, by name; else empty."""


@dataclass(slots=True, eq=False)
class Draft:
    """An entry in the making: a range that ``second`` processed after ``first``."""

    first: Epoch
    second: Epoch
    blame: Blame
    start: int
    end: int
    first_us: int
    second_us: int


class Tail(NamedTuple):
    """What a truncation took from a log, with its books."""

    incarnation: int
    """Which began with the truncation."""

    first: int
    account: Account


@dataclass(slots=True, eq=False)
class Account:
    """The books of one log of one partition for one group, or for one reader of it."""

    group: str
    partition: TopicPartition
    topic_id: str
    coverage: Coverage
    latest: Epoch | None = None
    """The epoch opened last: who is entitled to the partition, or was."""

    log_incarnation: int = 0
    """Counts truncations of the log."""

    reader: str = ""
    """The member it is for, where each counts for itself."""

    strata: Strata = ((0, 0),)
    tails: tuple[Tail, ...] = ()
    """What truncations took, in their order."""

    gone: tuple[int, Blame] | None = None
    """Of a tail: where it ended, and why it is gone."""

    open: list[Epoch] = field(default_factory=list)
    """The epochs that work on it, in order of opening."""

    unreached: bool = False
    """Whether an epoch began below the base, so that gaps may lie ahead."""

    drafts: list[Draft] = field(default_factory=list)
    _tips: dict[tuple[int, int, Blame], Draft] = field(default_factory=dict)
    _turns: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def left(self) -> bool:
        """Whether it is for one member alone and that is gone: nobody will go on with it."""
        gone = self.latest is not None and self.latest.closed_event is not None
        return gone and bool(self.reader)

    def parts(self, epoch: Epoch, first: int, end: int) -> Iterator[tuple[Account, int, int]]:
        """Cut a range that *epoch* worked on by the books that its records stand in.

        An epoch that began before a truncation still works on records that are gone.
        """
        if epoch.limit is None or end <= epoch.limit:
            yield self, first, end
            return
        tails = [tail for tail in self.tails if tail.incarnation > epoch.log_incarnation]
        while first < end:
            books = next((tail.account for tail in tails if tail.first <= first), self)
            border = min((t.first for t in tails if t.first > first), default=end)
            yield books, first, min(border, end)
            first = min(border, end)

    def cuts_between(self, older: int, newer: int | None = None) -> list[int]:
        """Return where the log was cut after one incarnation, up to another one."""
        return [
            tail.first
            for tail in self.tails
            if tail.incarnation > older and (newer is None or tail.incarnation <= newer)
        ]

    def layers(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Cut a range by the incarnations of the log: start, end, incarnation."""
        for index, (first, incarnation) in enumerate(self.strata):
            above = self.strata[index + 1][0] if index + 1 < len(self.strata) else end
            low, high = max(first, start), min(above, end)
            if low < high:
                yield low, high, incarnation

    def owners(self) -> Iterator[Epoch]:
        """Yield who works on it, and who did last."""
        yield from self.open
        if self.latest is not None:
            yield self.latest

    def truncate(self, first: int, incarnation: int) -> Account:
        """Give away what is gone from the log, as an account of its own."""
        tail = replace(
            self,
            coverage=self.coverage.cut_off(first),
            open=[],
            drafts=[draft for draft in self.drafts if draft.end > first],
            tails=(),
            _tips={},
            _turns={},
        )
        self.drafts = [draft for draft in self.drafts if draft.end <= first]
        self._tips = {key: tip for key, tip in self._tips.items() if tip.end <= first}
        self.strata = (*(layer for layer in self.strata if layer[0] < first), (first, incarnation))
        self.log_incarnation = incarnation
        self.tails += (Tail(incarnation, first, tail),)
        return tail

    def book(self, repeat: Repeat, second: Epoch, blame: Blame, at_us: int) -> None:
        """Add a range processed again to the entry it continues, or begin one."""
        tip = self._tip(repeat, second, blame)
        if tip is not None:
            tip.end = repeat.end
            return
        first = repeat.first
        first_us = first.finished_us(repeat.start)
        draft = Draft(first, second, blame, repeat.start, repeat.end, first_us, at_us)
        self.drafts.append(draft)
        self._tips[second.number, first.number, blame] = draft
        pair = _pair(second, first)
        self._turns[pair] = self._turns.get(pair, 0) + 1

    def _tip(self, repeat: Repeat, second: Epoch, blame: Blame) -> Draft | None:
        """Return the entry that ends where *repeat* starts and tells the same story."""
        first = repeat.first
        tip = self._tips.get((second.number, first.number, blame))
        if tip is not None and tip.end == repeat.start:
            return tip
        if self._turns.get(_pair(second, first), 0) < TURNS:
            return None
        tip = self._tips.get((first.number, second.number, blame))
        return tip if tip is not None and tip.end == repeat.start else None


def _pair(one: Epoch, other: Epoch) -> tuple[int, int]:
    return (min(one.number, other.number), max(one.number, other.number))


Holding = tuple[Epoch, Account]
"""An open epoch and the account it works on."""


@dataclass(slots=True, eq=False)
class Consumer:
    """One process as the ledger knows it."""

    name: str
    incarnation: int = 0
    holdings: dict[TopicPartition, Holding] = field(default_factory=dict)
    trouble: Link | None = None
    """The newest sign that it may have become a zombie: paused, evicted, or dropped out."""


@dataclass(frozen=True, slots=True)
class PartialWork:
    """One processing that the end of its process cut off."""

    what: PartlyProcessed
    topic_id: str
    owner: Owner
    link: Link
    root: Root | None
    log_incarnation: int = 0
