"""The Java consumer's client of the consumer protocol (``AsyncKafkaConsumer``).

The control plane is a frozen :class:`~protocols.consumer.kip848.state.ClientState`, changed by
the functions of this package; this class owns the data plane, and runs the two threads: the
background thread handles responses and queued events, the application thread runs the passes of
poll.
"""

from __future__ import annotations

from protocols.consumer.calls import CloseOperation, Failed, IllegalCallError
from protocols.consumer.committing import GivenOffsets, given_offsets
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.kip848 import application, background, closing, commits, membership
from protocols.consumer.kip848.application import POLL, Taking, Wait, held_back, raced, wait_until
from protocols.consumer.kip848.calm import CalmPoll, quiet_until
from protocols.consumer.kip848.periods import Recurring, is_at_rest, relative_state
from protocols.consumer.kip848.requests import BACKGROUND, advance_wakeup, queue
from protocols.consumer.kip848.state import ClientState, Consumer
from protocols.consumer.kip848.threads import (
    OUTSIDE,
    Applying,
    AwaitingCheck,
    Calling,
    Closing,
    FetchesWanted,
    Lag,
    Polling,
    awaits_last_answers,
)
from protocols.consumer.requests import on_fetch_failed, rearm_request_timer, throw_out_of_range
from protocols.machine import Call, CancelTimer, Effect, Return, SetTimer, Step
from protocols.messages import Envelope, FetchResponse
from protocols.values import replace

Records = tuple[Handed, ...]
"""The result of poll: ranges of records, in the order in which the application gets them."""

Effects = tuple[Effect, ...]

_CALL_TIMERS = commits.TIMERS | closing.TIMERS
"""Timers of the application thread in a waiting call; the client handles those of poll itself."""


class Client(Recurring):
    """The client side of the consumer protocol for one consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        consumer.fetcher.throws_out_of_range = consumer.settings.auto_offset_reset == "none"
        self.state = membership.initial_state(consumer)
        self._taking: Taking | None = None
        self._wait = Wait.NONE
        self._answered = False
        """A fetch response came since the last wait ended by one: the next wait ends at once."""

    # -- the application's calls ---------------------------------------------------------------

    def poll(self, now: int, timeout_us: int) -> Step[ClientState]:
        """Poll; the step contains ``Return(records)``, or the machine waits and returns later."""
        return self._pass(application.enter_poll(self.state, self.consumer, timeout_us, now), now)

    def commit_sync(self, now: int, offsets: GivenOffsets = None) -> Step[ClientState]:
        """Commit and wait; None commits all records returned by poll. Ends in ``Return``."""
        wanted = given_offsets(self.consumer, offsets)
        return self._took(commits.begin_commit_sync(self.state, self.consumer, wanted, now), now)

    def commit_async(
        self, now: int, offsets: GivenOffsets = None, *, waits: bool = False
    ) -> Step[ClientState]:
        """Commit without waiting for the response; None commits all records returned by poll.

        *waits*: the application is in the call until the background thread has taken the commit: it
        ends in ``Return``.
        """
        wanted = given_offsets(self.consumer, offsets)
        step = commits.begin_commit_async(self.state, self.consumer, wanted, now, waits=waits)
        return self._took(step, now)

    def close(
        self, now: int, timeout_us: int, operation: CloseOperation = CloseOperation.DEFAULT
    ) -> Step[ClientState]:
        """Close with final commit, listener call, last heartbeat; ends in ``Return(Closed())``."""
        stopped = self._stop_polling()
        step = closing.begin_close(self.state, self.consumer, timeout_us, operation, now)
        return self._took(Step(step.state, stopped + step.effects), now)

    def subscribe(self, now: int, topics: tuple[str, ...]) -> Step[ClientState]:
        """Replace the subscription with these topics; no listener is called."""
        self.consumer = replace(self.consumer, topics=topics, matches=None, regex=None)
        return self._took(membership.change_subscription(self.state, self.consumer, now), now)

    def unsubscribe(self, now: int) -> Step[ClientState]:
        """Drop the subscription; ends in ``Return``."""
        return self._took(closing.unsubscribe(self.state, self.consumer, now), now)

    def called(
        self, call: Call, now: int, threw: Failed | None = None, *, lasted_us: int = 0
    ) -> Step[ClientState]:
        """Continue after a listener call that lasted so long returned, or threw."""
        calling = self.state.app
        if not isinstance(calling, Calling):
            raise IllegalCallError(f"no listener call is running: {call}")
        if isinstance(calling.outer, Closing):
            return self._took(closing.on_last_call(self.state, self.consumer, now), now)
        state, consumer = self.state, self.consumer
        step = application.on_called(state, consumer, now, threw=threw, lasted_us=lasted_us)
        if not isinstance(calling.outer, Polling):
            return self._took(step, now)
        return self._continue_later(step, now)

    # -- for a host that runs the poll loop itself ---------------------------------------------

    def calm(self, now: int) -> tuple[int, CalmPoll] | None:
        """Return a poller that replaces this client, and until when (us); None: not now.

        Until then only records may arrive; call :meth:`resume` before any other event.
        """
        due = quiet_until(self.state, self.consumer, now)
        if due is None:
            return None
        return due, CalmPoll(self.state, self.consumer, answered=self._answered)

    def resume(self, calm: CalmPoll) -> Step[ClientState]:
        """Continue from the state of that poller."""
        self._wait, self._answered = calm.marks
        step = calm.leave(self.state)
        return Step(step.state, self._become(step))

    @property
    def is_at_rest(self) -> bool:
        """Whether only records, a heartbeat or a commit can happen next."""
        return self._taking is None and is_at_rest(self.state, self.consumer)

    def relative(self, now: int) -> tuple[object, ...]:
        """Return what a client at rest does next, relative to *now*."""
        return relative_state(self.state, self.consumer, now), self._wait, self._answered

    # -- the passes of poll ----------------------------------------------------------------------

    def _pass(self, step: Step[ClientState], now: int) -> Step[ClientState]:
        """Continue a pass after its listener calls: throw, or collect records."""
        effects = self._become(step)
        if any(isinstance(effect, Return) for effect in effects):
            return self._leave_poll(effects)
        if not isinstance(self.state.app, Polling):
            return Step(self.state, effects)
        effects += self._become(Step(application.end_pass(self.state)))
        effects += self._look(self.state.app, now)
        return Step(self.state, effects)

    def _continue_later(self, step: Step[ClientState], now: int) -> Step[ClientState]:
        """Continue a pass after a listener call; in a poll whose time is over, a little later.

        Then the next poll issues an event. Before that, the background thread may have taken the end
        of the call alone: it acknowledges, and that event begins the next reconciliation.
        """
        effects = self._become(step)
        app, lag = self.state.app, self.consumer.lags(Lag.NEXT, now)
        ends = isinstance(app, Polling) and now >= app.until_us
        if not ends or not lag or any(isinstance(effect, Return) for effect in effects):
            return self._pass(Step(self.state, effects), now)
        self._wait = Wait.CALLED
        return Step(self.state, (*effects, SetTimer(background.WOKEN, now + lag)))

    def _look(self, polling: Polling, now: int) -> Effects:
        """Collect records, unless the background thread has to check the reconciliation first."""
        if held_back(self.state, self.consumer):
            return self._become(Step(replace(self.state, app=AwaitingCheck(polling.until_us))))
        return self._take(polling, now)

    def _take(self, polling: Polling, now: int) -> Effects:
        """Take records if any are buffered, else wait for them."""
        limit = self.consumer.settings.max_poll_records
        if raced(self.state, self.consumer, now):
            begins = now + self.consumer.lags(Lag.TAKE, now)
            taking = Taking(self.consumer.fetcher, limit, begins)
            if taking.ends_us > begins:
                self._taking = taking
                return (SetTimer(background.WOKEN, taking.ends_us),)
        handed, effects = self._collect(limit, now)
        if handed:
            return effects + self._hand_out(handed, now)
        if self.state.reads.out_of_range:
            thrown = self._become(throw_out_of_range(self.state, self.consumer))
            if thrown:
                return self._leave_poll(effects + thrown).effects
        return effects + self._await_records(polling, now)

    def _collect(self, limit: int, now: int) -> tuple[Records, Effects]:
        """Return up to *limit* records, and what follows from the errors that were before or behind them."""
        handed = self.consumer.fetcher.collect(limit)
        return handed, self._handle_errors(now)

    def _handle_errors(self, now: int) -> Effects:
        """Handle the errors of fetches that have been reached."""
        refused = self.consumer.fetcher.take_refused()
        if not refused:
            return ()
        effects = self._become(on_fetch_failed(self.state, self.consumer, refused, now))
        return effects + self._round(now)

    def _hand_out(self, handed: Records, now: int) -> Effects:
        """Return records; the background thread fetches more."""
        effects = self._become(queue(self.state, self.consumer, FetchesWanted(), now))
        return self._leave_poll((*effects, Return(handed))).effects

    def _await_records(self, polling: Polling, now: int) -> Effects:
        """Wait for records, or return empty."""
        if now >= polling.until_us:
            return self._leave_poll((Return(()),)).effects
        if self._answered:
            self._answered = False
            return self._pass(application.begin_pass(self.state, self.consumer, now), now).effects
        self._wait = Wait.RECORDS
        return (SetTimer(POLL, wait_until(self.state, self.consumer, polling, now)),)

    def _leave_poll(self, effects: Effects) -> Step[ClientState]:
        """Leave poll; its Return is among *effects*."""
        self._wait, self._taking = Wait.NONE, None
        self.state = replace(self.state, app=OUTSIDE)
        return Step(self.state, effects)

    def _stop_polling(self) -> Effects:
        """Abort poll for close(): records that were not returned are not consumed."""
        taking, self._taking, self._wait = self._taking, None, Wait.NONE
        if taking is not None:
            taking.put_back()
        return (CancelTimer(POLL), CancelTimer(background.WOKEN))

    def _turn(self, now: int) -> Effects:
        """Continue poll after a wait: collect records, then make another pass."""
        state = self.state
        if self._taking is not None:
            taking, self._taking = self._taking, None
            taking.catch_up(now)
            handed = taking.finish()
            if handed:
                return self._handle_errors(now) + self._hand_out(handed, now)
        elif isinstance(state.app, AwaitingCheck):
            self.state = replace(state, app=Polling(state.app.until_us))
            return self._take(Polling(state.app.until_us), now)
        elif isinstance(state.app, Applying):
            return self._pass(application.on_applied(state, self.consumer, now), now).effects
        elif self._wait is Wait.NONE:
            return ()
        elif self._wait is Wait.CALLED:
            self._wait = Wait.NONE
            return self._pass(Step(state), now).effects
        self._wait = Wait.NONE
        polling = self.state.app
        assert isinstance(polling, Polling), "only poll waits for records"
        if held_back(self.state, self.consumer):
            return self._look(polling, now)
        handed, effects = self._collect(self.consumer.settings.max_poll_records, now)
        if handed:
            return effects + self._hand_out(handed, now)
        if now >= polling.until_us:
            return self._leave_poll((*effects, Return(()))).effects
        later = self._pass(application.begin_pass(self.state, self.consumer, now), now)
        return effects + later.effects

    # -- the background thread -----------------------------------------------------------------

    def notice(self, now: int) -> Step[ClientState]:
        """End a wait for records if a listener call is needed; a spurious wake-up does this."""
        noticed = bool(self.state.needed) and self._wait is Wait.RECORDS
        return Step(self.state, self._turn(now) if noticed else ())

    def handle(self, envelope: Envelope, now: int) -> Step[ClientState]:
        """Handle a response; queued events are taken right after it."""
        self._catch_up(now)
        body = envelope.body
        if type(body) is FetchResponse:
            effects = self._fetched(body, now)
        else:
            first = not self.state.beat.interval_us
            effects = self._become(background.respond(self.state, self.consumer, envelope, now))
            effects += self._round(now)
            if first and self.state.beat.interval_us:
                effects += self._end_wait(now)
        effects += self._become(advance_wakeup(self.state, self.consumer, now))
        return self._took(Step(self.state, effects), now)

    def _fetched(self, response: FetchResponse, now: int) -> Effects:
        """Buffer records; a poll that waits for them wakes up."""
        self.consumer.fetcher.arrived(response)
        if awaits_last_answers(self.state.app):
            return ()
        effects = self._round(now) if now >= self.state.poll_due_us else ()
        brought = any(part.error or part.next_offset > part.first for part in response.partitions)
        self._answered = self._wait is not Wait.RECORDS or brought
        return effects + self._end_wait(now)

    def _end_wait(self, now: int) -> Effects:
        """End a wait for records, as some arrived or the first heartbeat interval is known."""
        if self._wait is not Wait.RECORDS:
            return ()
        self._wait = Wait.WOKEN
        woken = SetTimer(background.WOKEN, now + self.consumer.lags(Lag.WAKE, now))
        return (CancelTimer(POLL), woken)

    def wake(self, timer: str, now: int) -> Step[ClientState]:
        """Handle the end of a timer."""
        if timer in {POLL, background.WOKEN}:
            is_over = timer != POLL or self._wait is Wait.RECORDS
            effects = self._turn(now) if is_over else ()
            return Step(self.state, effects)
        if timer in _CALL_TIMERS:
            return self._took(_CALL_TIMERS[timer](self.state, self.consumer, now), now)
        if not background.is_awaited(self.state, timer, now):
            return Step(self.state, self._become(rearm_request_timer(self.state)))
        self._catch_up(now)
        if timer == BACKGROUND:
            effects = self._take_events(now)
        else:
            effects = self._become(background.TIMERS[timer](self.state, self.consumer, now))
        effects += self._round(now)
        return self._took(Step(self.state, effects), now)

    def _catch_up(self, now: int) -> None:
        """Move positions past the records that the application has taken by now."""
        if self._taking is not None:
            self._taking.catch_up(now)

    def _take_events(self, now: int) -> Effects:
        events = self.state.events
        self.consumer.queue_times.end(now)
        effects = self._become(Step(replace(self.state, events=(), events_us=None)))
        for event in events:
            effects += self._become(background.take_event(self.state, self.consumer, event, now))
        return effects

    def _round(self, now: int) -> Effects:
        if awaits_last_answers(self.state.app):
            return ()
        effects = self._become(background.run_round(self.state, self.consumer, now))
        return effects + self._become(
            background.complete_poll_event(self.state, self.consumer, now)
        )

    # -- applying a step -------------------------------------------------------------------------

    def _took(self, step: Step[ClientState], now: int) -> Step[ClientState]:
        """Apply a step and continue close() or unsubscribe()."""
        effects = self._become(step)
        effects += self._become(closing.advance_close(self.state, self.consumer, now))
        return Step(self.state, effects)

    def _become(self, step: Step[ClientState]) -> Effects:
        """Store the state of a step; update the data plane if the assignment changed."""
        before, after = self.state, step.state
        if after is before:
            return step.effects
        self.state = after
        fetcher = self.consumer.fetcher
        if after.assignment is not before.assignment or after.awaiting is not before.awaiting:
            waiting = frozenset(after.awaiting)
            fetcher.assign(tp for tp in after.assignment if tp not in waiting)
        if membership.changes_unread(before, after):
            fetcher.pending = membership.unread_partitions(after, self.consumer)
        return step.effects

    def check(self) -> None:
        """Assert the invariants (in tests, and in debug runs of the world)."""
        state = self.state
        self.consumer.fetcher.check()
        assert set(self.consumer.positions.assigned) == set(state.assignment) - set(state.awaiting)
        unread = membership.unread_partitions(state, self.consumer)
        assert self.consumer.fetcher.pending == unread
        assert self._wait is Wait.NONE or isinstance(state.app, Polling)
        assert self._taking is None or isinstance(state.app, Polling)
        assert len(set(state.assignment)) == len(state.assignment)
        assert (state.events_us is None) == (not state.events)
        assert all(number < state.reads.next_correlation_id for number in state.in_flight)
