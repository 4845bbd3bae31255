"""Commits of a client that sends one when the one before is answered (aiokafka ``_commit_lock``)."""

from __future__ import annotations

import pytest

from protocols.consumer.classic import commits
from protocols.facts import CommitKind, CommitSent
from protocols.messages import HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, offsets
from .test_background import background

E = ErrorCode


def offsets_sent(driver: ClientDriver) -> list[int]:
    return [each.message.offsets[0].offset for each in driver.ever(OffsetCommitRequest)]


def with_commit_in_flight(name: str) -> ClientDriver:
    """A stable member with a record and an automatic commit in flight."""
    driver = background(name, enable_auto_commit=True, auto_commit_interval_ms=1_000)
    driver.stable({0: 0})
    driver.hand({0: 5})
    driver.poll()
    driver.advance_until(OffsetCommitRequest)
    return driver


@pytest.mark.parametrize(("name", "commits"), [("aiokafka", 1), ("librdkafka", 4)])
def test_an_automatic_commit_waits_for_the_one_before(name: str, commits: int):
    """The timer of librdkafka sends the next one all the same."""
    driver = with_commit_in_flight(name)
    for offset in (6, 7, 8):
        driver.hand({0: offset})
        driver.poll()
        driver.advance(1_000)

    assert commits == len(driver.ever(OffsetCommitRequest))


def test_the_commit_that_waited_follows_at_once():
    """It was due meanwhile, and covers what was returned meanwhile."""
    driver = with_commit_in_flight("aiokafka")
    driver.hand({0: 9})
    driver.poll()
    driver.advance(1_500)
    driver.committed()

    assert 2 == len(driver.ever(OffsetCommitRequest))
    assert [driver.now_us] == [each.at_us for each in driver.pending(OffsetCommitRequest)]


def test_a_rebalance_waits_for_the_automatic_commit():
    """The task that joins is the one that awaits the response; then it commits again, and joins."""
    driver = with_commit_in_flight("aiokafka")
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.advance(2_000)
    assert 1 == len(driver.ever(OffsetCommitRequest))
    assert not driver.calls or "revoked" not in driver.calls[-1]

    driver.committed()
    assert 2 == len(driver.ever(OffsetCommitRequest))
    assert not driver.pending(JoinGroupRequest)
    driver.committed()
    assert driver.pending(JoinGroupRequest)


def kinds_sent(driver: ClientDriver) -> list[CommitKind]:
    return [fact.kind for fact in driver.emitted(CommitSent)]


def with_application_commit_in_flight() -> ClientDriver:
    """A stable member of aiokafka with automatic commits, whose application commits, too."""
    driver = background("aiokafka", enable_auto_commit=True, auto_commit_interval_ms=5_000)
    driver.stable({0: 0})
    driver.hand({0: 5})
    driver.poll()
    driver.commit_async({0: 2})
    return driver


def test_an_automatic_commit_that_waits_precedes_a_later_one_of_the_application():
    """The lock serves them in the order in which they asked; it covers what was returned at its turn."""
    driver = with_application_commit_in_flight()
    driver.advance(6_000)
    driver.commit_async({0: 3})
    driver.hand({0: 9})
    driver.poll()
    driver.committed()
    driver.committed()

    assert [CommitKind.ASYNC, CommitKind.AUTO, CommitKind.ASYNC] == kinds_sent(driver)
    assert [2, 14, 3] == offsets_sent(driver)


def test_the_interval_begins_when_the_automatic_commit_begins_to_wait():
    """Of those that become due while it waits, one follows."""
    driver = with_application_commit_in_flight()
    driver.advance(14_000)
    driver.committed()
    assert [CommitKind.ASYNC, CommitKind.AUTO] == kinds_sent(driver)
    driver.committed()
    assert [CommitKind.ASYNC, CommitKind.AUTO, CommitKind.AUTO] == kinds_sent(driver)
    driver.committed()
    assert not driver.pending(OffsetCommitRequest)


def test_a_commit_sync_that_waits_precedes_a_later_automatic_commit():
    """It asked for the lock first."""
    driver = with_application_commit_in_flight()
    assert driver.commit_sync({0: 3}) is None
    driver.advance(6_000)
    driver.committed()
    driver.committed()

    assert [CommitKind.ASYNC, CommitKind.SYNC, CommitKind.AUTO] == kinds_sent(driver)


def test_the_commit_before_a_rebalance_precedes_a_later_one_of_the_application():
    """Nothing is returned while it waits."""
    driver = with_application_commit_in_flight()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.commit_async({0: 3})
    driver.hand({0: 9})
    driver.poll()
    driver.committed()
    driver.committed()

    assert [CommitKind.ASYNC, CommitKind.PREPARE, CommitKind.ASYNC] == kinds_sent(driver)
    assert [2, 5, 3] == offsets_sent(driver)


def test_commit_sync_while_a_rebalance_waits_for_its_commit():
    """The join goes on behind it; a commit of close() comes last."""
    driver = with_application_commit_in_flight()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    assert driver.commit_sync({0: 3}) is None
    driver.committed()
    driver.committed()
    driver.committed()

    assert [CommitKind.ASYNC, CommitKind.SYNC, CommitKind.PREPARE] == kinds_sent(driver)
    assert driver.pending(JoinGroupRequest)


def test_close_while_a_rebalance_waits_for_its_commit():
    """The commit of close() takes its place."""
    driver = with_application_commit_in_flight()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.close()
    driver.committed()
    driver.committed()

    assert [CommitKind.ASYNC, CommitKind.CLOSE] == kinds_sent(driver)
    assert not driver.state.pending_commits


def test_commit_sync_waits_for_the_automatic_commit():
    """It is sent with its own offsets when that is answered, and returns behind its own response."""
    driver = with_commit_in_flight("aiokafka")
    assert driver.commit_sync({0: 3}) is None
    assert 1 == len(driver.pending(OffsetCommitRequest))
    driver.committed()

    assert 3 == offsets_sent(driver)[-1]
    assert 1 == len(driver.pending(OffsetCommitRequest))


def test_commit_sync_waits_for_the_commits_before_it():
    """The lock serves them in the order of the calls, so that the committed offset does not go back."""
    driver = background("aiokafka", enable_auto_commit=False)
    driver.stable({0: 0})
    for offset in (3, 5):
        driver.commit_async({0: offset})
    assert driver.commit_sync({0: 9}) is None
    assert [3] == offsets_sent(driver)
    driver.committed()
    assert [3, 5] == offsets_sent(driver)
    driver.committed()
    assert [3, 5, 9] == offsets_sent(driver)


def test_commits_of_the_application_keep_their_order_also_in_close():
    """close() sends those that wait, one behind the other."""
    driver = background("aiokafka", enable_auto_commit=False)
    driver.stable({0: 0})
    for offset in (3, 5, 7):
        driver.commit_async({0: offset})
    assert [3] == offsets_sent(driver)
    driver.committed()
    assert [3, 5] == offsets_sent(driver)

    driver.close()
    driver.committed()
    assert [3, 5, 7] == offsets_sent(driver)


def test_a_commit_of_the_application_does_not_hold_the_join_without_automatic_commits():
    """The rebalance begins without a commit of its own."""
    driver = background("aiokafka", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.commit_async({0: 3})
    driver.beaten(E.REBALANCE_IN_PROGRESS)

    assert driver.pending(JoinGroupRequest)


def test_a_commit_that_franz_go_holds_for_a_join_ends_with_close():
    """Nobody joins any more, so nothing waits for it."""
    driver = background("franz-go", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.commit_async({0: 5})
    driver.close()

    assert [] == offsets_sent(driver)
    assert not driver.state.pending_commits


WAITS = (None, CommitKind.AUTO)
GIVEN = (offsets({0: 5}), CommitKind.ASYNC)


@pytest.mark.parametrize(
    ("waiting", "holds"), [((WAITS,), True), ((GIVEN, WAITS), True), ((GIVEN,), False), ((), False)]
)
def test_no_automatic_commit_becomes_due_while_one_waits(waiting: tuple, holds: bool):
    """Commits of the application that wait are none; the automatic one takes its turn behind them."""
    driver = background("aiokafka")
    driver.stable({0: 0})
    state = replace(driver.state, pending_commits=waiting)
    queued = commits.queue_join(state).pending_commits

    assert holds is commits.holds_automatic(state, driver.client.consumer)
    assert queued == (waiting if holds else (*waiting, (None, CommitKind.PREPARE)))
