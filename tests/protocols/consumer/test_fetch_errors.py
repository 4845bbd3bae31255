"""Errors of a fetch wait for the poll that reports them; while they do, a wait for records may end."""

from __future__ import annotations

import pytest

from protocols.messages import FetchedRecords, FetchResponse
from protocols.messages.errors import ErrorCode

from .test_fetching import REFUSED, arrive, ranges, reading, tp


def test_an_error_of_a_partition_that_is_kept_still_waits():
    """Another assignment does not lose it."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    fetcher.arrived(FetchResponse(1, (REFUSED,)))
    fetcher.assign([tp(1)])

    assert (True, True) == (fetcher.has_errors, fetcher.has_available)
    assert ((), [REFUSED]) == (fetcher.collect(10), fetcher.take_refused())


@pytest.mark.parametrize("why", ["revoking", "pending", "reset"])
def test_an_error_ends_no_wait_while_its_partition_is_not_read(why):
    """Nor do records (``isFetchable``)."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    fetcher.arrived(FetchResponse(1, (REFUSED,)))
    fetcher.revoking = why == "revoking"
    fetcher.pending = frozenset({tp(1)}) if why == "pending" else frozenset()
    if why == "reset":
        fetcher.positions.reset(tp(1))
    assert not fetcher.has_available

    fetcher.requests()
    arrive(fetcher, {0: 1})
    assert fetcher.has_available is (why != "revoking")


@pytest.mark.parametrize(("place", "waits"), [(0, True), (5, False)])
def test_a_position_out_of_range_is_thrown_by_a_poll_without_records(place: int, waits: bool):
    """Without a policy that resets it; an error of a position that was left is not thrown at all."""
    refused = FetchedRecords(tp(1), 0, 0, ErrorCode.OFFSET_OUT_OF_RANGE)
    fetcher = reading({0: 0, 1: 0})
    fetcher.throws_out_of_range = True
    fetcher.requests()
    arrive(fetcher, {0: 3})
    fetcher.arrived(FetchResponse(1, (refused,)))
    fetcher.positions.seek(tp(1), place)

    assert [(0, 0, 3)] == ranges(fetcher.collect(10))
    assert ([] if waits else [refused]) == fetcher.take_refused()
    assert () == fetcher.collect(10)
    assert ([refused] if waits else []) == fetcher.take_refused()
