"""commitSync: what it sends, retries, gives up and throws."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import CommitResult
from protocols.consumer.classic.periods import moved_state, moves_requests
from protocols.consumer.classic.phases import CommittingSync
from protocols.consumer.classic.state import Generation, Membership
from protocols.consumer.lookup import Unknown
from protocols.consumer.requests import Renumbered
from protocols.facts import CommitAnswered
from protocols.messages import JoinGroupRequest, OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, manual_member, offsets, parts

E = ErrorCode


def thrown(driver: ClientDriver) -> str | None:
    result = driver.returned[-1]
    assert isinstance(result, CommitResult)
    return result.exception


# -- what is committed ---------------------------------------------------------------------------


def test_explicit_offsets_are_sent_as_they_are():
    """No look at positions or assignment: any partition, forward or backward."""
    driver = manual_member()
    driver.hand({0: 50})
    for given in ({0: 3}, {0: 70}, {9: 1}):
        driver.commit_sync(given)
        assert offsets(given) == driver.one(OffsetCommitRequest).offsets
        driver.committed()


def test_without_arguments_the_whole_batch_in_hand_is_committed():
    """After 1 of 10 records commitSync() commits all 10, for all partitions."""
    driver = manual_member()
    driver.hand({0: 10})
    driver.commit_sync()

    assert set(offsets({0: 10, 1: 0})) == set(driver.one(OffsetCommitRequest).offsets)


def test_identical_offsets_are_sent_again():
    """Commits are not deduplicated."""
    driver = manual_member()
    for _ in range(3):
        driver.commit_sync({0: 5})
        driver.committed()

    assert 3 == len(driver.ever(OffsetCommitRequest))


def test_only_a_commit_that_was_sent_once_moves_with_whole_periods():
    """One that waits for a coordinator, or for its back-off, is not the same a period later."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    assert moves_requests(driver.state)
    driver.committed(E.COORDINATOR_LOAD_IN_PROGRESS)
    assert not moves_requests(driver.state)

    waiting = manual_member()
    waiting.coordinator = None
    waiting.disconnect()
    waiting.tick()
    waiting.commit_sync({0: 5})
    assert not waiting.pending(OffsetCommitRequest)
    assert not moves_requests(waiting.state)


def test_a_commit_in_flight_moves_with_its_records_and_its_request():
    """So that the call waits for the response of the period to which it was moved."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    before = driver.state.app
    assert isinstance(before, CommittingSync)
    (number,) = driver.state.in_flight
    numbers = Renumbered(7, {number: number + 7})

    after = moved_state(driver.state, driver.client.consumer, 2_000, {parts(0)[0]: 30}, numbers)

    assert isinstance(after.app, CommittingSync)
    assert offsets({0: 35}) == after.app.offsets == after.in_flight[number + 7].commit
    assert (before.deadline_us + 2_000, number + 7) == (
        after.app.deadline_us,
        after.app.correlation_id,
    )


def test_nothing_to_commit_returns_at_once():
    """An empty commit succeeds without a request."""
    driver = ClientDriver()
    driver.join()

    assert CommitResult(()) == driver.commit_sync()
    assert [] == driver.ever(OffsetCommitRequest)


def test_a_success_returns_what_was_committed():
    """The call waits for the answer."""
    driver = manual_member()

    assert driver.commit_sync({0: 5}) is None

    driver.committed()
    assert CommitResult(offsets({0: 5})) == driver.returned[-1]


def test_partitions_stand_in_the_order_of_a_copied_map():
    """Three to five partitions make a table of 8 slots."""
    driver = manual_member()
    driver.commit_sync(dict.fromkeys(range(5), 1))
    driver_order = [entry.partition.partition for entry in driver.one(OffsetCommitRequest).offsets]
    by_bucket = sorted(range(5), key=lambda n: ((h := 31 * (31 + n) + ord("t")) ^ h >> 16) & 7)

    assert by_bucket == driver_order


# -- retries -------------------------------------------------------------------------------------

STAY = [E.COORDINATOR_LOAD_IN_PROGRESS, E.UNKNOWN_TOPIC_OR_PARTITION]
MOVE = [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.REQUEST_TIMED_OUT]


@pytest.mark.parametrize("error", STAY)
def test_a_retriable_error_is_retried_after_a_back_off_with_the_same_offsets(error):
    """The coordinator stays; pauses of 100, 200, 400 ms."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    pauses = []
    for _ in range(3):
        driver.committed(error)
        pauses.append(round(driver.advance_until(OffsetCommitRequest)))

    assert [100, 200, 400] == pauses
    assert offsets({0: 5}) == driver.one(OffsetCommitRequest).offsets
    driver.committed()
    assert thrown(driver) is None


@pytest.mark.parametrize("error", MOVE)
def test_a_lost_coordinator_is_looked_up_and_the_commit_repeated(error):
    """It is sent to the new coordinator."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    driver.committed(error)
    assert isinstance(driver.state.coordinator, Unknown)
    driver.coordinator = 2
    driver.advance_until(OffsetCommitRequest)
    (sent,) = driver.pending(OffsetCommitRequest)

    assert 2**31 - 1 - 2 == sent.node
    driver.committed()
    assert thrown(driver) is None


def test_a_broken_connection_is_survived():
    """The disconnect is retriable."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    driver.disconnect()
    driver.advance_until(OffsetCommitRequest)
    driver.committed()

    assert thrown(driver) is None


def test_an_unanswered_commit_is_repeated_after_the_request_timeout():
    """The connection is closed, the coordinator looked up, the commit sent again."""
    driver = manual_member(session_timeout_ms=100_000, request_timeout_ms=5_000)
    driver.commit_sync({0: 5})
    driver.lose(OffsetCommitRequest)
    waited = driver.advance_until(OffsetCommitRequest)

    assert 5_000 <= waited < 5_500


def test_it_gives_up_after_the_api_timeout():
    """default.api.timeout.ms bounds all tries together; the commit may still have happened."""
    driver = manual_member(default_api_timeout_ms=2_000)
    driver.commit_sync({0: 5})
    for _ in range(40):
        if driver.pending(OffsetCommitRequest):
            driver.committed(E.COORDINATOR_LOAD_IN_PROGRESS)
        driver.advance(50)

    assert "TimeoutException" == thrown(driver)
    assert 2_000 == driver.now_ms


def test_without_a_coordinator_it_tries_until_the_api_timeout():
    """Lookups fail for a minute, then TimeoutException."""
    driver = manual_member()
    driver.coordinator = None
    driver.disconnect()
    driver.tick()
    began = driver.now_ms
    driver.commit_sync({0: 5})
    driver.advance(59_999)
    assert not isinstance(driver.returned[-1], CommitResult)

    driver.advance(1)
    assert "TimeoutException" == thrown(driver)
    assert 60_000 == driver.now_ms - began


# -- refusals ------------------------------------------------------------------------------------

REFUSED = {
    E.REBALANCE_IN_PROGRESS: "RebalanceInProgressException",
    E.ILLEGAL_GENERATION: "CommitFailedException",
    E.UNKNOWN_MEMBER_ID: "CommitFailedException",
    E.FENCED_INSTANCE_ID: "FencedInstanceIdException",
    E.OFFSET_METADATA_TOO_LARGE: "KafkaException",
    E.INVALID_COMMIT_OFFSET_SIZE: "KafkaException",
    E.GROUP_AUTHORIZATION_FAILED: "KafkaException",
}


@pytest.mark.parametrize("error", REFUSED)
def test_a_refusal_is_thrown_at_once(error):
    """No retry: the first such answer ends the call."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    driver.committed(error)

    assert (REFUSED[error], error) == (thrown(driver), driver.returned[-1].error)
    assert [] == driver.pending(OffsetCommitRequest)


def test_a_rebalance_in_progress_asks_for_a_rejoin_and_loses_nothing():
    """The generation is kept; the next poll rejoins."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    driver.committed(E.REBALANCE_IN_PROGRESS)

    assert 1 == driver.state.generation.id
    driver.poll()
    assert [("revoked", parts(0, 1))] == driver.calls
    assert driver.pending(JoinGroupRequest)


@pytest.mark.parametrize(
    ("error", "kept"), [(E.ILLEGAL_GENERATION, "m-1"), (E.UNKNOWN_MEMBER_ID, "")]
)
def test_ownership_that_is_gone_is_lost_at_the_next_poll(error, kept):
    """The generation is reset, the id kept only for a wrong generation."""
    driver = manual_member()
    driver.commit_sync({0: 5})
    driver.committed(error)

    assert Generation(member_id=kept) == driver.state.generation
    driver.poll()
    assert [("lost", parts(0, 1))] == driver.calls
    assert f"encountered {error.name} from OFFSET_COMMIT response" == (
        driver.one(JoinGroupRequest).reason
    )


@pytest.mark.parametrize("error", [E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID, E.FENCED_INSTANCE_ID])
def test_a_refusal_of_an_older_generation_only_says_that_a_rebalance_is_on(error):
    """A newer join is pending: nothing is reset."""
    driver = manual_member()
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.poll()
    driver.synced(0, 1)
    driver.poll()
    driver.commit_async({0: 5})
    (late,) = driver.pending(OffsetCommitRequest)
    driver.learn()
    driver.poll()
    driver.joined(3)
    driver.poll()
    driver.synced(error=E.REBALANCE_IN_PROGRESS)
    driver.poll()
    assert Membership.PREPARING_REBALANCE is driver.membership
    driver.committed(error)
    driver.poll()
    (ended,) = driver.emitted(CommitAnswered)

    assert late.number == ended.correlation_id
    assert Membership.PREPARING_REBALANCE is driver.membership
    assert 3 == driver.state.generation.id
    assert driver.state.commit_fenced is None


def test_a_fencing_of_an_older_generation_leaves_the_new_one_alone():
    """The member is stable again: it keeps its generation, and later calls do not throw."""
    driver = manual_member()
    driver.commit_async({0: 5})
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.poll()
    driver.synced(0, 1)
    driver.committed(E.FENCED_INSTANCE_ID)
    driver.poll()

    assert (2, None) == (driver.state.generation.id, driver.state.commit_fenced)


@pytest.mark.parametrize("error", [E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID])
def test_a_refusal_after_the_generation_was_reset_resets_nothing_more(error):
    """A heartbeat was answered first; the member has no generation."""
    driver = manual_member()
    driver.commit_async({0: 5})
    driver.learn(E.UNKNOWN_MEMBER_ID)
    before = driver.state.generation
    driver.committed(error)
    driver.tick()

    assert Generation() == before == driver.state.generation


# -- refused without being sent ------------------------------------------------------------------


def test_an_unjoined_member_may_not_commit():
    """CommitFailedException: its ownership is gone."""
    driver = manual_member()
    driver.learn(E.UNKNOWN_MEMBER_ID)
    driver.commit_sync({0: 5})

    assert "CommitFailedException" == thrown(driver)
    assert [] == driver.ever(OffsetCommitRequest)


def test_a_joining_member_may_not_commit():
    """RebalanceInProgressException from the JoinGroup sent until the SyncGroup is handled."""
    driver = manual_member()
    driver.learn()
    driver.poll()
    driver.commit_sync({0: 5})
    assert "RebalanceInProgressException" == thrown(driver)

    driver.joined(2)
    driver.commit_sync({0: 5})
    assert "RebalanceInProgressException" == thrown(driver)
    assert Membership.COMPLETING_REBALANCE is driver.membership

    driver.synced(0, 1)
    driver.commit_sync({0: 5})
    assert [] == driver.ever(OffsetCommitRequest)
    driver.commit_sync({0: 5})
    assert 2 == driver.one(OffsetCommitRequest).generation_id


def test_the_call_pumps_the_network_once_and_can_move_the_join_forward():
    """A refused commit still reads the JoinGroup answer and sends the SyncGroup."""
    driver = manual_member()
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.commit_sync({0: 5})

    assert Membership.COMPLETING_REBALANCE is driver.membership


def test_a_waiting_commit_reads_the_answers_of_others():
    """While it waits it pumps: a heartbeat's answer is handled at once."""
    driver = manual_member()
    driver.advance(3_000)
    driver.commit_sync({0: 5})
    driver.beaten(E.REBALANCE_IN_PROGRESS)

    assert "group is already rebalancing" == driver.state.rejoin
    driver.committed()
    assert thrown(driver) is None


def test_in_a_listener_the_commit_returns_to_the_listener():
    """In onPartitionsRevoked of an eager member: accepted with the old generation."""
    driver = manual_member()
    driver.hold_calls = True
    driver.learn()
    driver.poll()
    driver.commit_sync({0: 5})

    assert 1 == driver.one(OffsetCommitRequest).generation_id
    driver.committed()
    assert thrown(driver) is None
    assert [] == driver.pending(JoinGroupRequest)
    driver.end_call()
    assert driver.pending(JoinGroupRequest)
