"""The ledger as values: who processed what again or never, and why.

One :class:`Entry` is one range of one partition with exactly one cause. A :class:`Ledger` is
the closed book of a run.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from assignors.types import TopicPartition


class Cause(enum.StrEnum):
    """Why an ownership epoch began below, or beyond, what its group had processed.

    The first block names reasons for processing again, in order of precedence; the second
    names reasons for a loss. ``SOUGHT``, ``OUT_OF_RANGE`` and ``RESET`` can be
    either.
    """

    SOUGHT = "position sought"
    REWIND = "rewind"
    OFF_BY_ONE = "off-by-one commit"
    EXPIRED = "offset expired"
    DELETED = "offset deleted"
    OUT_OF_RANGE = "offset out of range"
    RESET = "position reset"
    STALE_COORDINATOR = "stale coordinator"
    NOT_REPLICATED = "commit accepted but not replicated"
    MESSAGE_LOST = "commit request or reply lost"
    LOADING = "coordinator still loading"
    REFUSED = "commit refused"
    TWO_OWNERS = "two owners at once"
    KEPT_REWOUND = "kept partition rewound"
    CRASHED = "crashed while uncommitted"
    REVOKED = "revoked while uncommitted"

    RESET_TO_LATEST = "position reset to latest"
    RESET_BY_DURATION = "position reset by duration"
    RETENTION = "retention overtook the position"
    COMMITTED_AHEAD = "committed before processed"
    TRUNCATED = "truncated after an unclean election"
    LEADER_ALONE = "acknowledged by the leader alone"
    DISCARDED = "batch discarded"
    SKIPPED = "skipped by the handler"


class EntryKind(enum.StrEnum):
    """What an entry counts; the value is its name in tables and JSON."""

    REPROCESSED = "reprocessed"
    LOST = "lost"
    TRUNCATED = "truncated"
    PARTIAL = "partial"


class Link(NamedTuple):
    """One step of the chain that shows an entry's cause."""

    event: int
    """Id of the event that shows it."""

    at_us: int
    what: str
    """In a few words of Kafka."""


@dataclass(frozen=True, slots=True)
class Root:
    """The fault or act that began a chain."""

    event: int
    at_us: int
    id: str
    """The fault's id in the scenario; for a process start ``start <consumer>``."""

    verb: str
    target: str


@dataclass(frozen=True, slots=True)
class Owner:
    """One side of an entry: which process, in which generation, when."""

    consumer: str
    incarnation: int
    generation: int
    at_us: int
    """Processed again: when the first record of the range was finished, as far as the events
    tell. Lost: when this owner had finished its last record, or had opened its epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One range of one partition processed again, lost, or begun and cut off.

    The key of a record is (topic id, partition, log incarnation, offset), so a topic that was
    deleted and created again never aliases its predecessor.
    """

    id: str
    """``D1``, ``D2``, … processed again; ``L1``, … lost; ``T1``, … truncated; ``P1``, … partial;
    by time, then partition: the same for the same scenario and seed."""

    kind: EntryKind
    group: str
    topic: str
    topic_id: str
    log_incarnation: int
    """Counts truncations of the topic's log from 0."""

    partition: int
    first: int
    last: int
    """The last offset of the range itself."""

    first_owner: Owner | None
    """Processed again: who processed the range first. Lost: who had the partition last before
    the range was passed over. Partial: who had begun."""

    second_owner: Owner | None
    """Processed again: who processed it once more. Lost: who went on beyond it, None where
    nobody came."""

    cause: Cause | None
    """None for partial entries only."""

    detail: str
    """What the cause leaves open, such as the error of a refused commit; may be empty."""

    root: Root | None
    """None where no fault or act is known to have come before."""

    chain: tuple[Link, ...]
    """In order of time."""

    @property
    def count(self) -> int:
        """Records in the range."""
        return self.last - self.first + 1

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition with its topic's name."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a run processed again and never, range by range; counts are in records."""

    entries: tuple[Entry, ...]
    """Processed again, lost, truncated, partial; each by time, then partition."""

    processed: int
    """Handler returns, repeats included."""

    distinct: int
    """Records processed at least once."""

    reprocessed: int
    """Each processing of a record after its first counts one."""

    lost: int
    """Committed past, or positioned past, and never processed."""

    truncated: int = 0
    """Gone from the log before the group processed them; not among the lost."""

    partial: int
    """Processings that the end of a process cut off; each attempt counts one."""

    duplicates_avoided: int
    """Records not repeated because a commit was durable though its owner never heard so."""

    in_hand: int
    """Handed out and not yet processed at the end, by owners that live."""

    backlog: int
    """Neither handed out nor passed over at the end."""

    def of(self, kind: EntryKind) -> Iterator[Entry]:
        """Yield the entries of one kind, in order."""
        return (entry for entry in self.entries if entry.kind is kind)

    def total(self, kind: EntryKind) -> int:
        """Return the records counted under one kind."""
        return {
            EntryKind.REPROCESSED: self.reprocessed,
            EntryKind.LOST: self.lost,
            EntryKind.TRUNCATED: self.truncated,
            EntryKind.PARTIAL: self.partial,
        }[kind]

    def by_cause(self, kind: EntryKind | None = None) -> dict[str, int]:
        """Return records by cause, most first; of one kind, or of reprocessed and lost."""
        kinds = (EntryKind.REPROCESSED, EntryKind.LOST) if kind is None else (kind,)
        return self.tally(lambda entry: entry.cause if entry.kind in kinds else None)

    def tally(self, key: Callable[[Entry], str | None]) -> dict[str, int]:
        """Return records by what *key* says of an entry, most first; None leaves it out."""
        counts = Counter[str]()
        for entry in self.entries:
            name = key(entry)
            if name is not None:
                counts[str(name)] += entry.count
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def entry(self, entry_id: str) -> Entry:
        """Return the entry called *entry_id*; raise KeyError that says which there are."""
        for entry in self.entries:
            if entry.id == entry_id:
                return entry
        raise KeyError(f"no ledger entry {entry_id!r}; there are {self._ids()}")

    def _ids(self) -> str:
        spans = []
        for letter in "DLTP":
            ids = [entry.id for entry in self.entries if entry.id.startswith(letter)]
            if ids:
                spans.append(ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}")
        return ", ".join(spans) or "none: the ledger is empty"

    def check(self) -> None:
        """Assert that entries, causes and totals agree (law 7)."""
        for kind in EntryKind:
            assert self.total(kind) == sum(entry.count for entry in self.of(kind)), kind
        assert self.reprocessed + self.lost == sum(self.by_cause().values())
        assert self.processed - self.distinct == self.reprocessed
