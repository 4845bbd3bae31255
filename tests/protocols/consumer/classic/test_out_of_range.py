"""Positions that their log does not hold: reset, or thrown from poll."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import CommitResult, Failed
from protocols.facts import EpochOpened
from protocols.messages import (
    FetchedRecords,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import BROKER, ClientDriver, offsets, parts
from .test_background import background

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


def test_a_log_may_begin_at_offset_0():
    """Which is a position like any other."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 5})
    driver.poll(10_000)
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    driver.listed({0: 0})

    assert {0: 0} == driver.positions()


@pytest.mark.parametrize(("found", "position"), [((20,), 20), ((-1, 30), 30)])
def test_franz_go_goes_back_to_the_timestamp_that_it_read_last(
    found: tuple[int, ...], position: int
):
    """Or to the end, if no record is as young (franz-go ``handleReqResp``)."""
    driver = background("franz-go", enable_auto_commit=False)
    driver.stable({0: 5})
    (sent,) = driver.pending(FetchRequest)
    read = FetchedRecords(parts(0)[0], 5, 8, last_ms=1_234)
    driver.respond(sent, FetchResponse(BROKER, (read,)))
    driver.poll()
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    asked = []
    for offset in found:
        asked += [since for _, since in driver.one(ListOffsetsRequest).partitions]
        driver.listed({0: offset})

    assert [1_234, -1][: len(found)] == asked
    assert {0: position} == driver.positions()


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


@pytest.mark.parametrize("records_first", [True, False])
def test_out_of_range_is_thrown_in_the_order_of_the_response(records_first):
    """A poll returns the records before it; the one that would begin with it throws (``collectFetch``)."""
    driver = out_of_range(0, 1)
    (sent,) = driver.pending(FetchRequest)
    tp, other = parts(0, 1)
    refused, found = FetchedRecords(tp, 5, 5, E.OFFSET_OUT_OF_RANGE), FetchedRecords(other, 5, 7)
    both = (found, refused) if records_first else (refused, found)
    driver.respond(sent, FetchResponse(BROKER, both))
    polled = [driver.poll(), driver.poll()]
    first, second = polled if records_first else polled[::-1]

    assert (((other, 5, 7),), [OFF]) == (first, thrown(driver))
    assert OFF == second.exception


def test_a_position_is_reset_when_poll_reaches_its_error_behind_the_records():
    """Until then its broker is asked for nothing, and no offset is looked up (``FetchCollector``)."""
    driver = ClientDriver(enable_auto_commit=False, max_poll_records=2)
    driver.stable({0: 5, 1: 5})
    (sent,) = driver.pending(FetchRequest)
    tp, other = parts(0, 1)
    refused, found = FetchedRecords(tp, 5, 5, E.OFFSET_OUT_OF_RANGE), FetchedRecords(other, 5, 8)
    driver.respond(sent, FetchResponse(BROKER, (found, refused)))

    assert ((other, 5, 7),) == driver.poll()
    assert ({0: 5, 1: 7}, []) == (driver.positions(), driver.pending(FetchRequest))
    assert ((other, 7, 8),) == driver.poll()
    assert {1: 8} == driver.positions()
    driver.poll(10_000)
    driver.listed({0: 30})
    assert {0: 30, 1: 8} == driver.positions()


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
