"""A member whose application stops polling, and the clock that watches it."""

from __future__ import annotations

import pytest

from protocols.consumer.classic.state import Generation, Membership
from protocols.consumer.clients import profile_of
from protocols.consumer.lookup import Unknown
from protocols.facts import ClientDropped
from protocols.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, manual_member, parts
from .test_background import background

E = ErrorCode


def test_a_member_that_stops_polling_leaves_and_drops_out():
    """LeaveGroup goes out once, from the thread's turn at the end of the interval; heartbeats stop."""
    driver = manual_member(max_poll_interval_ms=1_000)
    driver.advance(20_000)
    (left,) = driver.ever(LeaveGroupRequest)

    assert 1_000_000 == left.at_us
    assert "consumer poll timeout has expired." == left.message.members[0].reason
    assert (Membership.UNJOINED, Generation()) == (driver.membership, driver.state.generation)
    assert [] == [at for at in driver.times_ms(HeartbeatRequest) if at > 1_100]
    assert ["consumer pro-actively leaving the group"] == [
        fact.reason for fact in driver.emitted(ClientDropped)
    ]


def test_its_next_poll_loses_the_partitions_and_joins_anew():
    """It calls onPartitionsLost with all partitions, then a JoinGroup with the reason."""
    driver = manual_member(max_poll_interval_ms=1_000)
    driver.advance(2_000)
    driver.poll()
    request = driver.one(JoinGroupRequest)

    assert [("lost", parts(0, 1))] == driver.calls
    assert ("", "consumer pro-actively leaving the group") == (request.member_id, request.reason)


def test_its_commits_are_refused_without_being_sent():
    """CommitFailedException, as there is no generation any more."""
    driver = manual_member(max_poll_interval_ms=1_000)
    driver.advance(2_000)
    result = driver.commit_sync({0: 1})

    assert "CommitFailedException" == result.exception
    assert [] == driver.ever(OffsetCommitRequest)


def test_a_static_member_that_stops_polling_does_not_leave():
    """It resets itself all the same, and comes back under its instance id."""
    driver = manual_member(max_poll_interval_ms=1_000, group_instance_id="i-1")
    driver.advance(2_000)
    assert [] == driver.ever(LeaveGroupRequest)
    assert Membership.UNJOINED is driver.membership

    driver.poll()
    request = driver.one(JoinGroupRequest)
    assert ("", "i-1") == (request.member_id, request.group_instance_id)
    assert [("lost", parts(0, 1))] == driver.calls


def test_a_long_poll_never_passes_the_poll_interval():
    """A poll that waits is a poll: its inner turns wind the clock up."""
    driver = manual_member(max_poll_interval_ms=1_000, heartbeat_interval_ms=500)
    driver.poll(10_000)
    driver.advance(9_000)

    assert [] == driver.ever(LeaveGroupRequest)


def test_records_that_end_a_wait_do_not_wind_the_clock_up():
    """They are returned before the coordinator is polled again (``pollForFetches``)."""
    driver = manual_member(max_poll_interval_ms=1_000)
    driver.poll(10_000)
    driver.advance(450)
    driver.records({0: 1})
    assert driver.returned[-1]
    driver.advance(850)
    (left,) = driver.ever(LeaveGroupRequest)

    assert left.at_us < 450_000 + 1_000_000


def test_a_poll_winds_the_clock_up_even_without_a_coordinator():
    """Step 2c comes before the lookup."""
    driver = manual_member(max_poll_interval_ms=4_000)
    driver.coordinator = None
    driver.disconnect()
    for _ in range(20):
        driver.poll()
        driver.advance(1_000)
    driver.coordinator = 1
    driver.advance(2_000)

    assert Membership.STABLE is driver.membership


def test_other_calls_do_not_wind_the_poll_interval_up():
    """Commits are no polls."""
    driver = manual_member(max_poll_interval_ms=1_000)
    for _ in range(5):
        driver.commit_sync({0: 1})
        if driver.pending(OffsetCommitRequest):
            driver.committed()
        driver.advance(300)

    assert driver.ever(LeaveGroupRequest)


def test_without_a_coordinator_the_poll_interval_is_not_looked_at():
    """The thread is busy looking it up: neither expiry is noticed."""
    driver = manual_member(max_poll_interval_ms=1_000)
    driver.coordinator = None
    driver.disconnect()
    driver.advance(20_000)

    assert isinstance(driver.state.coordinator, Unknown)
    assert Membership.STABLE is driver.membership


def test_heartbeats_and_commits_leave_the_poll_clock_alone_and_the_reverse():
    """Three independent clocks: polling does not send what is not due."""
    driver = manual_member()
    for _ in range(29):
        driver.poll()
        driver.advance(100)

    assert [] == driver.times_ms(HeartbeatRequest)


# -- other clients -------------------------------------------------------------------------------


def left_after_ms(driver: ClientDriver) -> float:
    """Return how long after the last poll the member leaves whose heartbeats are answered."""
    polled = driver.now_us
    while not driver.pending(LeaveGroupRequest):
        driver.advance(50)
        if driver.pending(HeartbeatRequest):
            driver.beaten()
    return (driver.pending(LeaveGroupRequest)[0].at_us - polled) / 1_000


@pytest.mark.parametrize(("client", "after_ms"), [("kafka-python", 11_900), ("java", 10_000)])
def test_kafka_python_looks_at_its_polls_before_each_heartbeat(client: str, after_ms: int):
    """``_heartbeat_loop`` sleeps until the next one: the fourth is due 12 s after the join."""
    driver = manual_member(max_poll_interval_ms=10_000)
    consumer = driver.client.consumer
    driver.client.consumer = replace(consumer, profile=profile_of(client))
    driver.advance(100)
    driver.poll()

    assert after_ms == left_after_ms(driver)


def test_librdkafka_looks_at_its_polls_each_half_second_from_the_assignment_on():
    """``rd_kafka_cgrp_max_poll_interval_check_tmr_cb``."""
    driver = background("librdkafka", enable_auto_commit=False, max_poll_interval_ms=10_000)
    driver.stable({0: 0})
    driver.beaten()
    driver.advance(200)
    driver.poll()

    assert 10_300 == left_after_ms(driver)
