"""Measure brokers: the offsets log over time with its loads and compaction, and unavailability.

A partition is *unreadable* while its high watermark cannot advance: its leader is down, or an
in-sync replica is down that the leader has not removed from the ISR yet. *Commits are unavailable*
to a group while that holds for its offsets partition, or while no coordinator has loaded it. Owners
keep their partitions meanwhile, so this is not downtime; the time that consumers need to recover
afterwards is not included either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import NamedTuple

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC
from emulator.metrics.readings import Handler, Reading, Row, Stopwatch, in_seconds, longest, seconds

MAX_POINTS = 64
"""Maximum number of points of one partition; beyond it, every second point is dropped."""

FIRST_INTERVAL_US = 1_000_000


class Point(NamedTuple):
    """The size that a load would read at one time."""

    at_us: int
    size: int
    """Unit: bytes."""

    records: int
    segments: int


class Growth(NamedTuple):
    """Equal batches, appended at equal intervals."""

    first_us: int
    every_us: int
    times: int
    size: int
    records: int

    def times_before(self, at_us: int) -> int:
        """Return how many of the batches were appended before *at_us*."""
        if at_us <= self.first_us:
            return 0
        if not self.every_us:
            return self.times
        return min(self.times, (at_us - 1 - self.first_us) // self.every_us + 1)

    def last_us(self, times: int) -> int:
        """Return when batch number *times* was appended; the first is number 1."""
        return self.first_us + (times - 1) * self.every_us

    def intervals(self, interval_us: int) -> Collection[int]:
        """Return the intervals of that duration with an append, as numbers counted from 0.

        All of a range, if the batches are not further apart than an interval.
        """
        if self.every_us <= interval_us:
            last_us = self.last_us(self.times)
            return range(self.first_us // interval_us, last_us // interval_us + 1)
        times = range(1, min(self.times, MAX_POINTS + 1) + 1)
        return [self.last_us(number) // interval_us for number in times]


class SizeHistory:
    """The size of one offsets partition over time, as its newest leader reports it."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._growths: list[Growth] = []
        """Appends since the last point; they may have overlapped."""

        self._interval_us = FIRST_INTERVAL_US
        """Only the last point of each interval is kept; the interval doubles if there are too many
        points.
        """

        self._leader = (-1, -1)
        self.size_peak = self.records_peak = 0

    @property
    def latest(self) -> Point:
        """The latest known point."""
        return self.points[-1] if self.points else Point(0, 0, 0, 1)

    def grow(self, growth: Growth) -> None:
        """Add equal appends; call :meth:`settle` before anything else is asked or added."""
        self._growths.append(growth)

    def is_newest_leader(self, broker: int, epoch: int | None = None) -> bool:
        """Return whether a broker is the newest known leader; a higher *epoch* makes it that."""
        if epoch is None:
            return broker == self._leader[1]
        if epoch < self._leader[0]:
            return False
        self._leader = (epoch, broker)
        return True

    def add(self, point: Point) -> None:
        """Add a point; its time is not before the last one."""
        self.size_peak = max(self.size_peak, point.size)
        self.records_peak = max(self.records_peak, point.records)
        points, interval_us = self.points, self._interval_us
        if points and points[-1].at_us // interval_us == point.at_us // interval_us:
            points[-1] = point
            return
        points.append(point)
        while len(self.points) > MAX_POINTS:
            self._widen()

    def settle(self) -> None:
        """Add the last point of each interval in which the log grew by equal appends."""
        growths, self._growths = self._growths, []
        if not growths:
            return
        before = self.latest
        intervals = self._intervals(growths)
        while (
            len(intervals | {point.at_us // self._interval_us for point in self.points})
            > MAX_POINTS
        ):
            self._widen()
            intervals = self._intervals(growths)
        for interval in sorted(intervals):
            self.add(_grown(before, growths, (interval + 1) * self._interval_us))

    def _intervals(self, growths: list[Growth]) -> set[int]:
        """Return the intervals in which the log grew; of too many, only some."""
        found: set[int] = set()
        for growth in growths:
            found.update(islice(growth.intervals(self._interval_us), MAX_POINTS + 1))
        return found

    def _widen(self) -> None:
        self._interval_us *= 2
        self.points = list({each.at_us // self._interval_us: each for each in self.points}.values())


def _grown(before: Point, growths: list[Growth], until_us: int) -> Point:
    """Return the point of the last append before *until_us*; there was one since *before*."""
    at_us, size, records = before.at_us, before.size, before.records
    for growth in growths:
        times = growth.times_before(until_us)
        if times:
            at_us = max(at_us, growth.last_us(times))
            size, records = size + times * growth.size, records + times * growth.records
    return Point(at_us, size, records, before.segments)


class LogMeter:
    """Measures the size of each offsets partition over time, loads and compaction."""

    def __init__(self) -> None:
        self._compactions = 0
        self._histories: dict[int, SizeHistory] = {}
        self._loads = 0
        self._loads_size = 0
        self._loads_us = 0
        self._removed_records = 0
        self._removed_size = 0
        self._rolled = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.Appended: self._on_appended,
            ev.AppendsCounted: self._on_appends_counted,
            ev.CoordinatorLoaded: self._on_loaded,
            ev.SegmentRolled: self._on_rolled,
            ev.LogCompacted: self._on_compacted,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the sizes, the totals of loads, and the totals of compaction."""
        histories = [self._settled(number) for number in self._histories]
        last = [history.latest for history in histories]
        return Reading(
            values={
                "log_size": sum(point.size for point in last),
                "log_size_peak": max((history.size_peak for history in histories), default=0),
                "log_size_records": sum(point.records for point in last),
                "log_size_records_peak": max((c.records_peak for c in histories), default=0),
                "log_segments": sum(point.segments for point in last),
                "log_segments_rolled": self._rolled,
                "log_compactions": self._compactions,
                "log_compacted_bytes": self._removed_size,
                "log_compacted_records": self._removed_records,
                "log_loads": self._loads,
                "log_loads_s": seconds(self._loads_us),
                "log_loads_bytes": self._loads_size,
            },
            listings={"log_sizes": tuple(self._rows())},
        )

    def _rows(self) -> list[Row]:
        return [
            {
                "log_partition": number,
                "at_s": seconds(point.at_us),
                "bytes": point.size,
                "records": point.records,
                "segments": point.segments,
            }
            for number, history in sorted(self._histories.items())
            for point in history.points
        ]

    def _history(self, log_partition: int) -> SizeHistory:
        history = self._histories.get(log_partition)
        if history is None:
            history = self._histories[log_partition] = SizeHistory()
        return history

    def _settled(self, log_partition: int) -> SizeHistory:
        history = self._history(log_partition)
        history.settle()
        return history

    def _on_appends_counted(self, event: ev.Event, what: ev.AppendsCounted) -> None:
        first_us = event.at_us - (what.times - 1) * what.every_us
        records = sum(count for _, count in what.records)
        growth = Growth(first_us, what.every_us, what.times, what.size, records)
        self._history(what.log_partition).grow(growth)

    def _on_appended(self, event: ev.Event, what: ev.Appended) -> None:
        history = self._settled(what.log_partition)
        if what.log_size >= 0 and history.is_newest_leader(what.broker, what.leader_epoch):
            segments = history.latest.segments
            history.add(Point(event.at_us, what.log_size, what.log_records, segments))

    def _on_loaded(self, event: ev.Event, what: ev.CoordinatorLoaded) -> None:
        self._loads += 1
        self._loads_size += what.size
        self._loads_us += what.waited_us + what.loaded_us
        history = self._settled(what.log_partition)
        if history.is_newest_leader(what.broker, what.leader_epoch):
            segments = what.segments if what.segments >= 0 else history.latest.segments
            history.add(Point(event.at_us, what.size, what.records, segments))

    def _on_rolled(self, event: ev.Event, what: ev.SegmentRolled) -> None:
        self._rolled += 1
        history = self._settled(what.log_partition)
        if history.is_newest_leader(what.broker):
            history.add(history.latest._replace(at_us=event.at_us, segments=what.segments))

    def _on_compacted(self, event: ev.Event, what: ev.LogCompacted) -> None:
        self._compactions += 1
        self._removed_size += what.removed_size
        self._removed_records += what.removed_records
        history = self._settled(what.log_partition)
        if history.is_newest_leader(what.broker):
            history.add(Point(event.at_us, what.size, what.records, what.segments))


class AvailabilityMeter:
    """Measures when partitions were unreadable and when commits were unavailable."""

    def __init__(self) -> None:
        self._stopwatches: dict[TopicPartition, Stopwatch] = {}
        self._groups: dict[str, TopicPartition] = {}
        """Group: its partition of the offsets topic."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.Appended: self._on_appended,
            ev.AppendsCounted: self._on_appended,
            ev.PartitionStalled: self._on_stalled,
            ev.PartitionResumed: self._on_resumed,
            ev.TopicDeleted: self._on_topic_deleted,
        }

    def read(self, ended_us: int) -> Reading:
        """Return the unavailability of partitions and groups in a run that ended at *ended_us*."""
        for stopwatch in self._stopwatches.values():
            stopwatch.end(ended_us)
        read = {
            str(tp): stopwatch
            for tp, stopwatch in sorted(self._stopwatches.items())
            if tp.topic != OFFSETS_TOPIC
        }
        committed = {
            group: self._stopwatches.get(tp, Stopwatch())
            for group, tp in sorted(self._groups.items())
        }
        return Reading(
            values={**_values("unreadable", read), **_values("commits_unavailable", committed)},
            tables={
                "unreadable.by_partition": _table(read),
                "commits_unavailable.by_group": _table(committed),
            },
        )

    def _on_appended(self, _: ev.Event, what: ev.Appended | ev.AppendsCounted) -> None:
        self._groups[what.group] = TopicPartition(OFFSETS_TOPIC, what.log_partition)

    def _on_stalled(self, event: ev.Event, what: ev.PartitionStalled) -> None:
        self._stopwatches.setdefault(what.partition, Stopwatch()).begin(event.at_us)

    def _on_resumed(self, event: ev.Event, what: ev.PartitionResumed) -> None:
        self._stopwatches.setdefault(what.partition, Stopwatch()).end(event.at_us)

    def _on_topic_deleted(self, event: ev.Event, what: ev.TopicDeleted) -> None:
        for tp, stopwatch in self._stopwatches.items():
            if tp.topic == what.topic:
                stopwatch.end(event.at_us)


def _values(name: str, stopwatches: Mapping[str, Stopwatch]) -> dict[str, int | float]:
    return {
        f"{name}_total_s": seconds(sum(stopwatch.total_us for stopwatch in stopwatches.values())),
        f"{name}_max_s": longest(stopwatch.longest_us for stopwatch in stopwatches.values()),
    }


def _table(stopwatches: Mapping[str, Stopwatch]) -> dict[str, int | float]:
    return in_seconds(
        {name: stopwatch.total_us for name, stopwatch in stopwatches.items() if stopwatch.total_us}
    )
