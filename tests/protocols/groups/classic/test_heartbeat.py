"""Heartbeats and sessions."""

from __future__ import annotations

import pytest

from protocols.facts import MemberRemoved
from protocols.groups.classic.states import State
from protocols.machine import SetTimer
from protocols.messages import HeartbeatRequest
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver


def test_a_heartbeat_copies_nothing():
    """It sets one timer and answers; the state is the very same object."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    before, effects = driver.shard, len(driver.effects)

    driver.heartbeat(a)

    assert before is driver.shard
    timer, _ = driver.effects[effects:]
    assert SetTimer(f"heartbeat-g-{a}", driver.now_us + 45_000_000) == timer


def test_the_group_id_must_not_be_empty():
    """Even on a shard that is loading."""
    driver = GroupDriver()
    driver.begin_load()
    request = HeartbeatRequest(group_id="", generation_id=1, member_id="a-1")

    assert ErrorCode.INVALID_GROUP_ID == driver.send(request).error


@pytest.mark.parametrize("generation", [0, 2])
def test_the_generation_must_be_exact(generation: int):
    """Neither older nor newer passes."""
    driver = GroupDriver()
    (a,) = driver.stable("a")

    assert ErrorCode.ILLEGAL_GENERATION == driver.heartbeat(a, generation).error


def test_a_session_ends_to_the_microsecond():
    """Each heartbeat restarts it."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b", session_ms=10_000)
    for _ in range(3):
        driver.advance(9_999.999)
        driver.heartbeat(a)
        driver.heartbeat(b)
    driver.advance(9_999.999)
    driver.heartbeat(a)

    assert State.STABLE == driver.state
    driver.advance(0.001)

    assert [b] == [fact.member_id for fact in driver.emitted(MemberRemoved)]
    assert State.PREPARING_REBALANCE == driver.state


def test_an_id_handed_out_has_no_heartbeat():
    """It is no member yet."""
    driver = GroupDriver()
    driver.stable("a")
    b = driver.new_id("b")

    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.heartbeat(b).error


def test_ids_with_dashes_find_their_timer():
    """The name of a timer is read back by asking who exists."""
    driver = GroupDriver()
    (member_id,) = driver.stable("a-b-c", session_ms=10_000)

    driver.advance(10_000)

    assert State.EMPTY == driver.state
    assert [member_id] == [fact.member_id for fact in driver.emitted(MemberRemoved)]


def test_a_timer_of_the_past_does_nothing():
    """Neither an old member's, nor that of a group long gone."""
    driver = GroupDriver()
    driver.stable("a")
    before = driver.shard

    for name in (
        "heartbeat-g-old-1",
        "heartbeat-gone-a-1",
        "join-gone",
        "join-g",
        "sync-gone",
        "sync-g",
    ):
        step = driver.coordinator.wake(name, driver.now_us)

        assert before == step.state
        assert () == step.effects
