"""The heartbeats of a run that are no part of its period, from one state on: their numbers, and the state behind them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from emulator.world.periods.beats import (
    Beats,
    Times,
    contacted_us,
    host_of,
    session_ends_us,
    session_name,
)
from emulator.world.periods.upkeep import process_of
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.periods import NEXT_BEAT, SESSION_END, with_deadlines
from protocols.values import replace

if TYPE_CHECKING:
    from emulator.world.consumer.process import Process
    from emulator.world.periods.upkeep import Requests, Upkeep
    from emulator.world.world import World
    from protocols.consumer.classic.state import Beat


class Ahead(NamedTuple):
    """The heartbeats of one member from now on."""

    process: Process
    beats: Beats
    sent_us: range
    lasting_us: Sequence[int]
    """The times from sending to the handling of its response, in turn; they recur from the first."""

    def until(self, end_us: int) -> int:
        """Return how many were sent up to *end_us*, inclusive."""
        return bisect_right(self.sent_us, end_us)

    def handled_us(self, number: int) -> int:
        """Return when the response to one of them was handled."""
        return self.sent_us[number] + self.lasting_us[number % len(self.lasting_us)]


class BeatsAhead:
    """The heartbeats of a run from now on that are no part of its period."""

    def __init__(
        self,
        world: World,
        known: Mapping[str, Beats],
        upkeep: Upkeep,
        now: int,
    ) -> None:
        """Find those that change nothing but sessions; *now*: where a period begins."""
        self._world = world
        self._now = now
        self._ahead: dict[str, Ahead] = {}
        self.limit_us = upkeep.limit_us
        """That of *upkeep*, or the time of the first heartbeat, or metadata request, that has to be played."""

        for process in world.consumers.everyone() if known else ():
            self._find(process, known[process.name], upkeep.requests.get(process.name))

    def _find(self, process: Process, beats: Beats, requests: Requests | None) -> None:
        """Find the heartbeats of a process up to the first that has to be played."""
        client: Any = process.client
        due_us = client.state.beat.due_us
        if process.timers.deadline(HEARTBEAT) != due_us or not self._is_in_time(process, beats):
            self.limit_us = self._now
            return
        if requests is not None:
            self._limit_requests(beats, requests)
        sent_us = range(due_us, self.limit_us, beats.times.every_us)
        lasting_us = list[int]()
        for at_us in sent_us[: beats.different]:
            handled_us = beats.handled_us(at_us - self._now)
            if handled_us is None:
                sent_us, self.limit_us = sent_us[: len(lasting_us)], at_us
                break
            lasting_us.append(self._now + handled_us - at_us)
        self._ahead[process.name] = Ahead(process, beats, sent_us, lasting_us)

    def _is_in_time(self, process: Process, beats: Beats) -> bool:
        """Return whether the next heartbeat renews both copies of the session before they end.

        Those before it may have been lost.
        """
        client: Any = process.client
        beat: Beat = client.state.beat
        ends_us = session_ends_us(self._world, process)
        if ends_us is None:
            return False
        due_us, handled_us = beat.due_us, beats.handled_us(beat.due_us - self._now)
        renewed_us = due_us if handled_us is None else self._now + handled_us
        return due_us + beats.times.there_us < ends_us and renewed_us < beat.session_us

    def _limit_requests(self, beats: Beats, requests: Requests) -> None:
        """End where a metadata request meets a commit; one may be open beside a heartbeat.

        The thread handles responses before it sends a heartbeat, and a poll or turn handles both.
        """
        for sent_us, handled_us in zip(requests.sent_us, requests.handled_us, strict=True):
            if beats.meets(sent_us - self._now, handled_us - self._now):
                self.limit_us = min(self.limit_us, sent_us)
                return

    def is_settled(self, end_us: int) -> bool:
        """Return whether polls have run behind the last response of every member when a period ends then."""
        later_us = end_us - self._now
        for found in self._ahead.values():
            count = found.until(end_us)
            client: Any = found.process.client
            if count and found.handled_us(count - 1) >= client.consumer.clock.polled_us + later_us:
                return False
        return True

    def number_later(self, process: str, sent_us: int) -> int:
        """Return how many heartbeats a process has sent up to a time."""
        found = self._ahead.get(process)
        return 0 if found is None else found.until(sent_us)

    def commit_later(self, commit: str, sent_us: int, later_us: int) -> int:
        """Return by how many heartbeats the number of a commit is higher, *later_us* behind the known one.

        *sent_us*: when the known one was sent. Its number counts the heartbeats of the known period that
        were sent before it, and the numbers of a period count none.
        """
        found = self._ahead.get(process_of(commit))
        if found is None:
            return 0
        return found.beats.behind(sent_us) + found.until(sent_us + later_us)

    def sent_between(self, begin_us: int, end_us: int) -> int:
        """Return how many were sent after *begin_us*, up to *end_us*."""
        return sum(each.until(end_us) - each.until(begin_us) for each in self._ahead.values())

    def carry_out(self, end_us: int) -> None:
        """Put clients and coordinators where all heartbeats up to *end_us* leave them; a period ends then."""
        for found in self._ahead.values():
            process, beats, count = found.process, found.beats, found.until(end_us)
            last_us = end_us - beats.habit.period_us
            if count:
                sent_us = found.sent_us[count - 1]
                _beat(process, beats.times, sent_us, found.handled_us(count - 1), count)
                contact_us = contacted_us(beats, sent_us, last_us)
            elif beats.contact_us is None:
                continue
            else:
                contact_us = last_us + beats.contact_us
            timers, name = host_of(self._world, process).timers, session_name(process)
            ends_us = contact_us + beats.times.session_us
            timers.renew(name, max(ends_us, timers.deadline(name) or ends_us))


def _beat(process: Process, times: Times, sent_us: int, handled_us: int, count: int) -> None:
    """Put a client behind so many heartbeats."""
    client: Any = process.client
    state = client.state
    due_us, session_us = sent_us + times.every_us, handled_us + times.session_us
    number = state.reads.next_correlation_id + count
    client.state = replace(
        with_deadlines(state, {NEXT_BEAT: due_us, SESSION_END: session_us}),
        reads=replace(state.reads, next_correlation_id=number),
    )
    process.timers.renew(HEARTBEAT, due_us)
