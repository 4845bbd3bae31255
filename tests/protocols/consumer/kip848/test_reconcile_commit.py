"""The commit before a reconciliation: what it covers, and what becomes of it."""

from __future__ import annotations

import pytest

from protocols.consumer.clients import JAVA, RevokeCommit
from protocols.consumer.kip848 import reconciliation
from protocols.consumer.kip848.background import take_event
from protocols.consumer.kip848.threads import (
    CallbackCompleted,
    CallbackNeeded,
    Lag,
    Polled,
    Purpose,
)
from protocols.machine import Send
from protocols.messages import OffsetCommitRequest
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import Beat, ClientDriver, offsets, parts


@pytest.fixture
def auto() -> ClientDriver:
    """A stable member with partitions 0 and 1 that commits by itself."""
    driver = ClientDriver(auto_commit_interval_ms=60_000)
    driver.stable({0: 3, 1: 4})
    return driver


def test_an_addition_commits_what_is_owned_first(auto):
    """With automatic commits each reconciliation commits all positions, also if nothing goes."""
    auto.to_own(0, 1, 2)
    auto.poll()
    request = auto.committed()
    auto.poll()

    assert offsets({0: 3, 1: 4}) == tuple(sorted(request.offsets))
    assert [("assigned", (2,))] == auto.calls


def test_the_commit_is_sent_with_the_poll_event_before_the_fetches_of_the_next_one(auto):
    """Its correlation id, and so its place on the wire, is that of the poll event."""
    auto.to_own(0, 1, 2)
    step = take_event(auto.state, auto.client.consumer, Polled(auto.now_us), auto.now_us)

    sent = [effect.message for effect in step.effects if isinstance(effect, Send)]
    assert [OffsetCommitRequest] == [type(message) for message in sent]


def test_a_member_that_owns_nothing_commits_nothing():
    """There is nothing to commit before the first assignment: it goes on at once."""
    driver = ClientDriver()
    driver.joining()
    driver.reconcile(2, 0)

    assert [] == driver.ever(OffsetCommitRequest)


def test_a_failed_commit_is_ignored(auto):
    """A refusal that no try mends leaves the positions uncommitted and the revocation goes on."""
    auto.to_own(0)
    auto.poll()
    auto.committed(ErrorCode.UNKNOWN_MEMBER_ID)
    auto.poll()
    auto.poll()

    assert [("revoked", (1,)), ("assigned", ())] == auto.calls


def test_a_commit_that_may_succeed_is_tried_again_with_newer_positions(auto):
    """Records handed out until a commit failed are covered by the next try."""
    auto.poll()
    auto.to_own(0)
    auto.poll()
    auto.records({0: 5})
    auto.poll()
    auto.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    auto.advance(100)

    assert offsets({0: 8, 1: 4}) == tuple(sorted(auto.one(OffsetCommitRequest).offsets))
    assert [] == auto.calls


def test_a_client_that_commits_what_is_revoked_tries_that_again(auto):
    """The commit of librdkafka, also the next one, leaves out the partitions that stay."""
    profile = replace(JAVA, revoke_commit=RevokeCommit.REMOVED)
    object.__setattr__(auto.client.consumer, "profile", profile)
    auto.to_own(0)
    auto.poll()
    auto.poll()
    first = auto.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    auto.advance(200)
    auto.poll()

    assert offsets({1: 4}) == first.offsets == auto.committed().offsets


def test_a_stale_commit_is_tried_again_with_the_new_epoch(auto):
    """The epoch may rise between a commit and its refusal: the next try has the new one."""
    auto.to_own(0)
    auto.poll()
    auto.beat_due()
    auto.beaten(7)
    auto.committed(ErrorCode.STALE_MEMBER_EPOCH)
    auto.advance(100)

    assert 7 == auto.one(OffsetCommitRequest).generation_id


def test_a_deleted_topic_does_not_delay_a_reconciliation(auto):
    """UNKNOWN_TOPIC_OR_PARTITION is not retried before a reconciliation."""
    auto.to_own(0)
    auto.poll()
    auto.committed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    auto.poll()

    assert [("revoked", (1,))] == auto.calls[:1]


def test_the_commit_is_given_up_after_the_poll_interval():
    """A coordinator that never answers well holds a revocation up for max.poll.interval.ms."""
    driver = ClientDriver(max_poll_interval_ms=20_000, auto_commit_interval_ms=600_000)
    driver.stable({0: 3, 1: 4})
    driver.to_own(0)
    for _ in range(199):
        driver.poll()
        if driver.pending(OffsetCommitRequest):
            driver.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if driver.pending(Beat):
            driver.beaten()
        driver.advance(100)
    assert [] == driver.calls
    driver.advance(1_000)
    driver.poll()

    assert [("revoked", (1,))] == driver.calls[:1]


def test_an_interval_commit_is_left_out_beside_it():
    """What is due while the first try is under way is covered by that try."""
    driver = ClientDriver(auto_commit_interval_ms=5_000)
    driver.stable({0: 3, 1: 4})
    driver.to_own(0)
    driver.advance(5_000)
    driver.poll()
    driver.advance(100)
    driver.poll()

    assert 1 == len(driver.ever(OffsetCommitRequest))


def test_interval_commits_go_on_beside_its_next_tries():
    """A commit that has to be tried again holds no other back."""
    driver = ClientDriver(auto_commit_interval_ms=5_000)
    driver.stable({0: 3, 1: 4})
    driver.to_own(0)
    driver.advance(5_000)
    driver.poll()
    driver.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    driver.poll()

    assert 2 == len(driver.ever(OffsetCommitRequest))


def test_a_finished_reconciliation_restarts_the_commit_interval():
    """The next automatic commit comes a full interval after the assignment was taken."""
    driver = ClientDriver(auto_commit_interval_ms=10_000)
    driver.stable({0: 3})
    driver.to_own(0, 1)
    driver.poll()
    driver.committed()
    driver.poll()

    assert driver.now_us + 10_000_000 == driver.state.autocommit_us


def test_the_interval_restarts_where_the_last_round_before_a_slow_call_began():
    """The timer of automatic commits moves with rounds and polls alone (``AutoCommitState.resetTimer``)."""
    driver = ClientDriver(auto_commit_interval_ms=10_000)
    driver.stable({0: 3})
    driver.to_own(0, 1)
    driver.poll()
    driver.hold_calls = True
    driver.committed()
    driver.poll()
    called_us = driver.now_us
    driver.advance(700)
    driver.end_call(lasted_us=700_000)

    assert called_us + 10_000_000 == driver.state.autocommit_us


def test_a_heartbeat_during_a_slow_call_moves_the_restart_of_the_interval():
    """Its round is the last one before the end of the call."""
    driver = ClientDriver(auto_commit_interval_ms=10_000)
    driver.stable({0: 3})
    driver.to_own(0, 1)
    driver.poll()
    driver.hold_calls = True
    driver.committed()
    driver.poll()
    called_us = driver.now_us
    driver.beat_due()
    beat_us = driver.now_us
    driver.advance(300)
    driver.end_call(lasted_us=driver.now_us - called_us)

    assert beat_us + 10_000_000 == driver.state.autocommit_us


def test_the_commit_before_a_reconciliation_does_not_wait_for_an_interval_commit():
    """It covers the newest positions, so both are in flight."""
    driver = ClientDriver(auto_commit_interval_ms=1_000)
    driver.stable({0: 3, 1: 4})
    driver.advance(1_000)
    driver.poll()
    driver.to_own(0)
    driver.poll()

    assert 2 == len(driver.pending(OffsetCommitRequest))


def test_a_member_that_lost_all_meanwhile_does_not_commit_it_again(auto):
    """A retry takes the positions of that time: after the loss there are none, in any epoch."""
    auto.to_own(0)
    auto.poll()
    auto.beat_due()
    auto.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    auto.poll()
    auto.beaten(7)
    auto.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    auto.advance(1_000)

    assert [("lost", (0, 1))] == auto.calls
    assert 1 == len(auto.ever(OffsetCommitRequest))


def revoked(**settings) -> ClientDriver:
    """Return a member that was called to revoke partition 1; its assignment is not applied yet."""
    driver = ClientDriver(auto_commit_interval_ms=1_000, **settings)
    driver.stable({0: 3, 1: 4})
    driver.to_own(0)
    for _ in range(2):
        driver.poll()
        while driver.pending(OffsetCommitRequest):
            driver.committed()
    assert [("revoked", (1,))] == driver.calls
    assert [0, 1] == driver.owned()
    driver.advance(1_000)
    driver.quiet()
    return driver


def test_the_interval_commit_of_the_poll_that_applies_an_assignment_covers_what_is_revoked():
    """The event of the poll is taken before the one that applies: its positions are the old ones."""
    driver = revoked()
    driver.poll()

    (request,) = driver.ever(OffsetCommitRequest)
    assert offsets({0: 3, 1: 4}) == tuple(sorted(request.offsets))
    assert [0] == driver.owned()
    assert [("assigned", ())] == driver.calls


def test_poll_waits_until_the_background_thread_has_applied_the_assignment():
    """The listener is called only then, a wake-up of the application thread later."""
    driver = revoked()
    driver.lags = {Lag.EVENT: 300, Lag.WAKE: 200}
    driver.begin_poll()
    driver.advance(0.299)
    assert [0, 1] == driver.owned()
    driver.advance(0.1)
    assert ([0], []) == (driver.owned(), driver.calls)
    driver.advance(0.101)

    assert [("assigned", ())] == driver.calls


def test_an_assignment_that_close_overtakes_is_not_applied():
    """close() ends the poll that waits for it: all owned partitions are revoked."""
    driver = revoked(enable_auto_commit=False)
    driver.lags = {Lag.EVENT: 300}
    driver.begin_poll()
    driver.carry_out(driver.client.close(driver.now_us, 30_000_000))
    driver.advance(1)

    assert [("revoked", (0, 1))] == driver.calls


def test_an_assignment_that_is_aborted_while_poll_waits_is_applied():
    """The member is fenced before the background thread takes the event."""
    driver = revoked()
    driver.beat_due()
    driver.lags = {Lag.EVENT: 300}
    driver.begin_poll()
    driver.refused(ErrorCode.FENCED_MEMBER_EPOCH)
    driver.advance(1)
    driver.poll()

    assert [("assigned", ()), ("lost", (0, 1))] == driver.calls


def test_partitions_that_are_still_owned_are_read_after_their_call(auto):
    """Of those that the call named, one may be gone: a later assignment has been applied meanwhile."""
    state = replace(auto.state, assignment=parts(0, 1), awaiting=parts(1))
    call = CallbackNeeded("assigned", parts(1, 2), Purpose.ASSIGN, parts(0, 1, 2))
    ended = {
        threw: reconciliation.on_assigned(
            state, auto.client.consumer, CallbackCompleted(call, threw), auto.now_us
        )
        for threw in (False, True)
    }

    assert {False: (), True: parts(1)} == {
        threw: step.state.awaiting for threw, step in ended.items()
    }
