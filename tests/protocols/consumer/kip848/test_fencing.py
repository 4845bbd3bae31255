"""Being put out of the group: everything is lost, and the member joins again."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.kip848.member import MemberState
from protocols.messages import FetchRequest, OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import MEMBER, Beat, ClientDriver


@pytest.fixture
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1 that commits every second."""
    made = ClientDriver(auto_commit_interval_ms=20_000)
    made.stable({0: 3, 1: 4})
    return made


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH])
def test_a_fenced_member_loses_all_and_joins_with_its_old_id(driver, error):
    """First comes onPartitionsLost, then epoch 0 at once, with every field and the same id."""
    driver.beat_due()
    driver.refused(error)
    assert MemberState.FENCED is driver.member
    assert [] == driver.pending(Beat)
    driver.poll()

    request = driver.one(Beat)
    assert [("lost", (0, 1))] == driver.calls
    assert (0, MEMBER, ()) == (request.member_epoch, request.member_id, request.topic_partitions)
    assert ["FENCED", "JOINING"] == driver.ways()


def test_no_heartbeat_leaves_while_the_application_works(driver):
    """The new membership waits for the listener call, which waits for a poll."""
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.advance(60_000)

    assert [] == driver.pending(Beat)
    assert [0, 1] == driver.owned()


def test_what_is_lost_is_not_read_any_more(driver):
    """Nothing of it is handed out or asked for, even before the listener was called."""
    driver.poll()
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.records({0: 3})
    handed = driver.poll()

    assert () == handed
    assert [] == driver.pending(FetchRequest)


def test_nothing_is_committed_because_of_it(driver):
    """A fenced member cannot commit: its records are reprocessed by the next owner."""
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.poll()

    assert [] == driver.ever(OffsetCommitRequest)


def test_an_interval_commit_before_the_call_goes_out_without_an_epoch(driver):
    """Until the listener was called the partitions count as owned: a due commit is sent in vain."""
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.advance(15_000)
    driver.hold_calls = True
    driver.poll()

    request = driver.one(OffsetCommitRequest)
    assert (-1, MEMBER) == (request.generation_id, request.member_id)


def test_a_fenced_member_that_owns_nothing_joins_at_once():
    """There is nothing to give up: no poll is needed."""
    driver = ClientDriver()
    driver.stable({})
    driver.beat_due()
    driver.refused(ErrorCode.FENCED_MEMBER_EPOCH)

    assert 0 == driver.one(Beat).member_epoch
    assert [] == driver.calls


def test_without_a_listener_a_fenced_member_joins_at_once():
    """There is no callback to wait for."""
    driver = ClientDriver(listener=False)
    driver.stable()
    driver.beat_due()
    driver.refused(ErrorCode.FENCED_MEMBER_EPOCH)

    assert 0 == driver.one(Beat).member_epoch
    assert [] == driver.owned()


def test_a_fenced_member_comes_back_from_where_the_group_committed(driver):
    """What it is given after joining again starts from committed offsets, not from before."""
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.poll()
    driver.reconcile(9, 0)
    driver.beaten()
    driver.poll()
    driver.fetched({0: 2})

    assert {0: 2} == driver.positions()


def test_a_listener_that_throws_at_a_loss_does_not_keep_the_member_out():
    """Its partitions are dropped and it joins again all the same; the poll throws."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable()
    driver.hold_calls = True
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.poll()
    driver.end_call(Failed("Oops"))

    assert Failed("Oops") == driver.returned[-1]
    assert ([], MemberState.JOINING) == (driver.owned(), driver.member)
    assert 0 == driver.one(Beat).member_epoch
