"""Clients between two polls, whose state repeats with a period."""

from __future__ import annotations

import pytest

from protocols.consumer.kip848.periods import is_at_rest
from protocols.consumer.kip848.state import Commit
from protocols.consumer.kip848.threads import Lag
from protocols.messages import OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver


@pytest.fixture
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable({0: 3, 1: 4})
    return made


def test_only_the_first_attempt_of_a_commit_sync_alone_repeats_with_the_period(driver):
    """A retry has its back-off, and earlier asynchronous commits end before it."""
    driver.commit_sync({0: 9})
    assert is_at_rest(driver.state, driver.client.consumer)

    driver.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance_until(OffsetCommitRequest)
    assert not is_at_rest(driver.state, driver.client.consumer)

    driver.committed()
    driver.commit_async({0: 9})
    driver.commit_sync({0: 9})
    assert not is_at_rest(driver.state, driver.client.consumer)


def test_a_commit_sync_that_the_background_thread_has_yet_to_take_repeats_with_the_period(driver):
    """It is the only event that may be queued."""
    driver.lags = dict.fromkeys(Lag, 1000)
    driver.commit_sync({0: 9})

    assert [Commit] == [type(event) for event in driver.state.events]
    assert is_at_rest(driver.state, driver.client.consumer)
