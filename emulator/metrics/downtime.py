"""Measure downtime, overlap, idle members, and unavailability because of brokers.

*Downtime* is time without a working owner, *overlap* is time with two or more. A working owner is a
consumer with an open epoch whose process runs and is not paused. Measurement begins when the group
first became stable (for a partition that came later: when it was created, or its topic was first
subscribed to) and ends with the run, or when no member of the group subscribes to its topic any
more.

A partition is *unreadable* while its high watermark cannot advance: its leader is down, or an
in-sync replica is down that the leader has not removed from the ISR yet. *Commits are unavailable*
to a group while that holds for its offsets partition, or while no coordinator has loaded it. Owners
keep their partitions meanwhile, so this is not downtime; the time that consumers need to recover
afterwards is not included either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC
from emulator.metrics.readings import (
    Handler,
    Key,
    Reading,
    Row,
    in_seconds,
    longest,
    named,
    seconds,
)


@dataclass(slots=True)
class Stopwatch:
    """The total and longest duration of a recurring condition."""

    since_us: int | None = None
    """Start of the current occurrence; None: the condition does not hold."""

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
class PartitionState:
    """One partition: its owners in the order of their epochs, and how many of them work."""

    owners: list[str] = field(default_factory=list)
    working: int = 0
    unowned: Stopwatch = field(default_factory=Stopwatch)
    overlap: Stopwatch = field(default_factory=Stopwatch)

    def change(self, step: int, at_us: int) -> None:
        """Add *step* (1 or -1) to the number of working owners."""
        self.working += step
        if self.working == 0:
            self.unowned.begin(at_us)
        else:
            self.unowned.end(at_us)
        if self.working > 1:
            self.overlap.begin(at_us)
        else:
            self.overlap.end(at_us)


@dataclass(slots=True)
class Process:
    """One consumer: whether it can work, and which partitions it owns."""

    group: str
    running: bool = True
    paused: bool = False
    owned: dict[Key, None] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    """Topics that its group reads and to which it no longer subscribes."""

    idle: Stopwatch = field(default_factory=Stopwatch)


class DowntimeMeter:
    """Measures partitions without a working owner or with several, and idle members."""

    def __init__(self) -> None:
        self._created: dict[str, list[tuple[int, int]]] = {}
        self._states: dict[Key, PartitionState] = {}
        self._ended: dict[Key, PartitionState] = {}
        """Partitions whose measurement has ended: their topic was deleted or unsubscribed."""

        self._overlap_records = 0
        self._processes: dict[str, Process] = {}
        self._stable: dict[str, int] = {}
        self._subscribed_us: dict[tuple[str, str], int] = {}
        """The time at which a group first subscribed to a topic that it had not read before."""

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.TopicCreated: self._on_topic_created,
            ev.PartitionsAdded: self._on_partitions_added,
            ev.TopicDeleted: self._on_topic_deleted,
            ev.ConsumerStarted: self._on_started,
            ev.ConsumerStopped: self._on_stopped,
            ev.ConsumerPaused: self._on_paused,
            ev.ConsumerResumed: self._on_resumed,
            ev.SubscriptionChanged: self._on_subscribed,
            ev.GroupStabilised: self._on_stabilised,
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
        }

    def read(self, ended_us: int) -> Reading:
        """Return downtime and overlap of a run that ended at *ended_us*."""
        states = {**self._ended, **self._states}
        without_owner = tuple(self._without_owner())
        for state in states.values():
            state.unowned.end(ended_us)
            state.overlap.end(ended_us)
        for process in self._processes.values():
            process.idle.end(ended_us)
        unowned = {key: state.unowned.total_us for key, state in states.items()}
        idle = {name: p.idle.total_us for name, p in sorted(self._processes.items())}
        idles = [process.idle for process in self._processes.values()]
        return Reading(
            values={
                "downtime_total_s": seconds(sum(unowned.values())),
                "downtime_max_s": longest(state.unowned.longest_us for state in states.values()),
                "member_idle_total_s": seconds(sum(idle.values())),
                "member_idle_max_s": longest(stopwatch.longest_us for stopwatch in idles),
                "overlap_s": seconds(sum(state.overlap.total_us for state in states.values())),
                "overlap_records": self._overlap_records,
            },
            tables={
                "downtime.by_partition": in_seconds(named(unowned)),
                "member_idle.by_member": in_seconds(idle),
            },
            listings={"without_owner": without_owner},
        )

    def _without_owner(self) -> Iterator[Row]:
        for (group, partition), state in sorted(self._states.items()):
            since_us = state.unowned.since_us
            if since_us is not None:
                since_s = seconds(since_us)
                yield {"group": group, "partition": str(partition), "since_s": since_s}

    # -- topics ------------------------------------------------------------------------------

    def _on_topic_created(self, event: ev.Event, what: ev.TopicCreated) -> None:
        self._created[what.topic] = [(len(what.log_starts), event.at_us)]

    def _on_partitions_added(self, event: ev.Event, what: ev.PartitionsAdded) -> None:
        self._created.setdefault(what.topic, []).append((what.partitions, event.at_us))

    def _on_topic_deleted(self, event: ev.Event, what: ev.TopicDeleted) -> None:
        """End the measurement of a deleted topic's partitions."""
        for key in [key for key in self._states if key[1].topic == what.topic]:
            self._end(key, event.at_us)

    def _end(self, key: Key, at_us: int) -> None:
        """End the measurement of a partition and close the epochs of its owners."""
        state = self._states.pop(key)
        state.unowned.end(at_us)
        state.overlap.end(at_us)
        self._ended[key] = state
        for owner in state.owners:
            self._disown(self._processes[owner], key, at_us)

    def _on_subscribed(self, event: ev.Event, what: ev.SubscriptionChanged) -> None:
        """End the measurement of topics that no running member of the group subscribes to."""
        own = [key for key in self._states if key[0] == what.group]
        read = frozenset(tp.topic for _, tp in own)
        process = self._process(what.consumer, what.group)
        process.dropped = read.difference(what.topics)
        for topic in sorted(set(what.topics) - read):
            self._subscribed_us.setdefault((what.group, topic), event.at_us)
        unsubscribed = self._unsubscribed(what.group)
        for key in own:
            if key[1].topic in unsubscribed:
                self._end(key, event.at_us)

    def _unsubscribed(self, group: str) -> frozenset[str]:
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

    def _on_stabilised(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        self._first_stable(what.group, event.at_us)
        unsubscribed = self._unsubscribed(what.group)
        for _, partitions in what.assignment:
            for partition in partitions:
                if partition.topic not in unsubscribed:
                    self._state_of((what.group, partition))

    def _first_stable(self, group: str, at_us: int) -> None:
        if group in self._stable:
            return
        self._stable[group] = at_us
        for process in self._processes.values():
            if process.group == group:
                self._update_idle(process, at_us)

    def _state_of(self, key: Key) -> PartitionState:
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._ended.pop(key, PartitionState())
            state.owners.clear()
            state.working = 0
            subscribed_us = self._subscribed_us.get((key[0], key[1].topic), 0)
            state.unowned.begin(max(self._stable[key[0]], self._created_us(key[1]), subscribed_us))
        return state

    def _process(self, name: str, group: str) -> Process:
        process = self._processes.get(name)
        if process is None:
            process = self._processes[name] = Process(group)
        return process

    def _update_idle(self, process: Process, at_us: int) -> None:
        """Begin or end a member's idle time according to the partitions that it owns now."""
        idle = process.running and (process.paused or not process.owned)
        if idle and process.group in self._stable:
            process.idle.begin(at_us)
        else:
            process.idle.end(at_us)

    def _on_started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        process = self._process(what.consumer, what.group)
        process.running, process.paused = True, False
        self._update_idle(process, event.at_us)

    def _on_stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        process = self._process(what.consumer, what.group)
        for key in list(process.owned):
            self._release(what.consumer, process, key, event.at_us)
        process.running, process.paused = False, False
        self._update_idle(process, event.at_us)

    def _on_paused(self, event: ev.Event, what: ev.ConsumerPaused) -> None:
        self._pause(what.consumer, event.at_us, paused=True)

    def _on_resumed(self, event: ev.Event, what: ev.ConsumerResumed) -> None:
        self._pause(what.consumer, event.at_us, paused=False)

    def _pause(self, name: str, at_us: int, *, paused: bool) -> None:
        process = self._processes.get(name)
        if process is None or process.paused is paused:
            return
        process.paused = paused
        for key in process.owned:
            self._states[key].change(-1 if paused else 1, at_us)
        self._update_idle(process, at_us)

    # -- epochs ------------------------------------------------------------------------------

    def _on_opened(self, event: ev.Event, what: ev.EpochOpened) -> None:
        self._first_stable(what.group, event.at_us)
        key = (what.group, what.partition)
        state, process = self._state_of(key), self._process(what.consumer, what.group)
        if what.consumer in state.owners:
            state.owners.remove(what.consumer)
        elif not process.paused:
            state.change(1, event.at_us)
        state.owners.append(what.consumer)
        process.owned[key] = None
        self._update_idle(process, event.at_us)

    def _on_closed(self, event: ev.Event, what: ev.EpochClosed) -> None:
        process = self._process(what.consumer, what.group)
        key = (what.group, what.partition)
        if key in process.owned:
            self._release(what.consumer, process, key, event.at_us)

    def _release(self, name: str, process: Process, key: Key, at_us: int) -> None:
        state = self._states[key]
        state.owners.remove(name)
        if not process.paused:
            state.change(-1, at_us)
        self._disown(process, key, at_us)

    def _disown(self, process: Process, key: Key, at_us: int) -> None:
        del process.owned[key]
        self._update_idle(process, at_us)

    def _on_processed(self, _: ev.Event, what: ev.Processed | ev.ProgressCounted) -> None:
        state = self._states.get((what.group, what.partition))
        if state is not None and state.working > 1 and state.owners[-1] != what.consumer:
            self._overlap_records += what.next_offset - what.first


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

    def _on_appended(self, _: ev.Event, what: ev.Appended) -> None:
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
