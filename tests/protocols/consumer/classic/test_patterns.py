"""Pattern subscriptions: what they match, and when a member rejoins for them."""

from __future__ import annotations

from typing import Any

from protocols.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    MetadataRequest,
    MetadataResponse,
)
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, parts

AGE = 60_000


def rejoins(driver: ClientDriver, within_ms: float) -> str | None:
    """The reason of the JoinGroup that polls lead to within a time, None if there is none."""
    until = driver.now_ms + within_ms
    while driver.now_ms < until:
        driver.poll(100)
        driver.advance(100)
        if driver.pending(JoinGroupRequest):
            reason: str = driver.one(JoinGroupRequest).reason
            return reason
    return None


def starts_with_t(topic: str) -> bool:
    return topic.startswith("t")


def by_pattern(**settings: Any) -> ClientDriver:
    driver = ClientDriver(
        matches=starts_with_t,
        topics={"t1": 1, "x": 1},
        **{"enable_auto_commit": False, "metadata_max_age_ms": AGE, **settings},
    )
    driver.look_up()
    return driver


def test_a_pattern_subscribes_to_what_matches():
    """The JoinGroup lists the topics that exist and match."""
    driver = by_pattern()

    assert ("t1",) == driver.one(JoinGroupRequest).protocols[0].metadata.topics


def test_a_new_topic_that_matches_makes_any_member_rejoin():
    """Follower or leader, at its own next refresh."""
    driver = by_pattern()
    driver.joined()
    driver.poll()
    driver.synced(0, topic="t1")
    driver.poll()
    driver.topics = {"t1": 1, "t2": 1, "x": 1}

    assert "subscription has changed" == rejoins(driver, AGE + 1_000)
    assert ("t1", "t2") == driver.one(JoinGroupRequest).protocols[0].metadata.topics


def test_metadata_are_requested_again_at_once_when_other_topics_match():
    """The age limit counts from that response; the back-off does not delay the request."""
    driver = by_pattern()
    driver.joined()
    driver.poll(500)
    driver.synced(0, topic="t1")
    driver.advance(500)
    driver.poll(2 * AGE)
    before = len(driver.ever(MetadataRequest))
    driver.topics = {"t1": 1, "t2": 1, "x": 1}
    driver.advance_until(JoinGroupRequest)

    assert before + 2 == len(driver.ever(MetadataRequest))
    assert driver.now_us == driver.state.metadata.fetched_us


def test_a_topic_that_does_not_match_changes_nothing():
    """Neither subscription nor snapshot."""
    driver = by_pattern()
    driver.joined()
    driver.poll()
    driver.synced(0, topic="t1")
    driver.poll()
    driver.topics = {"t1": 1, "y": 1}

    assert rejoins(driver, 2 * AGE) is None


def test_a_rejoin_reads_metadata_first():
    """So that all members learn of a new topic in one rebalance."""
    driver = by_pattern()
    driver.joined()
    driver.poll()
    driver.synced(0, topic="t1")
    driver.poll()
    driver.advance(1_000)
    driver.topics = {"t1": 1, "t2": 1}
    driver.learn()
    driver.poll(500)
    driver.advance(500)

    assert ("t1", "t2") == driver.one(JoinGroupRequest).protocols[0].metadata.topics


def test_a_rejoin_requests_metadata_at_the_end_of_their_back_off():
    """In that very instant, not after it; the member joins only after the response."""
    driver = by_pattern(heartbeat_interval_ms=50)
    driver.joined()
    driver.poll()
    driver.synced(0, topic="t1")
    driver.poll()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(ErrorCode.REBALANCE_IN_PROGRESS)
    driver.advance((driver.state.metadata.retry_us - driver.now_us) / 1_000)
    driver.deaf = {MetadataRequest}
    driver.poll()

    assert driver.pending(MetadataRequest)
    assert [] == driver.pending(JoinGroupRequest)


def test_an_assigned_topic_that_matches_is_taken_unseen():
    """The leader knew more: the follower's subscription is extended, no rejoin follows."""
    driver = by_pattern()
    driver.joined()
    driver.poll()
    driver.topics = {"t1": 1, "t2": 1, "x": 1}
    driver.synced(0, topic="t2")
    driver.poll()

    assert parts(0, topic="t2") == driver.state.assignment
    assert ("t1", "t2") == driver.state.subscribed
    assert rejoins(driver, 2 * AGE) is None


def test_a_vanished_topic_of_a_pattern_makes_members_rejoin():
    """The matching set has changed."""
    driver = by_pattern()
    driver.joined()
    driver.poll()
    driver.synced(0, topic="t1")
    driver.poll()
    driver.topics = {"x": 1}

    assert "subscription has changed" == rejoins(driver, AGE + 1_000)


def test_leaders_are_in_force_as_soon_as_the_answer_is_read():
    """Topics wait for the next poll, leaders do not."""
    driver = ClientDriver(brokers=(1, 2), metadata_max_age_ms=1_000, enable_auto_commit=False)
    driver.stable()
    driver.leaders = dict.fromkeys(parts(0, 1), 2)
    driver.advance(1_200)

    assert 2 == driver.client.consumer.positions.leader(parts(0)[0]).leader


def test_an_outdated_answer_is_dropped():
    """Only the last request's answer counts."""
    driver = ClientDriver()
    driver.stable()
    version = driver.state.metadata.version
    (first, *_) = driver.ever(MetadataRequest)
    driver.respond(first, MetadataResponse(brokers=(9,), topics=()))
    driver.tick()

    assert version == driver.state.metadata.version
