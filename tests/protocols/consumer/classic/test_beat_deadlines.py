"""The deadlines of the heartbeat thread: which turn only sends a heartbeat, and moving them."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.consumer.classic import heartbeat, periods
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.periods import NEXT_BEAT, SESSION_END
from protocols.consumer.lookup import NEVER_LOOKED_UP
from protocols.machine import SetTimer
from protocols.messages import (
    Envelope,
    Header,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import manual_member
from .test_background import background

E = ErrorCode
UNREAD = (Envelope(Header("c", 1), HeartbeatResponse()),)


@pytest.mark.parametrize(
    ("changed", "later_ms", "polled_ms_ago", "only"),
    [
        ({}, 0, 0, True),
        ({}, -1, 0, False),
        ({}, 41_999, 0, True),
        ({}, 42_000, 0, False),
        ({}, 0, 296_999, True),
        ({}, 0, 297_000, False),
        ({"beat": None}, 0, 0, False),
        ({"inbox": UNREAD}, 0, 0, False),
        ({"coordinator": NEVER_LOOKED_UP}, 0, 0, False),
    ],
)
def test_a_turn_only_sends_a_heartbeat_if_nothing_else_is_due_before_the_next_one(
    changed: dict[str, Any], later_ms: int, polled_ms_ago: int, only: bool
):
    """A session of 45 s and a poll interval of 300 s that does not end until the next heartbeat."""
    driver = manual_member(session_timeout_ms=45_000, max_poll_interval_ms=300_000)
    assert driver.state.beat is not None
    now = driver.state.beat.due_us + later_ms * 1_000
    consumer = driver.client.consumer
    consumer.clock.polled_us = now - polled_ms_ago * 1_000
    step = heartbeat.beat_only(replace(driver.state, **changed), consumer, now)

    assert only is (step is not None)


def test_the_thread_sleeps_anew_from_the_lookup_that_the_end_of_its_session_begins():
    """So the lookup has ``retry.backoff.ms`` to complete, also if a poll has woken the thread."""
    driver = manual_member()
    assert driver.state.beat is not None
    now = driver.state.beat.session_us + 37_000
    step = heartbeat.turn(driver.state, driver.client.consumer, now)

    assert SetTimer(HEARTBEAT, now + 100_000) in step.effects


def test_deadlines_can_be_moved_one_by_one():
    """Those that are not given stay where they are."""
    state = manual_member().state
    before = periods.deadlines_of(state)
    for name in (NEXT_BEAT, SESSION_END):
        moved = periods.with_deadlines(state, {name: 7})
        assert periods.deadlines_of(moved) == {**before, name: 7}

    assert periods.deadlines_of(replace(state, beat=None)) == {}


def test_a_librdkafka_that_is_removed_while_its_listener_runs_joins_again():
    """The clock that looks at the polls does not begin: its heartbeats have ended."""
    driver = background("librdkafka", enable_auto_commit=False)
    driver.poll_until(JoinGroupRequest)
    driver.hold_calls = True
    driver.joined()
    driver.synced(0)
    driver.poll()
    assert driver.running
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.UNKNOWN_MEMBER_ID)
    driver.hold_calls = False
    driver.end_call()
    driver.advance(2_000)

    assert ["assigned", "lost"] == [listener for listener, _ in driver.calls][-2:]
    assert driver.pending(JoinGroupRequest)
