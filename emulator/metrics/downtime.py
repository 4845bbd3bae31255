"""Measure downtime, overlap, start-up, and idle members.

*Downtime* is time without a working owner, *overlap* is time with two or more. A working owner is a
consumer with an open epoch whose process runs and is not paused. Measurement ends with the run, or
when no member of the group subscribes to the partition's topic any more.

The *start-up* of a group is not downtime. It lasts until the group is first stable with the consumers
that were started by then (:class:`StartUp`), and for each partition until its first owner after that;
it ends with the first fault. So the downtime of a partition that never has an owner begins when the
group is first stable. The downtime of a partition that came later begins when it was created, or
when its topic was first subscribed to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.metrics.readings import (
    Handler,
    Key,
    PartitionState,
    Reading,
    Row,
    Stopwatch,
    in_seconds,
    longest,
    longest_by_group,
    named,
    seconds,
)


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


@dataclass(slots=True)
class StartUp:
    """The start-up of one group.

    Under the consumer protocol the first member is a stable group by itself, with all partitions:
    the joins of consumers that had been started by then still belong to the start-up.
    """

    began_us: int = 0
    """The start of its first consumer."""

    expected: set[str] = field(default_factory=set)
    """Consumers that were started before the group was first stable, and have not joined."""

    measured_from_us: int | None = None
    """When the group first had an owner or was first stable; then when its start-up was complete."""

    stable: bool = False
    forming: bool = False
    """Whether its present rebalance (consumer protocol) admits such consumers."""

    ended: bool = False
    """Whether a fault has ended the start-up."""

    complete_us: int = 0
    """When a partition last had its first owner."""

    def on_stable(self, members: Iterable[str]) -> bool:
        """Note that the group is stable; return whether its start-up was part of that rebalance."""
        again = not self.ended and (self.forming or not self.stable)
        self.stable, self.forming = True, False
        self.expected.difference_update(members)
        return again


class DowntimeMeter:
    """Measures partitions without a working owner or with several, start-up, and idle members.

    *replaced*: groups whose work another group takes over; the end of their last consumer ends their
    measurement.
    """

    def __init__(self, replaced: Collection[str] = ()) -> None:
        self._replaced = frozenset(replaced)
        self._created: dict[str, list[tuple[int, int]]] = {}
        self._states: dict[Key, PartitionState] = {}
        self._ended: dict[Key, PartitionState] = {}
        """Partitions whose measurement has ended: their topic was deleted or unsubscribed."""

        self._left_out: dict[Key, None] = {}
        """Partitions that were there when their group was first stable, and that no assignment had."""

        self._overlap_records = 0
        self._processes: dict[str, Process] = {}
        self._starts = defaultdict[str, StartUp](StartUp)
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
            ev.GroupEpochRaised: self._on_epoch_raised,
            ev.GroupStabilised: self._on_stabilised,
            ev.FaultBegan: self._on_fault_began,
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.Processed: self._on_processed,
            ev.ProgressCounted: self._on_processed,
            ev.ProcessedOutOfOrder: self._on_processed,
        }

    def read(self, ended_us: int) -> Reading:
        """Return downtime and overlap of a run that ended at *ended_us*."""
        self._add_unassigned()
        states = {**self._ended, **self._states}
        without_owner = tuple(self._without_owner())
        for state in states.values():
            state.end(ended_us)
        for process in self._processes.values():
            process.idle.end(ended_us)
        unowned = {key: state.unowned.total_us for key, state in states.items()}
        idle = {name: p.idle.total_us for name, p in sorted(self._processes.items())}
        return Reading(
            values={
                "start_up_max_s": self._longest_start_up_s(),
                "downtime_total_s": seconds(sum(unowned.values())),
                "downtime_max_s": longest(state.unowned.longest_us for state in states.values()),
                "member_idle_total_s": seconds(sum(idle.values())),
                "member_idle_max_s": longest(p.idle.longest_us for p in self._processes.values()),
                "overlap_s": seconds(
                    sum(each.overlap.total_us for each in states.values() if each.overlap)
                ),
                "overlap_records": self._overlap_records,
            },
            tables={
                "downtime.by_partition": in_seconds(named(unowned)),
                "downtime_max.by_partition": in_seconds(
                    named({key: state.unowned.longest_us for key, state in states.items()})
                ),
                "downtime_max.by_group": longest_by_group(
                    {key: each.unowned for key, each in states.items()}
                ),
                "member_idle.by_member": in_seconds(idle),
            },
            listings={"without_owner": without_owner},
        )

    def _longest_start_up_s(self) -> float:
        return longest(max(s.complete_us - s.began_us, 0) for s in self._starts.values())

    def _add_unassigned(self) -> None:
        """Add the partitions of topics that groups read that no assignment ever had.

        Those that an assignor leaves out, and those that came later. A group that was never stable has
        consumers that choose their partitions: only what came later can be missed.
        """
        read = {(group, partition.topic) for group, partition in self._states}
        for group, topic in sorted(read | self._subscribed_us.keys()):
            start = self._starts[group]
            if start.measured_from_us is None or topic in self._unsubscribed(group):
                continue
            size = max((size for size, _ in self._created.get(topic, ())), default=0)
            for number in range(size):
                key = group, TopicPartition(topic, number)
                is_later = self._created_us(key[1]) > start.measured_from_us
                if key in self._states or key in self._ended:
                    continue
                if is_later or start.stable:
                    self._state_of(key)
                    if not is_later:
                        self._left_out[key] = None

    def _without_owner(self) -> Iterator[Row]:
        for (group, partition), state in sorted(self._states.items()):
            since_us = state.unowned.since_us
            if since_us is not None:
                since_s = seconds(since_us)
                left_out = (group, partition) in self._left_out
                row = {"group": group, "partition": str(partition), "since_s": since_s}
                yield {**row, "left_out": left_out}

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
        state.end(at_us)
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

    def _on_epoch_raised(self, _: ev.Event, what: ev.GroupEpochRaised) -> None:
        start = self._starts[what.group]
        start.forming |= start.stable and what.consumer in start.expected

    def _on_fault_began(self, _: ev.Event, _what: ev.FaultBegan) -> None:
        for start in self._starts.values():
            start.ended |= start.stable

    def _on_stabilised(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        start = self._starts[what.group]
        if start.on_stable(name for name, _ in what.assignment):
            self._begin_again(what.group, start, event.at_us)
        unsubscribed = self._unsubscribed(what.group)
        for _, partitions in what.assignment:
            for partition in partitions:
                if partition.topic not in unsubscribed:
                    self._state_of((what.group, partition))

    def _begin_again(self, group: str, start: StartUp, at_us: int) -> None:
        """Measure a group from now on: until here it started up."""
        start.measured_from_us = start.complete_us = at_us
        for key, state in self._states.items():
            if key[0] == group:
                state.unowned.begin_again(at_us)
                state.starting = state.working == 0
        for process in self._processes.values():
            if process.group == group:
                process.idle.begin_again(at_us)
                self._update_idle(process, at_us)

    def _measure(self, group: str, at_us: int) -> StartUp:
        """Begin to measure a group, unless it is measured already."""
        start = self._starts[group]
        if start.measured_from_us is None:
            self._begin_again(group, start, at_us)
        return start

    def _state_of(self, key: Key) -> PartitionState:
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._ended.pop(key, PartitionState())
            state.owners = ()
            state.working = 0
            start = self._starts[key[0]]
            assert start.measured_from_us is not None, "the group is stable, or has an owner"
            came_us = max(
                self._created_us(key[1]), self._subscribed_us.get((key[0], key[1].topic), 0)
            )
            state.unowned.begin(max(start.measured_from_us, came_us))
            state.starting = came_us <= start.measured_from_us
        return state

    def _process(self, name: str, group: str) -> Process:
        process = self._processes.get(name)
        if process is None:
            process = self._processes[name] = Process(group)
        return process

    def _update_idle(self, process: Process, at_us: int) -> None:
        """Begin or end a member's idle time according to the partitions that it owns now."""
        idle = process.running and (process.paused or not process.owned)
        measured = self._starts[process.group].measured_from_us is not None
        if idle and measured:
            process.idle.begin(at_us)
        else:
            process.idle.end(at_us)

    def _on_started(self, event: ev.Event, what: ev.ConsumerStarted) -> None:
        if what.group not in self._starts:
            self._starts[what.group] = StartUp(event.at_us)
        start = self._starts[what.group]
        if not start.stable:
            start.expected.add(what.consumer)
        process = self._process(what.consumer, what.group)
        process.running, process.paused = True, False
        self._update_idle(process, event.at_us)

    def _on_stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        self._starts[what.group].expected.discard(what.consumer)
        process = self._process(what.consumer, what.group)
        for key in list(process.owned):
            self._release(what.consumer, process, key, event.at_us)
        process.running, process.paused = False, False
        self._update_idle(process, event.at_us)
        if what.group in self._replaced and not self._runs(what.group):
            for key in [key for key in self._states if key[0] == what.group]:
                self._end(key, event.at_us)

    def _runs(self, group: str) -> bool:
        return any(each.running for each in self._processes.values() if each.group == group)

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
        start = self._measure(what.group, event.at_us)
        key = (what.group, what.partition)
        state, process = self._state_of(key), self._process(what.consumer, what.group)
        if state.starting:
            state.starting = False
            if not start.ended:
                state.unowned.begin_again(event.at_us)
                start.complete_us = event.at_us
        if what.consumer not in state.owners and not process.paused:
            state.change(1, event.at_us)
        state.own(what.consumer)
        process.owned[key] = None
        self._update_idle(process, event.at_us)

    def _on_closed(self, event: ev.Event, what: ev.EpochClosed) -> None:
        process = self._process(what.consumer, what.group)
        key = (what.group, what.partition)
        if key in process.owned:
            self._release(what.consumer, process, key, event.at_us)

    def _release(self, name: str, process: Process, key: Key, at_us: int) -> None:
        state = self._states[key]
        state.disown(name)
        if not process.paused:
            state.change(-1, at_us)
        self._disown(process, key, at_us)

    def _disown(self, process: Process, key: Key, at_us: int) -> None:
        del process.owned[key]
        self._update_idle(process, at_us)

    def _on_processed(self, _: ev.Event, what: ev.Work) -> None:
        state = self._states.get((what.group, what.partition))
        if state is not None and state.working > 1 and state.owners[-1] != what.consumer:
            self._overlap_records += what.next_offset - what.first
