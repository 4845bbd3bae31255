"""When a member may send its next JoinGroup, where a client holds it back.

The Java client joins as soon as its poll can; what holds other clients back is in their profiles.
Source: aiokafka ``GroupCoordinator.ensure_active_group``; franz-go ``manageFailWait``, whose back-off
begins when the listener has returned.
"""

from __future__ import annotations

from typing import Final

from protocols.consumer.classic.state import ClientState, Consumer
from protocols.consumer.reader import MS, NEVER, backoff_us
from protocols.values import replace

NEXT_JOIN: Final = "next-join"
"""Timer: a JoinGroup that was held back may be sent."""


def poll_deadline_us(consumer: Consumer) -> int:
    """Return when ``max.poll.interval.ms`` after the last poll will have passed."""
    if not consumer.profile.limits_poll_interval:
        return NEVER
    return consumer.clock.polled_us + consumer.settings.max_poll_interval_ms * MS


def lost(state: ClientState, consumer: Consumer) -> ClientState:
    """Note that the membership is lost, if the client then rests before it joins again."""
    if not consumer.profile.rests_after_loss:
        return state
    return replace(state, join_us=NEVER, losses=state.losses + 1)


def prepared(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    """Begin the rest of a lost member when its listener has returned; a rebalance ends the count."""
    if state.join_us == NEVER:
        return replace(state, join_us=now + backoff_us(consumer, "join", state.losses - 1, now))
    if state.losses and not state.generation.lost:
        return replace(state, losses=0)
    return state


def held_until_us(state: ClientState, consumer: Consumer, now: int) -> int:
    """Return when (us) JoinGroup may be sent: now, or when the client looks again."""
    if now < state.join_us:
        return state.join_us
    again = state.joined_with is not None and not consumer.profile.joins_unpolled
    if again and now >= poll_deadline_us(consumer):
        return now + consumer.settings.retry_backoff_ms * MS
    return now
