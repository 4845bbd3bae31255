"""The values of a ledger: entries with their causes, and the totals of a run.

One :class:`Entry` is one range of offsets of one partition with exactly one cause. A
:class:`Ledger` holds all entries of a run. The words for causes and chains are in
``emulator/report``.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import Dated


class Cause(enum.StrEnum):
    """Why an ownership epoch began below, or beyond, the end of what its group had processed.

    The first block lists causes of reprocessing in order of precedence; the second lists causes
    of loss. ``SOUGHT``, ``OUT_OF_RANGE`` and ``RESET`` can be either.
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
    OLD_TOPIC = "commit of a deleted topic"
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


class Step(enum.StrEnum):
    """The kind of one link of a chain, with the values that the link holds."""

    OPENED = "opened"
    """consumer, partition, start offset, source of the start offset"""
    CLOSED = "closed"
    """consumer, partition, end of what it processed, reason"""
    GIVEN_UP = "given up"
    """consumer, partition, call of its rebalance listener"""
    COMMITTED = "committed"
    """consumer, offset"""
    RESTORED = "restored"
    """store, offset"""
    RESULTS_UNDONE = "results undone"
    """store, partition"""
    COMMIT_SENT = "commit sent"
    """consumer, commit"""
    COMMIT_REFUSED = "commit refused"
    """consumer, commit, error"""
    COMMIT_LOST = "commit lost"
    """consumer, commit, message or error"""
    COMMIT_TO_STALE_LEADER = "commit to stale leader"
    """consumer, commit, broker, its successor, log offset"""
    OFFSETS_DROPPED = "offsets dropped"
    """partition, reason"""
    NOT_PROCESSED = "not processed"
    """consumer, partition, reason"""
    GAP = "gap"
    """consumer, offset"""
    READ_ON = "read on"
    """consumer, partition, offset"""
    IN_FLIGHT = "in flight when its process ended"
    """consumer, offset"""
    PAUSED = "paused"
    """consumer"""
    REMOVED = "removed"
    """consumer, group, reason"""
    DROPPED_OUT = "dropped out"
    """consumer, group, reason"""
    BROKER_DOWN = "broker down"
    """broker"""
    COORDINATOR_MOVED = "coordinator moved"
    """broker, group"""
    ELECTED = "elected"
    """broker, partition, leader epoch"""
    ELECTED_UNCLEAN = "elected, not in sync"
    """broker, partition, leader epoch"""
    LOADED = "loaded"
    """broker, partition, microseconds"""
    TRUNCATED = "truncated"
    """broker, partition, first offset, last offset"""
    ROOT = "root"
    """verb, target"""


@dataclass(frozen=True, slots=True)
class Link(Dated):
    """One step of the chain of events that shows an entry's cause."""

    event: int | None
    """Id of the control event that shows it; None if a data event shows it."""

    at_us: int
    step: Step
    values: tuple[str | int, ...]
    """As documented at the step."""

    row: int = field(compare=False, repr=False)
    """The row of the event that shows it."""

    cause: int | None = field(default=None, compare=False, repr=False)
    """Id of the control event that made that event happen, if one did."""


@dataclass(frozen=True, slots=True)
class Root(Dated):
    """The fault or planned action that began a chain."""

    event: int
    at_us: int
    id: str
    """The fault's id in the scenario; for a process start ``start <consumer>``."""

    verb: str
    target: str
    row: int = field(compare=False, repr=False)
    """The row of that event."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One side of an entry: a process, its generation, and a time."""

    consumer: str
    incarnation: int
    """Counts the processes of that consumer."""

    generation: int
    """Its generation, or its member epoch with the consumer protocol."""

    at_us: int
    """Reprocessed: when the first record of the range was finished, at the resolution of the
    events. Lost: when this owner finished its last record, or opened its epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One range of one partition that was reprocessed, lost, truncated, or in flight when its process ended.

    The key of a record is (topic id, partition, log incarnation, offset), so a topic that was
    deleted and created again never aliases its predecessor.
    """

    id: str
    """``D1``, ``D2``, … reprocessed; ``L1``, … lost; ``T1``, … truncated; ``P1``, … partial.
    Numbered by time, then partition: the same for the same scenario and seed."""

    kind: EntryKind
    group: str
    topic: str
    topic_id: str
    log_incarnation: int
    """Counts truncations of the topic's log from 0."""

    partition: int
    first: int
    """The first offset of the range."""

    last: int
    """The last offset of the range, inclusive."""

    first_owner: Owner | None
    """Reprocessed: the first to process the range. Lost: the last owner of the partition before
    the range was skipped. Partial: the owner whose processing was in flight."""

    second_owner: Owner | None
    """Reprocessed: the owner that processed it again. Lost: the owner that continued beyond it;
    None if there was no later owner."""

    cause: Cause | None
    """None for partial entries only."""

    detail: str
    """More about the cause, such as the error of a refused commit; may be empty."""

    root: Root | None
    """None if no earlier fault or action is known."""

    chain: tuple[Link, ...]
    """The events that show the cause, in order of time."""

    without_record: int = 0
    """Offsets of the range that hold no record: markers of transactions, or compacted records."""

    @property
    def count(self) -> int:
        """Records in the range."""
        return self.last - self.first + 1 - self.without_record

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition with its topic's name."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The reprocessed, lost, truncated and partial ranges of a run; counts are in records."""

    entries: tuple[Entry, ...]
    """Reprocessed, lost, truncated, partial; each by time, then partition."""

    processed: int
    """Completed processings, reprocessing included."""

    distinct: int
    """Records processed at least once."""

    reprocessed: int
    """Each processing of a record after its first counts one."""

    lost: int
    """Never processed, although the committed offset or the position moved past them."""

    truncated: int = 0
    """Removed from the log before the group processed them; not included in ``lost``."""

    partial: int
    """Records in flight when their process ended; each attempt counts one."""

    duplicates_avoided: int
    """Records not reprocessed because a commit was durable although its sender got no answer."""

    in_hand: int
    """Returned by poll and not yet processed at the end, by consumers that run."""

    backlog: int
    """Not yet returned by poll and not skipped at the end."""

    to_reprocess: int = 0
    """Processed before, and above the positions of the owners at the end: not reprocessed yet."""

    unresolved: int = 0
    """In flight when their process ended, and neither processed nor lost at the end."""

    compacted: int = 0
    """Removed by compaction before the group had processed them; not included in ``lost``."""

    undone: int = 0
    """Records whose results were removed by a restored backup; each removal counts one."""

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
        """Return records by cause, largest first; of one kind, or of reprocessed and lost."""
        kinds = (EntryKind.REPROCESSED, EntryKind.LOST) if kind is None else (kind,)
        return self.tally(lambda entry: entry.cause if entry.kind in kinds else None)

    def tally(self, key: Callable[[Entry], str | None]) -> dict[str, int]:
        """Return records by the *key* of their entry, largest first; None excludes an entry."""
        counts = Counter[str]()
        for entry in self.entries:
            name = key(entry)
            if name is not None:
                counts[str(name)] += entry.count
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def entry(self, entry_id: str) -> Entry:
        """Return the entry with an id; raise KeyError, which lists the ids, if there is none."""
        for entry in self.entries:
            if entry.id == entry_id:
                return entry
        raise KeyError(f"no ledger entry {entry_id!r}; there are {self._ids()}")

    def with_record(self, topic: str, partition: int, offset: int) -> tuple[Entry, ...]:
        """Return the entries that have a record, in the order of the ledger."""
        return tuple(
            entry
            for entry in self.entries
            if (entry.topic, entry.partition) == (topic, partition)
            and entry.first <= offset <= entry.last
        )

    def _ids(self) -> str:
        ranges = []
        for letter in "DLTP":
            ids = [entry.id for entry in self.entries if entry.id.startswith(letter)]
            if ids:
                ranges.append(ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}")
        return ", ".join(ranges) or "none: the ledger is empty"

    def check(self) -> None:
        """Assert that entries, causes and totals agree (law 7)."""
        for kind in EntryKind:
            assert self.total(kind) == sum(entry.count for entry in self.of(kind)), kind
        assert self.reprocessed + self.lost == sum(self.by_cause().values())
        assert self.processed - self.distinct - self.undone == self.reprocessed
