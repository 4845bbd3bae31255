"""The effects of each error of JoinGroup and SyncGroup."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.classic.membership import RETRY
from protocols.consumer.classic.state import Generation, Membership
from protocols.consumer.lookup import Known, Unknown
from protocols.messages import (
    FetchRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, parts

E = ErrorCode
BOTH = ("range", "cooperative-sticky")


def exception_of(driver: ClientDriver) -> str:
    failed = driver.returned[-1]
    assert isinstance(failed, Failed)
    return failed.exception


# -- JoinGroup errors --------------------------------------------------------------------------

AT_ONCE = {
    E.UNKNOWN_MEMBER_ID: ("", "rebalance failed due to UnknownMemberIdException"),
    E.REBALANCE_IN_PROGRESS: ("m-7", "rebalance failed due to RebalanceInProgressException"),
}
LATER = {
    E.COORDINATOR_LOAD_IN_PROGRESS: "rebalance failed due to CoordinatorLoadInProgressException",
    E.NOT_COORDINATOR: "rebalance failed due to NotCoordinatorException",
    E.COORDINATOR_NOT_AVAILABLE: "rebalance failed due to CoordinatorNotAvailableException",
}
FATAL = {
    E.FENCED_INSTANCE_ID: "FencedInstanceIdException",
    E.INCONSISTENT_GROUP_PROTOCOL: "InconsistentGroupProtocolException",
    E.INVALID_SESSION_TIMEOUT: "InvalidSessionTimeoutException",
    E.GROUP_MAX_SIZE_REACHED: "GroupMaxSizeReachedException",
    E.INVALID_GROUP_ID: "InvalidGroupIdException",
}


def joining(**settings) -> ClientDriver:
    """Return a member with the id ``m-7`` whose JoinGroup is in flight, while poll waits."""
    driver = ClientDriver(**settings)
    driver.poll(10_000)
    driver.join_error(E.MEMBER_ID_REQUIRED, "m-7")
    return driver


@pytest.mark.parametrize("error", AT_ONCE)
def test_some_join_errors_are_answered_by_another_join_at_once(error):
    """A lost id is dropped; a group that could not be written is asked again with the id."""
    member, reason = AT_ONCE[error]
    driver = joining()
    driver.join_error(error)
    request = driver.one(JoinGroupRequest)

    assert (member, reason) == (request.member_id, request.reason)
    assert [] == driver.returned


@pytest.mark.parametrize("error", LATER)
def test_some_join_errors_are_retried_after_a_pause_with_the_same_id(error):
    """Loading and moved coordinators are asked again, the latter after a lookup."""
    driver = joining()
    driver.join_error(error)
    unknown = error is not E.COORDINATOR_LOAD_IN_PROGRESS

    assert [] == driver.pending(JoinGroupRequest)

    waited = driver.advance_until(JoinGroupRequest)
    request = driver.one(JoinGroupRequest)

    assert ("m-7", LATER[error]) == (request.member_id, request.reason)
    assert 0 < waited <= (400 if unknown else 100)


def test_a_member_whose_polls_have_joined_meanwhile_has_nothing_to_try_again():
    """The timer of the next try would wake a host that skips the polls of a calm member."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.look_up()
    driver.join_error(E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.poll()
    assert RETRY in driver.timers

    driver.stable()
    assert driver.client.calm(driver.now_us) is not None
    assert RETRY not in driver.timers


@pytest.mark.parametrize("error", FATAL)
def test_fatal_join_errors_are_thrown_from_poll(error):
    """They cannot be retried."""
    driver = joining()
    driver.join_error(error)

    assert FATAL[error] == exception_of(driver)
    assert [] == driver.pending(JoinGroupRequest)


def test_every_join_error_a_coordinator_gives_is_in_these_tables():
    """No error code that the group side answers a JoinGroup with is left out."""
    given = {
        E.MEMBER_ID_REQUIRED,
        E.UNKNOWN_MEMBER_ID,
        E.FENCED_INSTANCE_ID,
        E.INCONSISTENT_GROUP_PROTOCOL,
        E.INVALID_SESSION_TIMEOUT,
        E.GROUP_MAX_SIZE_REACHED,
        E.INVALID_GROUP_ID,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_COORDINATOR,
        E.REBALANCE_IN_PROGRESS,
    }

    assert given == {E.MEMBER_ID_REQUIRED, *AT_ONCE, *LATER, *FATAL}


def test_a_join_answer_that_comes_after_a_reset_is_not_used():
    """A success that finds the member dropped out leads to a new join."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable()
    driver.advance_until(HeartbeatRequest)
    driver.poll()
    late = driver.lose(HeartbeatRequest)
    driver.advance(3_000)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.poll(1_000)
    assert Membership.PREPARING_REBALANCE is driver.membership

    driver.respond(late, HeartbeatResponse(error=E.UNKNOWN_MEMBER_ID))
    assert Membership.UNJOINED is driver.membership

    driver.joined(2)
    assert [] == driver.pending(SyncGroupRequest)
    driver.advance_until(JoinGroupRequest)

    assert "" == driver.one(JoinGroupRequest).member_id


def test_an_unanswered_join_is_sent_again_with_the_same_id():
    """After max(request timeout, poll interval + 5 s) the connection is dropped."""
    driver = joining(max_poll_interval_ms=60_000, metadata_max_age_ms=10_000_000)
    sent = driver.lose(JoinGroupRequest)
    driver.advance(10_000)
    driver.poll(500_000)
    waited = driver.advance_until(JoinGroupRequest)
    request = driver.one(JoinGroupRequest)

    assert 65_000 <= 10_000 + waited < 66_000
    assert sent.message.member_id == request.member_id


@pytest.mark.parametrize(
    ("poll_interval_ms", "timeout_ms"), [(1_000, 30_000), (100_000, 105_000), (300_000, 305_000)]
)
def test_a_join_may_take_as_long_as_the_rebalance(poll_interval_ms, timeout_ms):
    """The time-out of a JoinGroup is bounded below by the request timeout."""
    driver = ClientDriver(max_poll_interval_ms=poll_interval_ms)
    driver.look_up()
    (flight,) = driver.state.in_flight.values()

    assert timeout_ms * 1_000 == flight.deadline_us


# -- SyncGroup errors --------------------------------------------------------------------------


def syncing(**settings) -> ClientDriver:
    """Return a member without partitions whose SyncGroup of generation 5 is in flight during a poll."""
    driver = ClientDriver(enable_auto_commit=False, **settings)
    driver.poll(100_000)
    driver.joined(5, member="m-7")
    return driver


SYNC_AT_ONCE = {
    E.REBALANCE_IN_PROGRESS: ("m-7", 5, "rebalance failed due to RebalanceInProgressException"),
    E.UNKNOWN_MEMBER_ID: ("", -1, "rebalance failed due to UnknownMemberIdException"),
    E.ILLEGAL_GENERATION: ("m-7", -1, "rebalance failed due to IllegalGenerationException"),
}


@pytest.mark.parametrize("error", SYNC_AT_ONCE)
def test_some_sync_errors_are_answered_by_a_join_at_once(error):
    """The error decides whether id and generation are kept."""
    member, generation, reason = SYNC_AT_ONCE[error]
    driver = syncing()
    driver.synced(error=error)
    request = driver.one(JoinGroupRequest)

    assert (member, reason) == (request.member_id, request.reason)
    assert generation == request.protocols[0].metadata.generation_id


@pytest.mark.parametrize("error", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_a_sync_at_the_wrong_coordinator_starts_over_at_the_join(error):
    """The coordinator is looked up and JoinGroup sent with the same id."""
    driver = syncing()
    driver.synced(error=error)

    assert isinstance(driver.state.coordinator, Unknown)

    driver.advance_until(JoinGroupRequest)
    assert "m-7" == driver.one(JoinGroupRequest).member_id


@pytest.mark.parametrize(
    ("error", "exception"),
    [
        (E.FENCED_INSTANCE_ID, "FencedInstanceIdException"),
        (E.COORDINATOR_LOAD_IN_PROGRESS, "KafkaException"),
        (E.INVALID_REQUEST, "KafkaException"),
    ],
)
def test_other_sync_errors_are_thrown_and_a_later_poll_joins_again(error, exception):
    """A loading coordinator too: id and generation are kept, nothing is prepared again."""
    driver = syncing()
    driver.synced(error=error)

    assert exception == exception_of(driver)

    driver.poll()
    request = driver.one(JoinGroupRequest)
    assert ("m-7", 5) == (request.member_id, request.protocols[0].metadata.generation_id)
    assert [] == driver.calls


def test_a_connection_lost_while_syncing_starts_over_at_the_join():
    """The id is kept; the join is repeated after the lookup."""
    driver = syncing()
    driver.disconnect(coordinator_node(1))
    driver.advance_until(JoinGroupRequest)

    assert "m-7" == driver.one(JoinGroupRequest).member_id
    assert Known(1) == driver.state.coordinator


def test_a_sync_answer_that_comes_after_a_reset_counts_as_an_old_generation():
    """The heartbeat thread dropped the generation first: the member joins again at once."""
    driver = syncing(heartbeat_interval_ms=1_000)
    driver.learn(E.UNKNOWN_MEMBER_ID)
    driver.synced(0, 1)

    assert "" == driver.one(JoinGroupRequest).member_id
    assert [] == driver.calls


def test_a_reset_between_sync_and_its_application_restarts_the_join_without_an_id():
    """The assignment that was never applied is dropped, the member id with it."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.look_up()
    driver.joined(5, member="m-7")
    driver.poll()
    driver.advance_until(HeartbeatRequest)
    driver.synced(0, 1)
    driver.beaten(E.ILLEGAL_GENERATION)
    driver.tick()
    driver.poll()
    request = driver.one(JoinGroupRequest)

    assert "" == request.member_id
    assert request.reason.startswith("rebalance failed since the generation/state was modified")
    assert [] == driver.calls


def test_a_sync_overtaken_by_the_next_rebalance_keeps_what_the_member_owns():
    """REBALANCE_IN_PROGRESS does not run onJoinPrepare again, nor revoke anything."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.stable()
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.poll()
    before = list(driver.calls)
    driver.synced(error=E.REBALANCE_IN_PROGRESS)
    driver.poll()

    assert before == driver.calls
    assert parts(0, 1) == driver.state.assignment
    assert driver.pending(JoinGroupRequest)


def test_a_cooperative_member_that_reads_joins_again_after_its_fetch_response():
    """Its poll waits for the fetch in flight, not for the back-off; an empty response ends that, too."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.stable()
    driver.learn()
    driver.poll(10_000)
    driver.join_error(E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance(450)
    assert [] == driver.pending(JoinGroupRequest)
    driver.records({})

    assert driver.one(JoinGroupRequest).member_id


def test_the_interval_of_automatic_commits_limits_each_wait_behind_a_failed_join():
    """Its timer stands still while the member joins: what was left of it is the limit again and again."""
    driver = ClientDriver(
        assignors=("cooperative-sticky",), enable_auto_commit=True, auto_commit_interval_ms=5_000
    )
    driver.stable()
    driver.advance(700)
    driver.poll()
    driver.learn()
    left_us = driver.state.autocommit_us - driver.client.consumer.clock.polled_us
    driver.poll(60_000)
    driver.committed()
    waits = []
    for _ in range(3):
        driver.join_error(E.COORDINATOR_LOAD_IN_PROGRESS)
        waits.append(driver.advance_until(JoinGroupRequest) * 1_000)

    assert 4_300_000 == left_us
    assert [left_us] * 3 == waits


def test_each_request_in_flight_holds_up_a_join_that_failed():
    """Here a commit of the application: the member owns nothing, so it fetches nothing."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.join()
    driver.commit_async({0: 1})
    driver.learn()
    driver.poll(10_000)
    assert not driver.pending(FetchRequest)
    driver.join_error(E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance(450)
    assert [] == driver.pending(JoinGroupRequest)
    driver.committed()

    assert driver.pending(JoinGroupRequest)


def test_a_join_answer_with_success_names_the_member():
    """The id in the answer becomes the member's id, also one it did not have (static restarts)."""
    driver = ClientDriver(group_instance_id="i-1")
    driver.look_up()
    driver.answer(
        JoinGroupRequest,
        JoinGroupResponse(
            generation_id=9, protocol_name="range", leader="someone", member_id="i-1-new"
        ),
    )
    driver.poll()

    assert Generation(9, "i-1-new", "range") == driver.state.generation


# -- an assignor that is not configured ----------------------------------------------------------

INVALID = Failed(
    "IllegalStateException",
    message="Coordinator selected invalid assignment protocol: sticky; supported: range",
)


def test_a_leader_throws_if_the_coordinator_selected_an_assignor_it_has_not():
    """It sends no SyncGroup; the next poll joins again (``onLeaderElected``)."""
    driver = joining(assignors=("range",))
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    driver.joined(members={"m-7": mine}, protocol="sticky")

    assert INVALID == driver.returned[-1]
    assert [] == driver.ever(SyncGroupRequest)
    driver.poll_until(JoinGroupRequest)


def test_a_follower_throws_at_every_poll_if_the_coordinator_selected_an_assignor_it_has_not():
    """The finished join stays to be applied, and the assignment is not taken (``onJoinComplete``)."""
    driver = joining(assignors=("range",))
    driver.joined(protocol="sticky")
    driver.synced(0, 1)

    assert INVALID == driver.returned[-1]
    assert INVALID == driver.poll()
    assert () == driver.state.assignment
