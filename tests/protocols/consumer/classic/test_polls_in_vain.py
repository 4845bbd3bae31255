"""Until when polls of a member that joins do nothing, for a host that skips them."""

from __future__ import annotations

from protocols.messages import JoinGroupRequest

from .driver import ClientDriver, manual_member


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
    driver.poll()
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
