"""Errors of a fetch wait for the poll that reports them; while they do, a wait for records may end."""

from __future__ import annotations

import pytest

from protocols.messages import FetchResponse

from .test_fetching import REFUSED, arrive, reading, tp


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
