"""Where new partitions are read from: committed offsets with the member's epoch, then resets."""

from __future__ import annotations

import pytest

from protocols.facts import EpochOpened
from protocols.messages import (
    FetchedOffset,
    FetchRequest,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocols.messages.errors import ErrorCode

from .driver import MEMBER, ClientDriver


def assigned(**settings) -> ClientDriver:
    """A member that has just been assigned partitions 0 and 1 and asks where to read them."""
    driver = ClientDriver(enable_auto_commit=False, **settings)
    driver.joining()
    driver.reconcile(2, 0, 1)
    driver.beaten()
    driver.poll()
    return driver


def refuse(driver: ClientDriver, error: ErrorCode) -> None:
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(error=error))


def test_committed_offsets_are_asked_for_with_the_members_epoch():
    """The coordinator checks that it is the member it takes itself for."""
    request = assigned().one(OffsetFetchRequest)

    assert (MEMBER, 2) == (request.member_id, request.member_epoch)
    assert [0, 1] == sorted(tp.partition for tp in request.partitions)
    assert 10 == request.version


def test_fetches_leave_with_the_answer():
    """Once the positions are there the poll event goes on to its fetches, without another poll."""
    driver = assigned()
    driver.fetched({0: 5, 1: 6})

    assert {0: 5, 1: 6} == driver.positions()
    assert 1 == len(driver.pending(FetchRequest))


def test_a_stale_epoch_is_followed_by_a_try_with_the_new_one():
    """The member's epoch may have risen since; the next try has the newest."""
    driver = assigned()
    driver.beat_due()
    driver.beaten(4)
    refuse(driver, ErrorCode.STALE_MEMBER_EPOCH)
    driver.advance(100)

    assert 4 == driver.one(OffsetFetchRequest).member_epoch


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_errors_that_pass_are_waited_out(error):
    """The back-off doubles; nothing but the positions waits for it."""
    driver = assigned()
    waits = []
    for _ in range(3):
        refuse(driver, error)
        waits.append(driver.advance_until(OffsetFetchRequest))

    assert [100, 200, 400] == waits


def test_a_lost_connection_is_waited_out():
    """The question is asked again over the next connection."""
    driver = assigned()
    driver.disconnect()
    driver.advance(200)

    assert 1 == len(driver.pending(OffsetFetchRequest))


def test_an_error_that_stays_is_thrown():
    """The next poll throws what no try would mend."""
    driver = assigned()
    refuse(driver, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    thrown = driver.poll()

    assert ErrorCode.GROUP_AUTHORIZATION_FAILED is thrown.error


def test_an_error_about_what_is_lost_anyway_is_not_thrown():
    """A member that was put out meanwhile does not die of the answer to its old question."""
    driver = assigned()
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    refuse(driver, ErrorCode.UNKNOWN_MEMBER_ID)

    assert () == driver.poll()
    assert [("lost", (0, 1))] == driver.calls[-1:]


def test_without_an_offset_the_policy_decides():
    """The leaders are asked where reading may start; the answers end the event."""
    driver = assigned()
    driver.fetched({0: 5})
    listed = (ListedOffset(driver.one(ListOffsetsRequest).partitions[0][0], 2),)
    driver.answer(ListOffsetsRequest, ListOffsetsResponse(offsets=listed))

    assert {0: 5, 1: 2} == driver.positions()
    (fact,) = [f for f in driver.emitted(EpochOpened) if f.partition.partition == 1]
    assert ("earliest", "no offset") == (fact.source, fact.why)
    assert 1 == len(driver.pending(FetchRequest))


def test_without_an_offset_and_a_policy_poll_throws():
    """NoOffsetForPartitionException."""
    driver = assigned(auto_offset_reset="none")
    driver.fetched({0: 5})

    assert "NoOffsetForPartitionException" == driver.poll().exception


def test_retained_partitions_go_on_being_read_meanwhile():
    """Only what is new waits for its position."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.poll()
    driver.beat_due()
    driver.beaten(3, 0, 1)
    driver.poll()
    driver.poll()
    assert 1 == len(driver.pending(OffsetFetchRequest))
    driver.records({0: 3})

    assert 3 == driver.poll(100)[0].next_offset


# -- several requests ------------------------------------------------------------------------------


@pytest.fixture
def twice() -> ClientDriver:
    """A member that is assigned partition 1 while it waits for the offset of partition 0."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.joining()
    driver.reconcile(2, 0)
    driver.beaten()
    driver.poll()
    driver.beat_due()
    driver.beaten(3, 0, 1)
    driver.poll()
    driver.poll()
    driver.poll()
    return driver


def fetches(driver: ClientDriver) -> list[list[int]]:
    """Return the partitions of each unanswered OffsetFetch."""
    sent = (each.message for each in driver.pending(OffsetFetchRequest))
    return [[tp.partition for tp in request.partitions] for request in sent]


def respond(driver: ClientDriver, committed: dict[int, int]) -> None:
    """Answer the oldest OffsetFetch."""
    request = driver.pending(OffsetFetchRequest)[0].message
    found = tuple(FetchedOffset(tp, committed[tp.partition]) for tp in request.partitions)
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found))


def test_a_changed_set_of_partitions_is_requested_beside_the_first(twice):
    """The earlier request goes on; polls with the same set reuse the later one."""
    twice.poll()

    assert [[0], [0, 1]] == fetches(twice)


def test_the_earlier_response_still_gives_positions(twice):
    """Its offsets are applied to the partitions that wait for one."""
    respond(twice, {0: 5})

    assert {0: 5} == twice.positions()
    assert [[0, 1]] == fetches(twice)
    respond(twice, {0: 7, 1: 6})
    assert {0: 5, 1: 6} == twice.positions()
