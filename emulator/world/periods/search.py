"""The search for periods of a run, and the skipping of those that are found.

At instants that are one expected period apart the run's state is compared with the last one and
with an earlier one (:class:`Mark`) that is renewed at growing distances, as in Brent's search for
cycles. Where both are the same, the events between them are one period. What does not recur (a
fault, an act, a metadata request, a check for expired offsets, the end of the run) limits how many
are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from assignors.types import TopicPartition
from emulator.events import DataEvent, Event, RequestsCounted
from emulator.scenario.periods import LONGEST_PERIOD_US
from emulator.world.cluster.stored_log import StoredBatch
from emulator.world.kernel import Rank
from emulator.world.periods.shift import (
    NO_GROWTH,
    LogGrowth,
    Shift,
    can_move,
    is_commit,
    moved,
    moved_batch,
)
from emulator.world.periods.state import (
    Moving,
    State,
    commits_moved,
    first_limit_us,
    grown,
    is_same,
    moves_again,
    moving_timers,
    state_of,
    timers_of,
)
from emulator.world.periods.sums import can_sum, sums_of
from emulator.world.world import World
from protocols.offsets_topic.records import Record

SHORTEST_WAIT_US = 101_000
LONGEST_WAIT_US = 1_617_000
"""No multiple of a usual interval: each look finds the members at another point of theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A state that may come again, and what happens from then on."""

    state: State
    events: list[Event] = field(default_factory=list)
    appended: dict[int, list[StoredBatch]] = field(default_factory=dict)
    """By number of the offsets partition."""


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
    events: list[Event]
    appended: dict[int, list[StoredBatch]]


class Periods:
    """Finds and skips the periods of one run."""

    def __init__(self, world: World, expected_us: int) -> None:
        """Begin without a known period; *expected_us*: a multiple of all intervals."""
        self._world = world
        self._kernel = world.run.kernel
        self._expected_us = expected_us
        self._wait_us = SHORTEST_WAIT_US
        self._marks: list[Mark] = []
        """The mark that is renewed at growing distances, and the last look if that is another."""

        self._looks = 0
        """The number of looks since the first mark."""

        self._distance = 1
        """The number of looks after which it is renewed."""

        self._period: Period | None = None
        self._disturbances = 0
        """The number of disturbances before the last look."""

        lag_every = world.run.scenario.lag_every
        self._grid_us = math.lcm(1_000, lag_every if expected_us % lag_every == 0 else 1)
        """The times of looks differ by multiples of this if samples, and timestamps, fall alike."""

        self.skipped = 0
        """The number of periods skipped so far."""

    def begin(self) -> None:
        """Look for periods from now on."""
        self._look_after(self._wait_us)

    def _look_after(self, wait_us: int) -> None:
        self._kernel.at(self._kernel.now + wait_us, Rank.SAMPLE, 1, self._look)

    def _look(self, _: Any) -> None:
        state = state_of(self._world, self._kernel.now)
        if state is None:
            self._forget()
            self._look_after(self._wait_us)
            self._wait_us = min(2 * self._wait_us, LONGEST_WAIT_US)
            return
        self._wait_us = SHORTEST_WAIT_US
        period = self._known_period()
        if period is None or not self._is_again(period, state):
            period = self._period = self._found(state)
        if period is not None:
            self._skip(period, state)
        self._look_after(self._expected_us)

    def _known_period(self) -> Period | None:
        """Return the period that is known; a disturbance may have changed what it consists of."""
        disturbances = self._world.run.recorder.disturbances
        if disturbances != self._disturbances:
            self._period, self._disturbances = None, disturbances
        return self._period

    def _is_again(self, period: Period, state: State) -> bool:
        """Return whether the run is where this period ended, at the same point between samples."""
        if (state.at_us - period.end.at_us) % self._grid_us:
            return False
        if _counts_requests(period.events) and period.end.counts != state.counts:
            return False
        return is_same(period.end, state) and moves_again(period.end, state, period.moving)

    # -- search ------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget the marks."""
        self._marks = []
        self._distance = 1
        self._watch()

    def _found(self, state: State) -> Period | None:
        """Return the period that ends in this state; None: none is known, the search goes on."""
        for mark in self._marks:
            if is_same(mark.state, state):
                period = self._measured(mark, state)
                if period is not None:
                    self._forget()
                    return period
        self._looks += 1
        if not self._marks or self._looks >= self._distance:
            self._looks = 0
            self._distance = min(2 * self._distance, LONGEST_PERIOD_US // self._expected_us)
            self._marks = [Mark(state=state)]
        else:
            self._marks = [self._marks[0], Mark(state=state)]
        self._watch()
        return None

    def _watch(self) -> None:
        """Collect events and appends from now on for every mark."""
        self._world.run.recorder.watch([mark.events for mark in self._marks])
        for shard in self._world.offsets_topic:
            batches = [mark.appended.setdefault(shard.number, []) for mark in self._marks]
            for log in shard.led.values():
                log.watched = batches

    def _measured(self, mark: Mark, state: State) -> Period | None:
        """Return the period between the marked state and the same one now; None: it is irregular."""
        before = mark.state
        moving = moving_timers(before, state)
        counts = grown(before.counts, state.counts)
        if moving is None or state.metadata_us != before.metadata_us:
            return None
        if not commits_moved(before, state):
            return None
        if not all(can_move(event.what) for event in mark.events):
            return None
        if _counts_requests(mark.events) and before.counts != state.counts:
            return None
        if not all(map(is_commit, _records_of(mark.appended))):
            return None
        return Period(
            end=state,
            logs=self._logs(),
            adds=_added(before, state, _growths(mark.appended)),
            counts=counts,
            moving=moving,
            events=mark.events,
            appended=mark.appended,
        )

    def _logs(self) -> dict[int, LogGrowth]:
        found = {}
        for shard in self._world.offsets_topic:
            log, end = shard.leaders_log()
            found[shard.number] = LogGrowth(end, log.amount(end).size)
        return found

    # -- skipping ----------------------------------------------------------------------------------

    def _skip(self, period: Period, state: State) -> None:
        """Skip the whole periods before the next event that does not recur."""
        times = self._times(period, state)
        if times < 1:
            return
        since = self._since(period, state)
        self._write(period, since, times)
        self._move(period, since, times)
        self.skipped += times

    def _times(self, period: Period, state: State) -> int:
        """Return how many periods can be skipped."""
        limit_us = min(self._kernel.limit_us(), first_limit_us(state, period.moving))
        times = (limit_us - 1 - state.at_us) // period.adds.later_us
        for shard in self._world.offsets_topic:
            size = period.adds.logs[shard.number].size
            if size and times > 0:
                end_ms = self._world.run.epoch_ms + limit_us // 1_000
                times = min(times, shard.leaders_log()[0].room_for(size, end_ms) - 1)
        while times > 0 and not self._repeats(period.adds, times):
            times //= 2
        return times

    def _repeats(self, adds: Shift, times: int) -> bool:
        """Return whether the records to come after so many periods are the same."""
        moved_by = _nothing_of(adds).plus(adds, times)
        return all(
            process.fetches.repeats(
                process,
                process.client.consumer.positions.offsets,
                moved_by.later_us,
                moved_by.records[process.blueprint.group.id],
            )
            for process in self._world.consumers.everyone()
        )

    def _since(self, period: Period, state: State) -> Shift:
        """Return what has been added since the end of the period that is known."""
        logs = {
            number: growth.plus(period.logs[number], -1) for number, growth in self._logs().items()
        }
        return _added(period.end, state, logs)

    def _write(self, period: Period, since: Shift, times: int) -> None:
        """Write the events of the skipped periods, each at its time.

        If sums may stand for data events, those of the last period are written one by one.
        """
        summed = self._sums(period, since, times - 1)
        events = [event for event in period.events if event.id is not None or not summed]
        for number in range(1, times):
            if events:
                self._write_moved(events, since.plus(period.adds, number))
        for at_us, what in summed:
            self._world.run.recorder.write_late(what, at_us)
        self._write_moved(period.events, since.plus(period.adds, times))

    def _sums(self, period: Period, since: Shift, times: int) -> list[tuple[int, DataEvent]]:
        """Return sums for the data events of so many periods; none: each is written."""
        if times < 2 or not self._world.run.folding_commits:
            return []
        shards = self._world.offsets_topic
        epochs = {s.number: s.led[s.leader].epoch for s in shards if s.leader in s.led}
        if not can_sum(period.events, period.adds, epochs):
            return []
        return sums_of(period.events, since.plus(period.adds, 1), period.adds, times)

    def _write_moved(self, events: list[Event], shift: Shift) -> None:
        kernel, recorder, topics = self._kernel, self._world.run.recorder, self._world.topics

        def log_end(tp: TopicPartition, at_us: int) -> int:
            log = topics.find(tp)
            assert log is not None, "it was sampled before"
            return log.end(at_us)

        for event in events:
            kernel.advance(event.at_us + shift.later_us)
            what = moved(event, shift, log_end)
            if event.id is None:
                recorder.write_data(what, event.cause)
            else:
                recorder.write(what, event.cause)

    def _move(self, period: Period, since: Shift, times: int) -> None:
        """Move the run by the skipped periods."""
        world, kernel = self._world, self._kernel
        adds = _nothing_of(period.adds).plus(period.adds, times)
        kernel.advance(period.end.at_us + since.later_us + adds.later_us)
        kernel.move(adds.later_us)
        for timers, names in zip(timers_of(world), period.moving, strict=True):
            timers.move(adds.later_us, names)
        for process in world.consumers.everyone():
            records = adds.records[process.blueprint.group.id]
            mine = {tp: records[tp] for tp in process.client.consumer.positions.readings}
            process.move(adds.later_us, mine, adds.requests[process.name])
        self._append(period, since, times)
        self._count(period, adds.later_us, times)

    def _append(self, period: Period, since: Shift, times: int) -> None:
        """Append the records of so many periods to the offsets log.

        Those that nothing reads are only counted. The last two periods are read: replicas may
        still lack the last one.
        """
        whole = self._world.run.replay.log_files is not None
        for count in [1] * times if whole else [times - 1, 1]:
            if count:
                since = since.plus(period.adds, count)
                self._append_last(period, since, count)

    def _append_last(self, period: Period, total: Shift, times: int) -> None:
        """Append the last of so many periods, the end of which is shifted by *total*."""
        for shard in self._world.offsets_topic:
            for host in shard.hosts.values():
                batches = [moved_batch(b, total) for b in period.appended[shard.number]]
                host.skip(batches, times * period.adds.later_us, times)

    def _count(self, period: Period, later_us: int, times: int) -> None:
        router = self._world.router
        for kind, count in period.counts.items():
            if count:
                router.counts[kind] += times * count
        if _counts_requests(period.events):
            router.counted_since_us += later_us


def _added(before: State, after: State, logs: dict[int, LogGrowth]) -> Shift:
    """Return what has been added between two states; *logs*: to the offsets log."""
    return Shift(
        later_us=after.at_us - before.at_us,
        records={
            group: grown(before.positions[group], positions)
            for group, positions in after.positions.items()
        },
        requests=grown(before.requests, after.requests),
        logs=logs,
    )


def _counts_requests(events: list[Event]) -> bool:
    return any(type(event.what) is RequestsCounted for event in events)


def _growths(appended: dict[int, list[StoredBatch]]) -> dict[int, LogGrowth]:
    """Return the growth of each offsets partition by these batches."""
    return {
        number: LogGrowth(
            sum(batch.header.record_count for batch in batches),
            sum(batch.size for batch in batches),
        )
        for number, batches in appended.items()
    }


def _records_of(appended: dict[int, list[StoredBatch]]) -> Iterator[Record]:
    for batches in appended.values():
        for batch in batches:
            yield from batch.records


def _nothing_of(adds: Shift) -> Shift:
    """Return a shift by nothing, with the same parts."""
    return Shift(
        later_us=0,
        records={group: {} for group in adds.records},
        requests={},
        logs=dict.fromkeys(adds.logs, NO_GROWTH),
    )
