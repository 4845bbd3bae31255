"""close() waits for commits without a coordinator, all in flight to it."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed
from protocols.consumer.fetching import CLOSES_SESSION
from protocols.facts import CommitAnswered, CommitRefused
from protocols.messages import (
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import BROKER, ClientDriver, manual_member, offsets, parts

E = ErrorCode
MOVED_TO = 2


def closed(driver: ClientDriver) -> bool:
    return bool(driver.returned) and isinstance(driver.returned[-1], Closed)


def left(driver: ClientDriver) -> None:
    driver.answer(LeaveGroupRequest, LeaveGroupResponse())


def joining(*, until: type = JoinGroupRequest, **settings) -> ClientDriver:
    """Return a cooperative member whose next JoinGroup or SyncGroup is unanswered."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False, **settings)
    driver.stable()
    driver.learn()
    driver.poll()
    if until is SyncGroupRequest:
        driver.joined(2)
        driver.poll()
    assert driver.pending(until)
    return driver


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest])
def test_a_parked_request_is_waited_for(kind):
    """A static member sends no LeaveGroup: what is in flight to the coordinator ends."""
    driver = joining(until=kind, group_instance_id="i")
    driver.close()
    assert not closed(driver)

    if kind is JoinGroupRequest:
        driver.join_error(E.UNKNOWN_MEMBER_ID)
    else:
        driver.synced(error=E.REBALANCE_IN_PROGRESS)
    assert closed(driver)


def test_a_parked_request_is_waited_for_no_longer_than_the_budget():
    """A static member's JoinGroup may stay parked for long."""
    driver = joining(group_instance_id="i-1")
    driver.close(1_000)
    driver.advance(999)
    assert not closed(driver)

    driver.advance(1)
    assert closed(driver)


def test_a_join_that_succeeds_while_closing_is_discarded():
    """The member has left: no SyncGroup follows and no heartbeat."""
    driver = joining()
    driver.close()
    driver.joined(2)
    left(driver)

    assert closed(driver)
    assert 1 == len(driver.ever(SyncGroupRequest))
    assert driver.state.beat is None


def test_without_a_coordinator_nothing_in_flight_is_waited_for():
    """It was sent over a connection that is no more."""
    driver = joining()
    driver.coordinator = None
    driver.disconnect()
    driver.close()

    assert closed(driver)


def unsent(**settings) -> ClientDriver:
    """A member with an asynchronous commit chained to a lookup that is not answered."""
    driver = ClientDriver(enable_auto_commit=False, **settings)
    driver.stable()
    driver.deaf = {FindCoordinatorRequest}
    driver.disconnect()
    driver.tick()
    driver.commit_async({0: 5})
    driver.calls.clear()
    return driver


def test_commits_that_wait_for_a_lookup_are_waited_for_before_the_listener():
    """They are sent when the coordinator is found, then the member leaves."""
    driver = unsent()
    driver.close()
    assert [] == driver.calls

    driver.deaf = set()
    lookup = driver.pending(FindCoordinatorRequest)[-1]
    driver.respond(lookup, FindCoordinatorResponse(node_id=MOVED_TO))
    assert [("revoked", parts(0, 1))] == driver.calls
    left(driver)
    assert not closed(driver)

    driver.committed()
    assert closed(driver)


def test_commits_that_wait_for_a_lookup_are_waited_for_no_longer_than_the_budget():
    """No coordinator is found: the listener is called, then close() ends."""
    driver = unsent()
    driver.close(1_000)
    driver.advance(999)
    assert [] == driver.calls

    driver.advance(1)
    assert [("revoked", parts(0, 1))] == driver.calls
    assert closed(driver)


def test_a_commit_that_is_never_sent_ends_with_the_wait():
    """It is reported as failed by the client itself."""
    driver = unsent()
    driver.close(1_000)
    driver.advance(999)
    assert [] == driver.emitted(CommitRefused)

    driver.advance(1)
    (end,) = driver.emitted(CommitRefused)
    assert (offsets({0: 5}), "COORDINATOR_NOT_AVAILABLE", "client") == (
        end.requested,
        end.error,
        end.by,
    )


def test_a_failed_lookup_ends_the_wait_for_commits():
    """They have ended with it."""
    driver = unsent()
    driver.close(10_000)
    lookup = driver.pending(FindCoordinatorRequest)[-1]
    error = E.COORDINATOR_NOT_AVAILABLE
    driver.respond(lookup, FindCoordinatorResponse(error=error))

    assert [error.name] == [end.error for end in driver.emitted(CommitRefused)]
    assert closed(driver)


def test_an_answer_that_arrives_during_the_listener_call_is_handled_after_it():
    """``maybeLeaveGroup`` sends LeaveGroup, then polls the network once."""
    driver = manual_member()
    driver.commit_async({0: 5})
    driver.hold_calls = True
    driver.close()
    driver.committed(E.UNKNOWN_MEMBER_ID)
    assert [] == driver.emitted(CommitAnswered)

    driver.end_call()
    assert ["UNKNOWN_MEMBER_ID"] == [end.error for end in driver.emitted(CommitAnswered)]
    assert driver.pending(LeaveGroupRequest)


# -- fetches in flight -----------------------------------------------------------------------------


def leaving(close_ms: int = 1_000, **settings) -> ClientDriver:
    """Return a member that has left in close(), and whose broker has a fetch of it."""
    driver = manual_member(**settings)
    driver.poll()
    assert driver.pending(FetchRequest)
    driver.deaf.add(FetchRequest)
    driver.close(close_ms)
    assert CLOSES_SESSION not in [sent.message for sent in driver.history]
    left(driver)
    return driver


def test_the_fetch_sessions_are_closed_after_leaving_and_their_end_is_waited_for():
    """The broker answers the fetch in flight first: after fetch.max.wait.ms without records."""
    driver = leaving()
    assert [CLOSES_SESSION] == [sent.message for sent in driver.pending(FetchRequest)[1:]]
    assert not closed(driver)

    driver.respond(driver.pending(FetchRequest)[0], FetchResponse(BROKER, ()))
    assert closed(driver)


def test_an_answer_that_was_not_read_before_close_is_not_that_of_the_closed_session():
    """It came while the application worked; without a group the sessions are closed at once."""
    driver = ClientDriver(assigned=parts(0), enable_auto_commit=False)
    driver.client.consumer.positions.seek(parts(0)[0], 0)
    driver.poll_until(FetchRequest)
    driver.deaf.add(FetchRequest)
    driver.answer(FetchRequest, FetchResponse(BROKER, ()))
    driver.close()
    assert not closed(driver)

    driver.answer(FetchRequest, FetchResponse(BROKER, ()))
    assert closed(driver)


def test_an_answer_during_the_last_listener_call_is_not_that_of_the_closed_session():
    """No thread reads it before the call has ended."""
    driver = manual_member(group_instance_id="i")
    driver.poll()
    driver.deaf.add(FetchRequest)
    driver.hold_calls = True
    driver.close()
    driver.answer(FetchRequest, FetchResponse(BROKER, ()))
    driver.end_call()
    assert [CLOSES_SESSION] == [sent.message for sent in driver.pending(FetchRequest)]
    assert not closed(driver)

    driver.answer(FetchRequest, FetchResponse(BROKER, ()))
    assert closed(driver)


def test_fetches_are_waited_for_no_longer_than_the_timeout():
    """A broker that does not answer holds close() until then."""
    driver = leaving()
    driver.advance(999)
    assert not closed(driver)

    driver.advance(1)
    assert closed(driver)


def test_fetches_are_waited_for_no_longer_than_a_request():
    """Their request.timeout.ms counts from the end of the wait for the group."""
    driver = leaving(close_ms=60_000, request_timeout_ms=5_000)
    driver.advance(4_999)
    assert not closed(driver)

    driver.advance(1)
    assert closed(driver)


def test_a_lost_connection_ends_the_wait_for_fetches():
    """No answer comes over it any more."""
    driver = leaving()
    driver.disconnect(BROKER)

    assert closed(driver)


def away(*, wait_ms: int) -> ClientDriver:
    """Return a member that closes so long after its fetch broke the connection."""
    driver = manual_member()
    driver.poll()
    driver.disconnect(BROKER)
    driver.advance(wait_ms)
    driver.deaf.add(FetchRequest)
    driver.close()
    left(driver)
    return driver


def test_no_session_is_closed_while_the_reconnect_back_off_runs():
    """As ``prepareCloseFetchSessionRequests`` leaves the broker out."""
    driver = away(wait_ms=0)

    assert closed(driver)
    assert CLOSES_SESSION not in [sent.message for sent in driver.history]


def test_a_session_is_closed_after_the_reconnect_back_off():
    """The request opens a connection."""
    driver = away(wait_ms=1_000)
    assert not closed(driver)

    driver.answer(FetchRequest, FetchResponse(BROKER, ()))
    assert closed(driver)


def test_a_fetch_from_a_broker_that_is_not_in_the_metadata_is_not_waited_for():
    """It was fenced, and is not asked to close the session."""
    driver = manual_member(metadata_max_age_ms=1_000)
    driver.poll()
    driver.brokers = (MOVED_TO,)
    driver.advance(1_000)
    driver.poll()
    assert driver.pending(FetchRequest)

    driver.close()
    left(driver)
    assert closed(driver)
    assert {MOVED_TO} == {sent.node for sent in driver.history if sent.message == CLOSES_SESSION}


def test_records_that_arrive_during_the_last_call_do_not_end_the_wait_for_the_fetch_session():
    """The answer to the fetch is taken at once; the end of the session is still to be answered."""
    driver = manual_member(group_instance_id="i-1")
    driver.deaf = {FetchRequest}
    driver.poll()
    driver.hold_calls = True
    driver.close()
    driver.records({0: 3})
    driver.end_call()
    assert CLOSES_SESSION == driver.one(FetchRequest)
    assert not closed(driver)

    driver.answer(FetchRequest, FetchResponse(BROKER, ()))
    assert closed(driver)
