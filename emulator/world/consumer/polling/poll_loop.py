"""The poll loop of a calm consumer, computed on demand.

While only records can arrive at a process, the actions of its client, its handler and its fetches
until the next heartbeat or commit follow from arithmetic, and none of them is an event of the
kernel. Code that reads the state of the process, or changes what the process reads, first calls
:meth:`PollLoop.catch_up`; every other event of the process first unfolds the loop. Client, handler
and wire then have the state that they would have without the loop. A run has the same events with
and without it (``tests/emulator/modes/test_folding.py``).

Heartbeats and commits do not end it if the client, while it waits in poll, only sends and reports
(:mod:`emulator.world.consumer.polling.exchanges`). :mod:`protocols.consumer.classic.calm` and
:mod:`protocols.consumer.kip848.calm` do one step of a poll.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.consumer import polling
from emulator.world.consumer.blueprints import is_stable
from emulator.world.consumer.handling.handler import Batch, Unreported
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.consumer.polling.calm import cycles_of
from emulator.world.consumer.polling.calm_fetches import CalmFetches
from emulator.world.consumer.polling.exchanges import (
    ALL,
    ARRIVAL,
    EVENTS,
    WAIT,
    WORK,
    Exchanges,
    first_left_behind,
    first_not_passed,
)
from emulator.world.consumer.polling.folded_time import Live
from emulator.world.consumer.polling.live_reasons import why_live
from emulator.world.kernel import Moment, Rank, order_of
from protocols.consumer.classic.machine import Client
from protocols.consumer.fetch_buffer import Handed
from protocols.machine import Step
from protocols.messages import Envelope

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.world.consumer.blueprints import AnyClient
    from emulator.world.consumer.polling.stretches import Stretches
    from protocols.consumer.classic.calm import CalmPoll as ClassicPoll
    from protocols.consumer.kip848.calm import CalmPoll as AsyncPoll


class PollLoop:
    """Polls for one process while it is calm."""

    def __init__(self, process: ConsumerProcess, client: AnyClient) -> None:
        self._process = process
        self._app = process.application
        self._progress = process.progress
        self._client = client
        self._fetches = CalmFetches(process, client.consumer.fetcher)
        self._kernel = process.run.kernel
        self._order = order_of(Rank.RECORDS_AT_CLIENT, process.blueprint.index)
        self._work_order = order_of(Rank.APPLICATION, process.blueprint.index)
        self._timeout_us = process.blueprint.poll_timeout_us
        self._late = process.blueprint.lateness_us
        self._plan = process.blueprint.plan
        self.calm: ClassicPoll | AsyncPoll | None = None
        self._due: Moment | None = None
        self.due_us = 0
        self.awaits_poll = False
        self.halted = False
        self._wait_us = NEVER
        self._work_us = NEVER
        self._commits_from_us = NEVER
        """From when on the application awaits its batch itself: it may commit behind it."""

        self.batch: Batch | None = None
        self._handed: dict[TopicPartition, int] = {}
        """Records returned by poll since this began: partition to next offset."""

        self._finished = Unreported(process.application, process.progress)
        self._cycles = cycles_of(process, self._fetches, self._finished)
        self._stretches: Stretches | None = None
        if process.blueprint.settings.group_protocol == "consumer":
            reached = self._handed, self._finished
            stretches_of = polling.stretches.stretches_of
            self._stretches = stretches_of(self, process, self._fetches, client, reached)
        self._exchanges: Exchanges | None = None
        if self._late is None and isinstance(client, Client):
            self._exchanges = Exchanges(self, process, client, self._cycles)
        self._begun = False
        """Whether a batch has begun, and nothing has happened since."""

    @property
    def folded(self) -> bool:
        """Whether this polls now, and the client does not."""
        return self.calm is not None

    @property
    def next_arrival_us(self) -> int:
        """When the next response to a fetch arrives."""
        return self._fetches.next_us

    # -- begin and end -----------------------------------------------------------------------------

    def poll(self, now: int) -> Live | None:
        """Poll in the client's place from now on; return why the client has to do it, else None.

        ``INTERRUPTED``: it has done it already.
        """
        due_us = self._fold(now)
        if isinstance(due_us, Live):
            return due_us if is_stable(self._client) else Live.NOT_STABLE
        if due_us <= now:
            assert self._exchanges is not None, "it has a duty"
            self._exchanges.enter()
            return None if self.folded else Live.INTERRUPTED
        self.go_on(due_us)
        assert self.calm is not None, "it has taken over"
        if self._stretches is not None:
            self._stretches.begin(now)
        self._returned(self.calm.poll(now, self._timeout_us), now)
        return None

    def _fold(self, now: int) -> int | Live:
        """Begin if only records can arrive for a while; return until when, or why not."""
        process, reason = self._process, why_live(self._process, self._client)
        self._commits_from_us = self._app.commits.due_us
        if reason is not None or self._commits_from_us <= now:
            return reason or Live.COMMITS
        found = self._client.calm(now) if process.at_rest else None
        if found is None or not self._can_begin(*found):
            return Live.REQUEST
        due_us, calm = found
        if not self._fetches.begin(now, calm.unread_from):
            return Live.FETCH
        for timer in calm.timers:
            process.timers.cancel(timer)
        self.calm = calm
        if self._cycles is not None:
            self._cycles.began_again()
        return due_us

    def _can_begin(self, due_us: int, calm: ClassicPoll | AsyncPoll) -> bool:
        """Return whether no timer is in the way, and a duty of this poll could be done here."""
        if calm.blocking_timer in self._process.timers:
            return False
        if due_us > self._kernel.now:
            return True
        return self._exchanges is not None and not self._process.busy

    def go_on(self, due_us: int) -> None:
        """Poll on until then; the client has other deadlines than before."""
        calm = self.calm
        if calm is not None and calm.waits_for is not None:
            self._wait_us = calm.wait_us
        self.halted = False
        awaits_poll = due_us <= self._work_us < NEVER
        if awaits_poll:
            due_us = self._work_us
        if self._commits_from_us <= due_us:
            due_us, awaits_poll = self._commits_from_us, False
        if due_us == self.due_us and awaits_poll is self.awaits_poll and self._due is not None:
            return
        self.due_us, self.awaits_poll = due_us, awaits_poll
        order = self._work_order if awaits_poll else self._order
        self._due = self._kernel.push(due_us, order, self._is_due)
        self._due.recurs = True

    def _is_due(self, moment: Moment) -> None:
        """Unfold: other events than records can happen from now on, unless only a timer fires."""
        if moment is not self._due:
            return
        self._due = None
        commits = self._commits_from_us <= self.due_us
        if commits or self._exchanges is None or not self._exchanges.goes_on():
            self.unfold()

    def unfold(self, first_left: int = ARRIVAL) -> None:
        """Put the client, the handler and the wire where they would be without this loop.

        They play what :meth:`play` does.
        """
        calm = self.calm
        if calm is None:
            return
        self.play(self._kernel.now, first_left)
        self.end(self._client.resume(calm))  # type: ignore[arg-type, union-attr]  # its own

    def on_timer(self, timer: str) -> bool:
        """Handle a timer that fires now; return whether the client still has to, and unfold then.

        Several fire in order of name.
        """
        calm = self.calm
        if calm is None:
            return True
        if self._exchanges is not None and self._exchanges.beat(timer):
            return False
        self.play(self._kernel.now)
        first_left = first_left_behind(timer, calm)
        if self._exchanges is not None and self._exchanges.on_timer(timer, first_left):
            return False
        self.unfold(first_left)
        return True

    def receive(self, envelope: Envelope) -> bool:
        """Let the client handle a response; return whether it did."""
        if self.calm is None or self._exchanges is None:
            return False
        return self._exchanges.receive(envelope)

    def end(self, resumed: Step[Any]) -> None:
        """Stop polling; *resumed*: the step in which the client has taken over."""
        self.calm = self._due = None
        self.halted = False
        self.hand_over()
        self._process.carry_out(resumed)
        if self.batch is not None:
            batch, self.batch = self.batch, None
            self._app.await_batch(batch)
        self._wait_us = self._work_us = NEVER
        self._fetches.end()
        self._process.time.go_on(self._kernel.now, Live.INTERRUPTED)

    def hand_over(self) -> None:
        """Count what was finished as processed, and what poll returned as handed out."""
        self.write()
        for tp, position in self._handed.items():
            self._progress.handed(tp, position)
        self._handed.clear()

    def moved(self) -> None:
        """Note that the process was moved: a period that is not known yet is not measured."""
        if self._cycles is not None:
            self._cycles.interrupted()

    def catch_up(self, now: int) -> None:
        """Play everything up to now, before the state is read."""
        if self.calm is not None:
            self.play(now, ALL)

    def calculated(self, now: int) -> ClassicPoll | None:
        """Play everything up to now and count it; return the poll that goes on, if one does.

        A client of the consumer protocol continues by itself.
        """
        self.catch_up(now)
        if self._exchanges is None:
            self.unfold()
        elif self.calm is not None:
            self.hand_over()
        return self.calm  # type: ignore[return-value]  # one with exchanges is classic

    def is_overtaken(self, now: int) -> bool:
        """Return whether retention has overtaken what this reads."""
        self.catch_up(now)
        return self.calm is not None and self._fetches.overtaken

    # -- playing -----------------------------------------------------------------------------------

    def play(self, until: int, first_left: int = ARRIVAL) -> None:
        """Play events before ``until``, and of that instant those passed by or before *first_left*."""
        passed = first_not_passed(self._kernel.reached, self._process.blueprint.index)
        self._play(until, max(first_left, passed))
        if self._exchanges is not None:
            self._exchanges.played()

    def _play(self, until: int, first_left: int) -> None:
        if self.halted:
            return
        if until >= self.due_us:
            last = WORK if self.awaits_poll else ARRIVAL
            first_left = last if until > self.due_us else min(first_left, last)
            until = self.due_us
        play = self.play_events if self._stretches is None else self._stretches.play
        play(until, first_left)

    def play_events(self, until: int, first_left: int) -> bool:
        """Play what :meth:`play` does, without parts that were played before; return whether any came."""
        calm, happened = self.calm, False
        assert calm is not None, "it polls"
        while True:
            if self._begun:
                self._skip_periods(until)
            when, what = self._next(calm)
            if when > until or (when == until and what >= first_left):
                return happened
            happened = True
            if what == WORK:
                self.leave_batch()
                self._returned(calm.poll(when, self._timeout_us), when)
            elif what == EVENTS:
                calm.take_events()
                self._fetches.send_fetches(when)
            elif what == WAIT or calm.answered(when, self._fetches.receive()):
                self._returned(calm.turn(when), when)
                if self._wait_us < NEVER and self._fetches.next_us > when:
                    self._skip_idle(until)
            else:
                self._wait_us = calm.wait_us

    def _next(self, calm: ClassicPoll | AsyncPoll) -> tuple[int, int]:
        """Return when something happens next, and what."""
        when, what = self._fetches.next_us, ARRIVAL
        if calm.events_us < when:
            when, what = calm.events_us, EVENTS
        if self._wait_us < when:
            when, what = self._wait_us, WAIT
        if self._work_us < when:
            when, what = self._work_us, WORK
        return when, what

    def _returned(self, handed: tuple[Handed, ...] | None, now: int) -> None:
        """Work on what poll has returned, or poll again; None: it has not, and waits."""
        calm = self.calm
        assert calm is not None, "it polls"
        if not calm.thread_timer:
            self._fetches.send_fetches(now)
        while handed == ():
            handed = calm.poll(now, self._timeout_us)
        if handed is None:
            late = self._late
            if self._cycles is not None:
                self._cycles.on_wait(now)
            self._wait_us = calm.wait_us if late is None else calm.wait_us + late(calm.wait_us)
            return
        self._wait_us = NEVER
        if self._cycles is not None:
            self._cycles.on_return(now)
        for tp, _, position in handed:
            self._handed[tp] = position
        self._begin(Batch.of(handed, now))
        self._begun = self._cycles is not None

    def _begin(self, batch: Batch) -> None:
        """Begin the work on a batch."""
        self.batch = batch
        self._plan(batch)
        self._app.work_on(batch)
        if self._stretches is not None:
            self._stretches.began(batch)
        self._work_us = batch.end_us(batch.count - 1)

    def resume(self, batch: Batch | None) -> None:
        """Work on a batch, or wait in poll."""
        assert self.calm is not None, "it polls"
        self._wait_us = self.calm.wait_us
        if batch is not None:
            self._begin(batch)

    # -- skipping --------------------------------------------------------------------------------

    def _skip_periods(self, until: int) -> None:
        """Skip whole periods before ``until``, if the batch that has begun is one of a series."""
        self._begun = False
        calm, batch, cycles = self.calm, self.batch, self._cycles
        assert batch is not None, "it has begun"
        later = cycles.skip(calm, batch, until) if cycles is not None else None  # type: ignore[arg-type]  # classic
        if later is None:
            return
        self._begin(later)
        self._handed.update(self._fetches.positions())

    def _skip_idle(self, until: int) -> None:
        """Skip polls and fetches without records before ``until``.

        All answers of this instant have been played: they decide the order of later ones.
        """
        if self._cycles is None:
            return
        skipped = self._fetches.skip_idle(until)
        if skipped is not None:
            before_us, last_us = skipped
            self.calm.wait_on(before_us, self._timeout_us, last_us)  # type: ignore[union-attr]  # classic
            self._wait_us = self.calm.wait_us  # type: ignore[union-attr]

    # -- work --------------------------------------------------------------------------------------

    def turn(self, now: int) -> None:
        """Run the poll loop once, in a poll that begins now; work on what that returns."""
        assert self.calm is not None, "it polls"
        self._returned(self.calm.turn(now), now)

    def leave_batch(self) -> None:
        """End the batch in progress."""
        batch = self.batch
        assert batch is not None, "work ended that was not begun"
        self.batch, self._work_us = None, NEVER
        self._finished.end(batch)

    def write(self) -> None:
        """Count what was finished since the last time as processed."""
        self._finished.write()
