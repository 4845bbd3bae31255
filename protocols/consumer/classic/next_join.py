"""When a member may send its next JoinGroup, and a session that runs on while that waits.

The Java client joins as soon as its poll can; what holds other clients back is in their profiles.
Source: aiokafka ``GroupCoordinator.ensure_active_group``; franz-go ``manageFailWait``, whose back-off
begins when the listener has returned. A session that runs on in a join: librdkafka before 1.7,
``rd_kafka_cgrp_session_timeout_check``; from 1.7 on the timer rests (confluentinc/librdkafka#3435).
"""

from __future__ import annotations

from typing import Final

from protocols.consumer.classic.membership import reset
from protocols.consumer.classic.phases import Joining
from protocols.consumer.classic.state import Beat, ClientState, Consumer, Membership
from protocols.consumer.clients import NextJoin, PollsCheck
from protocols.consumer.reader import MS, NEVER, backoff_us
from protocols.machine import SetTimer, Step
from protocols.messages.errors import ErrorCode
from protocols.values import replace

NEXT_JOIN: Final = "next-join"
"""Timer: a JoinGroup that was held back may be sent."""


def poll_deadline_us(consumer: Consumer) -> int:
    """Return when ``max.poll.interval.ms`` after the last poll will have passed."""
    if not consumer.profile.limits_poll_interval:
        return NEVER
    return consumer.clock.polled_us + consumer.settings.max_poll_interval_ms * MS


_SECOND_US: Final = 1_000 * MS
_HALF_SECOND_US: Final = 500 * MS


def looks_at_polls_us(beat: Beat, consumer: Consumer) -> int:
    """Return when (us) the client sees that the application has stopped to poll, if it has."""
    deadline = poll_deadline_us(consumer)
    match consumer.profile.polls_check:
        case PollsCheck.HEARTBEATS:
            return max(deadline, beat.due_us)
        case PollsCheck.HALF_SECONDS:
            if beat.assigned_us is None:
                return NEVER
            since_us = max(0, deadline - beat.assigned_us)
            return beat.assigned_us + -(-since_us // _HALF_SECOND_US) * _HALF_SECOND_US
        case _:
            return deadline


def polls_phase_us(beat: Beat, now: int) -> int | None:
    """Return the time (us) since the client last looked at the polls; None: it has no clock for that."""
    return None if beat.assigned_us is None else (now - beat.assigned_us) % _HALF_SECOND_US


def lost(state: ClientState, consumer: Consumer) -> ClientState:
    """Note that the membership is lost, if the client then rests before it joins again."""
    if consumer.profile.next_join is not NextJoin.LOSS:
        return state
    return replace(state, join_us=NEVER, losses=state.losses + 1)


def prepared(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    """Begin the rest of a lost member when its listener has returned; a rebalance ends the count."""
    if state.join_us == NEVER:
        return replace(state, join_us=now + backoff_us(consumer, "join", state.losses - 1, now))
    if state.losses and not state.generation.lost:
        return replace(state, losses=0)
    return state


def failed(state: ClientState, consumer: Consumer, error: ErrorCode, now: int) -> ClientState:
    """Delay the next JoinGroup, as the one before it or its SyncGroup failed (aiokafka).

    While the coordinator loads the group its back-off lies in the join, too.
    """
    if consumer.profile.next_join is not NextJoin.FAILURE or error is ErrorCode.MEMBER_ID_REQUIRED:
        return state
    rests = 2 if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else 1
    return replace(state, join_us=now + rests * consumer.settings.retry_backoff_ms * MS)


def sent(state: ClientState, consumer: Consumer, now: int) -> ClientState:
    """Delay the JoinGroup after the one that is sent now (librdkafka ``rkcg_join_intvl``)."""
    if consumer.profile.next_join is not NextJoin.EACH_SECOND:
        return state
    return replace(state, join_us=now + _SECOND_US)


def refused(state: ClientState, consumer: Consumer, error: ErrorCode) -> ClientState:
    """Delay the JoinGroup after one that was refused; a member that only lacks its id joins at once."""
    if consumer.profile.next_join is not NextJoin.EACH_SECOND:
        return state
    if error is ErrorCode.MEMBER_ID_REQUIRED:
        return replace(state, join_us=0)
    return replace(state, join_us=state.join_us + _SECOND_US)


def revoked(state: ClientState, consumer: Consumer) -> ClientState:
    """Let a member join at once that has given up its partitions (``rd_interval_reset``)."""
    if consumer.profile.next_join is not NextJoin.EACH_SECOND:
        return state
    return replace(state, join_us=0)


def held_until_us(state: ClientState, consumer: Consumer, now: int) -> int:
    """Return when (us) JoinGroup may be sent: now, or when the client looks again."""
    if now < state.join_us:
        return state.join_us
    again = state.joined_with is not None and not consumer.profile.joins_unpolled
    if again and now >= poll_deadline_us(consumer):
        return now + max(1, consumer.settings.retry_backoff_ms) * MS
    return now


# -- a session that runs on while JoinGroup waits ----------------------------------------------

JOIN_SESSION = "join-session"
"""Timer: the session ends that runs on while JoinGroup waits."""


def let_session_go_on(
    step: Step[ClientState], beat: Beat | None, consumer: Consumer, now: int
) -> Step[ClientState]:
    """Let the session that began with the last response go on behind a JoinGroup just sent."""
    if consumer.profile.session_rests_in_join:
        return step
    end_us = now + consumer.settings.session_timeout_ms * MS if beat is None else beat.session_us
    return step.also(SetTimer(JOIN_SESSION, end_us))


def on_session_end(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Join as a new member, if the session has ended and JoinGroup still waits.

    The coordinator has the JoinGroup before it, too: of a static member it fences the old id.
    """
    del consumer, now
    waits = isinstance(state.future, Joining)
    if state.membership is not Membership.PREPARING_REBALANCE or not waits:
        return Step(state)
    step = reset(state, "session timed out in join-state wait-join", keep_member_id=False)
    return Step(replace(step.state, future=None), step.effects)
