"""The background thread: what it does with an event, and in each of its rounds (spec kip848 3.1).

Source: ``ConsumerNetworkThread``, ``ApplicationEventProcessor``.
"""

from __future__ import annotations

from dataclasses import replace

from protocols.consumer import metadata
from protocols.consumer.asking import look_up, on_reads
from protocols.consumer.backoff import MS
from protocols.consumer.kip848 import (
    applying,
    commits,
    heartbeat,
    leaving,
    offsets,
    reconciliation,
    subscription,
)
from protocols.consumer.kip848.calls import (
    AwaitingCheck,
    Called,
    CommitWanted,
    Event,
    FetchesWanted,
    LeaveWanted,
    Polled,
    Purpose,
    Unsubscribed,
    makes_last_calls,
)
from protocols.consumer.kip848.joining import join
from protocols.consumer.kip848.membership import MemberState, Release
from protocols.consumer.kip848.release import released
from protocols.consumer.kip848.threads import Lag
from protocols.consumer.kip848.values import ClientState, Consumer, Progress
from protocols.consumer.lookup import Unknown
from protocols.machine import Send, SetTimer, Step

WOKEN = "woken"
"""Timer: the application thread goes on, having waited for records or for a check.

Timers of one instant run out by name: then the background thread is first.
"""


def take(state: ClientState, consumer: Consumer, event: Event, now: int) -> Step[ClientState]:
    """Take one event off the queue."""
    match event:
        case Polled():
            return _polled(state, consumer, event, now)
        case FetchesWanted():
            return _fetch(state, consumer, now)
        case CommitWanted():
            return commits.wanted(state, consumer, event, now)
        case Called():
            return _called(state, consumer, event, now)
        case Unsubscribed():
            return leaving.unsubscribe(state, consumer, now)
        case LeaveWanted(epoch):
            return leaving.leave(state, epoch)


# -- events ------------------------------------------------------------------------------------------


def _polled(state: ClientState, consumer: Consumer, event: Polled, now: int) -> Step[ClientState]:
    """Do what poll wants done: the seven steps of spec kip848 3.1."""
    step = reconciliation.advance(state, consumer, now, polled=True)
    step = step.then(lambda s: commits.interval_due(s, consumer, event.at_us, now))
    if isinstance(step.state.app, AwaitingCheck):
        step = step.also(SetTimer(WOKEN, now + consumer.lags(Lag.WAKE, now)))
    step = step.then(lambda s: Step(subscription.look(s, consumer)))
    step = step.then(_take_part)
    return step.then(lambda s: _look_at_positions(s, consumer, event, now))


def _take_part(state: ClientState) -> Step[ClientState]:
    """Join if the application has subscribed, or is back (steps 4 and 5).

    A pattern that matches no topic yet joins too: names follow when metadata have some.
    """
    member = state.member
    if member.state is MemberState.UNSUBSCRIBED:
        return Step(state) if state.subscribed is None else join(state)
    if member.state is not MemberState.STALE:
        return Step(state)
    if member.release is Release.DONE:
        return join(state)
    return Step(state.becoming(member._replace(release=Release.THEN_JOIN)))


def _look_at_positions(
    state: ClientState, consumer: Consumer, event: Polled, now: int
) -> Step[ClientState]:
    """Begin the poll interval anew; validate and initialise positions (steps 5 and 6).

    Fetches follow when that is done. An event that the application has given up does no more.
    """
    poll_due_us = event.at_us + consumer.settings.max_poll_interval_ms * MS
    slot = state.slot
    if slot is None:
        return Step(replace(state, poll_due_us=poll_due_us))
    failure = state.reads.validation_failure
    if failure is not None:
        slot = slot._replace(failed=slot.failed or failure)
        state = replace(state, reads=replace(state.reads, validation_failure=None))
    slot = slot._replace(progress=Progress.TAKEN)
    return offsets.look(replace(state, slot=slot, poll_due_us=poll_due_us), consumer, now)


def _fetch(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Ask the brokers for records (step 7)."""
    sends = [Send(broker, request) for broker, request in consumer.fetcher.requests(now)]
    return Step(state, tuple(sends))


def _called(state: ClientState, consumer: Consumer, event: Called, now: int) -> Step[ClientState]:
    """Go on after a listener call."""
    match event.needed.purpose:
        case Purpose.REVOKE:
            return applying.revoked(state, consumer, now, threw=event.threw)
        case Purpose.ASSIGN:
            return applying.assigned(state, consumer, now, threw=event.threw)
        case Purpose.RELEASE:
            return released(state)
        case Purpose.LEAVE:
            return leaving.prepared(state, consumer)


# -- rounds ------------------------------------------------------------------------------------------


def a_round(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Let everything that the thread looks after do what is due."""
    step = _look_up(state, consumer, now)
    step = step.then(lambda s: commits.send_due(s, consumer, now))
    step = step.then(lambda s: heartbeat.advance(s, consumer, now))
    step = step.then(lambda s: reconciliation.advance(s, consumer, now, polled=False))
    if step.state.member.state is MemberState.ACKNOWLEDGING:
        step = step.then(lambda s: heartbeat.advance(s, consumer, now))
    step = step.then(lambda s: offsets.send_due(s, consumer, now))
    return step.then(lambda s: _refresh(s, consumer, now))


def _look_up(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Look the coordinator up, but not any more once close() has committed."""
    if not isinstance(state.coordinator, Unknown) or makes_last_calls(state.app):
        return Step(state)
    return look_up(state, consumer, now)


def _refresh(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    ask = metadata.want if consumer.positions.leaderless else metadata.refresh
    return on_reads(state, lambda reads: ask(reads, consumer, now))


def complete(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """End the poll event whose positions are settled: its fetches are sent."""
    slot = state.slot
    if slot is None or slot.progress is not Progress.TAKEN or not offsets.settled(state):
        return Step(state)
    complete = replace(state, slot=slot._replace(progress=Progress.COMPLETE))
    return Step(complete) if slot.failed is not None else _fetch(complete, consumer, now)
