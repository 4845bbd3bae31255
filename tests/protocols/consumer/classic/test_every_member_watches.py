"""librdkafka: each member compares its own metadata, and joins again for what has changed."""

from __future__ import annotations

import pytest

from protocols.messages import HeartbeatRequest, JoinGroupRequest, MetadataRequest
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver
from .test_background import background

CHANGED = "metadata for subscribed topics have changed"


def follower(**topics: int) -> ClientDriver:
    """Return a follower that reads t-0, subscribed to t and u, with periodic metadata each minute."""
    driver = background(
        "librdkafka",
        topics=topics,
        subscribe=("t", "u"),
        enable_auto_commit=False,
        metadata_max_age_ms=60_000,
    )
    driver.stable({0: 0})
    return driver


def asks_again(driver: ClientDriver) -> None:
    """Let a fetch fail, for which the client asks for metadata between two periodic requests."""
    asked = len(driver.ever(MetadataRequest))
    driver.poll()
    driver.records({0: 0}, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    driver.advance(2_000)
    assert len(driver.ever(MetadataRequest)) > asked
    driver.poll()


def periodic(driver: ClientDriver) -> None:
    """Let time pass until the next periodic request has been answered."""
    for _ in range(60):
        driver.advance(1_000)
        if driver.pending(HeartbeatRequest):
            driver.beaten()
        driver.poll()


@pytest.mark.parametrize("after", [2, 3])
def test_other_partition_counts_are_noticed_in_periodic_metadata(after: int):
    """``rd_kafka_cgrp_metadata_update_check``: the same metadata change nothing."""
    driver = follower(t=2, u=1)
    driver.topics["t"] = after
    periodic(driver)

    reasons = [sent.message.reason for sent in driver.pending(JoinGroupRequest)]
    assert ([CHANGED] if after == 3 else []) == reasons


def test_other_partition_counts_wait_for_periodic_metadata():
    """The answer to any other request shows them, too, but is not compared."""
    driver = follower(t=2, u=1)
    driver.topics["t"] = 3
    asks_again(driver)
    assert not driver.pending(JoinGroupRequest)
    periodic(driver)

    assert CHANGED == driver.one(JoinGroupRequest).reason


def test_a_missing_topic_is_noticed_in_any_metadata():
    """It is requested again until it exists."""
    driver = follower(t=2)
    driver.topics["u"] = 1
    asks_again(driver)

    assert CHANGED == driver.one(JoinGroupRequest).reason


def test_a_member_that_has_to_join_already_keeps_its_reason():
    """Its JoinGroup waits for the poll that calls the listener."""
    driver = follower(t=2, u=1)
    driver.topics["t"] = 3
    for _ in range(60):
        driver.advance(1_000)
        if driver.pending(HeartbeatRequest):
            driver.beaten(ErrorCode.REBALANCE_IN_PROGRESS)
    driver.poll()

    assert "group is already rebalancing" == driver.one(JoinGroupRequest).reason
