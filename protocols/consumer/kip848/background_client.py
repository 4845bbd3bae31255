"""A client of the consumer protocol that works on its group without the application's poll.

librdkafka sends heartbeats, reconciles, fetches and commits beside the application; only rebalance
callbacks wait for its next poll. State, requests and responses are those of the Java client
(:mod:`~protocols.consumer.kip848.machine`); this class decides when they run, by the profile of the
client (:mod:`protocols.consumer.clients`). Source: librdkafka ``rd_kafka_cgrp_consumer_serve``,
``rd_kafka_assignment_serve``.
"""

from __future__ import annotations

from typing import Final

from protocols.consumer import record_queue
from protocols.consumer.calls import (
    Closed,
    CloseOperation,
    ExceptionName,
    Failed,
    IllegalCallError,
)
from protocols.consumer.committing import (
    AUTO_COMMIT,
    GivenOffsets,
    begin_interval,
    given_offsets,
)
from protocols.consumer.kip848 import (
    application,
    background,
    closing,
    commits,
    membership,
    periods,
    positions,
)
from protocols.consumer.kip848.application import POLL
from protocols.consumer.kip848.member import MemberState, Reconciling
from protocols.consumer.kip848.requests import BACKGROUND, queue_automatic_commit
from protocols.consumer.kip848.state import ClientState, Consumer, Progress, Slot
from protocols.consumer.kip848.threads import OUTSIDE, Calling, Closing, Polling, Unsubscribing
from protocols.consumer.reader import MS, next_tick
from protocols.consumer.requests import on_fetch_failed, rearm_request_timer, throw_out_of_range
from protocols.facts import CommitKind
from protocols.machine import Call, Effect, Return, SetTimer, Step
from protocols.messages import Envelope, FetchResponse, OffsetToCommit
from protocols.values import replace

_TIMERS: Final = background.TIMERS | commits.TIMERS | closing.TIMERS

_ALWAYS: Final = Slot(0, 0, Progress.TAKEN)
"""Positions are updated at any time here, as for a poll event that never completes."""

_STEADY: Final = frozenset({MemberState.STABLE, MemberState.ACKNOWLEDGING})

Effects = tuple[Effect, ...]


class BackgroundClient(periods.Recurring):
    """The client side of the consumer protocol for one consumer, with a thread of its own."""

    def __init__(self, consumer: Consumer, limit: int) -> None:
        """Create the client of a new process; *limit*: records of one call."""
        self.consumer = consumer
        self.state = replace(membership.initial_state(consumer), slot=_ALWAYS)
        self._limit = limit
        self._created = False

    # -- the application's calls ---------------------------------------------------------------

    def poll(self, now: int, timeout_us: int) -> Step[ClientState]:
        """Take records; the step contains ``Return(records)``, or the machine returns later."""
        if self.state.subscribed is None:
            failed = Failed(ExceptionName.ILLEGAL_STATE, message="nothing is subscribed")
            return Step(self.state, (Return(failed),))
        effects = () if self._created else self._create(now)
        if self.consumer.store is not None:
            self.consumer.store.polling()
        self.state = replace(self.state, app=Polling(now + timeout_us))
        step = self._took(background.take_part(self.state, self.consumer), now)
        return Step(step.state, effects + step.effects)

    def _create(self, now: int) -> Effects:
        """Start the clock of automatic commits with the consumer."""
        self._created = True
        step = begin_interval(self.state, self.consumer, now)
        self.state = step.state
        return step.effects

    def store(self, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Store offsets of the application for the next automatic commit."""
        assert self.consumer.store is not None, "the client has an offset store"
        self.consumer.store.store(offsets, self.consumer.positions)

    def commit_sync(self, now: int, offsets: GivenOffsets = None) -> Step[ClientState]:
        """Commit and wait; None commits what an automatic commit would. Ends in ``Return``."""
        wanted = given_offsets(self.consumer, offsets)
        return self._took(commits.begin_commit_sync(self.state, self.consumer, wanted, now), now)

    def commit_async(self, now: int, offsets: GivenOffsets = None) -> Step[ClientState]:
        """Commit without waiting; None commits what an automatic commit would."""
        wanted = given_offsets(self.consumer, offsets)
        return self._took(commits.begin_commit_async(self.state, self.consumer, wanted, now), now)

    def close(
        self, now: int, timeout_us: int, operation: CloseOperation = CloseOperation.DEFAULT
    ) -> Step[ClientState]:
        """Close with final commit, listener call, last heartbeat; ends in ``Return(Closed())``."""
        step = closing.begin_close(self.state, self.consumer, timeout_us, operation, now)
        return self._took(step, now)

    def subscribe(self, now: int, topics: tuple[str, ...]) -> Step[ClientState]:
        """Replace the subscription with these topics; no listener is called."""
        self.consumer = replace(self.consumer, topics=topics, matches=None, regex=None)
        return self._took(membership.change_subscription(self.state, self.consumer, now), now)

    def unsubscribe(self, now: int) -> Step[ClientState]:
        """Drop the subscription; ends in ``Return``."""
        return self._took(closing.unsubscribe(self.state, self.consumer, now), now)

    def called(self, call: Call, now: int, threw: Failed | None = None) -> Step[ClientState]:
        """Continue after a listener call returned, or threw."""
        calling = self.state.app
        if not isinstance(calling, Calling):
            raise IllegalCallError(f"no listener call is running: {call}")
        if isinstance(calling.outer, Closing):
            return self._took(closing.on_last_call(self.state, self.consumer, now), now)
        step = application.on_called(self.state, self.consumer, now, threw=threw)
        return self._took(step, now)

    # -- for a host that runs the poll loop itself ---------------------------------------------

    def calm(self, now: int) -> None:
        """Return None: the loop of this client is not computed by arithmetic."""
        del now

    @property
    def is_at_rest(self) -> bool:
        """Whether only records, a heartbeat or a commit can happen next."""
        if self.state.slot != _ALWAYS:  # an exception awaits the next poll
            return False
        resting = periods.is_at_rest(replace(self.state, slot=None), self.consumer)
        return resting and self.consumer.fetcher.undisturbed

    def relative(self, now: int) -> tuple[object, ...]:
        """Return what a client at rest does next, relative to *now*."""
        store = self.consumer.store
        return (
            periods.relative_state(self.state, self.consumer, now),
            None if store is None else store.relative(self.consumer.positions),
        )

    # -- responses and timers ------------------------------------------------------------------

    def handle(self, envelope: Envelope, now: int) -> Step[ClientState]:
        """Handle a response at once, whatever the application does."""
        body = envelope.body
        if type(body) is not FetchResponse:
            return self._took(background.respond(self.state, self.consumer, envelope, now), now)
        failed = self.consumer.fetcher.arrived(body)
        return self._took(on_fetch_failed(self.state, self.consumer, failed, now), now)

    def wake(self, timer: str, now: int) -> Step[ClientState]:
        """Handle the end of a timer."""
        if timer == BACKGROUND:
            return self._took(self._take_events(now), now)
        if timer in (POLL, AUTO_COMMIT, record_queue.FETCH):
            return self._took(Step(self.state), now)
        if not background.is_awaited(self.state, timer, now):
            return Step(self.state, self._become(rearm_request_timer(self.state)))
        return self._took(_TIMERS[timer](self.state, self.consumer, now), now)

    def _take_events(self, now: int) -> Step[ClientState]:
        events = self.state.events
        step = Step(replace(self.state, events=(), events_us=None))
        for event in events:
            taken = background.take_event(step.state, self.consumer, event, now)
            step = Step(taken.state, step.effects + taken.effects)
        return step

    # -- the background ------------------------------------------------------------------------

    def _took(self, step: Step[ClientState], now: int) -> Step[ClientState]:
        """Apply a step, and continue with what it made possible."""
        effects = self._become(step)
        effects += self._become(background.run_round(self.state, self.consumer, now))
        effects += self._become(closing.advance_close(self.state, self.consumer, now))
        if not isinstance(self.state.app, Closing | Closed | Unsubscribing):
            effects += self._advance(now)
        return Step(self.state, effects)

    def _advance(self, now: int) -> Effects:
        """Make the listener calls if the application polls; commit, fetch, return records.

        While the application waits in commitSync or in a listener call, the rest goes on.
        """
        effects: Effects = ()
        polling = self.state.app
        if isinstance(polling, Polling):
            effects = self._call_needed(now)
            if self.state.app is not polling:
                return effects
        if self.state.subscribed is None:
            return effects
        effects += self._become(self._commit_if_due(now))
        self.state = membership.refresh_subscription(self.state, self.consumer)
        effects += self._become(positions.update_positions(self.state, self.consumer, now))
        effects += self._fetch(now)
        return effects + self._end_poll(polling, now) if isinstance(polling, Polling) else effects

    def _call_needed(self, now: int) -> Effects:
        """Note that the application polls; make the listener calls, or throw."""
        state, slot = self.state, self.state.slot
        due = now + self.consumer.settings.max_poll_interval_ms * MS
        assert slot is not None, "positions are updated at any time"
        thrown = state.thrown or slot.failed
        self.state = replace(state, poll_due_us=due, slot=_ALWAYS, thrown=thrown)
        return self._become(application.call_needed(self.state, self.consumer, now))

    def _commit_if_due(self, now: int) -> Step[ClientState]:
        """Send the automatic commit if it is due and the member is in no reconciliation."""
        state, settings = self.state, self.consumer.settings
        if not settings.enable_auto_commit or now < state.autocommit_us:
            return Step(state)
        due = next_tick(state.autocommit_us, settings.auto_commit_interval_ms * MS, now)
        state = replace(state, autocommit_us=due)
        timer = SetTimer(AUTO_COMMIT, due)
        if state.member.state not in _STEADY:
            return Step(state, (timer,))
        deadline = now + settings.session_timeout_ms * MS
        state = queue_automatic_commit(state, self.consumer, CommitKind.AUTO, deadline)
        return commits.send_due_commits(state, self.consumer, now).also(timer)

    def _fetch(self, now: int) -> Effects:
        return record_queue.fill(self.consumer.fetcher, now)

    # -- records -------------------------------------------------------------------------------

    def _end_poll(self, polling: Polling, now: int) -> Effects:
        """Return what the application's poll returns or throws; it waits on if that is nothing."""
        found = self._taken() or self._off_its_log()
        if not found and now < polling.until_us:
            return (SetTimer(POLL, polling.until_us),)
        self.state = replace(self.state, app=OUTSIDE)
        return (found if isinstance(found, Return) else Return(found),)

    def _taken(self) -> tuple[object, ...]:
        return record_queue.take(self.consumer.fetcher, self.consumer.store, self._limit)

    def _off_its_log(self) -> Return | tuple[()]:
        """Return the exception for a position out of range that no policy resets."""
        if not self.state.reads.out_of_range:
            return ()
        step = throw_out_of_range(self.state, self.consumer)
        thrown = [effect for effect in self._become(step) if isinstance(effect, Return)]
        return thrown[0] if thrown else ()

    def _become(self, step: Step[ClientState]) -> Effects:
        """Store the state of a step; update the data plane if the assignment changed.

        A reconciliation pauses all partitions (``rd_kafka_assignment_pause``).
        """
        before, after = self.state, step.state
        if isinstance(after.app, Polling) and _returned(step.effects):
            after = replace(after, app=OUTSIDE)
        self.state = after if after.slot is not None else replace(after, slot=_ALWAYS)
        fetcher = self.consumer.fetcher
        if after.assignment is not before.assignment or after.awaiting is not before.awaiting:
            waiting = frozenset(after.awaiting)
            fetcher.assign(tp for tp in after.assignment if tp not in waiting)
            if self.consumer.store is not None:
                self.consumer.store.assign(after.assignment)
        if membership.changes_unread(before, after):
            fetcher.pending = membership.unread_partitions(after, self.consumer)
        fetcher.revoking = isinstance(after.member.reconciling, Reconciling)
        return step.effects

    def check(self) -> None:
        """Assert the invariants (in tests, and in debug runs of the world)."""
        state = self.state
        self.consumer.fetcher.check()
        assert set(self.consumer.positions.assigned) == set(state.assignment) - set(state.awaiting)
        assert len(set(state.assignment)) == len(state.assignment)
        assert (state.events_us is None) == (not state.events)


def _returned(effects: Effects) -> bool:
    return any(isinstance(effect, Return) for effect in effects)
