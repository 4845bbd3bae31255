"""unsubscribe(): the listener, LeaveGroup, and what is left afterwards."""

from __future__ import annotations

from protocols.consumer.calls import Failed
from protocols.consumer.classic.state import Membership
from protocols.messages import (
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import member, parts

E = ErrorCode
COOPERATIVE = ("cooperative-sticky",)


def test_unsubscribe_calls_and_leaves_but_commits_nothing():
    """Automatic commits or not."""
    driver = member()
    driver.hand({0: 10})
    driver.unsubscribe()
    (entry,) = driver.one(LeaveGroupRequest).members

    assert [("revoked", parts(0, 1))] == driver.calls
    assert "the consumer unsubscribed from all topics" == entry.reason
    assert [] == driver.ever(OffsetCommitRequest)
    assert (Membership.UNJOINED, ()) == (driver.membership, driver.state.assignment)


def test_unsubscribe_after_dropping_out_loses():
    """Test 76."""
    driver = member(enable_auto_commit=False)
    driver.learn(E.ILLEGAL_GENERATION)
    driver.unsubscribe()

    assert [("lost", parts(0, 1))] == driver.calls
    assert [] == driver.ever(LeaveGroupRequest)


def test_poll_without_a_subscription_throws():
    """IllegalStateException, and no new JoinGroup after any metadata."""
    driver = member(metadata_max_age_ms=1_000)
    driver.unsubscribe()
    joins = len(driver.ever(JoinGroupRequest))
    driver.advance(10_000)
    driver.topics = {"t": 5}
    driver.advance(10_000)
    failed = driver.poll()

    assert isinstance(failed, Failed)
    assert "IllegalStateException" == failed.exception
    assert joins == len(driver.ever(JoinGroupRequest))
