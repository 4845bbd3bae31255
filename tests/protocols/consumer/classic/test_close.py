"""close() and unsubscribe(): final commit, listener call, LeaveGroup, budget."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed, CloseOperation, CommitResult, Failed
from protocols.consumer.offset_store import OffsetStore, Stores
from protocols.facts import CommitRefused
from protocols.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, member, offsets, parts
from .test_background import background

E = ErrorCode
COOPERATIVE = ("cooperative-sticky",)


def closed(driver: ClientDriver) -> bool:
    return bool(driver.returned) and isinstance(driver.returned[-1], Closed)


def left(driver: ClientDriver, error: ErrorCode = E.NONE) -> None:
    driver.answer(LeaveGroupRequest, LeaveGroupResponse(error=error))


# -- the order of things -------------------------------------------------------------------------


def test_an_orderly_close_commits_calls_and_leaves():
    """Commit of all returned records, revoked, LeaveGroup, end, each waiting for the last."""
    driver = member()
    driver.hand({0: 10})
    driver.close()
    request = driver.one(OffsetCommitRequest)
    assert set(offsets({0: 10, 1: 0})) == set(request.offsets)
    assert [] == driver.calls

    driver.committed()
    assert [("revoked", parts(0, 1))] == driver.calls
    (entry,) = driver.one(LeaveGroupRequest).members
    assert ("m-1", "the consumer is being closed") == (entry.member_id, entry.reason)
    assert not closed(driver)

    left(driver)
    assert closed(driver)
    assert () == driver.state.assignment


def test_without_automatic_commits_nothing_is_committed():
    """A manual committer has to do it itself."""
    driver = member(enable_auto_commit=False)
    driver.hand({0: 10})
    driver.close()

    assert [] == driver.ever(OffsetCommitRequest)
    assert [("revoked", parts(0, 1))] == driver.calls


def test_the_heartbeat_thread_stops_before_the_listener_is_called():
    """A slow last call is not kept alive by heartbeats."""
    driver = member(enable_auto_commit=False)
    driver.hold_calls = True
    driver.close()
    driver.advance(20_000)

    assert [] == driver.ever(HeartbeatRequest)


def test_a_listener_may_commit_in_its_last_call():
    """It has its own time-out, and the generation is still good."""
    driver = member(enable_auto_commit=False)
    driver.hold_calls = True
    driver.close(200)
    driver.commit_sync({0: 5})
    driver.committed()
    assert CommitResult(offsets({0: 5})) == driver.returned[-1]

    driver.end_call()
    left(driver)
    assert closed(driver)


def test_a_commit_in_the_last_call_can_outlast_the_close():
    """Without a coordinator it blocks for default.api.timeout.ms."""
    driver = member(enable_auto_commit=False)
    driver.coordinator = None
    driver.disconnect()
    driver.tick()
    driver.hold_calls = True
    began = driver.now_ms
    driver.close(200)
    driver.commit_sync({0: 5})
    driver.advance(70_000)
    assert "TimeoutException" == driver.returned[-1].exception
    driver.end_call()

    assert closed(driver)
    assert 60_000 <= driver.now_ms - began


# -- failures of the final commit ----------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [E.ILLEGAL_GENERATION, E.REBALANCE_IN_PROGRESS, E.OFFSET_METADATA_TOO_LARGE]
)
def test_a_refused_final_commit_is_swallowed(error):
    """The close goes on as if nothing had happened."""
    driver = member()
    driver.hand({0: 10})
    driver.close()
    driver.committed(error)
    if driver.pending(LeaveGroupRequest):
        left(driver)

    assert closed(driver)
    assert [] == [value for value in driver.returned if isinstance(value, Failed)]


def test_the_final_commit_is_retried_within_the_budget():
    """Retriable failures are tried again; then the close goes on without."""
    driver = member()
    driver.hand({0: 10})
    driver.close(1_000)
    for _ in range(30):
        if driver.pending(OffsetCommitRequest):
            driver.committed(E.COORDINATOR_LOAD_IN_PROGRESS)
        driver.advance(50)

    assert closed(driver)
    assert 3 <= len(driver.ever(OffsetCommitRequest)) <= 6


def test_without_a_coordinator_the_whole_budget_is_used_up():
    """The lookup continues until the timeout; no LeaveGroup is sent."""
    driver = member()
    driver.hand({0: 10})
    driver.coordinator = None
    driver.disconnect()
    driver.tick()
    began = driver.now_ms
    driver.close(5_000)
    driver.advance(10_000)

    assert closed(driver)
    assert [] == driver.ever(LeaveGroupRequest)
    assert [("revoked", parts(0, 1))] == driver.calls
    assert driver.now_ms - began >= 5_000


def test_the_budget_is_capped_by_the_request_timeout():
    """close(60 s) with request.timeout.ms = 2 s takes two seconds."""
    driver = member(request_timeout_ms=2_000)
    driver.hand({0: 10})
    driver.coordinator = None
    driver.disconnect()
    driver.tick()
    driver.close(60_000)
    driver.advance(1_999)
    assert not closed(driver)

    driver.advance(1)
    assert closed(driver)


def test_a_close_without_time_waits_for_nothing():
    """close(0): the commit times out, the listener is called, LeaveGroup is sent and forgotten."""
    driver = member()
    driver.hand({0: 10})
    driver.close(0)

    assert closed(driver)
    assert [("revoked", parts(0, 1))] == driver.calls
    assert driver.ever(LeaveGroupRequest)


def test_an_unanswered_leave_ends_with_the_budget():
    """Best effort."""
    driver = member(enable_auto_commit=False)
    driver.close(1_000)
    assert driver.pending(LeaveGroupRequest)
    driver.advance(999)
    assert not closed(driver)

    driver.advance(1)
    assert closed(driver)


@pytest.mark.parametrize("error", [E.UNKNOWN_MEMBER_ID, E.NOT_COORDINATOR, E.NONE])
def test_any_answer_to_the_leave_closes_the_consumer(error):
    """Errors are ignored."""
    driver = member(enable_auto_commit=False)
    driver.close()
    left(driver, error)

    assert closed(driver)


def test_a_connection_lost_while_leaving_ends_the_close():
    """Requests in flight have failed, there is nothing left to wait for."""
    driver = member(enable_auto_commit=False)
    driver.close()
    driver.disconnect()

    assert closed(driver)


def test_asynchronous_commits_in_flight_are_waited_for():
    """Within the budget; that is what close does for them."""
    driver = member(enable_auto_commit=False)
    driver.commit_async({0: 5})
    driver.close()
    left(driver)
    assert not closed(driver)

    driver.committed()
    assert closed(driver)


# -- who leaves, and what the listener hears -----------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "operation", "leaves"),
    [
        (None, CloseOperation.DEFAULT, True),
        (None, CloseOperation.LEAVE_GROUP, True),
        (None, CloseOperation.REMAIN_IN_GROUP, False),
        ("i-1", CloseOperation.DEFAULT, False),
        ("i-1", CloseOperation.LEAVE_GROUP, True),
        ("i-1", CloseOperation.REMAIN_IN_GROUP, False),
    ],
)
def test_the_leave_depends_on_the_close_option(instance, operation, leaves):
    """The listener is called in any case; a skipped leave is logged with the member id."""
    driver = member(group_instance_id=instance, enable_auto_commit=False)
    driver.close(operation=operation)

    assert [("revoked", parts(0, 1))] == driver.calls
    named = [entry for sent in driver.ever(LeaveGroupRequest) for entry in sent.message.members]
    assert (["m-1"] if leaves else []) == [entry.member_id for entry in named]
    assert all(entry.group_instance_id is None for entry in named)
    if leaves:
        left(driver)
    assert closed(driver)


def test_a_static_member_commits_and_hears_but_does_not_leave():
    """It is expected back within its session."""
    driver = member(group_instance_id="i-1")
    driver.hand({0: 10})
    driver.close()
    driver.committed()

    assert closed(driver)
    assert [("revoked", parts(0, 1))] == driver.calls
    assert [] == driver.ever(LeaveGroupRequest)


def test_a_consumer_that_never_polled_just_closes():
    """Nothing to commit, to call or to leave."""
    driver = ClientDriver()
    driver.close()

    assert closed(driver)
    assert [] == driver.history
    assert [] == driver.calls


def test_a_member_with_only_an_id_leaves_too():
    """The coordinator keeps a place for it."""
    driver = ClientDriver()
    driver.look_up()
    driver.join_error(E.MEMBER_ID_REQUIRED, "m-9")
    driver.poll()
    driver.close()

    assert "m-9" == driver.one(LeaveGroupRequest).members[0].member_id
    assert [] == driver.calls


def test_a_member_that_dropped_out_loses_its_partitions_and_has_nothing_to_leave():
    """The generation is gone: lost, no LeaveGroup."""
    driver = member(enable_auto_commit=False)
    driver.learn(E.UNKNOWN_MEMBER_ID)
    driver.close()

    assert closed(driver)
    assert [("lost", parts(0, 1))] == driver.calls
    assert [] == driver.ever(LeaveGroupRequest)


def test_a_close_while_a_cooperative_join_is_pending_commits_nothing():
    """The commit is refused locally, the partitions are lost, the member leaves."""
    driver = member(assignors=COOPERATIVE)
    driver.learn()
    driver.poll()
    driver.committed()
    driver.poll()
    assert driver.pending(JoinGroupRequest)
    sent = len(driver.ever(OffsetCommitRequest))
    driver.close()

    assert sent == len(driver.ever(OffsetCommitRequest))
    assert [("lost", parts(0, 1))] == driver.calls
    (refused,) = driver.emitted(CommitRefused)
    assert ("close", "client") == (refused.kind, refused.by)
    left(driver)
    driver.join_error(E.UNKNOWN_MEMBER_ID)
    assert closed(driver)


def test_a_close_before_the_rebalance_is_noticed_commits_with_the_old_generation():
    """An announced rebalance leaves the member stable: its last commit is accepted."""
    driver = member()
    driver.hand({0: 10})
    driver.learn()
    driver.close()

    assert 1 == driver.one(OffsetCommitRequest).generation_id


# -- librdkafka ----------------------------------------------------------------------------------


def librdkafka(**settings: object) -> tuple[ClientDriver, OffsetStore]:
    """Return a stable member of librdkafka that has committed offset 5 of its partition."""
    store = OffsetStore(Stores(at_hand_over=False, at_next_poll=False, only_forward=True))
    driver = background("librdkafka", **settings)
    driver.client.consumer = replace(driver.client.consumer, store=store)
    driver.stable({0: 0})
    store.store(offsets({0: 5}), driver.client.consumer.positions)
    store.committed(offsets({0: 5}))
    driver.calls.clear()
    return driver, store


def test_librdkafka_calls_its_listener_commits_what_it_gave_away_and_leaves():
    """``serve_removals`` commits though the offset is committed already; each step waits for the last."""
    driver, store = librdkafka()
    driver.hold_calls = True
    driver.close()
    assert driver.running
    assert not driver.pending(OffsetCommitRequest)
    store.store(offsets({0: 7}), driver.client.consumer.positions)
    driver.end_call()

    assert offsets({0: 7}) == driver.one(OffsetCommitRequest).offsets
    assert not driver.pending(LeaveGroupRequest)
    driver.committed()
    left(driver)
    assert closed(driver)


@pytest.mark.parametrize(("automatic", "commits"), [(True, 1), (False, 0)])
def test_an_idle_librdkafka_commits_once_more_when_it_closes(automatic: bool, commits: int):
    """Java's client commits what it has committed, too, but before its listener."""
    driver, _ = librdkafka(enable_auto_commit=automatic)
    driver.close()

    assert commits == len(driver.pending(OffsetCommitRequest))
    assert 1 - commits == len(driver.pending(LeaveGroupRequest))


def test_a_lost_librdkafka_commits_nothing_when_it_closes():
    """``rd_kafka_cgrp_assigned_offsets_commit``: its assignment is lost."""
    driver, _ = librdkafka()
    driver.beaten(E.UNKNOWN_MEMBER_ID)
    driver.close()

    assert closed(driver)
    assert not driver.ever(OffsetCommitRequest) + driver.emitted(CommitRefused)
