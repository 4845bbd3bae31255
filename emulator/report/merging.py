"""Ledger entries that are alike, shown as one: a pool of workers leaves many of a single record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from assignors.values import dataclass
from emulator.ledger.entries import Entry, EntryKind
from emulator.report.wording import counted

MAX_SINGLY = 40
"""If a kind has more entries, those with the same cause, partition and owners are shown together."""


@dataclass(frozen=True, slots=True)
class Merged:
    """One or more entries that differ in offsets and times only, the first one first."""

    entries: tuple[Entry, ...]

    @property
    def leading(self) -> Entry:
        """The first of them, which stands for all."""
        return self.entries[0]

    @property
    def count(self) -> int:
        """The records of all."""
        return sum(entry.count for entry in self.entries)

    @property
    def first(self) -> int:
        """The lowest offset."""
        return min(entry.first for entry in self.entries)

    @property
    def last(self) -> int:
        """The highest offset; between the two there may be gaps."""
        return max(entry.last for entry in self.entries)

    @property
    def name(self) -> str:
        """The id, or the first and the last id."""
        if len(self.entries) == 1:
            return self.leading.id
        return f"{self.leading.id} to {self.entries[-1].id}"

    @property
    def number(self) -> str:
        """How many entries they are, for those that are more than one."""
        return counted(len(self.entries), "entry", "entries") if len(self.entries) > 1 else ""


def merged_entries(entries: Iterable[Entry]) -> list[Merged]:
    """Return entries, those that are alike together if their kind has more than :data:`MAX_SINGLY`."""
    by_kind = defaultdict[EntryKind, list[Entry]](list)
    for entry in entries:
        by_kind[entry.kind].append(entry)
    return [
        merged
        for of_kind in by_kind.values()
        for merged in (
            alike(of_kind) if len(of_kind) > MAX_SINGLY else [Merged((entry,)) for entry in of_kind]
        )
    ]


def alike(entries: Sequence[Entry]) -> list[Merged]:
    """Return the entries that differ in offsets and times only, in order of the first of each."""
    found = defaultdict[tuple[object, ...], list[Entry]](list)
    for entry in entries:
        owners = [
            None if owner is None else (owner.consumer, owner.incarnation, owner.generation)
            for owner in (entry.first_owner, entry.second_owner)
        ]
        partition = (entry.group, entry.topic_id, entry.log_incarnation, entry.partition)
        found[*partition, entry.cause, entry.detail, entry.root, *owners].append(entry)
    return [Merged(tuple(together)) for together in found.values()]
