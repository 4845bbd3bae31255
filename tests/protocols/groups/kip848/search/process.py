"""A client of the tiny world with its application."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple, Self

from assignors.types import TopicPartition
from protocols.consumer.calls import Closed
from protocols.consumer.fetching import CLOSES_SESSION
from protocols.consumer.kip848.heartbeat import HEARTBEAT
from protocols.consumer.kip848.member import Membership, MemberState, Reconciling
from protocols.consumer.kip848.threads import Outside
from protocols.consumer.metadata import METADATA
from protocols.consumer.requests import REQUESTS
from protocols.messages import (
    FetchedOffset,
    FetchRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

from ....consumer.kip848.driver import ClientDriver, Sent
from ..driver import IDS
from .likeness import AHEAD_US, Likeness, assignments_of, numbers_of
from .parties import TOPICS, Party, by_name

NEVER_MS = 1_000_000_000
"""What runs out after this runs out only when the search says so."""


class Client(NamedTuple):
    """The part of a client that the laws and the search see."""

    state: MemberState
    epoch: int
    owns: frozenset[TopicPartition]
    coming: frozenset[TopicPartition]
    """The partitions assigned to it, or about to be."""

    late: frozenset[TopicPartition]
    """The partitions that it takes over when it polls, also if it has been fenced meanwhile."""

    assigned: frozenset[TopicPartition]
    """The partitions its listener was called with."""

    is_over: bool
    """It was closed, or died of an error: it does nothing any more."""

    polls: bool
    """It may poll now, or not."""

    is_busy: bool
    """It polls as soon as it comes back, and not before."""

    may_close: bool
    timer: tuple[str, str] | None
    """The move by which the timer runs out that is next, if one is."""

    waits: bool
    """An answer of the coordinator is outstanding."""


class Process(Party, ClientDriver):
    """A client and its application.

    An *eager* application polls all the time, unless it is busy; another polls when it likes.
    """

    def __init__(self, name: str, *, eager: bool, **settings: Any) -> None:
        super().__init__(
            member_id=name,
            topics=TOPICS,
            subscribe=tuple(TOPICS),
            max_poll_interval_ms=NEVER_MS,
            auto_commit_interval_ms=100 * NEVER_MS,
            metadata_max_age_ms=100 * NEVER_MS,
            **settings,
        )
        self.topic_ids = {name: IDS[name] for name in TOPICS}
        self.owns: frozenset[TopicPartition] = frozenset()
        self.over = False
        self.eager = eager
        self.busy = eager

    def copied(self) -> Self:
        twin = copy.copy(self)
        machine = copy.copy(self.client)
        fetcher = copy.deepcopy(self.client.consumer.fetcher)
        machine.consumer = replace(self.client.consumer, fetcher=fetcher)
        twin.client = machine
        twin.timers, twin.sent = dict(self.timers), list(self.sent)
        twin.history, twin.calls, twin.returned, twin.facts = [], [], [], []
        twin._effects = copy.copy(self._effects)
        return twin

    def likeness(self) -> Hashable:
        machine, state = self.client, self.state
        like = Likeness(self.now_us, numbers_of(state), assignments_of(state))
        beats = state.beat.number is not None
        beat = state.beat
        if beats:  # whether the next one goes out at once counts, not when
            due = self.now_us + (beat.due_us > self.now_us)
            beat = beat._replace(due_us=due, retry_us=self.now_us + (beat.retry_us > self.now_us))
        state = replace(state, beat=beat, poll_due_us=0, autocommit_us=0, request_timer_us=None)
        state = replace(state, member=_whenever(state.member))
        timers = {n: like.moment(at) for n, at in self.timers.items() if n not in _NOT_TIMERS}
        timers.pop(HEARTBEAT, None)
        return (
            like.of(state),
            like.of(machine.consumer.fetcher) if self.settings.enable_auto_commit else None,
            like.of(timers),
            (machine._wait.name, machine._answered, machine._taking is None),
            (self.owns, self.over, self.busy, machine.consumer.topics),
            tuple(type(sent.message).__name__ for sent in self.sent),
        )

    def seen(self) -> Client:
        member = self.state.member
        over = self.over or self.state.fatal_error is not None
        taking = getattr(member.reconciling, "assigned", ())
        return Client(
            state=member.state,
            epoch=member.epoch,
            owns=frozenset(self.state.assignment),
            coming=by_name(member.target.partitions).union(taking),
            late=frozenset().union(*(each.partitions for each in self.state.needed)),
            assigned=self.owns,
            is_over=over,
            polls=not over and not self.eager and isinstance(self.state.app, Outside),
            is_busy=self.busy and not over,
            may_close=not over and isinstance(self.state.app, Outside),
            timer=None if over else self._next_timer(),
            waits=bool(self.sent),
        )

    def _next_timer(self) -> tuple[str, str] | None:
        waits = {HEARTBEAT} if self.state.beat.number is not None else set()
        due = [(at, n) for n, at in self.timers.items() if n not in _NOT_TIMERS | waits]
        at, name = min(due, default=(NEVER_MS, ""))
        return ("timer", name) if name and at - self.now_us < AHEAD_US else None

    def moved(self, move: Any) -> tuple[Any, ...]:
        match move:
            case "polls":
                self.poll()
            case "closes":
                self.close()
            case "reads t alone":
                self.call(self.client.subscribe(self.now_us, ("t",)))
            case "is busy":
                self.busy = True
            case "comes back":
                self.busy = False
            case "does not poll in time":
                self._run_out(HEARTBEAT, self.state.poll_due_us)
            case "loses its connection":
                self.disconnect()
            case ("timer", name):
                self._run_out(name, self.timers[name])
            case _:
                self.respond(self.sent[0], move)
        if self.eager and not self.busy:
            self._poll_on()
        return tuple(sent.message for sent in self.history if sent in self.sent)

    def _poll_on(self) -> None:
        """Poll until that changes nothing any more."""
        before = None
        while before != _whenever(self.state.member) and isinstance(self.state.app, Outside):
            before = _whenever(self.state.member)
            self.poll()

    def _run_out(self, name: str, at_us: int) -> None:
        self.timers.pop(name, None)
        self.now_us = max(self.now_us, at_us)
        self.carry_out(self.client.wake(name, self.now_us))
        self.settle()

    def _sent(self, sent: Sent) -> None:
        """Nothing is ever produced: fetches are answered when their session is closed."""
        if not isinstance(sent.message, FetchRequest) or sent.message == CLOSES_SESSION:
            super()._sent(sent)

    def _automatic(self, message: Any) -> Any:
        """Answer at once where reading starts: membership does not depend on it."""
        if isinstance(message, OffsetFetchRequest):
            found = tuple(FetchedOffset(tp, 0) for tp in message.partitions or ())
            return OffsetFetchResponse(offsets=found)
        return super()._automatic(message)

    def _one_effect(self, effect: Any) -> None:
        name = type(effect).__name__
        if name == "Call":
            assigned = frozenset(effect.partitions)
            self.owns = (
                self.owns | assigned if effect.listener == "assigned" else self.owns - assigned
            )
        if name == "Return" and isinstance(effect.value, Closed):
            self.over = True
        super()._one_effect(effect)


_NOT_TIMERS = frozenset({REQUESTS, METADATA, "close", "commit-sync"})
"""Timers of what the search decides itself: a lost connection; or of what is never waited for."""


def _whenever(member: Membership) -> Membership:
    """Return a membership without the time of the last round: the timer of commits never runs out here."""
    if not isinstance(member.reconciling, Reconciling):
        return member
    return member._replace(reconciling=member.reconciling._replace(round_us=0))
