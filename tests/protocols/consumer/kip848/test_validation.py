"""Positions are validated at their leader before records are read, over a connection that is open."""

from __future__ import annotations

from protocols.messages import (
    EpochEndOffset,
    FetchedOffset,
    LeaderAndEpoch,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)

from .driver import BROKER, ClientDriver, parts


def validating(*numbers: int) -> ClientDriver:
    """A member that polls, and has positions with leader epochs for *numbers*; it has read nothing yet."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.leader_epochs = dict.fromkeys(parts(0, 1), 3)
    driver.joining()
    driver.reconcile(2, *numbers)
    driver.beaten()
    driver.poll(10_000)
    take_committed(driver)
    return driver


def take_committed(driver: ClientDriver) -> None:
    """Answer the OffsetFetch with offsets that have leader epochs."""
    wanted = driver.one(OffsetFetchRequest).partitions
    found = tuple(FetchedOffset(tp, 5, 3) for tp in wanted)
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found))


def validate(driver: ClientDriver) -> None:
    """Confirm all positions."""
    checks = driver.one(OffsetsForLeaderEpochRequest).partitions
    ends = tuple(EpochEndOffset(check.partition, 3, 100) for check in checks)
    driver.answer(OffsetsForLeaderEpochRequest, OffsetsForLeaderEpochResponse(end_offsets=ends))


def test_a_leader_without_a_connection_validates_in_the_pass_after_that_which_opens_it():
    """A member that joins reads one pass later: each follows the one before after retry.backoff.ms."""
    driver = validating(0, 1)

    assert 200 == driver.advance_until(OffsetsForLeaderEpochRequest)
    validate(driver)
    assert {0: 5, 1: 5} == driver.positions()


def test_a_leader_with_an_open_connection_validates_in_the_next_pass():
    """A member that reads from a broker is given another partition of it."""
    driver = validating(0)
    driver.advance_until(OffsetsForLeaderEpochRequest)
    validate(driver)
    driver.to_own(0, 1)
    driver.advance_until(OffsetFetchRequest)
    take_committed(driver)

    assert 100 == driver.advance_until(OffsetsForLeaderEpochRequest)


def test_a_connection_that_broke_is_opened_again_first_and_not_while_its_back_off_runs():
    """The validation follows in the pass after that, as if it had never been open."""
    driver = validating(0)
    driver.advance(100)
    fetcher = driver.client.consumer.fetcher
    fetcher.disconnected(BROKER, driver.now_us + 50_000)
    fetcher.positions.update_leaders({parts(0)[0]: LeaderAndEpoch(BROKER, 4)})

    assert not fetcher.connect(BROKER, driver.now_us + 49_999)
    assert 200 == driver.advance_until(OffsetsForLeaderEpochRequest)
