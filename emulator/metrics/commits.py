"""Measure commits by outcome, and for how long committed offsets stand still while records are processed.

A *stall* of a partition begins with the sample of lag in which records are processed that are not
committed, and ends with the one in which the committed offset has advanced. In an undisturbed group it
lasts as long as the interval between two commits. A dead owner, refused commits, and a frontier that
does not advance prolong it: the next owner of the partition begins where it began. Its resolution is
``lag_every``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.metrics.readings import (
    Handler,
    Key,
    Reading,
    Stopwatch,
    in_seconds,
    longest,
    named,
    seconds,
)

_NO_ANSWER: Final = "NETWORK_EXCEPTION"
"""The client's error for a commit whose connection broke or whose response never came."""


class CoveredRefusals:
    """Counts refused commits whose offsets the same owner committed later, before it lost the partitions."""

    def __init__(self) -> None:
        self.covered = 0
        self._uncovered: dict[str, int] = {}
        """By commit that was refused: its partitions without such a later commit."""

        self._refused = defaultdict[tuple[str, Key], list[tuple[int, str]]](list)
        """By owner and partition: the offsets that were refused, each with its commit."""

    def refuse(self, what: ev.CommitRefused) -> None:
        """Add a refused commit."""
        self._uncovered[what.commit] = len(what.offsets)
        for partition, offset in what.offsets:
            self._refused[what.consumer, (what.group, partition)].append((offset, what.commit))

    def accept(self, what: ev.CommitAccepted | ev.OffsetsStored) -> None:
        """Add an accepted commit: it covers lower offsets of the same owner."""
        for partition, offset in what.offsets if self._refused else ():
            owner = (what.consumer, (what.group, partition))
            earlier = self._refused.pop(owner, [])
            for refused, commit in earlier:
                if refused <= offset:
                    self._cover(commit)
            if later := [each for each in earlier if each[0] > offset]:
                self._refused[owner] = later

    def _cover(self, commit: str) -> None:
        self._uncovered[commit] -= 1
        self.covered += self._uncovered[commit] == 0

    def close(self, _: ev.Event, what: ev.EpochClosed) -> None:
        """Drop what an owner had not covered of a partition that it lost."""
        self._refused.pop((what.consumer, (what.group, what.partition)), None)


class CommitMeter:
    """Counts commits by outcome, and rewinds of committed offsets."""

    def __init__(self) -> None:
        self._accepted = 0
        self._by_admin: set[str] = set()
        """Commits by which an administrator resets offsets; they are not counted here."""

        self._committed = defaultdict[str, dict[TopicPartition, int]](dict)
        self._lost = 0
        self._refused = Counter[str]()
        self._refused_by_group = Counter[str]()
        self._refusals = CoveredRefusals()
        self._rewinds = 0
        self._rewound = 0
        self._rewound_most = 0
        self._sent = 0
        self._store_wait_us = 0
        self._rolled_back = 0
        self._dual = set[str]()
        self._undone = 0
        self._unanswered = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.CommitSent: self._on_sent,
            ev.CommitsCounted: self._on_commits_counted,
            ev.CommitAccepted: self._on_accepted,
            ev.OffsetsStored: self._on_stored,
            ev.ResultsRolledBack: self._on_rolled_back,
            ev.StoreRestored: self._on_restored,
            ev.CommitRefused: self._on_refused,
            ev.EpochClosed: self._refusals.close,
            ev.CommitAnswered: self._on_answered,
            ev.MessageLost: self._on_lost,
            ev.OffsetsDropped: self._on_dropped,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the outcomes of all commits."""
        return Reading(
            values={
                "commits_sent": self._sent,
                "commits_accepted": self._accepted,
                "commits_refused": self._refused.total(),
                "commits_refused_covered": self._refusals.covered,
                "commit_messages_lost": self._lost,
                "commits_unanswered": self._unanswered,
                "store_wait_max_s": seconds(self._store_wait_us),
                "rolled_back": self._rolled_back,
                "results_undone": self._undone,
                "rewinds": self._rewinds,
                "rewind_records": self._rewound,
                "rewind_max_records": self._rewound_most,
            },
            tables={
                "commits_refused.by_error": dict(sorted(self._refused.items())),
                "commits_refused.by_group": dict(sorted(self._refused_by_group.items())),
            },
        )

    def _on_sent(self, _: ev.Event, what: ev.CommitSent) -> None:
        if what.kind == ev.CommitKind.DUAL:
            self._dual.add(what.commit)
        if what.kind == ev.CommitKind.ADMIN:
            self._by_admin.add(what.commit)
        self._sent += what.kind != ev.CommitKind.ADMIN

    def _on_commits_counted(self, _: ev.Event, what: ev.CommitsCounted) -> None:
        self._sent += what.commits
        self._accepted += what.commits

    def _on_rolled_back(self, _: ev.Event, what: ev.ResultsRolledBack) -> None:
        self._rolled_back += what.next_offset - what.first

    def _on_restored(self, _: ev.Event, what: ev.StoreRestored) -> None:
        self._undone += sum(end - start for start, end in what.undone)
        self._committed[what.group][what.partition] = max(what.offset, 0)

    def _on_stored(self, event: ev.Event, what: ev.OffsetsStored) -> None:
        self._store_wait_us = max(self._store_wait_us, what.waited_us)
        self._on_accepted(event, what)

    def _on_accepted(self, _: ev.Event, what: ev.CommitAccepted | ev.OffsetsStored) -> None:
        if what.commit in self._by_admin:
            self._committed[what.group].update(what.offsets)
            return
        self._accepted += 1
        self._refusals.accept(what)
        committed = self._committed[what.group]
        for partition, offset in () if what.commit in self._dual else what.offsets:
            depth = committed.get(partition, offset) - offset
            if depth > 0:
                self._rewinds += 1
                self._rewound += depth
                self._rewound_most = max(self._rewound_most, depth)
            committed[partition] = offset

    def _on_refused(self, _: ev.Event, what: ev.CommitRefused) -> None:
        if what.commit not in self._by_admin:
            self._refused[what.error] += 1
            self._refused_by_group[what.group] += 1
            self._refusals.refuse(what)

    def _on_answered(self, _: ev.Event, what: ev.CommitAnswered) -> None:
        self._unanswered += what.error == _NO_ANSWER and what.commit not in self._by_admin
        if what.error == "BadVersion":  # ZooKeeper's
            self._refused[what.error] += 1

    def _on_lost(self, _: ev.Event, what: ev.MessageLost) -> None:
        self._lost += bool(what.commit) and what.commit not in self._by_admin

    def _on_dropped(self, _: ev.Event, what: ev.OffsetsDropped) -> None:
        for partition in what.partitions:
            self._committed[what.group].pop(partition, None)


@dataclass(slots=True)
class CommittedOffset:
    """The committed offset of a partition at the last sample, and the stall that it is in."""

    offset: int = -1
    base: int = -1
    """The last offset that was committed; before the first: the progress with which an owner began."""

    stall: Stopwatch = field(default_factory=Stopwatch)

    def sample(self, committed: int, processed: int, at_us: int) -> None:
        """Add a sample: the two offsets at *at_us*, -1 where there is none."""
        if committed > self.offset:
            self.stall.end(at_us)
        self.offset = committed
        if committed >= 0:
            self.base = committed
        elif self.base < 0:
            self.base = processed
        if processed > self.base:
            self.stall.begin(at_us)


class CommitStallMeter:
    """Measures the stalls of every partition; cost: O(1) for each partition of a sample."""

    def __init__(self) -> None:
        self._partitions: dict[Key, CommittedOffset] = {}
        self._sampled: dict[str, tuple[CommittedOffset, ...]] = {}
        """By group, in the order of the partitions of its latest sample."""

        self._latest: dict[str, ev.LagSampled] = {}

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {ev.LagSampled: self._on_sampled}

    def _on_sampled(self, event: ev.Event, what: ev.LagSampled) -> None:
        latest = self._latest.get(what.group)
        self._latest[what.group] = what
        if latest is None or latest.partitions != what.partitions:
            self._sampled[what.group] = tuple(self._of_group(what))
        elif (latest.committed, latest.processed) == (what.committed, what.processed):
            return
        sampled = self._sampled[what.group]
        for each, committed, processed in zip(sampled, what.committed, what.processed, strict=True):
            each.sample(committed, processed, event.at_us)

    def _of_group(self, what: ev.LagSampled) -> Iterator[CommittedOffset]:
        for partition in what.partitions:
            yield self._partitions.setdefault((what.group, partition), CommittedOffset())

    def read(self, ended_us: int) -> Reading:
        """Return the longest stall, of all partitions and of each, over a run that ended at *ended_us*."""
        for each in self._partitions.values():
            each.stall.end(ended_us)
        lasted = {key: each.stall.longest_us for key, each in self._partitions.items()}
        return Reading(
            values={"commit_stall_max_s": longest(lasted.values())},
            tables={"commit_stall_max.by_partition": in_seconds(named(lasted))},
        )
