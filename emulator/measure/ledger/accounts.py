"""One account for each partition of each group: its coverage, its owners, its entries so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assignors.types import TopicPartition
from emulator.events import PartlyProcessed
from emulator.measure.ledger.accounting import Coverage, Repeat
from emulator.measure.ledger.entries import Link, Owner, Root
from emulator.measure.ledger.epochs import Blame, Epoch

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
