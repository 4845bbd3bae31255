"""close() of a consumer that has no coordinator, or commits that are still under way."""

from __future__ import annotations

from protocols.consumer.calls import Closed
from protocols.messages import FindCoordinatorRequest, OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver


def manual() -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable({0: 3, 1: 4})
    return made


def alone(driver: ClientDriver) -> ClientDriver:
    """The same member after its coordinator has gone."""
    driver.coordinator = None
    driver.disconnect()
    return driver


def test_asynchronous_commits_are_given_up_without_a_coordinator():
    """No lookup is sent any more, so close() does not wait for commits that cannot be sent."""
    driver = alone(manual())
    driver.commit_async({0: 9})
    driver.close()

    assert Closed() == driver.returned[-1]
    assert [] == driver.ever(OffsetCommitRequest)


def test_no_coordinator_is_looked_up_while_the_listener_runs():
    """The search ends with the final commit, however long the listener takes after it."""
    driver = alone(manual())
    driver.hold_calls = True
    driver.close()
    before = len(driver.ever(FindCoordinatorRequest))
    driver.advance(10_000)

    assert before == len(driver.ever(FindCoordinatorRequest))


def test_a_commit_of_the_last_listener_call_fails_without_a_coordinator():
    """A commitSync in onPartitionsRevoked of close() throws at once."""
    driver = alone(manual())
    driver.hold_calls = True
    driver.close()
    driver.commit_sync({0: 9})

    assert "CommitFailedException" == driver.returned[-1].exception


def test_commits_of_the_last_listener_call_know_no_back_off():
    """close() has every commit sent as soon as it can be."""
    driver = manual()
    driver.hold_calls = True
    driver.close()
    driver.commit_sync({0: 9})
    driver.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    assert 1 == len(driver.pending(OffsetCommitRequest))


def test_the_final_commit_ends_after_asynchronous_ones():
    """It is a commitSync: the listener is called when the commits before it have ended too."""
    driver = ClientDriver(auto_commit_interval_ms=60_000)
    driver.stable({0: 3, 1: 4})
    driver.commit_async({0: 9})
    driver.close()
    first, final = driver.pending(OffsetCommitRequest)
    driver.sent.remove(first)
    driver.committed()
    assert [] == driver.calls
    driver.sent.append(first)
    driver.committed()

    assert final not in driver.sent
    assert [("revoked", (0, 1))] == driver.calls
