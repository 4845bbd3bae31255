"""A session that runs on while JoinGroup waits, as in librdkafka before 1.7.

Source: ``rd_kafka_cgrp_session_timeout_check``; from 1.7 on the timer rests in a join
(confluentinc/librdkafka#3435).
"""

from __future__ import annotations

from protocols.consumer.classic.membership import reset
from protocols.consumer.classic.phases import Joining
from protocols.consumer.classic.state import Beat, ClientState, Consumer, Membership
from protocols.consumer.reader import MS
from protocols.machine import SetTimer, Step
from protocols.values import replace

JOIN_SESSION = "join-session"
"""Timer: the session ends that runs on while JoinGroup waits."""


def go_on(
    step: Step[ClientState], beat: Beat | None, consumer: Consumer, now: int
) -> Step[ClientState]:
    """Let the session that began with the last response go on behind a JoinGroup just sent."""
    if consumer.profile.session_rests_in_join:
        return step
    end_us = now + consumer.settings.session_timeout_ms * MS if beat is None else beat.session_us
    after = replace(step.state, future=Joining(session_us=end_us))
    return Step(after, (*step.effects, SetTimer(JOIN_SESSION, end_us)))


def on_timer(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Join as a new member, if the session has ended and JoinGroup still waits.

    The coordinator has the JoinGroup before it, too: of a static member it fences the old id.
    """
    del consumer
    future = state.future
    if state.membership is not Membership.PREPARING_REBALANCE or not isinstance(future, Joining):
        return Step(state)
    if future.session_us is None or now < future.session_us:
        return Step(state)
    step = reset(state, "session timed out in join-state wait-join", keep_member_id=False)
    return Step(replace(step.state, future=None), step.effects)
