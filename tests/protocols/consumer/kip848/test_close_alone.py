"""close() of a consumer that has no coordinator, or commits or fetches that are still under way."""

from __future__ import annotations

from protocols.consumer.calls import Closed
from protocols.consumer.fetching import CLOSES_SESSION
from protocols.consumer.kip848.threads import Lag
from protocols.messages import (
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import BROKER, Beat, ClientDriver


def manual() -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable({0: 3, 1: 4})
    return made


def committer() -> ClientDriver:
    """The same, which commits by itself."""
    made = ClientDriver(auto_commit_interval_ms=60_000)
    made.stable({0: 3, 1: 4})
    return made


def alone(driver: ClientDriver) -> ClientDriver:
    """The same member after its coordinator has gone."""
    driver.lose_coordinator()
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


def test_close_waits_for_the_fetches_in_flight():
    """The background thread closes the fetch sessions last, and ends with the last answer."""
    driver = committer()
    driver.poll()
    driver.deaf.add(FetchRequest)
    driver.close()
    driver.committed()
    assert CLOSES_SESSION not in driver.ever(FetchRequest)
    driver.beaten(-1)
    fetch, ending = driver.pending(FetchRequest)
    assert CLOSES_SESSION == ending.message
    assert Closed() not in driver.returned

    driver.respond(fetch, FetchResponse(BROKER, ()))
    assert Closed() == driver.returned[-1]


def test_close_without_time_ends_the_fetch_sessions_and_waits_for_no_answer():
    """The background thread sends them in its last round (``ConsumerNetworkThread.sendUnsentRequests``)."""
    driver = manual()
    driver.poll()
    driver.close(0)

    assert Closed() == driver.returned[-1]
    assert CLOSES_SESSION == driver.ever(FetchRequest)[-1]


def test_close_waits_for_fetches_no_longer_than_its_timeout():
    """A broker that does not answer holds it until then."""
    driver = committer()
    driver.deaf.add(FetchRequest)
    driver.close(1_000)
    driver.committed()
    driver.beaten(-1)
    driver.advance(999)
    assert Closed() not in driver.returned

    driver.advance(1)
    assert Closed() == driver.returned[-1]


def test_a_lost_connection_ends_the_wait_for_fetches():
    """No answer comes over it any more."""
    driver = committer()
    driver.poll()
    driver.deaf.add(FetchRequest)
    driver.close()
    driver.committed()
    driver.beaten(-1)
    assert Closed() not in driver.returned

    driver.disconnect(BROKER)
    assert Closed() == driver.returned[-1]


# -- without time ----------------------------------------------------------------------------------


def test_close_without_time_commits_calls_the_listener_and_leaves():
    """It waits until the background thread has taken each of these, and for no answer."""
    driver = committer()
    driver.lags = {Lag.EVENT: 1_400}
    driver.quiet()
    driver.close(0)
    driver.advance(1.4)
    assert 1 == len(driver.pending(OffsetCommitRequest))
    assert [("revoked", (0, 1))] == driver.calls
    assert [] == driver.pending(Beat)
    driver.advance(1.4)

    assert -1 == driver.one(Beat).member_epoch
    assert Closed() == driver.returned[-1]


def test_close_leaves_after_a_commit_that_outlasts_its_timeout():
    """The heartbeat that leaves is sent at the end of the timeout."""
    driver = committer()
    driver.lags = {Lag.EVENT: 1_400}
    driver.close(2_000)
    driver.advance(2_000)
    assert [] == driver.pending(Beat)
    driver.advance(1.4)

    assert -1 == driver.one(Beat).member_epoch
    assert Closed() == driver.returned[-1]
