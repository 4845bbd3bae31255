"""unsubscribe() and close(): the order of things, the epochs, and what is waited for."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed, CloseOperation, Failed
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.threads import Outside
from protocols.messages import OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import Beat, ClientDriver, offsets


@pytest.fixture
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1 that commits by itself."""
    made = ClientDriver(auto_commit_interval_ms=60_000)
    made.stable({0: 3, 1: 4})
    return made


def manual(**settings) -> ClientDriver:
    """A stable member that never commits by itself."""
    made = ClientDriver(enable_auto_commit=False, **settings)
    made.stable()
    return made


# -- unsubscribe -------------------------------------------------------------------------------------


def test_unsubscribe_revokes_and_leaves_without_a_commit(driver):
    """The listener is called, then the last heartbeat goes out; nothing is committed."""
    driver.unsubscribe()

    assert [("revoked", (0, 1))] == driver.calls
    assert -1 == driver.one(Beat).member_epoch
    assert [] == driver.ever(OffsetCommitRequest)
    driver.beaten(-1)
    assert Outside() == driver.returned[-1]
    assert ["PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED"] == driver.ways()


def test_a_poll_without_a_subscription_throws(driver):
    """After unsubscribe there is nothing to poll."""
    driver.unsubscribe()
    driver.beaten(-1)

    assert isinstance(driver.poll(), Failed)


def test_heartbeats_go_on_while_the_listener_runs():
    """A member that prepares to leave still says that it lives."""
    driver = manual()
    driver.hold_calls = True
    driver.unsubscribe()
    beat = driver.beat_due()

    assert MemberState.PREPARE_LEAVING is driver.member
    assert 2 == beat.member_epoch


def test_the_poll_interval_does_not_count_while_the_listener_runs():
    """A member that is on its way out is not put out for not polling."""
    driver = manual(max_poll_interval_ms=12_000)
    driver.hold_calls = True
    driver.unsubscribe()
    for _ in range(6):
        driver.beat_due()
        driver.beaten()
    assert MemberState.PREPARE_LEAVING is driver.member
    driver.end_call()

    assert -1 == driver.one(Beat).member_epoch


def test_the_last_heartbeat_overtakes_one_in_flight():
    """It does not wait for the answer to the one before."""
    driver = manual()
    driver.beat_due()
    driver.unsubscribe()

    assert [2, -1] == [sent.message.member_epoch for sent in driver.pending(Beat)]


def test_a_member_fenced_while_it_prepares_to_leave_has_left():
    """No last heartbeat is sent for a member that is none any more."""
    driver = manual()
    driver.hold_calls = True
    driver.unsubscribe()
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    assert MemberState.UNSUBSCRIBED is driver.member
    driver.end_call()

    assert [] == driver.pending(Beat)
    assert Outside() == driver.returned[-1]
    assert [] == driver.owned()


def test_a_fenced_member_that_unsubscribes_is_out(driver):
    """There is nothing to leave; it does not join again."""
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.unsubscribe()

    assert MemberState.UNSUBSCRIBED is driver.member
    assert Outside() == driver.returned[-1]
    driver.advance(60_000)
    assert [] == driver.pending(Beat)


def test_an_assignment_does_not_matter_to_a_member_that_prepares_to_leave():
    """It keeps its heartbeats up while the listener runs, and ignores new targets."""
    driver = manual()
    driver.hold_calls = True
    driver.unsubscribe()
    driver.beat_due()
    driver.beaten(3, 0, 1, 2)

    assert MemberState.PREPARE_LEAVING is driver.member
    assert [0, 1] == driver.owned()
    driver.end_call()
    assert -1 == driver.one(Beat).member_epoch


def test_unsubscribing_again_sends_nothing():
    """There is no group to leave any more."""
    driver = manual()
    driver.unsubscribe()
    driver.beaten(-1)
    driver.quiet()
    driver.unsubscribe()

    assert ([], []) == (driver.calls, driver.pending(Beat))
    assert Outside() == driver.returned[-1]


def test_unsubscribing_a_stale_member_drops_its_partitions():
    """It has left already, and joins again only after the next subscribe and poll."""
    driver = manual(max_poll_interval_ms=1_000)
    driver.advance(1_000)
    driver.quiet()
    driver.unsubscribe()

    assert ([], []) == (driver.owned(), driver.ever(Beat))
    assert MemberState.STALE is driver.member


def test_a_fatal_error_for_a_heartbeat_from_before_the_leave_is_fatal():
    """The member has left at once, without waiting for the response to its leaving heartbeat."""
    driver = manual()
    driver.beat_due()
    driver.unsubscribe()
    assert 2 == len(driver.pending(Beat))
    driver.refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    assert Outside() == driver.returned[-1]
    assert MemberState.FATAL is driver.member
    assert [("revoked", (0, 1))] == driver.calls


def test_an_unknown_group_is_no_fatal_error_for_a_member_that_has_left():
    """There is nothing to leave; another heartbeat than the leaving one says so."""
    driver = manual()
    driver.beat_due()
    driver.unsubscribe()
    driver.refused(ErrorCode.GROUP_ID_NOT_FOUND)

    assert MemberState.UNSUBSCRIBED is driver.member


@pytest.mark.parametrize(
    "error",
    [ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION, ErrorCode.GROUP_MAX_SIZE_REACHED],
)
def test_a_fatal_error_for_the_leaving_heartbeat_is_fatal(error):
    """The leave completes and no listener is called again, but the member can never rejoin."""
    driver = manual()
    driver.unsubscribe()
    driver.refused(error)

    assert Outside() == driver.returned[-1]
    assert MemberState.FATAL is driver.member
    assert [("revoked", (0, 1))] == driver.calls
    assert error is driver.state.fatal_error.error


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ],
)
def test_other_errors_for_the_leaving_heartbeat_complete_the_leave(error):
    """The heartbeat is not sent again."""
    driver = manual()
    driver.unsubscribe()
    driver.refused(error)

    assert Outside() == driver.returned[-1]
    assert MemberState.UNSUBSCRIBED is driver.member
    driver.advance(60_000)
    assert [] == driver.pending(Beat)


def test_the_response_after_max_poll_interval_is_ignored():
    """A member that left because the application did not poll joins again whatever it was sent."""
    driver = manual(max_poll_interval_ms=1_000)
    driver.advance(1_000)
    assert MemberState.STALE is driver.member
    driver.refused(ErrorCode.INVALID_REQUEST)

    assert MemberState.STALE is driver.member


# -- close -------------------------------------------------------------------------------------------


def test_close_commits_revokes_and_leaves(driver):
    """Commit of everything returned, listener call, last heartbeat, in this order."""
    driver.close()
    assert [] == driver.calls
    request = driver.committed()
    assert offsets({0: 3, 1: 4}) == tuple(sorted(request.offsets))
    assert [("revoked", (0, 1))] == driver.calls
    assert -1 == driver.one(Beat).member_epoch
    assert [] == driver.returned
    driver.beaten(-1)

    assert Closed() == driver.returned[-1]


EPOCHS = [
    (None, CloseOperation.DEFAULT, [-1]),
    (None, CloseOperation.LEAVE_GROUP, [-1]),
    (None, CloseOperation.REMAIN_IN_GROUP, []),
    ("i", CloseOperation.DEFAULT, [-2]),
    ("i", CloseOperation.LEAVE_GROUP, [-1]),
    ("i", CloseOperation.REMAIN_IN_GROUP, [-2]),
]


@pytest.mark.parametrize(("instance", "operation", "epochs"), EPOCHS)
def test_the_last_heartbeat_depends_on_how_it_is_closed(instance, operation, epochs):
    """Dynamic members leave or keep silent; static ones leave for a while, or for good."""
    driver = manual(group_instance_id=instance)
    driver.close(operation=operation)

    assert epochs == [sent.message.member_epoch for sent in driver.pending(Beat)]
    assert [("revoked", (0, 1))] == driver.calls
    if not epochs:
        assert Closed() == driver.returned[-1]


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    ],
)
def test_a_refused_final_commit_is_swallowed(driver, error):
    """close() goes on without a word."""
    driver.close()
    driver.committed(error)
    driver.beaten(-1)

    assert Closed() == driver.returned[-1]


@pytest.mark.parametrize(
    "error", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]
)
def test_a_final_commit_that_may_succeed_is_tried_again(driver, error):
    """As long as the budget of close() lasts."""
    driver.close()
    driver.committed(error)
    driver.advance(100)

    assert 1 == len(driver.pending(OffsetCommitRequest))
    assert [] == driver.calls


def test_the_final_commit_has_the_budget_of_close(driver):
    """After the timeout close() goes on to the listener and has no time for anything else."""
    driver.coordinator = None
    driver.disconnect()
    driver.close(2_000)
    driver.advance(1_999)
    assert [] == driver.calls
    driver.advance(1)

    assert [("revoked", (0, 1))] == driver.calls
    assert Closed() == driver.returned[-1]


def test_without_a_coordinator_no_leave_is_sent():
    """A member that cannot reach its coordinator ends without its last heartbeat."""
    driver = manual()
    driver.lose_coordinator()
    driver.close()

    assert Closed() == driver.returned[-1]
    assert [] == driver.pending(Beat)


def test_a_lost_last_heartbeat_is_not_sent_again():
    """close() waits for an answer at most as long as its budget."""
    driver = manual()
    driver.close(5_000)
    driver.lose(Beat)
    driver.advance(4_999)
    assert [] == driver.returned
    driver.advance(1)

    assert Closed() == driver.returned[-1]
    assert 1 == len(driver.ever(Beat))


@pytest.mark.parametrize("error", [ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_MEMBER_ID])
def test_any_answer_to_the_last_heartbeat_ends_it(error):
    """An error means that the member is gone, which is what was wanted."""
    driver = manual()
    driver.close()
    driver.refused(error)

    assert Closed() == driver.returned[-1]
    assert driver.state.fatal_error is None


def test_a_listener_may_take_longer_than_the_budget():
    """Its call is not cut off by the timeout of close()."""
    driver = manual()
    driver.hold_calls = True
    driver.close(1_000)
    driver.advance(10_000)
    assert [] == driver.returned
    driver.end_call()

    assert Closed() == driver.returned[-1]


def test_close_waits_for_asynchronous_commits():
    """Commits that are still under way are awaited after the last heartbeat."""
    driver = manual()
    driver.commit_async({0: 1})
    driver.close()
    driver.beaten(-1)
    assert [] == driver.returned
    driver.committed()

    assert Closed() == driver.returned[-1]


def test_closing_a_fenced_member_calls_revoked_for_what_it_owned(driver):
    """The last epoch that groupMetadata() shows counts; no heartbeat is sent."""
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    driver.close()
    driver.committed(ErrorCode.UNKNOWN_MEMBER_ID)

    assert [("revoked", (0, 1))] == driver.calls
    assert [] == driver.pending(Beat)
    assert Closed() == driver.returned[-1]


def test_closing_a_consumer_that_never_polled():
    """There is nothing to commit, no callback, and no group to leave."""
    driver = ClientDriver()
    driver.close()

    assert Closed() == driver.returned[-1]
    assert [] == driver.ever(Beat) + driver.ever(OffsetCommitRequest)
