"""subscribe() on a consumer that is a member already, or was one."""

from __future__ import annotations

import pytest

from protocols.consumer.classic.state import Membership
from protocols.messages import FetchRequest, JoinGroupRequest, LeaveGroupRequest, MetadataRequest

from .driver import ClientDriver, parts

COOPERATIVE = ("cooperative-sticky",)


def member(**settings) -> ClientDriver:
    """A member that reads ``t`` and may read ``u``."""
    driver = ClientDriver(topics={"t": 2, "u": 1}, enable_auto_commit=False, **settings)
    driver.stable()
    driver.calls.clear()
    return driver


def subscribe(driver: ClientDriver, *topics: str) -> None:
    driver.carry_out(driver.client.subscribe(driver.now_us, topics))


def test_the_next_poll_joins_with_the_new_topics():
    """Until then no listener is called; metadata of new topics are requested at once."""
    driver = member()
    subscribe(driver, "u", "t")
    driver.advance(1_000)
    assert ([], []) == (driver.calls, driver.pending(JoinGroupRequest))
    assert ("t", "u") == driver.ever(MetadataRequest)[-1].message.topics

    driver.poll_until(JoinGroupRequest)

    request = driver.one(JoinGroupRequest)
    assert ("t", "u") == request.protocols[0].metadata.topics
    assert "subscription has changed" in request.reason


def test_the_same_topics_again_change_nothing():
    """Whatever their order."""
    driver = member()
    subscribe(driver, "t")
    driver.poll()

    assert not driver.pending(JoinGroupRequest)


def test_a_cooperative_member_gives_up_only_what_it_reads_no_more():
    """What it dropped is not handed out any more, and revoked before the join."""
    driver = member(assignors=COOPERATIVE)
    driver.poll()
    driver.records({0: 3})
    subscribe(driver, "u")
    handed = driver.poll()
    driver.poll_until(JoinGroupRequest)

    assert not handed
    assert [("revoked", parts(0, 1))] == driver.calls
    assert () == driver.state.assignment


def test_what_is_dropped_is_not_fetched_meanwhile():
    """The partitions stay assigned until the next poll."""
    driver = member(assignors=COOPERATIVE)
    fetches = len(driver.ever(FetchRequest))
    subscribe(driver, "u")
    driver.advance(100)

    assert parts(0, 1) == driver.state.assignment
    assert fetches == len(driver.ever(FetchRequest))
    assert set(parts(0, 1)) == driver.client.consumer.fetcher.pending


@pytest.mark.parametrize("topics", [("t",), ("u",)])
def test_after_unsubscribe_the_next_poll_joins_again(topics):
    """As a new member, whether the topics are new or not."""
    driver = member()
    driver.unsubscribe()
    assert driver.ever(LeaveGroupRequest)
    driver.sent = [sent for sent in driver.sent if not isinstance(sent.message, LeaveGroupRequest)]
    subscribe(driver, *topics)
    assert Membership.UNJOINED is driver.membership

    driver.poll_until(JoinGroupRequest)

    request = driver.one(JoinGroupRequest)
    assert ("", topics) == (request.member_id, request.protocols[0].metadata.topics)
