"""When the heartbeats of a generation begin, by the profile of the client.

Source: ``AbstractCoordinator.JoinGroupResponseHandler``; aiokafka ``ensure_active_group``; franz-go
``setupAssignedAndHeartbeat``; librdkafka ``rd_kafka_cgrp_join_state_serve``.
"""

from __future__ import annotations

from assignors.types import RebalanceProtocol
from protocols.consumer.classic.heartbeat import next_turn, turn
from protocols.consumer.classic.state import Beat, ClientState, Consumer, Membership
from protocols.consumer.clients import FirstHeartbeat
from protocols.consumer.reader import MS, turn_interval_us
from protocols.machine import Step
from protocols.values import replace


def on_joined(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread with all three timers reset, if its client does so after JoinGroup."""
    if consumer.profile.first_heartbeat is not FirstHeartbeat.JOINED:
        return Step(state)
    consumer.clock.polled_us = now
    return _start(state, consumer, now, now + consumer.settings.heartbeat_interval_ms * MS)


def on_synced(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread of a member that is stable now, if its client does so after SyncGroup.

    Members that give up partitions join again at once: in a cooperative generation some clients send
    an early heartbeat to learn of it.
    """
    profile = consumer.profile
    if state.membership is not Membership.STABLE:
        return Step(state)
    if profile.first_heartbeat is FirstHeartbeat.OWN_CLOCK:
        return _start_own_clock(state, consumer, now)
    if profile.first_heartbeat is not FirstHeartbeat.SYNCED:
        return Step(state)
    first_ms = consumer.settings.heartbeat_interval_ms
    if consumer.protocol is RebalanceProtocol.COOPERATIVE:
        first_ms = profile.first_heartbeat_ms or first_ms
    return _start(state, consumer, now, now + first_ms * MS)


def _start_own_clock(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread with a clock of heartbeats that no join has stopped (``rd_interval``)."""
    due_us, last_us = now, state.last_beat_us
    if last_us is not None:
        due_us = max(now, last_us + consumer.settings.heartbeat_interval_ms * MS)
    state = _start(state, consumer, now, due_us).state
    assert state.beat is not None
    phase_us = now - (now - due_us) % turn_interval_us(consumer.settings)
    return turn(replace(state, beat=replace(state.beat, phase_us=phase_us)), consumer, now)


def on_assigned(state: ClientState, consumer: Consumer, now: int) -> Step[ClientState]:
    """Start the thread of a member whose listener has returned, if its client does so only then."""
    if consumer.profile.first_heartbeat is not FirstHeartbeat.ASSIGNED:
        return Step(state)
    if state.membership is not Membership.STABLE:
        return Step(state)
    return _start(state, consumer, now, now + consumer.settings.heartbeat_interval_ms * MS)


def _start(state: ClientState, consumer: Consumer, now: int, due_us: int) -> Step[ClientState]:
    """Start the thread, and the client's own copy of its session."""
    session_us = now + consumer.settings.session_timeout_ms * MS
    after = replace(state, beat=Beat(phase_us=now, due_us=due_us, session_us=session_us))
    return Step(after, (next_turn(after, consumer, now),))
