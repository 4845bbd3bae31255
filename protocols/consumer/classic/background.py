"""A client of the classic protocol that works on its group in the background.

librdkafka, aiokafka and franz-go join, heartbeat, fetch and commit beside the application, which only
takes what is queued; the Java client does all that inside poll (:mod:`~protocols.consumer.classic.machine`).
State, requests and responses are the same; this class decides when they run, by the profile of the
client (:mod:`protocols.consumer.clients`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from protocols.consumer import committing, record_queue, requests
from protocols.consumer.calls import CloseOperation, Failed, IllegalCallError
from protocols.consumer.classic import (
    application,
    async_commits,
    commits,
    duties,
    membership,
    positions,
    rejoin,
    responses,
    thread,
)
from protocols.consumer.classic.next_join import NEXT_JOIN
from protocols.consumer.classic.periods import Recurring, moves_requests, relative_state
from protocols.consumer.classic.phases import (
    Calling,
    CommittingSync,
    Joining,
    Outside,
    PrepareDone,
    PrepareNeeded,
    Synced,
)
from protocols.consumer.classic.state import ClientState, Consumer, Membership
from protocols.consumer.clients import CommitClock, InRebalance, Runs
from protocols.consumer.fetch_buffer import NO_PARTITIONS
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.reader import MS, next_tick
from protocols.facts import CommitKind
from protocols.machine import Call, Effect, Return, SetTimer, Step
from protocols.messages import Envelope, OffsetToCommit
from protocols.values import replace

POLL: Final = "poll"
"""Timer: the application's call returns without records."""


_STEADY: Final = (Membership.STABLE, Membership.USER_ASSIGNED)

_WAKES: Final = frozenset(
    {POLL, membership.RETRY, NEXT_JOIN, committing.AUTO_COMMIT, record_queue.FETCH}
)
"""The timers whose only effect is that the client looks what it can do."""


class BackgroundClient(Recurring):
    """The client side of the classic protocol for one consumer, with a thread of its own."""

    def __init__(self, consumer: Consumer, limit: int) -> None:
        """Create the client of a new process; *limit*: records of one call."""
        self.consumer = consumer
        self.state = thread.initial_state(consumer)
        self._limit = limit
        self._created = False
        self._poll_until: int | None = None
        self._done: ClientState | None = None
        """The state in which all is done but what :func:`duties.background_due_us` awaits."""

        self._due_us = 0
        self._thrown: Failed | None = None
        """The exception of the next poll."""

        self._close: Callable[[int], Step[ClientState]] | None = None
        """What closes when the listener call has returned."""

        self._listened: tuple[Call, Failed | None] | None = None
        """A listener call that returned while the application waits in a commit."""

    # -- the application's calls ---------------------------------------------------------------

    def poll(self, now: int, timeout_us: int) -> Step[ClientState]:
        """Take records; the step contains ``Return(records)``, or the machine returns later."""
        self._poll_until = now + timeout_us
        effects = () if self._created else self._create(now)
        if self.consumer.store is not None:
            self.consumer.store.polling()
        return Step(self.state, effects + self._advance(now))

    def _create(self, now: int) -> tuple[Effect, ...]:
        """Start the clock of automatic commits with the consumer."""
        self._created = True
        step = committing.begin_interval(self.state, self.consumer, now)
        self.state = step.state
        return step.effects

    def store(self, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Store offsets of the application for the next automatic commit."""
        assert self.consumer.store is not None, "the client has an offset store"
        self.consumer.store.store(offsets, self.consumer.positions)

    def commit_sync(self, now: int, offsets: committing.GivenOffsets = None) -> Step[ClientState]:
        """Commit and wait; None commits what an automatic commit would. Ends in ``Return``."""
        wanted = committing.given_offsets(self.consumer, offsets)
        step = application.commit_sync(self.state, self.consumer, wanted, now)
        return self._took(step, now)

    def commit_async(self, now: int, offsets: committing.GivenOffsets = None) -> Step[ClientState]:
        """Commit without waiting; None commits what an automatic commit would."""
        wanted = committing.given_offsets(self.consumer, offsets)
        step = application.commit_async(self.state, self.consumer, wanted, now)
        return self._took(step, now)

    def close(
        self, now: int, timeout_us: int, operation: CloseOperation = CloseOperation.DEFAULT
    ) -> Step[ClientState]:
        """Close with final commit, listener call and LeaveGroup; ends in ``Return(Closed())``.

        A listener call beside the application ends first (aiokafka: ``GroupCoordinator.close`` awaits
        its task; franz-go: ``LeaveGroup`` waits until ``manage`` is done).
        """
        self._poll_until = None
        if isinstance(self.state.app, Calling | CommittingSync):
            self._close = partial(self.close, timeout_us=timeout_us, operation=operation)
            return Step(self.state)
        step = application.begin_close(self.state, self.consumer, timeout_us, operation, now)
        return self._took(step, now)

    def subscribe(self, now: int, topics: tuple[str, ...]) -> Step[ClientState]:
        """Replace the subscription with these topics; the client joins with them."""
        self.consumer = replace(self.consumer, topics=topics, matches=None)
        step = membership.change_subscription(self.state, self.consumer, now)
        self.consumer.fetcher.pending = membership.unsubscribed_partitions(step.state)
        return self._took(step, now)

    def unsubscribe(self, now: int) -> Step[ClientState]:
        """Drop the subscription; ends in ``Return``."""
        return self._took(application.unsubscribe(self.state, self.consumer, now), now)

    def called(self, call: Call, now: int, threw: Failed | None = None) -> Step[ClientState]:
        """Continue after a listener call returned, or threw."""
        calling = self.state.app
        if isinstance(calling, CommittingSync):
            self._listened = (call, threw)
            return Step(self.state)
        if not isinstance(calling, Calling):
            raise IllegalCallError(f"no listener call is running: {call}")
        if threw is not None and self._polls_listener and calling.poll_until_us is not None:
            step = rejoin.on_listener_threw(self.state, self.consumer, call, threw, now)
        else:
            step = thread.after_call(self.state, self.consumer, calling, call, now)
        close, self._close = self._close, None
        if close is not None:
            return Step(self.state, self._become(step) + close(now).effects)
        return self._took(step, now)

    # -- for a host that runs the poll loop itself ------------------------------------------------

    def calm(self, now: int) -> None:
        """Return None: the loop of this client is not computed by arithmetic."""
        del now

    @property
    def is_at_rest(self) -> bool:
        """Whether only records, a heartbeat or a commit can happen next, or their responses arrive."""
        if self._thrown or self._close or self._listened or self.state.pending_commits:
            return False
        calm = duties.settled(self.state, self.consumer) and self.consumer.fetcher.undisturbed
        return calm and moves_requests(self.state)

    def relative(self, now: int) -> tuple[object, ...]:
        """Return what a client at rest does from *now* on."""
        return relative_state(self.state, self.consumer, self._poll_until, [], now)

    # -- responses and timers ----------------------------------------------------------------------

    def handle(self, envelope: Envelope, now: int) -> Step[ClientState]:
        """Handle a response at once, whatever the application does."""
        return self._took(responses.respond(self.state, self.consumer, envelope, now), now)

    def wake(self, timer: str, now: int) -> Step[ClientState]:
        """Handle the end of a timer."""
        if timer in _WAKES:
            return self._took(Step(self.state), now)
        if not thread.is_awaited(self.state, timer, now):
            return Step(self.state, self._become(thread.rearmed(self.state, timer)))
        return self._took(thread.TIMERS[timer](self.state, self.consumer, now), now)

    # -- the background ----------------------------------------------------------------------------

    @property
    def _polls_listener(self) -> bool:
        """Whether rebalance callbacks wait for the application's next poll."""
        by_profile = self.consumer.profile.listener is Runs.IN_POLL
        return by_profile or self.consumer.own.block_rebalance_on_poll

    def _took(self, step: Step[ClientState], now: int) -> Step[ClientState]:
        """Apply a step, and continue with what it made possible."""
        effects = self._become(step)
        if self._is_done(now):
            return Step(self.state, effects + self._take_turn(now))
        effects += self._become(responses.pump(self.state, self.consumer, now))
        if isinstance(self.state.coordinator, Known):
            effects += self._become(async_commits.send_pending(self.state, self.consumer, now))
        if isinstance(self.state.app, CommittingSync):
            effects += self._become(application.advance_commit_sync(self.state, self.consumer, now))
        if self._listened is not None and isinstance(self.state.app, Calling):
            (call, threw), self._listened = self._listened, None
            return Step(self.state, effects + self.called(call, now, threw).effects)
        effects += self._become(application.advance_close(self.state, self.consumer, now))
        return Step(self.state, effects + self._advance(now))

    def _advance(self, now: int) -> tuple[Effect, ...]:
        """Work on the group, fetch, and return records if the application waits for some.

        While the application waits in commitSync, records are fetched and timers run on.
        """
        if isinstance(self.state.app, CommittingSync):
            return self._become(self._commit_if_due(self.state, now)) + self._fetch(now)
        if not isinstance(self.state.app, Outside):
            return ()
        return self._take_turn(now)

    def _take_turn(self, now: int) -> tuple[Effect, ...]:
        """Work on the group, as far as something is to be done; then fetch, and return records."""
        if self._poll_until is not None:
            self.consumer.clock.polled_us = now
        if self._is_done(now):
            return self._hand_over(now)
        before = self.state
        effects = self._become(self._work(now))
        if not isinstance(self.state.app, Outside):
            return effects
        if self.state is before:
            self._done, self._due_us = before, duties.background_due_us(before, self.consumer)
        return effects + self._hand_over(now)

    def _is_done(self, now: int) -> bool:
        """Return whether nothing has happened since all was done, and nothing is due."""
        done = self.state is self._done and now < self._due_us
        return done and duties.reads_all(self.consumer.positions)

    def _work(self, now: int) -> Step[ClientState]:
        """Advance metadata, the coordinator lookup, the join, the commit and the positions."""
        state, consumer = self.state, self.consumer
        if duties.without_subscription(state) or state.commit_fenced or state.heartbeat_failure:
            return Step(state)
        state = membership.note_new_metadata(state, consumer)
        step = membership.refresh_metadata(state, consumer, now)
        step = step.then(lambda s: async_commits.run_callbacks(s, consumer, now))
        if step.state.autocommit_us != state.autocommit_us:
            step = step.also(SetTimer(committing.AUTO_COMMIT, step.state.autocommit_us))
        if isinstance(step.state.coordinator, Unknown) and consumer.group_id:
            step = step.then(lambda s: requests.look_up(s, consumer, now))
            if state.membership is not Membership.USER_ASSIGNED:
                return step
        if rejoin.needed(step.state) and self._may_join(step.state):
            step = step.then(lambda s: self._join(s, now))
            if thread.interrupted(step):
                return step
        step = step.then(lambda s: self._commit_if_due(s, now))
        if not rejoin.needed(step.state) or not self._prepared(step.state):
            step = step.then(lambda s: positions.update_positions(s, consumer, now))
        if consumer.positions.leaderless:
            return step.then(lambda s: membership.request_metadata(s, consumer, now))
        return step

    def _may_join(self, state: ClientState) -> bool:
        """Return whether the join can go on now: it may have to wait for a poll.

        Callbacks may run only there. A callback that threw is called again in the next poll.
        """
        if self._thrown is not None and isinstance(state.future, Synced):
            return False
        if not self._polls_listener or self._poll_until is not None:
            return True
        if isinstance(state.future, Synced):
            return False
        if state.future is not None or isinstance(state.prepare, PrepareDone):
            return True
        return rejoin.call_before_joining(state, self.consumer) is None

    def _join(self, state: ClientState, now: int) -> Step[ClientState]:
        """Advance the join; its automatic commit waits for the commits before it.

        Records are no longer returned meanwhile (aiokafka ``_on_join_prepare``).
        """
        begins = isinstance(state.prepare, PrepareNeeded)
        if begins and self.consumer.settings.enable_auto_commit:
            if commits.holds_join(state, self.consumer):
                return Step(replace(commits.queue_join(state), revoking=True))
            state = commits.without_turn_of_join(state)
        # A poll of the application has a timer of its own; here it only matters that there is one.
        return thread.join(state, self.consumer, now, poll_until_us=now)

    @staticmethod
    def _prepared(state: ClientState) -> bool:
        """Return whether a rebalance has taken partitions away: nothing is read until its end."""
        return not isinstance(state.prepare, PrepareNeeded) or isinstance(state.future, Joining)

    def _commit_if_due(self, state: ClientState, now: int) -> Step[ClientState]:
        """Send the automatic commit if it is due and the member is in no rebalance."""
        settings = self.consumer.settings
        if not settings.enable_auto_commit or now < state.autocommit_us:
            return Step(state)
        if commits.holds_automatic(state, self.consumer):
            return Step(state)
        interval = settings.auto_commit_interval_ms * MS
        steady = state.membership in _STEADY and not rejoin.needed(state)
        profile = self.consumer.profile
        if not steady and profile.in_rebalance is InRebalance.WAITS:
            return Step(state)  # the commit of this tick follows when the member has joined
        if profile.commit_clock is CommitClock.TICKS:
            due = next_tick(state.autocommit_us, interval, now)
        elif steady:
            due = now + max(interval, MS)
        else:
            return Step(state)
        step = Step(replace(state, autocommit_us=due), (SetTimer(committing.AUTO_COMMIT, due),))
        if not steady:
            return step
        if commits.is_behind_others(state, self.consumer):
            return step.then(lambda s: Step(commits.queue_automatic(s, CommitKind.AUTO)))
        return step.then(
            lambda s: async_commits.commit_automatically(s, self.consumer, CommitKind.AUTO, now)
        )

    # -- records -----------------------------------------------------------------------------------

    def _hand_over(self, now: int) -> tuple[Effect, ...]:
        """Return queued records to a waiting application, and fetch."""
        effects = self._end_poll(now)
        return self._fetch(now) + effects

    def _fetch(self, now: int) -> tuple[Effect, ...]:
        return record_queue.fill(self.consumer.fetcher, now)

    def _end_poll(self, now: int) -> tuple[Effect, ...]:
        """Return what the application's poll returns or throws; it waits on if that is nothing."""
        until = self._poll_until
        if until is None:
            return ()
        found = self._failure() or self._taken() or self._off_its_log()
        if not found and now < until:
            return (SetTimer(POLL, until),)
        self._poll_until = None
        return (Return(found or ()),)

    def _taken(self) -> tuple[object, ...]:
        return record_queue.take(self.consumer.fetcher, self.consumer.store, self._limit)

    def _failure(self) -> Failed | None:
        """Return the exception that this poll throws, if there is one."""
        thrown, self._thrown = self._thrown, None
        if thrown is not None:
            return thrown
        if self.state.heartbeat_failure is not None:
            failed = self.state.heartbeat_failure
            self.state = replace(self.state, heartbeat_failure=None)
            return failed
        return self.state.commit_fenced

    def _off_its_log(self) -> Failed | None:
        """Return the exception for a position out of range that no policy resets."""
        if not self.state.reads.out_of_range:
            return None
        self._become(requests.throw_out_of_range(self.state, self.consumer))
        return self._failure()

    def _become(self, step: Step[ClientState]) -> tuple[Effect, ...]:
        """Store the state of a step; keep an exception for the next poll."""
        before, after = self.state, step.state
        self.state = after
        fetcher = self.consumer.fetcher
        if after.assignment is not before.assignment:
            fetcher.assign(after.assignment)
            fetcher.pending = NO_PARTITIONS
            if self.consumer.store is not None:
                self.consumer.store.assign(after.assignment)
        fetcher.revoking = after.revoking
        return tuple([effect for effect in step.effects if not self._keeps(effect)])

    def _keeps(self, effect: Effect) -> bool:
        """Keep an exception that the background found; return whether the effect is one."""
        if not isinstance(effect, Return) or not isinstance(effect.value, Failed):
            return False
        self._thrown = effect.value
        return True

    def check(self) -> None:
        """Assert the invariants (in tests, and in debug runs of the world)."""
        self.consumer.fetcher.check()
        assert set(self.consumer.positions.assigned) == set(self.state.assignment)
