"""unsubscribe() while something else is under way: what is called then, and what is thrown."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.threads import Outside
from protocols.messages.errors import ErrorCode

from .driver import Beat, ClientDriver


@pytest.fixture
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable()
    return made


def test_an_assignment_that_waits_for_a_poll_is_not_taken_any_more(driver):
    """Assignments are applied in poll: unsubscribe revokes what the application knows of."""
    driver.to_own(0, 1, 2)
    driver.unsubscribe()

    assert [("revoked", (0, 1))] == driver.calls
    assert [] == driver.owned()


def test_a_member_that_subscribes_again_is_not_held_up_by_what_it_skipped(driver):
    """The reconciliation that unsubscribe broke off does not stand in the way of the next."""
    driver.to_own(0, 1, 2)
    driver.unsubscribe()
    driver.beaten(-1)
    driver.carry_out(driver.client.subscribe(driver.now_us, ("t",)))
    driver.quiet()
    driver.joining()
    driver.reconcile(5, 3)

    assert [("assigned", (3,))] == driver.calls


def test_a_listener_that_throws_ends_unsubscribe(driver):
    """The exception comes out of unsubscribe; the member leaves all the same."""
    driver.hold_calls = True
    driver.unsubscribe()
    driver.end_call(Failed("Oops"))

    assert Failed("Oops") == driver.returned[-1]
    assert -1 == driver.one(Beat).member_epoch


def test_a_topic_the_member_may_not_read_does_not_end_unsubscribe(driver):
    """The error that the next poll would have thrown is dropped."""
    driver.beat_due()
    driver.refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    driver.unsubscribe()
    assert [] == driver.returned
    driver.beaten(-1)

    assert Outside() == driver.returned[-1]
    assert driver.state.thrown is None


def test_a_fatal_error_while_the_listener_runs_calls_it_no_more(driver):
    """The listener is called once; the leave is over, the member is in the fatal state."""
    driver.hold_calls = True
    driver.unsubscribe()
    driver.beat_due()
    driver.refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    driver.end_call()

    assert [("revoked", (0, 1))] == driver.calls
    assert MemberState.FATAL is driver.member
    assert Outside() == driver.returned[-1]
    assert [] == driver.owned()


def test_the_listener_is_called_a_tenth_of_a_second_after_unsubscribe(driver):
    """The background thread wakes nobody for a call: unsubscribe looks for one again then."""
    driver.call(driver.client.unsubscribe(driver.now_us))
    driver.advance(99)
    assert [] == driver.calls
    driver.advance(1)

    assert [("revoked", (0, 1))] == driver.calls
    assert -1 == driver.one(Beat).member_epoch


def test_unsubscribe_returns_with_the_response_to_the_last_heartbeat():
    """It waits for that, and not for its next look."""
    driver = ClientDriver(enable_auto_commit=False, listener=False)
    driver.stable()
    driver.unsubscribe()
    driver.advance(10)
    assert [] == driver.returned
    driver.beaten(-1)

    assert Outside() == driver.returned[-1]
