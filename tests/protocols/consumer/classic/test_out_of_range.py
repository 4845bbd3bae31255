"""Positions that their log does not hold: reset, or thrown from poll."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import CommitResult, Failed
from protocols.facts import EpochOpened
from protocols.messages import FetchedRecords, FetchRequest, FetchResponse
from protocols.messages.errors import ErrorCode

from .driver import BROKER, ClientDriver, offsets, parts

E = ErrorCode
OFF = "OffsetOutOfRangeException"


def test_out_of_range_resets_by_policy():
    """The log start passed the position: the policy decides, and the reason is emitted."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 5})
    driver.poll(10_000)
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)

    assert {} == driver.positions()
    driver.listed({0: 30})
    reported = driver.emitted(EpochOpened)[-1]
    assert (30, "earliest", "out of range") == (reported.offset, reported.source, reported.why)


def out_of_range(*numbers: int) -> ClientDriver:
    """A member without a reset policy; its positions are 5, its fetches are not answered yet."""
    driver = ClientDriver(enable_auto_commit=False, auto_offset_reset="none")
    driver.stable(dict.fromkeys(numbers, 5))
    return driver


def thrown(driver: ClientDriver) -> list[str]:
    return [value.exception for value in driver.returned if isinstance(value, Failed)]


def test_out_of_range_without_a_policy_is_thrown():
    """OffsetOutOfRangeException from poll; the next poll asks again, and throws again."""
    driver = out_of_range(0)
    driver.poll(10_000)
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    assert [OFF] == thrown(driver)
    assert "t-0 is read at 5" in driver.returned[-1].message

    driver.poll(10_000)
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    assert [OFF, OFF] == thrown(driver)


def test_out_of_range_read_while_the_application_works_waits_for_the_next_poll():
    """Only poll throws, once."""
    driver = out_of_range(0)
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    driver.tick()
    assert [] == thrown(driver)

    driver.poll()
    assert [OFF] == thrown(driver)
    assert () == driver.poll()


def test_out_of_range_read_inside_commit_sync_does_not_end_it():
    """The commit goes on; the next poll throws."""
    driver = out_of_range(0)
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    driver.commit_sync({0: 5})
    driver.committed()
    assert CommitResult(offsets({0: 5})) == driver.returned[-1]
    assert driver.client.calm(driver.now_us) is None

    driver.poll()
    assert [OFF] == thrown(driver)


def test_records_of_other_partitions_come_before_out_of_range():
    """They are returned; the poll that finds none throws."""
    driver = out_of_range(0, 1)
    (sent,) = driver.pending(FetchRequest)
    tp, other = parts(0, 1)
    refused = FetchedRecords(tp, 5, 5, E.OFFSET_OUT_OF_RANGE)
    found = (refused, FetchedRecords(other, 5, 7))
    driver.respond(sent, FetchResponse(BROKER, found))
    driver.poll()
    assert (((other, 5, 7),), []) == (driver.returned[-1], thrown(driver))

    driver.poll()
    assert [OFF] == thrown(driver)


def test_out_of_range_is_thrown_for_one_partition_a_poll():
    """Each has its own error."""
    driver = out_of_range(0, 1)
    driver.records({0: 0, 1: 0}, error=E.OFFSET_OUT_OF_RANGE)
    driver.poll()
    assert [OFF] == thrown(driver)

    driver.poll()
    assert [OFF, OFF] == thrown(driver)


def test_out_of_range_of_a_partition_given_away_is_never_thrown():
    """Its new owner finds the error itself."""
    driver = out_of_range(0, 1)
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    driver.learn()
    driver.join(1, generation=2)
    driver.fetched({1: 5})
    driver.poll()

    assert [] == thrown(driver)


@pytest.mark.parametrize("at", [5, 0])
def test_out_of_range_for_another_position_is_stale(at):
    """The position has moved since that fetch was sent: the error is dropped."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: at})
    (late,) = driver.pending(FetchRequest)
    driver.learn()
    driver.join(0, generation=2)
    driver.fetched({0: 50})
    driver.poll()
    refused = FetchedRecords(parts(0)[0], at, at, E.OFFSET_OUT_OF_RANGE)
    driver.respond(late, FetchResponse(BROKER, (refused,)))
    driver.poll()

    assert {0: 50} == driver.positions()
