"""commitAsync: sent at once, never retried; callbacks, fencing, order."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed, CommitResult, Failed
from protocols.facts import CommitAnswered, CommitRefused
from protocols.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import BROKER, ClientDriver, manual_member, offsets

E = ErrorCode
MOVED_TO = 2
FENCED = Failed("FencedInstanceIdException", E.FENCED_INSTANCE_ID)


def ends(driver: ClientDriver) -> list[tuple[ErrorCode, int]]:
    reported = (*driver.emitted(CommitAnswered), *driver.emitted(CommitRefused))
    return [(ErrorCode[end.error], end.requested[0].offset) for end in reported]


def test_it_is_sent_at_once_and_does_not_wait():
    """The call has no answer to return."""
    driver = manual_member()

    assert driver.commit_async({0: 5}) is None
    assert offsets({0: 5}) == driver.one(OffsetCommitRequest).offsets


def test_a_commit_times_out_though_the_request_before_it_was_answered_in_time():
    """Each has ``request.timeout.ms`` of its own."""
    driver = manual_member(request_timeout_ms=10_000)
    driver.commit_async({0: 5})
    driver.advance(1_500)
    driver.commit_async({0: 6})
    driver.committed()
    while driver.now_ms < 11_500:
        driver.advance(500)
        if driver.pending(HeartbeatRequest):
            driver.beaten()

    assert [(E.NONE, 5), (E.NETWORK_EXCEPTION, 6)] == ends(driver)


def test_without_arguments_it_commits_all_that_poll_returned():
    """The whole batch in hand, like commitSync()."""
    driver = manual_member()
    driver.hand({1: 9})
    driver.commit_async()

    assert set(offsets({0: 0, 1: 9})) == set(driver.one(OffsetCommitRequest).offsets)


def test_an_unanswered_commit_fails_after_its_own_request_timeout():
    """The timer was set for an earlier one, which has been answered."""
    driver = manual_member(
        request_timeout_ms=5_000, heartbeat_interval_ms=30_000, session_timeout_ms=90_000
    )
    driver.commit_async({0: 5})
    driver.advance(1_000)
    driver.commit_async({0: 6})
    driver.committed()
    driver.advance(4_999)
    assert [(E.NONE, 5)] == ends(driver)
    driver.advance(101)

    assert [(E.NONE, 5), (E.NETWORK_EXCEPTION, 6)] == ends(driver)


@pytest.mark.parametrize(
    "error",
    [
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.NOT_COORDINATOR,
        E.REQUEST_TIMED_OUT,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.OFFSET_METADATA_TOO_LARGE,
    ],
)
def test_a_failure_is_reported_and_never_retried(error):
    """For every error code."""
    driver = manual_member()
    driver.commit_async({0: 5})
    driver.committed(error)
    for _ in range(20):
        driver.tick()
        driver.poll()

    assert [(error, 5)] == ends(driver)
    assert 1 == len(driver.ever(OffsetCommitRequest))


def test_all_in_flight_fail_with_their_connection():
    """In the order they were sent."""
    driver = manual_member()
    for offset in range(5):
        driver.commit_async({0: offset})
    driver.disconnect()
    driver.tick()

    assert [(E.NETWORK_EXCEPTION, offset) for offset in range(5)] == ends(driver)
    driver.advance(2_000)
    assert 5 == len(driver.ever(OffsetCommitRequest))


def test_outcomes_are_reported_in_the_order_of_the_answers():
    """One connection, first in, first out."""
    driver = manual_member()
    for offset in (3, 4):
        driver.commit_async({0: offset})
    driver.committed()
    driver.committed(E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.tick()

    assert [(E.NONE, 3), (E.COORDINATOR_LOAD_IN_PROGRESS, 4)] == ends(driver)


def test_a_commit_sync_returns_after_the_callbacks_of_those_before_it():
    """The order in which offsets were applied is the order one hears of it."""
    driver = manual_member()
    driver.commit_async({0: 3})
    driver.commit_sync({0: 4})
    driver.committed()
    assert driver.state.callbacks

    driver.committed()
    assert CommitResult(offsets({0: 4})) == driver.returned[-1]
    assert () == driver.state.callbacks


def test_an_empty_commit_sync_waits_for_the_commits_in_flight():
    """Their callbacks have run when it returns (``invokePendingAsyncCommits``)."""
    driver = manual_member()
    driver.commit_async({0: 3})
    driver.commit_async({0: 4})
    before = list(driver.returned)

    assert driver.commit_sync({}) is None
    driver.committed()
    assert before == driver.returned
    driver.committed(E.OFFSET_METADATA_TOO_LARGE)
    assert CommitResult(()) == driver.returned[-1]
    assert () == driver.state.callbacks
    assert 2 == len(driver.ever(OffsetCommitRequest))


def test_an_empty_commit_sync_waits_no_longer_than_its_timeout():
    """The commit in flight may be stored all the same."""
    driver = manual_member(default_api_timeout_ms=2_000)
    driver.commit_async({0: 3})
    driver.commit_sync({})
    driver.advance(1_999)
    assert not isinstance(driver.returned[-1], CommitResult)

    driver.advance(1)
    assert CommitResult((), "TimeoutException") == driver.returned[-1]


def test_an_empty_commit_sync_throws_the_fencing_of_a_commit_it_waited_for():
    """The instance id belongs to another process."""
    driver = manual_member(group_instance_id="i-1")
    driver.commit_async({0: 3})
    driver.commit_sync({})
    driver.committed(E.FENCED_INSTANCE_ID)

    assert CommitResult((), FENCED.exception, FENCED.error) == driver.returned[-1]


def test_an_empty_commit_sync_waits_for_automatic_commits_too():
    """To Kafka's client they are asynchronous commits like any other."""
    driver = manual_member(enable_auto_commit=True)
    driver.advance(5_000)
    driver.poll()

    assert driver.commit_sync({}) is None
    driver.committed()
    assert CommitResult(()) == driver.returned[-1]


def test_a_callback_waits_for_the_next_call_of_the_application():
    """The heartbeat thread reads the answer, but callbacks run in poll or a commit."""
    driver = manual_member()
    driver.commit_async({0: 3})
    driver.committed()
    driver.tick()
    assert driver.state.callbacks

    driver.poll()
    assert () == driver.state.callbacks


def test_an_unjoined_member_is_refused_without_a_request():
    """The refusal reaches the callback."""
    driver = manual_member()
    driver.learn(E.UNKNOWN_MEMBER_ID)
    driver.commit_async({0: 3})
    (end,) = driver.emitted(CommitRefused)

    assert ("UNKNOWN_MEMBER_ID", "client") == (end.error, end.by)
    assert [] == driver.ever(OffsetCommitRequest)


def test_a_joining_member_is_refused_without_a_request():
    """RebalanceInProgressException, and the join goes on."""
    driver = manual_member()
    driver.learn()
    driver.poll()
    driver.commit_async({0: 3})
    (end,) = driver.emitted(CommitRefused)

    assert ("REBALANCE_IN_PROGRESS", "client") == (end.error, end.by)


def test_a_rebalance_in_progress_asks_for_a_rejoin():
    """Generation and partitions are kept."""
    driver = manual_member()
    driver.commit_async({0: 3})
    driver.committed(E.REBALANCE_IN_PROGRESS)
    driver.tick()
    driver.poll()

    assert driver.pending(JoinGroupRequest)


# -- without a coordinator -----------------------------------------------------------------------


def disconnected() -> ClientDriver:
    """Return a member whose coordinator is unknown; the lookup is unanswered."""
    driver = manual_member()
    driver.deaf = {FindCoordinatorRequest}
    driver.disconnect()
    driver.tick()
    return driver


def found(driver: ClientDriver, error: ErrorCode = E.NONE) -> None:
    """Answer the newest lookup."""
    driver.deaf = set()
    lookup = driver.pending(FindCoordinatorRequest)[-1]
    driver.respond(lookup, FindCoordinatorResponse(node_id=MOVED_TO, error=error))


def test_without_a_coordinator_it_waits_for_the_lookup():
    """Several chained to one lookup are sent in their order when it succeeds."""
    driver = disconnected()
    driver.commit_async({0: 5})
    driver.commit_async({0: 6})
    assert 1 == len(driver.pending(FindCoordinatorRequest))
    assert [] == driver.ever(OffsetCommitRequest)
    assert [] == ends(driver)

    found(driver)
    driver.tick()
    assert [5, 6] == [s.message.offsets[0].offset for s in driver.pending(OffsetCommitRequest)]
    assert () == driver.state.pending_commits


def test_a_failed_lookup_ends_the_commits_chained_to_it():
    """They are not chained to the next one: that could bring them out of order."""
    driver = disconnected()
    driver.commit_async({0: 5})
    driver.commit_async({0: 6})
    found(driver, E.COORDINATOR_NOT_AVAILABLE)
    driver.tick()
    driver.poll(10_000)
    driver.advance(5_000)

    assert [(E.COORDINATOR_NOT_AVAILABLE, 5), (E.COORDINATOR_NOT_AVAILABLE, 6)] == ends(driver)
    assert [] == driver.ever(OffsetCommitRequest)


def test_without_a_broker_that_can_be_asked_it_fails_at_once():
    """The reconnect back-off of the only broker runs: the lookup fails, and the commit with it."""
    driver = manual_member(reconnect_backoff_ms=1_000)
    driver.disconnect()
    driver.disconnect(BROKER)
    driver.poll()
    driver.commit_async({0: 5})

    assert [(E.COORDINATOR_NOT_AVAILABLE, 5)] == ends(driver)


def test_a_commit_sync_after_it_is_sent_after_it():
    """Both wait for the same lookup."""
    driver = disconnected()
    driver.commit_async({0: 5})
    driver.commit_sync({0: 6})
    found(driver)

    assert [5, 6] == [s.message.offsets[0].offset for s in driver.pending(OffsetCommitRequest)]


def test_the_members_state_when_the_coordinator_is_found_decides():
    """A member that left the group meanwhile is refused then, not before."""
    driver = disconnected()
    driver.commit_async({0: 5})
    driver.unsubscribe()
    assert [] == ends(driver)

    found(driver)
    driver.commit_async({0: 6})
    assert (E.UNKNOWN_MEMBER_ID, 5) == ends(driver)[0]
    assert [] == driver.ever(OffsetCommitRequest)


# -- fencing -------------------------------------------------------------------------------------


def fenced(**settings) -> ClientDriver:
    driver = manual_member(group_instance_id="i-1", **settings)
    driver.commit_async({0: 3})
    driver.committed(E.FENCED_INSTANCE_ID)
    driver.tick()
    return driver


def test_a_fenced_commit_poisons_every_later_poll():
    """The instance id belongs to another process: poll throws, again and again."""
    driver = fenced()

    assert [FENCED] * 3 == [driver.poll() for _ in range(3)]


def test_a_fenced_commit_poisons_later_commits():
    """They throw without sending anything."""
    driver = fenced()
    result = driver.commit_sync({0: 4})

    assert "FencedInstanceIdException" == result.exception
    assert FENCED == driver.commit_async({0: 4})
    assert 1 == len(driver.ever(OffsetCommitRequest))


@pytest.mark.parametrize("kind", ["auto", "prepare"])
def test_a_fenced_automatic_commit_poisons_too(kind):
    """Automatic commits are asynchronous commits."""
    driver = manual_member(group_instance_id="i-1", enable_auto_commit=True)
    if kind == "prepare":
        driver.learn()
    else:
        driver.advance(5_000)
    driver.poll()
    driver.committed(E.FENCED_INSTANCE_ID)
    driver.tick()

    assert FENCED == driver.poll()


def test_a_fenced_commit_sync_throws_and_poisons_nothing():
    """Only asynchronous ones leave the permanent mark."""
    driver = manual_member(group_instance_id="i-1")
    driver.commit_sync({0: 4})
    driver.committed(E.FENCED_INSTANCE_ID)

    assert "FencedInstanceIdException" == driver.returned[-1].exception
    assert () == driver.poll()


def test_a_poisoned_consumer_closes_without_a_commit():
    """The final commit fails at once and is swallowed."""
    driver = fenced(enable_auto_commit=True)
    driver.close()

    assert isinstance(driver.returned[-1], Closed)
    assert 1 == len(driver.ever(OffsetCommitRequest))
