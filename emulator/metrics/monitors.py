"""What monitors would have said, and when, compared with what was really stuck.

A monitor sees the commits of a group and the ends of the logs, and nothing else; of a group that commits to a
database, one like Burrow sees no commits, and it knows no such group. A partition is stuck while
records wait in it and none is processed for a given time.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.ledger.entries import Ledger
from emulator.metrics.burrow import Commit, Status, append, status_of
from emulator.metrics.readings import Handler, Reading, Row, seconds

DELAY = "monitor_delay_max_s"
ABOVE = "ABOVE"
"""The state of a rule on lag."""

OF_STANDSTILL = frozenset({Status.STOP.value, Status.STALL.value, ABOVE})
"""States that say that a partition is stuck; others cannot be false in this sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorRule:
    """One monitor of a group."""

    name: str
    every_us: int
    stuck_after_us: int
    sees_commits: bool = True
    """Whether it can read the commits: Burrow reads those in Kafka and in ZooKeeper."""

    above: int | None = None
    """Of a rule on lag; None: Burrow's rules."""

    lasting_us: int = 0
    by_partition: bool = False
    intervals: int = 10
    """How many commits of a partition, and ends of its log, Burrow's rules look at."""

    refresh_us: int = 10_000_000
    min_distance_us: int = 1_000_000
    allowed_lag: int = 0
    rewind_first: bool = True


@dataclass(slots=True)
class Interval:
    """A time in which a partition was stuck, or a monitor gave an alarm; of a group: no partition."""

    partition: TopicPartition | None
    state: str
    from_us: int
    to_us: int | None = None

    def meets(self, other: Interval, ended_us: int) -> bool:
        """Return whether both are about the same partition, at the same time."""
        same = None in (self.partition, other.partition) or self.partition == other.partition
        mine, others = (ended_us if each.to_us is None else each.to_us for each in (self, other))
        return same and self.from_us <= others and other.from_us <= mine


States = Mapping[TopicPartition | None, str]
"""Each partition, or None for the group, that a monitor gives an alarm for, with its state."""


class Intervals:
    """Intervals by partition and state, open and closed."""

    def __init__(self) -> None:
        self.all: list[Interval] = []
        self._open: dict[TopicPartition | None, Interval] = {}

    def update(self, states: States, at_us: int, since: Mapping[TopicPartition, int]) -> None:
        """Open and close intervals so that those of *states* are open."""
        for partition, interval in list(self._open.items()):
            if states.get(partition) != interval.state:
                interval.to_us = at_us
                del self._open[partition]
        for partition, state in states.items():
            if partition not in self._open:
                from_us = at_us if partition is None else since.get(partition, at_us)
                interval = self._open[partition] = Interval(partition, state, from_us)
                self.all.append(interval)


class Truth:
    """Which partitions of a group are stuck, from what was processed."""

    def __init__(self, after_us: int) -> None:
        self._after_us = after_us
        self._since: dict[TopicPartition, tuple[int, int]] = {}
        """The progress of a partition, and since when it is the same while records wait."""

        self.stuck = Intervals()

    def sample(self, at_us: int, what: ev.LagSampled) -> None:
        """Follow the progress of each partition."""
        _drop_deleted(self._since, what.partitions)
        rows = zip(what.partitions, what.processed, what.log_ends, strict=True)
        for partition, done, end in rows:
            before = self._since.get(partition)
            if before is None or before[0] != done or max(done, 0) >= end:
                self._since[partition] = (done, at_us)
        since = {
            partition: at
            for partition, (_, at) in self._since.items()
            if at_us - at >= self._after_us
        }
        self.stuck.update(dict.fromkeys(since, "stuck"), at_us, since)


def _drop_deleted(
    by_partition: dict[TopicPartition, Any], present: Iterable[TopicPartition]
) -> None:
    """Remove the partitions of deleted topics."""
    for partition in by_partition.keys() - set(present):
        del by_partition[partition]


@dataclass(slots=True)
class Monitor:
    """One monitor at work."""

    rule: MonitorRule
    alarms: Intervals = field(default_factory=Intervals)
    _commits: dict[TopicPartition, deque[Commit]] = field(default_factory=dict)
    _ends: defaultdict[TopicPartition, deque[int]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    _read_us: int | None = None
    _evaluated_us: int = 0
    _above_since: dict[TopicPartition | None, int] = field(default_factory=dict)

    def commit(self, at_us: int, offsets: ev.Offsets) -> None:
        """Put the offsets of a commit into the window; lag is that to the end that was read last."""
        if not self.rule.sees_commits:
            return
        for partition, offset in offsets:
            ends = self._ends.get(partition)
            if ends:
                window = self._commits.setdefault(partition, deque(maxlen=self.rule.intervals))
                append(window, at_us, offset, ends[-1], self.rule.min_distance_us)

    def sample(self, at_us: int, what: ev.LagSampled) -> None:
        """Read the ends of the logs if it is time, and evaluate the rule if it is time."""
        rule = self.rule
        if self._read_us is None or at_us - self._read_us >= rule.refresh_us:
            self._read_us = at_us
            _drop_deleted(self._ends, what.partitions)
            _drop_deleted(self._commits, what.partitions)
            for partition, end in zip(what.partitions, what.log_ends, strict=True):
                ends = self._ends[partition]
                ends.append(end)
                if len(ends) > rule.intervals:
                    ends.popleft()
        if at_us - self._evaluated_us >= rule.every_us:
            self._evaluated_us = at_us
            states = self._by_commits(at_us) if rule.above is None else self._by_lag(at_us, what)
            self.alarms.update(states, at_us, {})

    def _by_commits(self, at_us: int) -> States:
        rule = self.rule
        found = {
            partition: status_of(
                tuple(commits),
                tuple(self._ends[partition]),
                at_us,
                allowed_lag=rule.allowed_lag,
                rewind_first=rule.rewind_first,
            )
            for partition, commits in self._commits.items()
        }
        return {key: status.value for key, status in found.items() if status != Status.OK}

    def _by_lag(self, at_us: int, what: ev.LagSampled) -> States:
        assert self.rule.above is not None, "a rule on lag has a threshold"
        lags: dict[TopicPartition | None, int] = {
            partition: max(0, end - committed)
            for partition, end, committed in zip(
                what.partitions, what.log_ends, what.committed, strict=True
            )
            if committed >= 0
        }
        if not self.rule.by_partition:
            lags = {None: sum(lags.values())}
        above = {key for key, lag in lags.items() if lag > self.rule.above}
        self._above_since = {key: self._above_since.get(key, at_us) for key in lags if key in above}
        lasting = self.rule.lasting_us
        return {key: ABOVE for key, since in self._above_since.items() if at_us - since >= lasting}


class MonitorMeter:
    """Follows the monitors of all groups; *rules*: by group."""

    def __init__(self, rules: Mapping[str, Sequence[MonitorRule]]) -> None:
        self._monitors = {
            group: [(Monitor(rule), Truth(rule.stuck_after_us)) for rule in mine]
            for group, mine in rules.items()
        }

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.CommitAccepted: self._on_accepted,
            ev.OffsetsStored: self._on_accepted,
            ev.LagSampled: self._on_sampled,
        }

    def _on_accepted(self, event: ev.Event, what: ev.CommitAccepted | ev.OffsetsStored) -> None:
        for monitor, _ in self._monitors.get(what.group, ()):
            monitor.commit(event.at_us, what.offsets)

    def _on_sampled(self, event: ev.Event, what: ev.LagSampled) -> None:
        for monitor, truth in self._monitors.get(what.group, ()):
            truth.sample(event.at_us, what)
            monitor.sample(event.at_us, what)

    def read(self, ended_us: int, _ledger: Ledger) -> Reading:
        """Return alarms, false ones, misses and delays."""
        rows = [
            _summary(group, monitor, truth.stuck.all, ended_us)
            for group, pairs in self._monitors.items()
            for monitor, truth in pairs
        ]
        alarms = list(self._alarms(ended_us))
        delays = [row["delay_max_s"] for row in rows if row["delay_max_s"] is not None]
        states = Counter(f"{row['monitor']} {row['state']}" for row in alarms)
        return Reading(
            values={
                "monitor_alarms": len(alarms),
                "monitor_false_alarms": sum(row["false"] for row in rows),
                "monitor_misses": sum(row["missed"] for row in rows),
                DELAY: max(delays, default=0),
            },
            tables={"monitor_alarms.by_state": {**dict(sorted(states.items()))}},
            listings={
                "monitors": tuple(rows),
                "monitor_alarms": tuple(alarms),
                "standstills": tuple(self._standstills(ended_us)),
            },
            without_value=frozenset() if delays else frozenset((DELAY,)),
        )

    def _alarms(self, ended_us: int) -> Iterator[Row]:
        for group, pairs in self._monitors.items():
            for monitor, truth in pairs:
                for alarm in monitor.alarms.all:
                    yield {
                        "group": group,
                        "monitor": monitor.rule.name,
                        "partition": "" if alarm.partition is None else str(alarm.partition),
                        "state": alarm.state,
                        "from_s": seconds(alarm.from_us),
                        "to_s": None if alarm.to_us is None else seconds(alarm.to_us),
                        "false": _is_false(alarm, truth.stuck.all, ended_us),
                    }

    def _standstills(self, ended_us: int) -> Iterator[Row]:
        for group, pairs in self._monitors.items():
            for monitor, truth in pairs:
                alarms = [each for each in monitor.alarms.all if each.state in OF_STANDSTILL]
                for stuck in truth.stuck.all:
                    noticed_us = _noticed_us(stuck, alarms, ended_us)
                    yield {
                        "group": group,
                        "monitor": monitor.rule.name,
                        "partition": str(stuck.partition),
                        "from_s": seconds(stuck.from_us),
                        "to_s": None if stuck.to_us is None else seconds(stuck.to_us),
                        "noticed_s": None if noticed_us is None else seconds(noticed_us),
                    }


def _noticed_us(stuck: Interval, alarms: Iterable[Interval], ended_us: int) -> int | None:
    """Return when the first alarm about a standstill began, or it began; None: there was none."""
    met = [alarm.from_us for alarm in alarms if alarm.meets(stuck, ended_us)]
    return max(min(met), stuck.from_us) if met else None


def _is_false(alarm: Interval, stuck: Iterable[Interval], ended_us: int) -> bool:
    return alarm.state in OF_STANDSTILL and not any(alarm.meets(each, ended_us) for each in stuck)


def _summary(group: str, monitor: Monitor, stuck: Sequence[Interval], ended_us: int) -> Row:
    alarms = [alarm for alarm in monitor.alarms.all if alarm.state in OF_STANDSTILL]
    noticed = [(each, _noticed_us(each, alarms, ended_us)) for each in stuck]
    delays_us = [at_us - each.from_us for each, at_us in noticed if at_us is not None]
    return {
        "group": group,
        "monitor": monitor.rule.name,
        "sees_commits": monitor.rule.sees_commits,
        "window": monitor.rule.intervals if monitor.rule.above is None else 0,
        "alarms": len(monitor.alarms.all),
        "false": sum(_is_false(alarm, stuck, ended_us) for alarm in alarms),
        "stuck": len(stuck),
        "missed": len(stuck) - len(delays_us),
        "delay_max_s": seconds(max(delays_us)) if delays_us else None,
    }
