"""Measure downtime and overlap of partitions, and idle time of members.

Downtime is time without a working owner, overlap is time with two or more. A working owner is a
consumer with an open epoch whose process runs and is not paused. Measurement begins when the group
first became stable (for a partition that came later: when it was created, or its topic was first
subscribed to) and ends with the run, or when no member of the group subscribes to its topic any
more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.readings import Handler, Key, Reading, in_seconds, longest, named, seconds


@dataclass(slots=True)
class Spell:
    """A recurring condition: when it last began, and its total duration."""

    since_us: int | None = None
    total_us: int = 0
    longest_us: int = 0

    def begin(self, at_us: int) -> None:
        """Begin the condition, unless it holds already."""
        if self.since_us is None:
            self.since_us = at_us

    def end(self, at_us: int) -> None:
        """End the condition, if it holds."""
        if self.since_us is not None:
            lasted = at_us - self.since_us
            self.since_us = None
            self.total_us += lasted
            self.longest_us = max(self.longest_us, lasted)


@dataclass(slots=True)
class Owned:
    """One partition: its owners in order of opening, and which of them work."""

    owners: list[str] = field(default_factory=list)
    working: int = 0
    still: Spell = field(default_factory=Spell)
    doubled: Spell = field(default_factory=Spell)

    def change(self, step: int, at_us: int) -> None:
        """Add *step* (1 or -1) to the number of working owners."""
        self.working += step
        if self.working == 0:
            self.still.begin(at_us)
        else:
            self.still.end(at_us)
        if self.working > 1:
            self.doubled.begin(at_us)
        else:
            self.doubled.end(at_us)


@dataclass(slots=True)
class Process:
    """One consumer: whether it can work, and which partitions it owns."""

    group: str
    running: bool = True
    paused: bool = False
    held: dict[Key, None] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    """Topics that its group reads and it no longer subscribes to."""

    idle: Spell = field(default_factory=Spell)


class DowntimeMeter:
    """Watches partitions without a working owner or with several, and idle members."""

    def __init__(self) -> None:
        self._created: dict[str, list[tuple[int, int]]] = {}
        self._lines: dict[Key, Owned] = {}
        self._over: dict[Key, Owned] = {}
        """Partitions of deleted topics."""

        self._overlap_records = 0
        self._processes: dict[str, Process] = {}
        self._stable: dict[str, int] = {}
        self._wanted_us: dict[tuple[str, str], int] = {}
        """The time at which a group first subscribed to a topic that it had not read before."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.TopicCreated: self._topic_created,
            ev.PartitionsAdded: self._partitions_added,
            ev.TopicDeleted: self._topic_deleted,
            ev.ConsumerStarted: self._started,
            ev.ConsumerStopped: self._stopped,
            ev.ConsumerPaused: self._paused,
            ev.ConsumerResumed: self._resumed,
            ev.SubscriptionChanged: self._subscribed,
            ev.GroupStabilised: self._stabilised,
            ev.EpochOpened: self._opened,
            ev.EpochClosed: self._closed,
            ev.Processed: self._processed,
        }

    def read(self, ended_us: int) -> Reading:
        """Return downtime and overlap of a run that ended at *ended_us*."""
        lines = {**self._over, **self._lines}
        for line in lines.values():
            line.still.end(ended_us)
            line.doubled.end(ended_us)
        for process in self._processes.values():
            process.idle.end(ended_us)
        still = {key: line.still.total_us for key, line in lines.items()}
        idle = {name: p.idle.total_us for name, p in sorted(self._processes.items())}
        idles = [process.idle for process in self._processes.values()]
        return Reading(
            values={
                "downtime_total_s": seconds(sum(still.values())),
                "downtime_max_s": longest(line.still.longest_us for line in lines.values()),
                "member_idle_total_s": seconds(sum(idle.values())),
                "member_idle_max_s": longest(spell.longest_us for spell in idles),
                "overlap_s": seconds(sum(line.doubled.total_us for line in lines.values())),
                "overlap_records": self._overlap_records,
            },
            tables={
                "downtime.by_partition": in_seconds(named(still)),
                "member_idle.by_member": in_seconds(idle),
            },
        )

    # -- topics ------------------------------------------------------------------------------

    def _topic_created(self, event: ev.Event, what: ev.TopicCreated) -> None:
        self._created[what.topic] = [(len(what.log_starts), event.at_us)]

    def _partitions_added(self, event: ev.Event, what: ev.PartitionsAdded) -> None:
        self._created.setdefault(what.topic, []).append((what.partitions, event.at_us))

    def _topic_deleted(self, event: ev.Event, what: ev.TopicDeleted) -> None:
        """End the measurement of a deleted topic's partitions."""
        for key in [key for key in self._lines if key[1].topic == what.topic]:
            self._end(key, event.at_us)

    def _end(self, key: Key, at_us: int) -> None:
        """End the measurement of a partition and close the epochs of its owners."""
        line = self._lines.pop(key)
        line.still.end(at_us)
        line.doubled.end(at_us)
        self._over[key] = line
        for owner in line.owners:
            self._let_go(self._processes[owner], key, at_us)

    def _subscribed(self, event: ev.Event, what: ev.SubscriptionChanged) -> None:
        """End the measurement of topics that no running member of the group subscribes to."""
        own = [key for key in self._lines if key[0] == what.group]
        read = frozenset(tp.topic for _, tp in own)
        process = self._process(what.consumer, what.group)
        process.dropped = read.difference(what.topics)
        for topic in sorted(set(what.topics) - read):
            self._wanted_us.setdefault((what.group, topic), event.at_us)
        unwanted = self._unwanted(what.group)
        for key in own:
            if key[1].topic in unwanted:
                self._end(key, event.at_us)

    def _unwanted(self, group: str) -> frozenset[str]:
        """Return the topics of a group that all of its members have dropped."""
        of_group = (p.dropped for p in self._processes.values() if p.group == group)
        first = next(of_group, frozenset[str]())
        return first.intersection(*of_group)

    def _created_us(self, partition: TopicPartition) -> int:
        for size, at_us in self._created.get(partition.topic, ()):
            if partition.partition < size:
                return at_us
        return 0

    # -- groups and processes ----------------------------------------------------------------

    def _stabilised(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        self._first_stable(what.group, event.at_us)
        unwanted = self._unwanted(what.group)
        for _, partitions in what.assignment:
            for partition in partitions:
                if partition.topic not in unwanted:
                    self._line((what.group, partition))

    def _first_stable(self, group: str, at_us: int) -> None:
        if group in self._stable:
            return
        self._stable[group] = at_us
        for process in self._processes.values():
            if process.group == group:
                self._judge(process, at_us)

    def _line(self, key: Key) -> Owned:
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = self._over.pop(key, Owned())
            line.owners.clear()
            line.working = 0
            wanted_us = self._wanted_us.get((key[0], key[1].topic), 0)
            line.still.begin(max(self._stable[key[0]], self._created_us(key[1]), wanted_us))
        return line

    def _process(self, name: str, group: str) -> Process:
        process = self._processes.get(name)
        if process is None:
            process = self._processes[name] = Process(group)
        return process

    def _judge(self, process: Process, at_us: int) -> None:
        """Begin or end a member's idle time according to the partitions that it owns now."""
        idle = process.running and (process.paused or not process.held)
        if idle and process.group in self._stable:
            process.idle.begin(at_us)
        else:
            process.idle.end(at_us)

    def _started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        process = self._process(what.consumer, what.group)
        process.running, process.paused = True, False
        self._judge(process, event.at_us)

    def _stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        process = self._process(what.consumer, what.group)
        for key in list(process.held):
            self._release(what.consumer, process, key, event.at_us)
        process.running, process.paused = False, False
        self._judge(process, event.at_us)

    def _paused(self, event: ev.Event, what: ev.ConsumerPaused) -> None:
        self._pause(what.consumer, event.at_us, paused=True)

    def _resumed(self, event: ev.Event, what: ev.ConsumerResumed) -> None:
        self._pause(what.consumer, event.at_us, paused=False)

    def _pause(self, name: str, at_us: int, *, paused: bool) -> None:
        process = self._processes.get(name)
        if process is None or process.paused is paused:
            return
        process.paused = paused
        for key in process.held:
            self._lines[key].change(-1 if paused else 1, at_us)
        self._judge(process, at_us)

    # -- epochs ------------------------------------------------------------------------------

    def _opened(self, event: ev.Event, what: ev.EpochOpened) -> None:
        self._first_stable(what.group, event.at_us)
        key = (what.group, what.partition)
        line, process = self._line(key), self._process(what.consumer, what.group)
        if what.consumer in line.owners:
            line.owners.remove(what.consumer)
        elif not process.paused:
            line.change(1, event.at_us)
        line.owners.append(what.consumer)
        process.held[key] = None
        self._judge(process, event.at_us)

    def _closed(self, event: ev.Event, what: ev.EpochClosed) -> None:
        process = self._process(what.consumer, what.group)
        key = (what.group, what.partition)
        if key in process.held:
            self._release(what.consumer, process, key, event.at_us)

    def _release(self, name: str, process: Process, key: Key, at_us: int) -> None:
        line = self._lines[key]
        line.owners.remove(name)
        if not process.paused:
            line.change(-1, at_us)
        self._let_go(process, key, at_us)

    def _let_go(self, process: Process, key: Key, at_us: int) -> None:
        del process.held[key]
        self._judge(process, at_us)

    def _processed(self, _: ev.Event, what: ev.Processed) -> None:
        line = self._lines.get((what.group, what.partition))
        if line is not None and line.working > 1 and line.owners[-1] != what.consumer:
            self._overlap_records += what.next_offset - what.first
