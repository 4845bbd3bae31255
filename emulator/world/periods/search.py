"""The search for periods of a run, and the skipping of those that are found.

At instants that are one expected period apart the run's state is compared with an earlier one
(:class:`Mark`). Where both are the same, the events between them are one period. What does not recur
(a fault, an act, the end of the run) limits how many are skipped.

After a disturbance one member may settle later than all others, so several states are marked in each
of the first periods. Later the last state is compared, and one that is renewed at growing distances,
as in Brent's search for cycles.

All but the heartbeats of members may repeat much sooner. Where few whole periods can be skipped, such ones
are searched for instead (:class:`ShortPeriods`): between two heartbeats, or with heartbeats that are
calculated apart (:mod:`~emulator.world.periods.beats`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from emulator.scenario.estimates.periods import (
    LONGEST_PERIOD_US,
    changes_of_rates,
    longest_interval_of,
)
from emulator.world.consumer.process import Process
from emulator.world.kernel import Rank
from emulator.world.periods.beats import HEARTBEAT_KIND
from emulator.world.periods.marks import Mark, measured
from emulator.world.periods.shorts import ShortPeriods
from emulator.world.periods.skip import METADATA_KIND, Period, Skip
from emulator.world.periods.state import State, is_same, moves_again, state_of, without
from emulator.world.world import World
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.machine import Client as ClassicClient

SHORTEST_WAIT_US = 101_000
LONGEST_WAIT_US = 809_000
"""No multiple of a usual interval: each look finds the members at another point of theirs."""


MARKS_IN_A_PERIOD = 6
EARLY_PERIODS = 3
"""The number of periods after a disturbance in which so many states are marked."""

MAX_UNSETTLED = 32
"""The most looks that wait for members with full batches: some groups always have them."""


class Periods:
    """Finds and skips the periods of one run."""

    def __init__(
        self, world: World, expected_us: int, short_us: int | None, goes_on: Callable[[], bool]
    ) -> None:
        """Begin without a known period; *expected_us*: a multiple of all intervals.

        *short_us*: of all but those of heartbeats, which then limit how many periods are skipped.
        *goes_on*: whether the run cannot end before the next event that does not recur. The first
        time that it may, the search ends.
        """
        self._world, self._goes_on = world, goes_on
        self._kernel = world.run.kernel
        self._expected_us = expected_us
        self._shorts = ShortPeriods(self._kernel, expected_us, short_us)
        self._between_us = max(
            longest_interval_of(world.run.scenario), expected_us // MARKS_IN_A_PERIOD
        )
        """The time between two marks at first."""

        self._wait_us = SHORTEST_WAIT_US
        self._unsettled = 0
        """The number of looks that found members busy since the last disturbance."""

        self._marks: list[Mark] = []
        """The states that are compared, in order of time."""

        self._first_us: int | None = None
        """When the first state since the last disturbance was marked; None: none was."""

        self._looks = 0
        """The number of looks since the first mark."""

        self._distance = 1
        """The number of looks after which it is renewed."""

        self._watched: Mark | None = None
        """The mark since which members are watched."""

        self._period: Period | None = None
        self._due_us = 0
        """When the known period is over again."""

        self._disturbances = 0
        """The number of disturbances before the last look."""

        self._grid_us = _grid_us(world.run.scenario.lag_every, expected_us)

        self.skipped = 0
        """The number of periods skipped so far."""

    def begin(self) -> None:
        """Look for periods from now on; none reaches beyond a change of a topic's rate."""
        self._stop_at_next(changes_of_rates(self._world.run.scenario))
        self._look_after(self._wait_us)

    def _stop_at_next(self, changes_us: Iterator[int]) -> None:
        """Let no period reach beyond the next of these times, and then beyond the one behind it."""
        at_us = next(changes_us, None)
        if at_us is not None:
            self._kernel.at(at_us, Rank.SAMPLE, 1, lambda _: self._stop_at_next(changes_us))

    def _look_after(self, wait_us: int) -> None:
        self._kernel.at(self._kernel.now + wait_us, Rank.SAMPLE, 1, self._look)

    def _look(self, _: Any) -> None:
        if not self._goes_on():
            self._forget()
            return
        period = self._known_period()
        if period is not None and self._kernel.now < self._due_us:
            self._look_after(self._until_period_us())
            return
        if period is None and self._waits_for_next_event():
            self._look_after(self._kernel.limit_us() - self._kernel.now + SHORTEST_WAIT_US)
            return
        state = state_of(self._world, self._kernel.now) if self._is_worth_it() else None
        if state is None and not self._stays_known():
            self._look_soon()
            return
        self._wait_us = SHORTEST_WAIT_US
        if state is not None:
            self._skip(state)
        self._look_after(self._next_us())

    def _waits_for_next_event(self) -> bool:
        """Return whether to look again behind the next event that does not recur: no period fits before it.

        One that ends now has to fit once more before the next event that does not recur; one that
        begins now, twice. An event that is nearer than the next look is not waited for.
        """
        fits = 1 if self._marks else 2
        length_us = self._shorts.wanted_us or self._expected_us
        return self._wait_us < self._kernel.limit_us() - self._kernel.now <= fits * length_us

    def _stays_known(self) -> bool:
        """Return whether the known period stays known: a heartbeat may just have interrupted it."""
        if self._period is None or not self._shorts.is_short(self._period):
            return False
        if self._shorts.is_missed_too_often():
            self._period = None
            self._forget()
        return self._period is not None

    def _skip(self, state: State) -> None:
        """Skip whole periods if one ends in this state; else mark the state."""
        skip = self._ahead(state)
        self._due_us = self._kernel.now
        if skip is None:
            return
        if self._marks:
            self._forget()
        if skip.times > 0:
            skip.carry_out()
            self.skipped += skip.times
        if self._shorts.is_short(skip.period):
            self._due_us = skip.ends_us - 1
        if self._shorts.note(skip):
            self._period = None

    def _ahead(self, state: State) -> Skip | None:
        """Return what can be skipped of the period that ends in this state: the known one, or another."""
        if self._period is not None and self._shorts.is_unwanted(self._period):
            self._period = None
        if self._period is not None and self._is_again(self._period, state):
            skip = Skip(self._world, self._period, state)
            if self._reaches_far(skip):
                return skip
            self._period = None
        found = self._found(state)
        if found is not None or not self._stays_known():
            self._period = None if found is None else found.period
        return found

    def _look_soon(self) -> None:
        """Look again after a short wait: the run is not at rest.

        An expected period would be the wrong wait: each look would find the same requests in flight.
        """
        if not self._is_early:
            self._forget()
        due_us = self._next_us() if self._marks else LONGEST_WAIT_US
        self._look_after(min(self._wait_us, due_us))
        self._wait_us = min(2 * self._wait_us, LONGEST_WAIT_US)

    def _is_worth_it(self) -> bool:
        """Return whether a state may recur: not while members recover from a lag, at first."""
        if self._marks or self._unsettled >= MAX_UNSETTLED:
            return True
        if not any(map(_is_full, self._world.consumers.everyone())):
            return True
        self._unsettled += 1
        return False

    @property
    def _is_early(self) -> bool:
        """Whether several states in each period are marked."""
        if self._first_us is None:
            return True
        return self._kernel.now < self._first_us + EARLY_PERIODS * self._expected_us

    def _next_us(self) -> int:
        """Return the time until the next look: an early mark's period ends, or a mark is due."""
        now, wanted_us = self._kernel.now, self._shorts.wanted_us
        if self._period is not None:
            self._due_us = self._shorts.ends_us(self._period, max(now, self._due_us))
            return self._until_period_us()
        if not self._marks:
            return self._expected_us if wanted_us is None else self._shorts.next_us(wanted_us)
        if not self._is_early:
            return self._expected_us
        ends = [mark.state.at_us + self._expected_us - now for mark in self._marks]
        if wanted_us is not None:
            ends.append(self._marks[-1].state.at_us + wanted_us - now)
        return min([self._between_us, *(left_us for left_us in ends if left_us > 0)])

    def _until_period_us(self) -> int:
        """Return the time until the known period is over, or until something may have disturbed it."""
        limit_us = self._kernel.limit_us() + SHORTEST_WAIT_US
        return min(self._due_us, limit_us) - self._kernel.now

    def _known_period(self) -> Period | None:
        """Return the period that is known; a disturbance may have changed what it consists of."""
        disturbances = self._world.run.recorder.disturbances
        if disturbances != self._disturbances:
            self._period, self._disturbances = None, disturbances
            self._forget()
            self._shorts.disturbed()
        return self._period

    def _off_grid(self, before: State, after: State) -> bool:
        """Return whether two states differ in their place between samples."""
        return bool((after.at_us - before.at_us) % self._grid_us)

    def _is_again(self, period: Period, state: State) -> bool:
        """Return whether the run is where this period ended, at the same point between samples."""
        if self._off_grid(period.end, state):
            return False
        if period.counts_requests:
            apart = {METADATA_KIND, HEARTBEAT_KIND} if period.beats else {METADATA_KIND}
            if without(period.end.counts, apart) != without(state.counts, apart):
                return False
        if period.end.unwritten != state.unwritten:
            return False
        return is_same(period.end, state) and moves_again(period.end, state, period.moving)

    def _reaches_far(self, skip: Skip) -> bool:
        """Return whether a period without heartbeats is skipped as far as a longer one could be, or half as far.

        Heartbeats that meet a commit end it at each common multiple of their intervals.
        """
        if not skip.period.beats:
            return True
        left_us = skip.calm_until_us - self._kernel.now
        skipped_us = skip.times * skip.period.adds.later_us
        return not skip.is_cut or left_us < 2 * self._expected_us or 2 * skipped_us >= left_us

    # -- search ------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget the marks."""
        self._marks, self._first_us = [], None
        self._looks = self._unsettled = 0
        self._distance = 1
        self._watch()

    def _found(self, state: State) -> Skip | None:
        """Return what can be skipped of a period that a mark begins; None: the search goes on."""
        takes_short = self._shorts.wanted_us is not None
        for mark in reversed(self._marks) if takes_short else self._marks:
            if not self._off_grid(mark.state, state) and is_same(mark.state, state):
                period = measured(self._world, mark, state, takes_short=takes_short)
                skip = period and Skip(self._world, period, state)
                if skip and self._reaches_far(skip):
                    self._forget()
                    return skip
        self._mark(state)
        self._watch()
        return None

    def _mark(self, state: State) -> None:
        """Mark a state that was not found again, if a later one may be equal to it."""
        if self._first_us is None:
            self._first_us = state.at_us
        if self._is_early:
            self._marks = [*self._recent(state.at_us), Mark(state=state)]
            return
        self._looks += 1
        if not self._marks or self._looks >= self._distance:
            self._looks = 0
            self._distance = min(2 * self._distance, LONGEST_PERIOD_US // self._expected_us)
            self._marks = [Mark(state=state)]
        else:
            self._marks = [self._marks[0], Mark(state=state)]

    def _recent(self, now: int) -> list[Mark]:
        """Return the marks whose period has not ended; of many for short periods, those that are apart."""
        found = [mark for mark in self._marks if mark.state.at_us + self._expected_us > now]
        if len(found) < 2 or self._shorts.wanted_us is None:
            return found
        apart_us = found[-1].state.at_us - found[-2].state.at_us
        return found[:-1] if apart_us < self._between_us else found

    def _watch(self) -> None:
        """Collect events and appends from now on for every mark."""
        self._world.run.recorder.watch([mark.events for mark in self._marks])
        self._watch_members()
        for shard in self._world.offsets_topic:
            batches = [mark.appended.setdefault(shard.number, []) for mark in self._marks]
            for log in shard.led.values():
                log.watched = batches

    def _watch_members(self) -> None:
        """Collect when members read responses, since the first of the marks."""
        first = self._marks[0] if self._marks else None
        if first is self._watched or (first and self._watched and self._is_early):
            return
        self._watched = first
        for process in self._world.consumers.everyone():
            _stop_watching(process)
            if first is not None:
                _watch(process, self._kernel.now)


def _grid_us(lag_every: int, expected_us: int) -> int:
    """Return by what the times of looks differ, or multiples of it, if samples and timestamps fall alike."""
    return math.lcm(1_000, lag_every if expected_us % lag_every == 0 else 1)


def _stop_watching(process: Process) -> None:
    client: Any = process.client
    process.timers.watched.clear()
    if isinstance(client, ClassicClient):
        client.consumer.clock.waits = None
    elif process.blueprint.settings.group_protocol == "consumer":
        client.consumer.queue_times.times = None


def _watch(process: Process, now: int) -> None:
    """Collect from now on when a client reads responses, or takes events; its state was compared."""
    client: Any = process.client
    process.timers.watch(HEARTBEAT)
    if isinstance(client, ClassicClient):
        client.consumer.clock.watch(now)
    elif process.blueprint.settings.group_protocol == "consumer":
        client.consumer.queue_times.times = [now] if client.state.events else []


def _is_full(process: Process) -> bool:
    """Return whether a consumer works on the most records that poll returns."""
    batch, settings = process.application.batch, process.blueprint.settings
    return batch is not None and batch.count >= settings.max_poll_records
