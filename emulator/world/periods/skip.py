"""One period of a run, and the skipping of many: their events, and the state behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import (
    CommitAccepted,
    CommitAnswered,
    CommitSent,
    DataEvent,
    Event,
    RequestsCounted,
)
from emulator.world.cluster.offsets_log.stored_log import StoredBatch
from emulator.world.periods import in_flight
from emulator.world.periods.beats import HEARTBEAT_KIND, Beats, deadlines_apart
from emulator.world.periods.beats_ahead import BeatsAhead
from emulator.world.periods.shift import (
    NO_GROWTH,
    LogGrowth,
    Shift,
    counted_anew,
    counted_more,
    moved,
    moved_batch,
    moved_commit,
    renumbered,
)
from emulator.world.periods.state import Moving, State, first_limit_us, grown, timers_of
from emulator.world.periods.sums import SUMMED_TO_THE_END, can_sum, open_commits, sums_of
from emulator.world.periods.upkeep import Habit, Upkeep
from emulator.world.world import World
from protocols.consumer.classic.calm import POLL
from protocols.consumer.classic.duties import wait_until_us
from protocols.consumer.classic.machine import Client
from protocols.consumer.classic.periods import deadlines_of, with_deadlines
from protocols.consumer.requests import Renumbered

if TYPE_CHECKING:
    from emulator.world.consumer.process import Process
    from emulator.world.periods.thread_habit import ThreadHabit

METADATA_KIND = "Metadata"
"""The kind of the requests that are counted beside those of a period."""

NO_BEATS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One period of a run: from a state to the same state."""

    end: State
    logs: dict[int, LogGrowth]
    """The size of each offsets partition at the end, as if it had grown from nothing."""

    adds: Shift
    counts: dict[str, int]
    """Requests by kind that were not written yet."""

    moving: Moving
    habits: dict[str, Habit | ThreadHabit]
    """By process: when it reads responses."""

    beats: Mapping[str, Beats]
    """By process: its heartbeats, if they are no part of the period."""

    events: list[Event]
    sent_us: Mapping[str, int]
    """When each commit was sent."""

    counts_requests: bool
    """Whether one of the events says how many requests were sent."""

    appended: dict[int, list[StoredBatch]]


def logs_of(world: World) -> dict[int, LogGrowth]:
    """Return the size of each offsets partition, as if it had grown from nothing."""
    found = {}
    for shard in world.offsets_topic:
        log, end = shard.leaders_log()
        found[shard.number] = LogGrowth(end, log.amount(end).size)
    return found


def added(
    before: State, after: State, logs: dict[int, LogGrowth], beats: Mapping[str, int] = NO_BEATS
) -> Shift:
    """Return what has been added between two states; *logs*: to the offsets log.

    *beats*: by process, requests that are not counted.
    """
    requests = grown(before.requests, after.requests)
    return Shift(
        later_us=after.at_us - before.at_us,
        records={
            group: grown(before.positions[group], positions)
            for group, positions in after.positions.items()
        },
        requests={name: more - beats.get(name, 0) for name, more in requests.items()},
        logs=logs,
    )


def nothing_of(adds: Shift) -> Shift:
    """Return a shift by nothing, with the same parts."""
    return Shift(
        later_us=0,
        records={group: {} for group in adds.records},
        requests={},
        logs=dict.fromkeys(adds.logs, NO_GROWTH),
    )


def counts_requests(events: list[Event]) -> bool:
    """Return whether an event says how many requests were sent."""
    return any(type(event.what) is RequestsCounted for event in events)


class Skip:
    """The periods that are skipped from one state on."""

    def __init__(self, world: World, period: Period, state: State) -> None:
        """Find how far the run goes on as in *period*; it is now in *state*."""
        self._world = world
        self._kernel = world.run.kernel
        self.period = period
        """What each of them has in it."""

        self._state = state
        first_us = first_limit_us(state, period.moving, deadlines_apart(world, period.beats))
        limit_us = min(self._kernel.limit_us(), first_us)
        self._upkeep = Upkeep(world, period.habits, state.at_us, limit_us)
        self._beats = BeatsAhead(world, period.beats, self._upkeep, state.at_us)
        names = [process.name for process in world.consumers.everyone()]
        self._moving = dict(zip(names, period.moving, strict=False))
        """By process; behind them *moving* has those of coordinators."""

        self.times = self._find_times()
        """How many periods can be skipped."""

    def _find_times(self) -> int:
        """Return how many periods end before the next event that does not recur."""
        state, adds, limit_us = self._state, self.period.adds, self._beats.limit_us
        times = (limit_us - 1 - state.at_us) // adds.later_us
        for shard in self._world.offsets_topic:
            size = adds.logs[shard.number].size
            if size and times > 0:
                end_ms = self._world.run.epoch_ms + limit_us // 1_000
                times = min(times, shard.leaders_log()[0].room_for(size, end_ms) - 1)
        while times > 0:
            end_us = state.at_us + times * adds.later_us
            if not (self._upkeep.is_settled(end_us) and self._beats.is_settled(end_us)):
                times -= 1
            elif not self._repeats(adds, times):
                times //= 2
            else:
                break
        return times

    def _repeats(self, adds: Shift, times: int) -> bool:
        """Return whether the records to come after so many periods are the same."""
        moved_by = nothing_of(adds).plus(adds, times)
        return all(
            process.fetches.repeats(
                process,
                process.client.consumer.positions.offsets,
                moved_by.later_us,
                moved_by.records[process.blueprint.group.id],
            )
            for process in self._world.consumers.everyone()
        )

    @property
    def ends_us(self) -> int:
        """Before which time the last whole period would have to end."""
        return self._beats.limit_us

    @property
    def is_cut(self) -> bool:
        """Whether a heartbeat that is no part of the period ends the skip."""
        return self._beats.limit_us < self.calm_until_us

    @property
    def calm_until_us(self) -> int:
        """Until when nothing but such heartbeats is in the way."""
        return self._upkeep.limit_us

    def carry_out(self) -> None:
        """Write the events of the skipped periods, and move the run behind them."""
        for process in self._world.consumers.everyone():
            process.unfold()
        since = self._since()
        self._write(since, self.times)
        self._move(since, self.times)

    def _since(self) -> Shift:
        """Return what has been added since the end of the period that is known."""
        before = self.period.logs
        logs = {n: growth.plus(before[n], -1) for n, growth in logs_of(self._world).items()}
        return added(self.period.end, self._state, logs)

    # -- events ------------------------------------------------------------------------------------

    def _write(self, since: Shift, times: int) -> None:
        """Write the events of the skipped periods, each at its time.

        If sums may stand for data events, the commits of the last period are written one by one.
        """
        period = self.period
        summed, last = self._sums(since, times), period.events
        events = [event for event in last if event.id is not None or not summed]
        for number in range(1, times):
            if events:
                self._write_moved(events, since.plus(period.adds, number))
        if summed:
            begun, ended = open_commits(last)
            self._write_late(begun, since.plus(period.adds, 1))
            for at_us, what in summed:
                self._world.run.recorder.write_late(what, at_us)
            self._write_late(ended, since.plus(period.adds, times - 1))
            last = [event for event in last if type(event.what) not in SUMMED_TO_THE_END]
        self._write_moved(last, since.plus(period.adds, times))

    def _sums(self, since: Shift, times: int) -> list[tuple[int, DataEvent]]:
        """Return sums for the data events of so many periods; none: each is written."""
        if times < 2 or not self._world.run.folding_commits:
            return []
        period, shards = self.period, self._world.offsets_topic
        epochs = {s.number: s.led[s.leader].epoch for s in shards if s.leader in s.led}
        if not can_sum(period.events, period.adds, epochs):
            return []
        return sums_of(period.events, since.plus(period.adds, 1), period.adds, times)

    def _write_late(self, events: list[Event], shift: Shift) -> None:
        """Write the events of commits that are open where the periods begin or end that are summed up."""
        for event in events:
            what = self._with_upkeep(event, moved_commit(event.what, shift), shift.later_us)
            self._world.run.recorder.write_late(what, event.at_us + shift.later_us)

    def _write_moved(self, events: list[Event], shift: Shift) -> None:
        kernel, recorder, topics = self._kernel, self._world.run.recorder, self._world.topics

        def log_end(tp: TopicPartition, at_us: int) -> int:
            log = topics.find(tp)
            assert log is not None, "it was sampled before"
            return log.end(at_us)

        for event in events:
            kernel.advance(event.at_us + shift.later_us)
            what = self._with_upkeep(event, moved(event, shift, log_end), shift.later_us)
            if event.id is None:
                recorder.write_data(what, event.cause)
            else:
                recorder.write(what, event.cause)

    def _with_upkeep(self, event: Event, what: Any, later_us: int) -> Any:
        """Return a moved event with the metadata requests sent before it."""
        match event.what:
            case CommitSent() | CommitAccepted() | CommitAnswered():
                commit = event.what.commit
                sent_us = self.period.sent_us[commit]
                more = self._upkeep.number_later(commit, sent_us + later_us)
                more += self._beats.commit_later(commit, sent_us, later_us)
                return renumbered(what, more) if more else what
            case RequestsCounted():
                at_us = event.at_us + later_us
                more = self._sent_since(what.since_us, at_us)
                what = counted_more(what, METADATA_KIND, more) if more else what
                if self.period.beats:
                    what = counted_anew(
                        what, HEARTBEAT_KIND, self._beats_since(what.since_us, at_us)
                    )
                return what
            case _:
                return what

    def _sent_since(self, since_us: int, at_us: int) -> int:
        """Return how many metadata requests were sent after *since_us*, up to *at_us*."""
        sent = self._upkeep.sent_between(since_us, at_us)
        if since_us <= self._state.at_us:
            sent += self._state.counts[METADATA_KIND] - self.period.end.counts[METADATA_KIND]
        return sent

    def _beats_since(self, since_us: int, at_us: int) -> int:
        """Return how many heartbeats were sent after *since_us*, up to *at_us*."""
        sent = self._beats.sent_between(since_us, at_us)
        return sent + self._state.counts[HEARTBEAT_KIND] if since_us <= self._state.at_us else sent

    # -- the state behind them ---------------------------------------------------------------------

    def _move(self, since: Shift, times: int) -> None:
        """Move the run by the skipped periods."""
        world, kernel, period = self._world, self._kernel, self.period
        adds = nothing_of(period.adds).plus(period.adds, times)
        end_us = period.end.at_us + since.later_us + adds.later_us
        kernel.advance(end_us)
        kernel.move(adds.later_us)
        self._upkeep.carry_out(end_us)
        self._beats.carry_out(end_us)
        for timers, names in zip(timers_of(world), period.moving, strict=True):
            timers.move(adds.later_us, names)
        numbers = {p.name: self._renumbered(p, adds) for p in world.consumers.everyone()}
        for process in world.consumers.everyone():
            records = adds.records[process.blueprint.group.id]
            mine = {tp: records[tp] for tp in process.client.consumer.positions.readings}
            staying = self._staying(process)
            process.move(adds.later_us, mine, numbers[process.name])
            if staying:
                _keep(process, staying)
        self._append(since, times)
        in_flight.move(world, adds.later_us, adds.records, numbers)
        self._count(end_us, adds.later_us, times)

    def _staying(self, process: Process) -> dict[str, int]:
        """Return the deadlines of a heartbeat thread that do not move with a period."""
        client: Any = process.client
        if not in_flight.is_classic(process):
            return {}
        moving = self._moving[process.name]
        return {n: at_us for n, at_us in deadlines_of(client.state).items() if n not in moving}

    def _renumbered(self, process: Process, adds: Shift) -> Renumbered:
        """Return the correlation ids of a process behind the skipped periods."""
        more, later = adds.requests[process.name], {}
        for number, at_us in in_flight.open_numbers_of(process).items():
            name = in_flight.name_of(process.name, number)
            upkeep = self._upkeep.number_later(name, at_us + adds.later_us)
            upkeep += self._beats.number_later(process.name, at_us + adds.later_us)
            later[number] = number + more + upkeep
        return Renumbered(more, later)

    def _append(self, since: Shift, times: int) -> None:
        """Append the records of so many periods to the offsets log.

        Those that nothing reads are only counted. The last two periods are read: replicas may
        still lack the last one.
        """
        whole = self._world.run.replay.log_files is not None
        for count in [1] * times if whole else [times - 1, 1]:
            if count:
                since = since.plus(self.period.adds, count)
                self._append_last(since, count)

    def _append_last(self, total: Shift, times: int) -> None:
        """Append the last of so many periods, the end of which is shifted by *total*."""
        period = self.period
        for shard in self._world.offsets_topic:
            for host in shard.hosts.values():
                batches = [moved_batch(b, total) for b in period.appended[shard.number]]
                host.skip(batches, times * period.adds.later_us, times)

    def _count(self, end_us: int, later_us: int, times: int) -> None:
        """Count the requests that are not written yet."""
        router, period = self._world.router, self.period
        for kind, count in period.counts.items():
            if count:
                router.counts[kind] += times * count
        since_us = self._state.at_us
        if period.counts_requests:
            router.counted_since_us += later_us
            since_us = router.counted_since_us
            router.counts.pop(METADATA_KIND, None)
        more = self._upkeep.sent_between(since_us, end_us)
        more += period.end.counts[METADATA_KIND] if period.counts_requests else 0
        if more:
            router.counts[METADATA_KIND] += more
        if period.beats:
            if period.counts_requests:
                router.counts.pop(HEARTBEAT_KIND, None)
            if sent := self._beats.sent_between(since_us, end_us):
                router.counts[HEARTBEAT_KIND] += sent


def _keep(process: Process, staying: Mapping[str, int]) -> None:
    """Let deadlines of a heartbeat thread stay: a poll that waits now runs again at the next heartbeat."""
    client: Any = process.client
    client.state = with_deadlines(client.state, staying)
    poll_us = process.timers.deadline(POLL)
    if poll_us is None or not isinstance(client, Client):
        return
    runs_us = wait_until_us(client.state, client.consumer, poll_us)
    if runs_us < poll_us:
        process.timers.set(POLL, runs_us)
