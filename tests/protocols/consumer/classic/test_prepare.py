"""onJoinPrepare: the automatic commit before a rejoin, how long it may take."""

from __future__ import annotations

import pytest

from protocols.consumer.classic.async_commits import commit_at_revocation
from protocols.consumer.classic.commits import _prepared
from protocols.consumer.classic.phases import PrepareCommitted, PrepareCommitting, PrepareNeeded
from protocols.consumer.classic.rejoin import _prepare
from protocols.consumer.clients import profile_of
from protocols.consumer.committing import RETRIED
from protocols.facts import CommitRefused, CommitSent
from protocols.messages import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, offsets, parts
from .test_background import background

E = ErrorCode
COOPERATIVE = ("cooperative-sticky",)
EITHER = pytest.mark.parametrize("assignors", [("range",), COOPERATIVE])
RETRIABLE = sorted(RETRIED - {E.NETWORK_EXCEPTION, E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE})
FINAL = [E.REBALANCE_IN_PROGRESS, E.OFFSET_METADATA_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE]


def preparing(*assignors: str, **settings) -> ClientDriver:
    """A member that has learned of a rebalance after it was handed 6 and 4 records."""
    driver = ClientDriver(assignors=assignors or ("range",), **settings)
    driver.stable()
    driver.hand({0: 6, 1: 4})
    driver.poll()
    driver.calls.clear()
    driver.learn()
    driver.poll()
    return driver


@EITHER
def test_everything_returned_is_committed_before_the_join(assignors):
    """The commit carries the positions and the old generation; JoinGroup waits for it."""
    driver = preparing(*assignors)
    request = driver.one(OffsetCommitRequest)

    assert {entry.offset for entry in request.offsets} == {6, 4}
    assert 1 == request.generation_id
    assert [] == driver.pending(JoinGroupRequest)
    assert [] == driver.calls


@EITHER
def test_the_join_goes_on_when_the_commit_is_accepted(assignors):
    """Callbacks and JoinGroup follow in the next poll."""
    driver = preparing(*assignors)
    driver.committed()
    driver.poll()
    revoked = [("revoked", parts(0, 1))] if assignors == ("range",) else []

    assert revoked == driver.calls
    assert driver.pending(JoinGroupRequest)
    assert ["prepare"] == [fact.kind for fact in driver.emitted(CommitSent)]


@EITHER
@pytest.mark.parametrize("error", FINAL)
def test_a_refused_commit_does_not_hold_the_join_up(assignors, error):
    """A refusal that no retry mends leaves the progress uncommitted, and the join goes on."""
    driver = preparing(*assignors)
    driver.committed(error)
    driver.poll()

    assert driver.pending(JoinGroupRequest)
    assert [] == driver.pending(OffsetCommitRequest)


@EITHER
@pytest.mark.parametrize("error", RETRIABLE)
def test_a_retriable_failure_sends_a_new_commit_with_the_current_positions(assignors, error):
    """A later turn sends a fresh one; only a cooperative member has moved on."""
    driver = preparing(*assignors)
    if driver.pending(FetchRequest):
        driver.records({0: 2})
        driver.poll()
    driver.committed(error)
    driver.poll_until(OffsetCommitRequest)
    request = driver.one(OffsetCommitRequest)
    first = 6 if assignors == ("range",) else 8

    assert set(offsets({0: first, 1: 4})) == set(request.offsets)
    assert [] == driver.pending(JoinGroupRequest)


@EITHER
def test_poll_waits_once_before_a_failed_commit_is_sent_again(assignors):
    """Whatever arrives ends the wait, or the poll: a poll of 100 ms sends one commit, not one each millisecond."""
    driver = preparing(*assignors)
    driver.poll(100)
    driver.committed(E.UNKNOWN_TOPIC_OR_PARTITION)
    driver.advance(99)
    assert [] == driver.pending(OffsetCommitRequest)

    driver.advance(1)
    driver.poll(100)
    assert 1 == len(driver.pending(OffsetCommitRequest))


def test_a_poll_without_a_request_in_flight_repeats_its_commit_after_the_back_off():
    """Nothing else ends its wait (``ConsumerNetworkClient.poll``)."""
    driver = preparing(heartbeat_interval_ms=10_000, auto_commit_interval_ms=60_000)
    driver.records({0: 0})
    driver.poll(60_000)
    driver.committed(E.UNKNOWN_TOPIC_OR_PARTITION)

    assert 100 == driver.advance_until(OffsetCommitRequest)


def test_aiokafka_sleeps_before_it_repeats_the_commit_of_a_rebalance():
    """``GroupCoordinator.commit_offsets`` waits for ``retry_backoff_ms``, whatever happens meanwhile."""
    driver = background("aiokafka")
    driver.stable({0: 0})
    driver.hand({0: 6})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    for _ in range(3):
        driver.committed(E.UNKNOWN_TOPIC_OR_PARTITION)
        driver.poll()
        assert 100 == driver.advance_until(OffsetCommitRequest)
    driver.committed()

    assert driver.pending(JoinGroupRequest)


@pytest.mark.parametrize(
    ("error", "repeats"),
    [
        (E.UNKNOWN_TOPIC_OR_PARTITION, False),
        (E.REQUEST_TIMED_OUT, False),
        (E.COORDINATOR_LOAD_IN_PROGRESS, True),
        (E.NOT_COORDINATOR, True),
    ],
)
def test_franz_go_repeats_a_commit_only_after_errors_of_the_coordinator(error, repeats):
    """``maybeDeleteStaleCoordinator`` names them; the commit before a rebalance and ``CommitOffsetsSync``."""
    driver = background("franz-go", assignors=("range",))
    driver.stable({0: 0})
    driver.commit_sync({0: 1})
    driver.committed(error)
    driver.advance(1_000)
    assert repeats == bool(driver.pending(OffsetCommitRequest))
    if repeats:
        driver.committed()

    driver.hand({0: 6})
    driver.poll()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.committed(error)
    driver.advance(1_000)
    assert repeats == bool(driver.pending(OffsetCommitRequest))
    assert repeats != bool(driver.pending(JoinGroupRequest))


def test_an_eager_member_stops_handing_out_records_when_the_commit_leaves():
    """All it owns is pending revocation: nothing is returned, nothing fetched."""
    driver = ClientDriver(max_poll_records=5)
    driver.stable()
    driver.hand({0: 20})
    driver.learn()
    (fetches,) = [len(driver.ever(FetchRequest))]

    assert () == driver.poll()
    assert () == driver.poll()
    assert fetches == len(driver.ever(FetchRequest))


def test_a_cooperative_member_goes_on_while_the_commit_is_under_way():
    """Records of all it owns are still handed out; the commit does not cover them."""
    driver = ClientDriver(assignors=COOPERATIVE, max_poll_records=5)
    driver.stable()
    driver.hand({0: 20})
    driver.learn()
    driver.poll()
    driver.poll()

    assert {0: 15, 1: 0} == driver.positions()
    assert set(offsets({0: 5, 1: 0})) == set(driver.one(OffsetCommitRequest).offsets)


@EITHER
def test_the_wait_for_the_commit_ends_with_the_poll_interval(assignors):
    """Unanswered for max.poll.interval.ms, it is abandoned; the member joins all the same."""
    driver = preparing(*assignors, max_poll_interval_ms=10_000, request_timeout_ms=60_000)
    began = driver.now_ms
    while not driver.pending(JoinGroupRequest):
        assert driver.now_ms - began <= 11_000
        driver.poll()
        driver.tick()

    assert 10_000 <= driver.now_ms - began
    assert 1 == len(driver.ever(OffsetCommitRequest))


def test_a_persistent_retriable_error_stops_an_eager_member_for_the_poll_interval():
    """A deleted topic's offset cannot be committed: no records of any partition till M is over."""
    driver = preparing(max_poll_interval_ms=10_000)
    began = driver.now_ms
    while not driver.pending(JoinGroupRequest):
        if driver.pending(OffsetCommitRequest):
            driver.committed(E.UNKNOWN_TOPIC_OR_PARTITION)
        driver.poll()
        driver.tick()

    assert 10_000 <= driver.now_ms - began < 10_500
    assert 1 == len(driver.batches())
    assert 51 == len(driver.ever(OffsetCommitRequest)), (
        "each response is read by a poll that sends none"
    )


def test_without_automatic_commits_the_calls_come_at_once():
    """Nothing is sent before the JoinGroup."""
    driver = preparing(enable_auto_commit=False)

    assert [] == driver.ever(OffsetCommitRequest)
    assert [("revoked", parts(0, 1))] == driver.calls
    assert driver.pending(JoinGroupRequest)


def test_a_first_join_has_nothing_to_commit():
    """An empty commit completes by itself, nothing is sent."""
    driver = ClientDriver()
    driver.look_up()

    assert [] == driver.ever(OffsetCommitRequest)
    assert [] == driver.emitted(CommitSent)


@EITHER
def test_a_member_that_dropped_out_is_refused_its_commit_and_goes_on(assignors):
    """The commit fails locally, the partitions are lost, the member joins again."""
    driver = ClientDriver(assignors=assignors)
    driver.stable()
    driver.calls.clear()
    driver.learn(E.UNKNOWN_MEMBER_ID)
    driver.poll()
    (ended,) = driver.emitted(CommitRefused)

    assert ("prepare", "client") == (ended.kind, ended.by)
    assert [] == driver.ever(OffsetCommitRequest)
    assert [("lost", parts(0, 1))] == driver.calls
    assert driver.pending(JoinGroupRequest)


def test_the_preparation_is_made_once_for_a_series_of_attempts():
    """A join that is repeated with a new id or after an error does not prepare again."""
    driver = preparing(*COOPERATIVE)
    driver.committed()
    driver.poll()
    for error in (E.REBALANCE_IN_PROGRESS, E.COORDINATOR_LOAD_IN_PROGRESS):
        driver.join_error(error)
        driver.poll_until(JoinGroupRequest)

    assert 1 == len(driver.ever(OffsetCommitRequest))
    assert [] == driver.calls


def test_the_next_rebalance_prepares_again():
    """After a finished join a new commit is sent."""
    driver = preparing()
    driver.committed()
    driver.poll()
    driver.join(0, 1, generation=2)
    driver.fetched({0: 6, 1: 4})
    driver.poll()
    driver.learn()
    driver.poll()

    assert [1, 2] == [s.message.generation_id for s in driver.ever(OffsetCommitRequest)]


def test_a_commit_lost_with_its_connection_is_made_again_at_the_next_coordinator():
    """The disconnect is a retriable failure; the generation is kept."""
    driver = preparing()
    driver.disconnect()
    for _ in range(10):
        driver.tick()
        driver.poll()
    request = driver.one(OffsetCommitRequest)

    assert 2 == len(driver.ever(OffsetCommitRequest))
    assert 1 == request.generation_id


def test_an_old_commits_refusal_makes_the_preparation_run_once_more():
    """Read after the member has left the group, it resets it again; the listener is called once."""
    driver = ClientDriver()
    driver.stable()
    driver.hand({0: 6})
    driver.commit_async({0: 6})
    driver.calls.clear()
    driver.hold_calls = True
    driver.learn(E.UNKNOWN_MEMBER_ID)
    driver.poll()
    assert [("lost", parts(0, 1))] == driver.calls
    driver.committed(E.UNKNOWN_MEMBER_ID)
    driver.commit_async({0: 7})
    driver.end_call()
    assert isinstance(driver.state.prepare, PrepareNeeded)
    driver.join_error(E.MEMBER_ID_REQUIRED, "m-2")
    driver.poll()

    assert "m-2" == driver.one(JoinGroupRequest).member_id
    assert [("lost", parts(0, 1))] == driver.calls


def test_a_prepare_waits_no_longer_than_its_deadline_says():
    """The clock of the wait starts with the first call and is not wound up again by retries."""
    driver = preparing(max_poll_interval_ms=10_000)
    first = driver.state.prepare
    assert isinstance(first, PrepareCommitting)
    driver.committed(E.REQUEST_TIMED_OUT)
    driver.poll_until(OffsetCommitRequest)
    again = driver.state.prepare

    assert isinstance(again, PrepareCommitting)
    assert first.deadline_us == again.deadline_us


def test_a_poll_at_the_deadline_of_a_prepare_joins():
    """The wait is over then: its length is that of the poll interval."""
    driver = preparing(max_poll_interval_ms=10_000, request_timeout_ms=60_000)
    waiting = driver.state.prepare
    assert isinstance(waiting, PrepareCommitting)
    step = _prepare(driver.state, driver.client.consumer, waiting.deadline_us, 0)

    assert not isinstance(step.state.prepare, PrepareCommitting)


@pytest.mark.parametrize(
    ("now", "commit", "waits"), [(9, 3, True), (10, 3, False), (11, 3, False), (9, None, False)]
)
def test_a_commit_at_a_revocation_is_waited_for_until_its_deadline(now, commit, waits):
    """Or until it has failed, where the commit is before the listener call."""
    driver = ClientDriver()
    driver.stable()
    waiting = PrepareCommitting(10, commit, frozenset())
    state = replace(driver.state, prepare=waiting)
    after = commit_at_revocation(state, driver.client.consumer, frozenset(), now).state.prepare

    assert (waiting if waits else PrepareCommitted(frozenset())) == after


@pytest.mark.parametrize(("now", "retries"), [(9, True), (10, False)])
def test_librdkafka_repeats_its_commit_at_a_revocation_until_the_deadline(now, retries):
    """``rd_kafka_cgrp_defer_offset_commit``; then the join goes on without it."""
    driver = ClientDriver()
    driver.stable()
    consumer = replace(driver.client.consumer, profile=profile_of("librdkafka"))
    state = replace(driver.state, prepare=PrepareCommitting(10, None, frozenset()))
    after = commit_at_revocation(state, consumer, frozenset(), now).state.prepare

    assert retries is isinstance(after, PrepareCommitting)


@EITHER
@pytest.mark.parametrize("error", [E.NONE, E.REQUEST_TIMED_OUT, E.OFFSET_METADATA_TOO_LARGE])
def test_a_late_response_to_a_commit_that_was_given_up_changes_nothing(assignors, error):
    """The join has gone on without it, whether it is accepted, retriable or refused."""
    driver = preparing(*assignors, max_poll_interval_ms=10_000, request_timeout_ms=60_000)
    driver.advance(10_000)
    driver.poll()
    joining = driver.state.prepare
    assert driver.pending(JoinGroupRequest)
    driver.committed(error)

    assert joining == driver.state.prepare
    assert 1 == len(driver.pending(JoinGroupRequest))
    assert 1 == len(driver.ever(OffsetCommitRequest))


def test_a_late_response_does_not_end_the_wait_for_a_later_commit():
    """Each response counts for its own commit."""
    driver = preparing()
    waiting = PrepareCommitting(driver.now_us + 10_000_000, 7, frozenset())
    for error in (E.NONE, E.REQUEST_TIMED_OUT):
        state = replace(driver.state, prepare=waiting)
        assert waiting == _prepared(state, driver.client.consumer, 6, error)
