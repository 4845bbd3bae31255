"""Measure the traffic of brokers and members: requests, commits, records, time of a group.

The *first record* of a group counts from the start of its first consumer. A partition is *hot* if it
gets more than twice the records of an average other partition of its group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Final

from assignors.values import dataclass
from emulator import events as ev
from emulator.metrics.readings import Handler, Key, Reading, Row, longest, seconds


class TrafficMeter:
    """Counts requests and the records appended to the offsets log."""

    def __init__(self) -> None:
        self._bytes = 0
        self._peaks: dict[str, float] = {}
        self._records = Counter[str]()
        self._requests = Counter[str]()

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.RequestsCounted: self._on_counted,
            ev.Appended: self._on_appended,
            ev.AppendsCounted: self._on_appends_counted,
        }

    def read(self, ended_us: int) -> Reading:
        """Return the traffic of a run that ended at *ended_us*."""
        ran_s = seconds(ended_us) or 1.0
        rates = {kind: count / ran_s for kind, count in sorted(self._requests.items())}
        return Reading(
            values={
                "requests": self._requests.total(),
                "requests_per_s": self._requests.total() / ran_s,
                "log_records": self._records.total(),
                "log_bytes": self._bytes,
            },
            tables={
                "requests_per_s.by_kind": {**rates},
                "requests_per_s_peak.by_kind": {**dict(sorted(self._peaks.items()))},
                "log_records.by_type": {**dict(sorted(self._records.items()))},
            },
        )

    def _on_counted(self, event: ev.Event, what: ev.RequestsCounted) -> None:
        lasted_s = seconds(event.at_us - what.since_us)
        for kind, count in what.counts:
            self._requests[kind] += count
            if lasted_s > 0:
                self._peaks[kind] = max(self._peaks.get(kind, 0.0), count / lasted_s)

    def _on_appended(self, _: ev.Event, what: ev.Appended) -> None:
        self._bytes += what.size
        for kind, count in what.records:
            self._records[kind] += count

    def _on_appends_counted(self, _: ev.Event, what: ev.AppendsCounted) -> None:
        self._bytes += what.times * what.size
        for kind, count in what.records:
            self._records[kind] += what.times * count


class FailureMeter:
    """Counts failed attempts to process records, and the records sent to other topics."""

    def __init__(self) -> None:
        self._failures = 0
        self._forwarded = Counter[tuple[str, str, str, int]]()
        """By group, target, partition and offset: how often a record was sent."""

        self._duplicates = Counter[bool]()
        """Of duplicates that reached a seen-set: whether it recognised them."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {ev.ProcessingFailed: self._on_failed, ev.DuplicateDelivered: self._on_duplicate}

    def read(self, ended_us: int) -> Reading:
        """Return the failures of a run."""
        del ended_us
        topics = Counter[str]()
        for (_, target, _, _), times in self._forwarded.items():
            topics[target] += times
        total = topics.total()
        return Reading(
            values={
                "failed_attempts": self._failures,
                "forwarded": total,
                "forwarded_again": total - len(self._forwarded),
                "deduplicated": self._duplicates[True],
                "not_deduplicated": self._duplicates[False],
            },
            tables={"forwarded.by_topic": {**dict(sorted(topics.items()))}},
        )

    def _on_duplicate(self, _: ev.Event, what: ev.DuplicateDelivered) -> None:
        self._duplicates[what.recognised] += 1

    def _on_failed(self, _: ev.Event, what: ev.ProcessingFailed) -> None:
        self._failures += what.failures
        if what.to:
            self._forwarded[what.group, what.to, str(what.partition), what.offset] += 1


_NO_ANSWER: Final = "NETWORK_EXCEPTION"
"""The client's error for a commit whose connection broke or whose response never came."""


class CommitMeter:
    """Counts commits by outcome, and rewinds of committed offsets."""

    def __init__(self) -> None:
        self._accepted = 0
        self._by_admin: set[str] = set()
        """Commits by which an administrator resets offsets; they are not counted here."""

        self._committed: dict[Key, int] = {}
        self._lost = 0
        self._refused = Counter[str]()
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
                "commit_messages_lost": self._lost,
                "commits_unanswered": self._unanswered,
                "store_wait_max_s": seconds(self._store_wait_us),
                "rolled_back": self._rolled_back,
                "results_undone": self._undone,
                "rewinds": self._rewinds,
                "rewind_records": self._rewound,
                "rewind_max_records": self._rewound_most,
            },
            tables={"commits_refused.by_error": dict(sorted(self._refused.items()))},
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
        self._committed[what.group, what.partition] = max(what.offset, 0)

    def _on_stored(self, event: ev.Event, what: ev.OffsetsStored) -> None:
        self._store_wait_us = max(self._store_wait_us, what.waited_us)
        self._on_accepted(event, what)

    def _on_accepted(self, _: ev.Event, what: ev.CommitAccepted | ev.OffsetsStored) -> None:
        if what.commit in self._by_admin:
            self._committed |= {(what.group, tp): offset for tp, offset in what.offsets}
            return
        self._accepted += 1
        for partition, offset in () if what.commit in self._dual else what.offsets:
            key = (what.group, partition)
            depth = self._committed.get(key, offset) - offset
            if depth > 0:
                self._rewinds += 1
                self._rewound += depth
                self._rewound_most = max(self._rewound_most, depth)
            self._committed[key] = offset

    def _on_refused(self, _: ev.Event, what: ev.CommitRefused) -> None:
        self._refused[what.error] += what.commit not in self._by_admin

    def _on_answered(self, _: ev.Event, what: ev.CommitAnswered) -> None:
        self._unanswered += what.error == _NO_ANSWER and what.commit not in self._by_admin
        if what.error == "BadVersion":  # ZooKeeper's
            self._refused[what.error] += 1

    def _on_lost(self, _: ev.Event, what: ev.MessageLost) -> None:
        self._lost += bool(what.commit) and what.commit not in self._by_admin

    def _on_dropped(self, _: ev.Event, what: ev.OffsetsDropped) -> None:
        for partition in what.partitions:
            self._committed.pop((what.group, partition), None)


HOT = 2.0
"""A partition is hot if it gets more than this multiple of the records of an average other one."""

NOISE = 5.0
"""So many standard deviations of a random number of arrivals are not by chance."""


@dataclass(slots=True)
class Arrivals:
    """The first and the last ends of the logs that a group reads."""

    first: ev.LagSampled
    last: ev.LagSampled

    def hot_partitions(self) -> Iterator[Row]:
        """Yield the hot partitions, with their records and their share of all."""
        before = dict(zip(self.first.partitions, self.first.log_ends, strict=True))
        ends = zip(self.last.partitions, self.last.log_ends, strict=True)
        arrived = {tp: end - before.get(tp, 0) for tp, end in ends}
        total, others = sum(arrived.values()), len(arrived) - 1
        for partition, records in sorted(arrived.items(), key=lambda item: (-item[1], item[0])):
            mean = (total - records) / others if others else records
            if records > max(HOT * mean, mean + NOISE * sqrt(mean), NOISE):
                place = {"group": self.last.group, "partition": str(partition)}
                yield {**place, "records": records, "share": round(records / total, 4)}


class CapacityMeter:
    """Counts what each member processes, and what arrives for each group."""

    def __init__(self) -> None:
        self._started_us: dict[str, int] = {}
        self._first_us: dict[str, int] = {}
        """Group: when the first record was begun."""

        self._processed = Counter[str]()
        self._topics = Counter[str]()
        self._arrivals: dict[str, Arrivals] = {}

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._on_started,
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
            ev.ProcessedOutOfOrder: self._on_processed,
            ev.LagSampled: self._on_sampled,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return records by member, hot partitions, and the time to the first record."""
        firsts = [at - self._started_us.get(group, 0) for group, at in self._first_us.items()]
        members: dict[str, int | float] = dict(sorted(self._processed.items()))
        topics: dict[str, int | float] = dict(sorted(self._topics.items()))
        if len({key.split("/")[1] for key in topics}) < 2:
            topics = {}
        hot = [row for _, each in sorted(self._arrivals.items()) for row in each.hot_partitions()]
        return Reading(
            values={"first_record_max_s": longest(firsts)},
            tables={"processed.by_member": members, "processed.by_member_and_topic": topics},
            listings={"hot_partitions": tuple(hot)},
            without_value=frozenset() if firsts else frozenset({"first_record_max_s"}),
        )

    def _on_started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        self._started_us.setdefault(what.group, event.at_us)
        self._processed[what.consumer] += 0

    def _on_processed(self, _: ev.Event, what: ev.Work) -> None:
        records = what.next_offset - what.first
        self._processed[what.consumer] += records
        self._topics[f"{what.consumer}/{what.partition.topic}"] += records
        first_us = self._first_us.get(what.group)
        if first_us is None or what.began_us < first_us:
            self._first_us[what.group] = what.began_us

    def _on_sampled(self, _: ev.Event, what: ev.LagSampled) -> None:
        arrivals = self._arrivals.setdefault(what.group, Arrivals(what, what))
        arrivals.last = what
