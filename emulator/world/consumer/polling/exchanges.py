"""Heartbeats and commits of a consumer that polls by arithmetic.

A timer that fires, or a response, is handled by the client itself, in the poll in which arithmetic
has put it. If it then still waits in that poll, and only its deadlines have changed, the arithmetic
goes on; else the client continues by itself.

A heartbeat does not change what poll does while it waits. If the polls of a member repeat, it is
known that it waits at an instant: its heartbeats then do not need the polls before them, and these
are calculated later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from emulator.world.kernel import Rank
from protocols.consumer.classic.calm import POLL, CalmPoll
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.machine import CancelTimer, Effect, Report, Send, SetTimer, Step
from protocols.messages import Envelope, FetchRequest, HeartbeatResponse, OffsetCommitResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from emulator.world.consumer.interfaces import ConsumerProcess
    from emulator.world.consumer.polling.calm import Cycles
    from protocols.consumer.classic.machine import Client

ARRIVAL, EVENTS, WAIT, WORK, ALL = range(5)
"""The order of what happens at the same instant, as :class:`~emulator.world.kernel.Rank` has it:
an answer arrives, then timers by name (background, poll or woken), then the end of a batch."""

_SMALL = (SetTimer, CancelTimer, Report)
"""The effects of a step after which a poll waits on, besides requests."""

_RESPONSES = (HeartbeatResponse, OffsetCommitResponse)
"""The responses that the client may handle while a loop polls."""


class Polls(Protocol):
    """The poll loop of a process."""

    calm: Any
    """The poll in the client's place."""

    due_us: int
    """Until when only records can arrive."""

    awaits_poll: bool
    """Whether the client has a duty then, in the poll that follows the batch in progress."""

    halted: bool
    """Whether nothing is played until it goes on."""

    @property
    def next_arrival_us(self) -> int:
        """When the next response to a fetch arrives."""

    def play(self, until: int, first_left: int = ARRIVAL) -> None:
        """Play events before *until*, and of that instant those passed by or before *first_left*."""

    def hand_over(self) -> None:
        """Count what was finished as processed, and what poll returned as handed out."""

    def go_on(self, due_us: int) -> None:
        """Poll on until then, and at least until the batch in progress is done."""

    def leave_batch(self) -> None:
        """End the batch in progress."""

    def turn(self, now: int) -> None:
        """Run the poll loop of :attr:`calm` once."""

    def end(self, resumed: Step[Any]) -> None:
        """Stop polling; *resumed*: the step in which the client has taken over."""


class Exchanges:
    """The exchanges of one process with its coordinator."""

    def __init__(
        self, loop: Polls, process: ConsumerProcess, client: Client, cycles: Cycles | None
    ) -> None:
        self._loop = loop
        self._process = process
        self._client = client
        self._cycles = cycles
        self._kernel = process.run.kernel
        self._ran_us = 0
        """When the heartbeat thread, or a response to it, last ran a poll that was not calculated."""

    # -- what is due -------------------------------------------------------------------------------

    def goes_on(self) -> bool:
        """Return whether nothing but timers can happen now; the timer of a waiting poll is set.

        While the application works, other duties than those of timers are done when it polls next.
        """
        loop, now = self._loop, self._kernel.now
        if loop.awaits_poll:
            return self._polls(now)
        if self._beats(now) and self._waits(now):
            return True
        loop.play(now)
        calm: CalmPoll = loop.calm
        if calm.waits_for is None:
            loop.go_on(now)
            return True
        if loop.next_arrival_us <= now:
            return False
        self._process.timers.set(POLL, calm.wait_us)
        return True

    def _beats(self, now: int) -> bool:
        """Return whether the heartbeat thread sends a heartbeat now, and nothing else is due."""
        return self._process.timers.deadline(HEARTBEAT) == now and not self._commits(now)

    def _commits(self, now: int) -> bool:
        """Return whether an automatic commit is due."""
        client = self._client
        return client.consumer.settings.enable_auto_commit and client.state.autocommit_us <= now

    def _waits(self, now: int) -> bool:
        """Return whether the application certainly waits in poll now, and no record arrives."""
        return self._cycles is not None and self._cycles.is_waiting(now)

    # -- in the poll that is calculated --------------------------------------------------------------

    def on_timer(self, timer: str, first_left: int) -> bool:
        """Let the client handle a timer that fires now; return whether it did."""
        if not self._process.run.triggers.idle:
            return False
        now = self._kernel.now
        self._loop.play(now, first_left)
        self._lend(lambda: self._client.wake(timer, now))
        return True

    def receive(self, envelope: Envelope) -> bool:
        """Let the client handle a response; return whether it did."""
        if type(envelope.body) not in _RESPONSES or not self._process.run.triggers.idle:
            return False
        if self._is_beaten(envelope):
            return True
        now = self._kernel.now
        self._loop.play(now)
        self._lend(lambda: self._client.handle(envelope, now))
        return True

    def _lend(self, handle: Callable[[], Step[Any]]) -> None:
        """Let the client handle something in this poll, and go on if it still waits there."""
        loop, process, now = self._loop, self._process, self._kernel.now
        calm: CalmPoll = loop.calm
        resumed = self._client.resume(calm)
        step = handle()
        due_us = self._client.lent(calm, now) if all(map(_is_small, step.effects)) else None
        if due_us is None:
            loop.end(resumed)
            process.carry_out(step)
            return
        loop.halted = True
        loop.hand_over()
        process.timers.cancel(POLL)
        process.carry_out(Step(step.state, tuple([e for e in step.effects if not _is_poll(e)])))
        if self._cycles is not None:
            self._cycles.interrupted(goes_on=calm.waits_for is not None)
        loop.go_on(due_us)

    def _polls(self, now: int) -> bool:
        """Enter the poll behind the batch that ends now; return False if it cannot be calculated."""
        if not self._process.run.triggers.idle:
            return False
        self._loop.play(now)
        self._loop.leave_batch()
        self.enter()
        return True

    def enter(self) -> None:
        """Enter a poll in which the client has a duty, and go on behind it if it is calm."""
        loop, process, now = self._loop, self._process, self._kernel.now
        loop.calm.enter(now, process.blueprint.poll_timeout_us)
        loop.halted = True
        loop.hand_over()
        step = self._client.enter(loop.calm, now)
        due_us = self._client.lent(loop.calm, now) if all(map(_is_small, step.effects)) else None
        if due_us is None:
            loop.end(Step(step.state))
            process.carry_out(self._client.continues(step, now))
            return
        process.carry_out(step)
        if self._cycles is not None:
            self._cycles.interrupted()
        loop.turn(now)
        loop.go_on(due_us)

    # -- in a poll that is calculated later ------------------------------------------------------------

    def beat(self, timer: str) -> bool:
        """Send a heartbeat in a poll that waits; return False if that is not certain."""
        now = self._kernel.now
        if timer != HEARTBEAT or self._loop.due_us != now or not self._process.run.triggers.idle:
            return False
        if self._commits(now) or not self._waits(now):
            return False
        return self._runs(self._client.beat(now))

    def _is_beaten(self, envelope: Envelope) -> bool:
        """Take the response to a heartbeat in the same way; return whether that is done."""
        body, now = envelope.body, self._kernel.now
        if type(body) is not HeartbeatResponse or body.error or self._loop.due_us <= now:
            return False
        return self._waits(now) and self._runs(self._client.beat(now, envelope))

    def _runs(self, step: Step[Any] | None) -> bool:
        """Carry out a step after which poll waits on; return whether there is one."""
        if step is None:
            return False
        self._ran_us = self._kernel.now
        self._process.carry_out(step)
        self._loop.go_on(self._client.go_on(self._loop.calm))
        return True

    def played(self) -> None:
        """Note that all polls up to now are calculated: the last one ran when a heartbeat did."""
        clock = self._client.consumer.clock
        clock.polled_us = max(clock.polled_us, self._ran_us)


def _is_small(effect: Effect) -> bool:
    """Return whether an effect sets a timer, reports, or sends another request than a fetch."""
    if type(effect) is Send:
        return type(effect.message) is not FetchRequest
    return type(effect) in _SMALL


def _is_poll(effect: Effect) -> bool:
    return type(effect) is SetTimer and effect.name == POLL


class RoundWait:
    """The polls of one process of the classic protocol that return nothing."""

    def __init__(self, process: ConsumerProcess, client: Client) -> None:
        blueprint = process.blueprint
        self._process = process
        self._client = client
        self._timeout_us = blueprint.poll_timeout_us
        self._is_regular = (
            blueprint.lateness_us is None
            and blueprint.commit.when != "every"
            and blueprint.group.is_serial
        )
        """Whether an empty poll ends on time, and the next one begins at once."""

        self._began_us: int | None = None
        """When the first of these polls began; None: it does not wait."""

    def begin(self, now: int) -> bool:
        """Poll without a result from now on; return False if a poll could do more.

        A poll during which a timer of the client fires is made by the client itself.
        """
        if not (self._is_regular and self._process.at_rest):
            return False
        until_us = self._client.polls_in_vain_until_us(now)
        if until_us is None:
            return False
        whole = (self._process.timers.earliest(until_us) - now) // self._timeout_us
        if whole < 1:
            return False
        self._began_us = now
        self._process.timers.set(POLL, now + whole * self._timeout_us)
        return True

    def end(self, timer: str = "") -> None:
        """Make the poll in progress; one that ends at this instant has, if its timer was passed by.

        *timer*: the one that fires now, if any.
        """
        began_us, kernel = self._began_us, self._process.run.kernel
        if began_us is None:
            return
        self._began_us = None
        is_passed = first_not_passed(kernel.reached, self._process.blueprint.index) > WAIT
        until_us = kernel.now if is_passed else kernel.now - 1
        whole = max(0, until_us - began_us) // self._timeout_us
        poll_us = began_us + whole * self._timeout_us
        self._process.carry_out(self._client.poll(poll_us, self._timeout_us))
        if timer == POLL:
            self._process.timers.cancel(POLL)


def first_left_behind(timer: str, calm: Any) -> int:
    """Return the first kind of event of this instant that follows a timer: timers fire by name."""
    if timer > (calm.waits_for or POLL):
        return WORK
    return WAIT if timer > calm.thread_timer else EVENTS


def first_not_passed(reached: int, index: int) -> int:
    """Return the first kind of event of this instant that has not happened yet at a consumer.

    *reached*: the largest order of an event of this instant: what was due before that has happened, also
    where an event without any delay follows it.
    """
    if reached <= Rank.RECORDS_AT_CLIENT + index:
        return ARRIVAL
    if reached <= Rank.CLIENT_TIMER + index:
        return EVENTS
    return WORK if reached <= Rank.APPLICATION + index else ALL
