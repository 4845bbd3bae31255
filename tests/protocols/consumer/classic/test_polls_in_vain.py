"""Until when polls of a member that joins, or waits for records, do nothing: a host skips them."""

from __future__ import annotations

from protocols.consumer.classic.periods import open_requests
from protocols.consumer.classic.state import Membership
from protocols.messages import HeartbeatRequest, JoinGroupRequest

from .driver import BROKER, ClientDriver, manual_member, parts


def test_polls_are_in_vain_while_a_member_without_partitions_awaits_a_round():
    """Not inside a poll, and not once the round is over: a poll could then return records."""
    driver = ClientDriver(heartbeat_interval_ms=250)
    driver.poll_until(JoinGroupRequest)
    until_us = driver.client.polls_in_vain_until_us(driver.now_us)
    assert until_us is not None
    assert until_us > driver.now_us
    assert driver.client.calm(driver.now_us) is None

    driver.poll(1_000)
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None

    driver.advance(1_000)
    driver.joined(1)
    driver.poll()
    driver.synced()
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None


def idle_member() -> ClientDriver:
    """A stable member that has polled without records; its fetch is in flight."""
    driver = manual_member(heartbeat_interval_ms=3_000)
    driver.poll(100)
    driver.advance(200)
    assert driver.client.state.membership is Membership.STABLE
    return driver


def test_polls_are_in_vain_up_to_the_next_heartbeat_while_fetches_are_in_flight():
    driver = idle_member()
    beat = driver.client.state.beat
    assert beat is not None
    assert driver.client.polls_in_vain_until_us(driver.now_us) == beat.due_us
    assert driver.client.polls_in_vain_until_us(beat.due_us) is None


def test_no_poll_is_in_vain_that_reads_a_response_or_sends_a_fetch():
    """The first poll behind records is made by the client: it has not waited yet."""
    driver = idle_member()
    driver.records({0: 4})
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None
    assert driver.poll(100)
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None
    driver.poll(100)
    driver.advance(200)
    assert driver.client.polls_in_vain_until_us(driver.now_us) is not None
    driver.client.consumer.fetcher.pause(parts(0))
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None
    driver.client.consumer.fetcher.pause(())
    driver.client.consumer.fetcher.disconnected(BROKER)
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None


def test_no_poll_is_in_vain_while_partitions_are_owned_in_a_rebalance():
    """A cooperative member reads on while it joins."""
    driver = manual_member(assignors=("cooperative-sticky",), heartbeat_interval_ms=250)
    driver.learn()
    driver.poll_until(JoinGroupRequest)

    assert driver.state.assignment
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None


def test_a_poll_is_not_in_vain_with_an_unread_response():
    """An eager member gave its partitions back while its fetch was in flight."""
    driver = manual_member(heartbeat_interval_ms=250)
    driver.poll()
    driver.learn()
    driver.poll_until(JoinGroupRequest)
    assert driver.client.polls_in_vain_until_us(driver.now_us) is not None

    driver.records({0: 4})
    assert driver.client.polls_in_vain_until_us(driver.now_us) is None
    driver.poll()
    assert driver.client.polls_in_vain_until_us(driver.now_us) is not None


def test_the_open_request_that_commit_sync_waits_for_is_known():
    """Heartbeats and other commits are none of it."""
    driver = manual_member()
    driver.commit_async({0: 3})
    driver.advance_until(HeartbeatRequest)
    driver.commit_sync({0: 5})
    open_ones = open_requests(driver.state, driver.client.consumer).values()

    assert [False, False, True] == [each.is_sync for each in open_ones]
