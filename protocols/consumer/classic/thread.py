"""The application thread of a classic client: turns of its poll, listener calls, timers, what it reads.

A turn advances the coordinator lookup, the join and the positions, in this order, up to the records.

Source: ``ClassicKafkaConsumer.poll``, ``updateAssignmentMetadataIfNeeded``, ``pollForFetches``,
``ConsumerCoordinator.poll``, ``ConsumerNetworkClient.poll``.
"""

from __future__ import annotations

from collections.abc import Callable

from protocols.consumer import metadata, offset_fetcher, requests
from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.classic import (
    application,
    async_commits,
    duties,
    heartbeat,
    membership,
    next_join,
    positions,
    rejoin,
)
from protocols.consumer.classic.calm import POLL
from protocols.consumer.classic.phases import (
    Calling,
    CommittingSync,
    JoinFailed,
    Outside,
    Resume,
    Synced,
)
from protocols.consumer.classic.responses import on_disconnected, pump, respond
from protocols.consumer.classic.state import ClientState, Consumer, Membership
from protocols.consumer.fetch_buffer import NO_PARTITIONS
from protocols.consumer.lookup import LOOKUP, Unknown
from protocols.consumer.requests import (
    REQUESTS,
    look_up,
    on_metadata_timer,
    on_request_timeout,
    rearm_request_timer,
    timed_out_brokers,
)
from protocols.machine import Call, CancelTimer, Effect, Return, Send, SetTimer, Step, in_turn
from protocols.messages import Envelope, FetchResponse
from protocols.values import replace


def initial_state(consumer: Consumer) -> ClientState:
    """Return the state of a consumer that has subscribed and never polled."""
    state = membership.watch_topics(ClientState(), consumer, frozenset())
    if consumer.assigned is not None:
        offset_fetcher.assign(consumer, consumer.assigned)
        return replace(
            state, membership=Membership.USER_ASSIGNED, rejoin=None, assignment=consumer.assigned
        )
    return replace(state, subscribed=metadata.subscribed_topics(consumer, state.metadata))


def take_turn(
    state: ClientState, consumer: Consumer, now: int, poll_until_us: int
) -> Step[ClientState]:
    """Run one turn; afterwards the application thread may be in a listener call."""
    if duties.without_subscription(state):
        failed = Failed(ExceptionName.ILLEGAL_STATE, message="nothing is subscribed")
        return Step(state, (Return(failed),))
    if state.commit_fenced is not None:
        return Step(state, (Return(state.commit_fenced),))
    if state.heartbeat_failure is not None:
        return Step(replace(state, heartbeat_failure=None), (Return(state.heartbeat_failure),))
    state = membership.note_new_metadata(state, consumer)
    step = in_turn(_FIRST_DUTIES, state, consumer, now)
    if isinstance(step.state.coordinator, Unknown):
        step = step.then(lambda s: pump(s, consumer, now))
    if duties.needs_coordinator(step.state, consumer):
        step = step.then(lambda s: look_up(s, consumer, now))
        if step.state.membership is not Membership.USER_ASSIGNED:
            return step
    if rejoin.needed(step.state):
        step = step.then(lambda s: join(s, consumer, now, poll_until_us))
        if rejoin.needed(step.state) or interrupted(step):
            return step
    step = step.then(lambda s: in_turn(_LAST_DUTIES, s, consumer, now))
    if consumer.positions.leaderless:
        return step.then(lambda s: membership.request_metadata(s, consumer, now))
    return step


def interrupted(step: Step[ClientState]) -> bool:
    """Return whether the turn ended in a listener call or threw."""
    if isinstance(step.state.app, Calling):
        return True
    return any(isinstance(effect, Return) for effect in step.effects)


def wake_heartbeat(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Wake the heartbeat thread if a heartbeat is due; the thread may still be late.

    A poll that waits for a coordinator holds the lock that the thread needs
    (``AbstractCoordinator.ensureCoordinatorReady``).
    """
    if state.beat is None or now < state.beat.due_us or isinstance(state.coordinator, Unknown):
        return Step(state)
    due = state.beat.due_us
    late_us = max(0, due + consumer.late(due) - now)
    return heartbeat.turn(state, consumer, now, late_us)


_FIRST_DUTIES = (membership.refresh_metadata, async_commits.run_callbacks, wake_heartbeat)
"""What a turn does before it looks the coordinator up, or joins."""

_LAST_DUTIES = (async_commits.autocommit_due, positions.update_positions)


def beat(
    state: ClientState, consumer: Consumer, now: int, response: Envelope | None
) -> Step[ClientState] | None:
    """Let the heartbeat thread send a heartbeat, or take the *response* to one; None: it does more."""
    if response is not None:
        return respond(state, consumer, response, now)
    return heartbeat.beat_only(state, consumer, now)


def drop_late_join(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Let the poll that begins join again, if a join ended, well or not, when no poll waited for it.

    The thread of the network has handled its last response. The Java client's poll applies that join
    (``joinGroupIfNeeded``); that of kafka-python awaits only a join that has not ended
    (``join_group_async``), so it sends another JoinGroup: that of a leader makes the group rebalance.
    """
    if consumer.profile.takes_late_joins or state.future is None:
        return Step(state)
    step = pump(state, consumer, now)
    if not isinstance(step.state.future, Synced | JoinFailed):
        return step
    return Step(membership.request_rejoin(replace(step.state, future=None), ""), step.effects)


def join(state: ClientState, consumer: Consumer, now: int, poll_until_us: int) -> Step[ClientState]:
    """Handle the responses that have arrived, then take the next step of the join; never wait.

    A pattern subscriber first requests fresh metadata, as often as the back-off allows, and waits
    for it, so that most members see a new topic in one rebalance (``ConsumerCoordinator.poll``).
    """
    step = Step(state)
    if consumer.topics is None:
        if now >= state.metadata.retry_us:
            step = membership.request_metadata(state, consumer, now)
        if step.state.metadata.in_flight is not None:
            return step
    step = step.then(lambda s: pump(membership.note_new_metadata(s, consumer), consumer, now))
    return step.then(lambda s: rejoin.advance(s, consumer, now, poll_until_us))


# -- listener calls -------------------------------------------------------------------------------


def after_call(
    state: ClientState, consumer: Consumer, calling: Calling, call: Call, now: int
) -> Step[ClientState]:
    """Continue after a listener call returned."""
    match calling.resume:
        case Resume.JOIN:
            return rejoin.on_prepared(state, consumer, call.partitions, now)
        case Resume.REVOKED:
            return rejoin.on_revoked(state, consumer, calling, now)
        case Resume.ASSIGNED:
            return heartbeat.on_assigned(replace(state, app=Outside()), consumer, now)
        case Resume.CLOSE:
            assert calling.closing is not None
            return application.commit_and_leave(state, consumer, calling.closing, now)
        case Resume.UNSUBSCRIBE:
            return membership.leave_after_unsubscribe(state, consumer, now)


def _on_request_timeout(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    return on_request_timeout(state, lambda s, node: on_disconnected(s, consumer, node, now), now)


def _on_lookup_timer(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look the coordinator up, because the back-off ended or the request timed out."""
    if not isinstance(state.coordinator, Unknown):
        return Step(state)
    if state.coordinator.lookup is not None:
        consumer.fetcher.drop_silent(state.coordinator.asked_broker)
        return heartbeat.on_lookup_failed(state, consumer, now)
    return look_up(state, consumer, now)


def _on_heartbeat_timer(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Run one turn of the heartbeat thread: pump, then check its deadlines."""
    step = pump(state, consumer, now)
    return step.then(lambda s: heartbeat.turn(s, consumer, now))


def is_awaited(state: ClientState, timer: str, now: int) -> bool:
    """Return whether a timer that fires now matters: what set it may have ended in time."""
    if timer == REQUESTS:
        return bool(timed_out_brokers(state, now))
    if timer == LOOKUP:
        return isinstance(state.coordinator, Unknown)
    if timer == heartbeat.HEARTBEAT:
        return state.beat is not None
    return timer != application.COMMIT_SYNC or isinstance(state.app, CommittingSync)


def rearmed(state: ClientState, timer: str) -> Step[ClientState]:
    """Set a timer that nothing awaited again, if other requests are in flight."""
    if timer != REQUESTS:
        return Step(state)
    return rearm_request_timer(state)


def _no_action(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Do nothing; the waiting call continues after every timer."""
    del consumer, now
    return Step(state)


TIMERS: dict[str, Callable[[ClientState, Consumer, int], Step[ClientState]]] = {
    heartbeat.HEARTBEAT: _on_heartbeat_timer,
    next_join.JOIN_SESSION: next_join.on_session_end,
    REQUESTS: _on_request_timeout,
    LOOKUP: _on_lookup_timer,
    metadata.METADATA: on_metadata_timer,
    application.COMMIT_SYNC: _no_action,
    application.CLOSE: _no_action,
}
"""Handlers by timer name; the machine handles the timers of a waiting poll itself."""


# -- the thread ------------------------------------------------------------------------------------

NO_RECORDS = Return(())


class ApplicationThread:
    """The state of one client, its poll, and the fetch responses that it has not read."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        consumer.fetcher.throws_out_of_range = consumer.settings.auto_offset_reset == "none"
        self.state = initial_state(consumer)
        self._calm = False
        self._settled = False
        """Whether it is calm but for responses that no thread has read yet."""

        self._awaits_round = False
        self._poll_until: int | None = None
        self._arrived: list[tuple[int, FetchResponse]] = []

    # -- what it reads from the network ----------------------------------------------------------

    def _pump_once(self, state: ClientState, now: int) -> Step[ClientState]:
        self._absorb(now)
        return pump(state, self.consumer, now)

    def _absorb(self, until_us: int) -> None:
        """Buffer the fetch responses that arrived by ``until_us``."""
        while self._arrived and self._arrived[0][0] <= until_us:
            self._buffer(self._arrived.pop(0)[1])

    def _buffer(self, response: FetchResponse) -> None:
        """Buffer the records of a response; with an error the client is not calm."""
        fetcher = self.consumer.fetcher
        fetcher.arrived(response)
        if fetcher.has_errors:
            self._calm = self._settled = False

    # -- the poll loop ---------------------------------------------------------------------------

    def _turn(self, now: int) -> tuple[Effect, ...]:
        """Run the poll loop until poll returns, waits, or makes a listener call."""
        until = self._poll_until
        assert until is not None
        duties.begin_turn(self.state, self.consumer, now)
        if self._skips_group(now):
            return self._collect(now, until)
        return self._group_turn(now, until) + self._after_group(now)

    def _after_group(self, now: int) -> tuple[Effect, ...]:
        """Return records, or wait, after the group's part of a turn."""
        until = self._poll_until
        if until is None:
            return ()
        collects = now >= until or duties.may_collect(self.state, self.consumer)
        return self._collect(now, until) if collects else (SetTimer(POLL, until),)

    def _skips_group(self, now: int) -> bool:
        """Return whether the group's part of a turn would do nothing."""
        if self._calm:
            return now < duties.due_us(self.state, self.consumer)
        awaits = self._awaits_round and not self._arrived
        return awaits and now < duties.round_due_us(self.state, self.consumer)

    def _group_turn(self, now: int, until: int) -> tuple[Effect, ...]:
        if self._skips_group(now):
            return ()
        self._absorb(now)
        step = take_turn(self.state, self.consumer, now, until)
        if interrupted(step):
            self._poll_until = None
        return self._become(step)

    def _collect(self, now: int, until: int, *, ends_wait: bool = False) -> tuple[Effect, ...]:
        """Return records if there are any, else wait for the network.

        *ends_wait*: they, or an error, have just arrived; some clients send no fetches behind them.
        """
        fetcher = self.consumer.fetcher
        effects: tuple[Effect, ...] = ()
        if self._arrived:
            beat = self.state.beat
            assert beat is not None, "only a calm client leaves them to its heartbeat thread"
            at_once = self.consumer.profile.fetches_when_drained
            tick = now if at_once else heartbeat.last_tick(beat, self.consumer, now)
            self._absorb(tick)
        handed = fetcher.collect(self.consumer.settings.max_poll_records)
        if not handed and (self._arrived or self.state.inbox):
            effects += self._become(self._pump_once(self.state, now))
            if effects or not self._calm:
                return effects + self._again(now)
            handed = fetcher.collect(self.consumer.settings.max_poll_records)
        if refused := fetcher.take_refused():
            step = requests.on_fetch_failed(self.state, self.consumer, refused, now)
            effects += self._become(step)
        if not handed and self.state.reads.out_of_range:
            thrown = self._become(requests.throw_out_of_range(self.state, self.consumer))
            if thrown:
                self._poll_until = None
                return effects + thrown
        if ends_wait and not handed:
            return effects + self._again(now)
        fetches = not (handed and ends_wait and self.consumer.profile.fetches_when_drained)
        requests_now = fetcher.requests(now) if fetches else []
        sends = effects + tuple([Send(*each) for each in requests_now]) if requests_now else effects
        if handed:
            self._poll_until = None
            self.consumer.clock.leave(now, leaves_unread=bool(self._arrived))
            return (*sends, Return(handed))
        if now >= until:
            self._poll_until = None
            return (*sends, NO_RECORDS)
        ready = fetcher.next_ready_us(now)
        until = until if ready is None else min(until, ready)
        self.consumer.clock.wait(now)
        until = duties.wait_until_us(self.state, self.consumer, until, is_calm=self._calm)
        return (*sends, SetTimer(POLL, until))

    def _again(self, now: int) -> tuple[Effect, ...]:
        """Run the poll loop once more, because a response changed the state."""
        return () if self._poll_until is None else self._turn(now)

    # -- applying a step -------------------------------------------------------------------------

    def _took(self, step: Step[ClientState], now: int) -> Step[ClientState]:
        """Apply a step and continue the call that waits."""
        effects = self._become(step)
        if Return in map(type, effects):
            self._poll_until = None
        elif self._poll_until is not None:
            effects += self._turn(now)
        else:
            if isinstance(self.state.app, CommittingSync):
                after = application.advance_commit_sync(self.state, self.consumer, now)
                effects += self._become(after)
            effects += self._become(application.advance_close(self.state, self.consumer, now))
        return Step(self.state, effects)

    def _become(self, step: Step[ClientState]) -> tuple[Effect, ...]:
        """Store the state of a step; update the data plane if the assignment changed.

        A client that has become calm retries nothing.
        """
        before, after = self.state, step.state
        if after is before:
            return step.effects
        self.state = after
        fetcher = self.consumer.fetcher
        if after.assignment is not before.assignment:
            fetcher.assign(after.assignment)
            fetcher.pending = NO_PARTITIONS
        fetcher.revoking = after.revoking or duties.holds_records(after, self.consumer)
        self._settled = duties.settled(after, self.consumer)
        was_calm, self._calm = self._calm, self._settled and not duties.has_responses(after)
        self._awaits_round = duties.awaits_round(after, self.consumer)
        if self._calm and not was_calm:
            return (*step.effects, CancelTimer(membership.RETRY))
        return step.effects
