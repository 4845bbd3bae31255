"""The two queues between the application thread and the background thread."""

from __future__ import annotations

from dataclasses import replace

from assignors.types import TopicPartition
from protocols.consumer.kip848.calls import Called, Event, Needed, Purpose
from protocols.consumer.kip848.threads import Lag
from protocols.consumer.kip848.values import ClientState, Consumer
from protocols.machine import SetTimer, Step

BACKGROUND = "background"
"""Timer: the background thread takes the events that are queued."""


def queue(state: ClientState, consumer: Consumer, event: Event, now: int) -> Step[ClientState]:
    """Queue an event; the background thread wakes up, unless it is about to anyway."""
    events = (*state.events, event)
    if state.events_us is not None:
        return Step(replace(state, events=events))
    when = now + consumer.lags(Lag.EVENT, now)
    return Step(replace(state, events=events, events_us=when), (SetTimer(BACKGROUND, when),))


def hurry(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Take what is queued at the end of this round: the thread is awake, for an answer."""
    if state.events_us is None:
        return Step(state)
    when = now + consumer.lags(Lag.ROUND, now)
    if when >= state.events_us:
        return Step(state)
    return Step(replace(state, events_us=when), (SetTimer(BACKGROUND, when),))


def need(
    state: ClientState,
    consumer: Consumer,
    listener: str,
    partitions: tuple[TopicPartition, ...],
    purpose: Purpose,
    now: int,
) -> Step[ClientState]:
    """Have the application call the listener; without a listener the call counts as made.

    An assignment waits for the application all the same: it is applied in poll.
    """
    needed = Needed(listener, tuple(sorted(partitions)), purpose)
    if consumer.listener or purpose is Purpose.ASSIGN:
        return Step(replace(state, needed=(*state.needed, needed)))
    return queue(state, consumer, Called(needed, threw=False), now)
