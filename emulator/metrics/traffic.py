"""Measure the traffic of brokers and members: requests, records, attempts at them, time of a group.

The *first record* of a group counts from the start of its first consumer. A partition is *hot* if it
gets more than twice the records of an average other partition of its group. An *attempt* at a record was
completed, failed, or was in flight when its process ended: the ledger has each completion after the first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import sqrt
from typing import NamedTuple

from assignors.values import dataclass
from emulator import events as ev
from emulator.ledger.entries import Entry, EntryKind, Ledger
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


Log = tuple[Key, str]
"""A partition of a group with the id of its topic: another topic may get the same name."""


class Attempted(NamedTuple):
    """Records of one partition with the same number of attempts, as an inclusive range of offsets."""

    attempts: int
    key: Key
    first: int
    last: int


class AttemptsMeter:
    """Finds the records with the most attempts; memory: the records with a failed attempt."""

    def __init__(self) -> None:
        self._topic_ids: dict[str, str] = {}
        self._incomplete: defaultdict[Log, Counter[int]] = defaultdict(Counter)
        """How often each record failed, or was in flight when its process ended."""

        self._open: defaultdict[Log, set[int]] = defaultdict(set)
        """Of these records, those that were not completed later."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.TopicCreated: self._on_topic,
            ev.ProcessingFailed: self._on_failed,
            ev.PartlyProcessed: self._on_in_flight,
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
            ev.ProcessedOutOfOrder: self._on_processed,
        }

    def read(self, _ended_us: int, ledger: Ledger) -> Reading:
        """Return the most attempts at one record, and the records that had so many."""
        found = [*self._of_incomplete(ledger), *_of_completed(ledger)]
        most = max((each.attempts for each in found), default=min(ledger.processed, 1))
        rows = [_row(each) for each in sorted(set(found)) if each.attempts == most > 1]
        return Reading(values={"attempts_max": most}, listings={"attempts": tuple(rows)})

    def _on_topic(self, _: ev.Event, what: ev.TopicCreated) -> None:
        self._topic_ids[what.topic] = what.topic_id

    def _on_failed(self, _: ev.Event, what: ev.ProcessingFailed) -> None:
        self._add(self._log_of(what), what.offset, what.failures)

    def _on_in_flight(self, _: ev.Event, what: ev.PartlyProcessed) -> None:
        self._add(self._log_of(what), what.offset, 1)

    def _log_of(self, what: ev.ProcessingFailed | ev.PartlyProcessed | ev.Work) -> Log:
        return (what.group, what.partition), self._topic_ids.get(what.partition.topic, "")

    def _add(self, log: Log, offset: int, attempts: int) -> None:
        self._incomplete[log][offset] += attempts
        self._open[log].add(offset)

    def _on_processed(self, _: ev.Event, what: ev.Work) -> None:
        left = self._open.get(self._log_of(what)) if self._open else None
        if left:
            left -= {offset for offset in left if what.first <= offset < what.next_offset}

    def _of_incomplete(self, ledger: Ledger) -> Iterator[Attempted]:
        """Yield each record with an attempt that was not completed."""
        repeats = _Repeats(ledger)
        for log, offsets in sorted(self._incomplete.items()):
            for offset, incomplete in sorted(offsets.items()):
                repeated = repeats.of(log, offset)
                completed = repeated + 1 if repeated or offset not in self._open[log] else 0
                yield Attempted(incomplete + completed, log[0], offset, offset)


class _Repeats:
    """How often each record was completed after its first time."""

    def __init__(self, ledger: Ledger) -> None:
        self._entries: defaultdict[Log, list[Entry]] = defaultdict(list)
        for entry in ledger.of(EntryKind.REPROCESSED):
            log = (entry.group, entry.topic_partition), entry.topic_id
            self._entries[log].append(entry)

    def of(self, log: Log, offset: int) -> int:
        """Return the number for one record."""
        return sum(entry.first <= offset <= entry.last for entry in self._entries.get(log, ()))


def _of_completed(ledger: Ledger) -> Iterator[Attempted]:
    """Yield, of each log, the records that were completed most often, if some were more than once."""
    logs: defaultdict[tuple[Key, str, int], list[Entry]] = defaultdict(list)
    for entry in ledger.of(EntryKind.REPROCESSED):
        key = entry.group, entry.topic_partition
        logs[key, entry.topic_id, entry.log_incarnation].append(entry)
    for (key, _topic_id, _incarnation), entries in sorted(logs.items()):
        begins = sorted(entry.first for entry in entries)
        ends = sorted(entry.last + 1 for entry in entries)
        yield from _deepest(key, begins, ends)


def _deepest(key: Key, begins: list[int], ends: list[int]) -> Iterator[Attempted]:
    """Yield the ranges in which most of the given ranges overlap."""
    depths = [i + 1 - bisect_left(ends, begin + 1) for i, begin in enumerate(begins)]
    most = max(depths)
    for begin, depth in zip(begins, depths, strict=True):
        if depth == most:
            yield Attempted(most + 1, key, begin, ends[bisect_left(ends, begin + 1)] - 1)


def _row(found: Attempted) -> Row:
    (group, partition), attempts = found.key, found.attempts
    offsets = {"first": found.first, "last": found.last}
    return {"group": group, "partition": str(partition), **offsets, "attempts": attempts}


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
        self._members: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """By group, the consumers that started."""

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
            values={
                "first_record_max_s": longest(firsts),
                "load_max_to_mean": max(map(self._imbalance, self._members.values()), default=0),
            },
            tables={"processed.by_member": members, "processed.by_member_and_topic": topics},
            listings={"hot_partitions": tuple(hot)},
            without_value=frozenset() if firsts else frozenset({"first_record_max_s"}),
        )

    def _on_started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        self._started_us.setdefault(what.group, event.at_us)
        self._processed[what.consumer] += 0
        self._members[what.group][what.consumer] = None

    def _imbalance(self, members: Iterable[str]) -> float:
        """Return the records of the busiest member over their mean; 0: there are none."""
        records = [self._processed[name] for name in members]
        return max(records) * len(records) / sum(records) if any(records) else 0.0

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
