"""The application thread of a classic client: what it reads from the network, and the turns of its poll.

Source: ``ClassicKafkaConsumer.poll``, ``pollForFetches``, ``ConsumerNetworkClient.poll``.
"""

from __future__ import annotations

from functools import partial

from protocols.consumer import requests
from protocols.consumer.classic import application, duties, heartbeat, membership, turn
from protocols.consumer.classic.calm import POLL
from protocols.consumer.classic.phases import CommittingSync
from protocols.consumer.classic.responses import pump
from protocols.consumer.classic.state import ClientState, Consumer
from protocols.machine import CancelTimer, Effect, Return, Send, SetTimer, Step
from protocols.messages import FetchResponse

NO_RECORDS = Return(())


class ApplicationThread:
    """The state of one client, its poll, and the fetch responses that it has not read."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.state = turn.initial_state(consumer)
        self._calm = False
        self._settled = False
        """Whether it is calm but for responses that no thread has read yet."""

        self._awaits_round = False
        self._poll_until: int | None = None
        self._arrived: list[tuple[int, FetchResponse]] = []

    # -- what it reads from the network ----------------------------------------------------------

    def _pump_once(self, state: ClientState, now: int) -> Step[ClientState]:
        return self._absorb(state, now).then(lambda s: pump(s, self.consumer, now))

    def _absorb(self, state: ClientState, until_us: int) -> Step[ClientState]:
        """Buffer the fetch responses that arrived by ``until_us``."""
        step = Step(state)
        while self._arrived and self._arrived[0][0] <= until_us:
            _, response = self._arrived.pop(0)
            step = step.then(partial(self._buffer, response=response, now=until_us))
        return step

    def _buffer(self, state: ClientState, response: FetchResponse, now: int) -> Step[ClientState]:
        """Buffer the records of a response; after an error the next turn checks the positions."""
        failed = self.consumer.fetcher.arrived(response)
        if not failed:
            return Step(state)
        self._calm = self._settled = False
        return requests.on_fetch_failed(state, self.consumer, failed, now)

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
        effects = self._become(self._absorb(self.state, now))
        step = turn.take_turn(self.state, self.consumer, now, until)
        if turn.interrupted(step):
            self._poll_until = None
        return effects + self._become(step)

    def _collect(self, now: int, until: int) -> tuple[Effect, ...]:
        """Return records if there are any, else wait for the network."""
        fetcher, beat = self.consumer.fetcher, self.state.beat
        effects: tuple[Effect, ...] = ()
        if self._arrived and beat is not None:
            tick = heartbeat.last_tick(beat, self.consumer, now)
            effects = self._become(self._absorb(self.state, tick))
        handed = fetcher.collect(self.consumer.settings.max_poll_records)
        if not handed and (self._arrived or self.state.inbox):
            effects += self._become(self._pump_once(self.state, now))
            if effects or not self._calm:
                return effects + self._again(now)
            handed = fetcher.collect(self.consumer.settings.max_poll_records)
        if not handed and self.state.reads.out_of_range:
            thrown = self._become(requests.throw_out_of_range(self.state, self.consumer))
            if thrown:
                self._poll_until = None
                return effects + thrown
        requests_now = fetcher.requests(now)
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
            fetcher.pending = frozenset()
        fetcher.revoking = after.revoking or duties.holds_records(after, self.consumer)
        self._settled = duties.settled(after, self.consumer)
        was_calm, self._calm = self._calm, self._settled and not duties.has_responses(after)
        self._awaits_round = duties.awaits_round(after, self.consumer)
        if self._calm and not was_calm:
            return (*step.effects, CancelTimer(membership.RETRY))
        return step.effects
