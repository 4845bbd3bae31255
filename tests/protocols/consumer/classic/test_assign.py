"""A consumer with partitions of its own (``assign``): lookups, commits, close."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.consumer.calls import Closed, CommitResult, ExceptionName
from protocols.consumer.classic.state import Membership
from protocols.consumer.positions import Phase
from protocols.facts import CommitKind, CommitRefused, CommitSent
from protocols.messages import (
    FetchRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)

from .driver import BROKER, ClientDriver, offsets, parts

FOUND = FindCoordinatorResponse(node_id=BROKER)


def reader(at: dict[int, int], **settings: Any) -> ClientDriver:
    """Return a client that has assigned partitions to itself and sought these offsets."""
    driver = ClientDriver(assigned=parts(*at), **settings)
    for number, offset in at.items():
        driver.client.consumer.positions.seek(parts(number)[0], offset)
    return driver


def kinds(driver: ClientDriver) -> list[CommitKind]:
    return [sent.kind for sent in driver.emitted(CommitSent)]


def test_it_reads_from_committed_offsets_and_joins_nothing():
    driver = ClientDriver(assigned=parts(0, 1))
    driver.poll(100)
    driver.fetched({0: 7})
    driver.listed({1: 3})
    driver.poll(60_000)
    driver.advance(60_000)

    assert {0: 7, 1: 3} == driver.positions()
    assert driver.membership is Membership.USER_ASSIGNED
    assert not driver.ever(JoinGroupRequest) + driver.ever(HeartbeatRequest)


def test_with_positions_it_reads_without_a_coordinator():
    """``ConsumerCoordinator.poll`` looks nothing up for partitions that have positions."""
    driver = reader({0: 100}, enable_auto_commit=False)
    driver.poll(10_000)
    driver.advance(10_000)

    assert 100 == driver.one(FetchRequest).partitions[0].offset
    assert not driver.ever(FindCoordinatorRequest) + driver.ever(OffsetFetchRequest)


def test_a_partition_that_awaits_its_reset_needs_no_coordinator():
    driver = ClientDriver(assigned=parts(0), enable_auto_commit=False)
    driver.client.consumer.positions.reset(parts(0)[0])
    driver.poll(1_000)

    assert driver.client.consumer.positions.holds(parts(0)[0], Phase.RESETTING)
    assert driver.pending(ListOffsetsRequest)
    assert not driver.ever(FindCoordinatorRequest)


def test_a_paused_partition_is_not_fetched_until_it_is_resumed():
    driver = reader({0: 100}, enable_auto_commit=False)
    driver.client.consumer.fetcher.pause(parts(0))
    driver.poll(100)
    assert not driver.pending(FetchRequest)
    driver.client.consumer.fetcher.pause(())
    driver.poll(100)
    assert driver.pending(FetchRequest)


# -- commits -------------------------------------------------------------------------------------


def test_the_first_automatic_commit_looks_the_coordinator_up():
    """An interval after the consumer was made; it leaves as soon as the lookup has ended."""
    driver = reader({0: 100})
    driver.deaf.add(FindCoordinatorRequest)
    driver.poll(60_000)
    driver.advance(4_999)
    assert not driver.ever(FindCoordinatorRequest)
    driver.advance(1)
    assert driver.pending(FindCoordinatorRequest)
    assert not driver.ever(OffsetCommitRequest)

    driver.advance(700)
    driver.answer(FindCoordinatorRequest, FOUND)
    sent = driver.one(OffsetCommitRequest)
    assert (offsets({0: 100}), "", -1) == (sent.offsets, sent.member_id, sent.generation_id)
    assert [CommitKind.AUTO] == kinds(driver)


def test_a_commit_that_waits_for_its_lookup_covers_what_was_consumed_before_it():
    """The offsets are those of the moment at which the commit was due."""
    driver = reader({0: 0}, max_poll_records=5)
    driver.deaf.add(FindCoordinatorRequest)
    driver.poll()
    driver.hand({0: 20})
    driver.advance(5_000)
    driver.poll()
    driver.poll()
    driver.answer(FindCoordinatorRequest, FOUND)
    driver.poll()

    assert {0: 20} == driver.positions()
    assert offsets({0: 5}) == driver.one(OffsetCommitRequest).offsets


def test_after_a_failed_lookup_the_automatic_commit_follows_after_the_back_off():
    driver = reader({0: 100})
    driver.coordinator = None
    driver.poll(60_000)
    driver.advance(5_000)
    (refused,) = driver.emitted(CommitRefused)
    assert (CommitKind.AUTO, "COORDINATOR_NOT_AVAILABLE") == (refused.kind, refused.error)

    driver.coordinator = 1
    driver.poll(60_000)
    driver.advance(100)
    assert [5_000, 5_100] == [sent.at_us / 1_000 for sent in driver.ever(FindCoordinatorRequest)]
    assert offsets({0: 100}) == driver.one(OffsetCommitRequest).offsets


@pytest.mark.parametrize("call", ["commit_sync", "commit_async"])
def test_a_commit_of_the_application_looks_the_coordinator_up(call: str):
    driver = reader({0: 0}, enable_auto_commit=False)
    driver.poll()
    assert not driver.ever(FindCoordinatorRequest)
    driver.commit(call, offsets({0: 100}))
    driver.poll()
    assert offsets({0: 100}) == driver.one(OffsetCommitRequest).offsets


def test_its_commits_name_no_member_and_no_instance():
    """Not even if it has a ``group.instance.id``."""
    driver = reader({0: 0}, enable_auto_commit=False, group_instance_id="i-1")
    driver.commit("commit_async", offsets({0: 100}))
    driver.poll()
    sent = driver.one(OffsetCommitRequest)
    assert ("", None) == (sent.member_id, sent.group_instance_id)


# -- close ---------------------------------------------------------------------------------------


def test_close_commits_and_leaves_nothing():
    driver = reader({0: 100})
    driver.poll(6_000)
    driver.advance(5_000)
    driver.committed()
    driver.advance(1_000)
    assert driver.close() is None
    assert offsets({0: 100}) == driver.one(OffsetCommitRequest).offsets
    driver.committed()

    assert isinstance(driver.returned[-1], Closed)
    assert not driver.ever(LeaveGroupRequest)
    assert [] == driver.calls


def test_close_looks_for_an_unknown_coordinator_until_its_timeout():
    driver = reader({0: 100})
    driver.coordinator = None
    driver.poll()
    assert driver.close(1_000) is None
    driver.advance(999)
    assert not any(isinstance(value, Closed) for value in driver.returned)
    driver.advance(1)

    assert isinstance(driver.returned[-1], Closed)
    assert not driver.ever(OffsetCommitRequest)


def test_a_sync_commit_without_a_coordinator_times_out():
    driver = reader({0: 0}, enable_auto_commit=False, default_api_timeout_ms=3_000)
    driver.coordinator = None
    assert driver.commit("commit_sync", offsets({0: 100})) is None
    driver.advance(3_000)
    assert CommitResult(offsets({0: 100}), ExceptionName.TIMEOUT) == driver.returned[-1]
