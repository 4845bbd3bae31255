"""A cooperative generation that takes partitions away: which client commits them, and when."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.messages import FetchRequest, JoinGroupRequest, OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, offsets, parts
from .test_background import background


def synced(name: str) -> ClientDriver:
    """Return a member of {t-0, t-1} that was handed records, and whose SyncGroup leaves it t-0."""
    assignors = ("cooperative-sticky",)
    is_java = name == "java"
    driver = ClientDriver(assignors=assignors) if is_java else background(name, assignors=assignors)
    driver.stable()
    driver.hand({0: 6, 1: 4})
    driver.poll()
    driver.learn(ErrorCode.REBALANCE_IN_PROGRESS)
    driver.poll()
    if driver.pending(OffsetCommitRequest):
        driver.committed()
        driver.poll()
    if driver.pending(FetchRequest):
        driver.records({1: 3})
        driver.poll()
        driver.poll()
    driver.advance_until(JoinGroupRequest)
    driver.joined(2)
    driver.poll()
    driver.calls.clear()
    driver.hold_calls = True
    driver.synced(0)
    driver.poll()
    return driver


def test_java_gives_partitions_up_without_another_commit():
    """``onJoinComplete`` only calls the listener: the commit was before the join."""
    driver = synced("java")
    assert [("revoked", parts(1))] == driver.calls
    assert not driver.pending(OffsetCommitRequest)
    driver.end_call()

    assert [("revoked", parts(1)), ("assigned", ())] == driver.calls
    assert not driver.pending(OffsetCommitRequest)


def test_franz_go_commits_before_the_listener_hears_of_the_revocation():
    """``defaultRevoke``; the call follows the response."""
    driver = synced("franz-go")
    assert set(offsets({0: 6, 1: 7})) == set(driver.one(OffsetCommitRequest).offsets)
    assert [] == driver.calls
    driver.committed()

    assert [("revoked", parts(1))] == driver.calls


@pytest.mark.parametrize("threw", [None, Failed("KafkaException", message="the listener threw")])
def test_librdkafka_commits_what_its_listener_has_given_up(threw: Failed | None):
    """A listener that threw has not called ``unassign()``, with which the commit begins."""
    driver = synced("librdkafka")
    assert [("revoked", parts(1))] == driver.calls
    assert not driver.pending(OffsetCommitRequest)
    driver.end_call(threw)

    committed = [sent.message.offsets for sent in driver.pending(OffsetCommitRequest)]
    assert ([offsets({1: 7})] if threw is None else []) == committed
    assert (threw is None) is (("assigned", ()) not in driver.calls)
