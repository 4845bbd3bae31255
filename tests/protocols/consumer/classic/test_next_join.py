"""When a member of a client that works in the background sends its next JoinGroup."""

from __future__ import annotations

import pytest

from protocols.messages import HeartbeatRequest, JoinGroupRequest
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver
from .test_background import background

E = ErrorCode


def removed(name: str, error: ErrorCode, **settings: object) -> ClientDriver:
    """Return a member whose heartbeat says that it was removed, while its application works."""
    driver = background(name, enable_auto_commit=False, **settings)
    driver.stable({0: 0})
    driver.hand({0: 5})
    driver.calls.clear()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(error)
    return driver


def test_a_removed_member_of_aiokafka_joins_while_its_application_works():
    """``_coordination_routine`` wakes on ``_rejoin_needed_fut``."""
    driver = removed("aiokafka", E.UNKNOWN_MEMBER_ID)

    assert [""] == [sent.message.member_id for sent in driver.pending(JoinGroupRequest)]


def test_aiokafka_does_not_join_again_for_an_application_that_has_stopped_to_poll():
    """``ensure_active_group`` looks after each ``retry_backoff_ms``; the listener is called before."""
    driver = background("aiokafka", enable_auto_commit=False, max_poll_interval_ms=20_000)
    driver.stable({0: 0})
    driver.hand({0: 5})
    driver.calls.clear()
    while not driver.calls:
        driver.advance(500)
        if driver.pending(HeartbeatRequest):
            driver.beaten()
    driver.advance(10_000)
    assert driver.calls
    assert not driver.pending(JoinGroupRequest)

    driver.poll()
    assert not driver.pending(JoinGroupRequest)
    driver.advance(100)
    assert driver.pending(JoinGroupRequest)


@pytest.mark.parametrize("name", ["aiokafka", "librdkafka"])
def test_the_first_join_needs_no_application_that_polls(name: str):
    """Only a member that has joined before is held back (``prev_assignment``)."""
    driver = background(name, max_poll_interval_ms=20_000)
    driver.coordinator = None
    driver.poll()
    driver.advance(30_000)
    driver.coordinator = 1

    assert driver.advance_until(JoinGroupRequest) <= 1_000


@pytest.mark.parametrize("error", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION])
def test_a_removed_member_of_franz_go_loses_its_partitions_rests_and_joins_with_its_old_id(error):
    """``manageFailWait``, then ``joinAndSync``; after UNKNOWN_MEMBER_ID it joins at once without one."""
    driver = removed("franz-go", error, retry_backoff_ms=250, retry_backoff_max_ms=5_000)
    assert ["lost"] == [call for call, _ in driver.calls]
    driver.advance(199)
    assert not driver.pending(JoinGroupRequest)
    driver.advance(101)
    (first,) = driver.pending(JoinGroupRequest)
    driver.join_error(E.UNKNOWN_MEMBER_ID)
    (second,) = driver.pending(JoinGroupRequest)

    assert ("m-1", "") == (first.message.member_id, second.message.member_id)
    assert second.at_us == driver.now_us


def test_each_loss_without_a_rebalance_in_between_doubles_the_rest_of_franz_go():
    """``manage`` counts ``consecutiveErrors``; a session that a rebalance ends begins it anew."""
    rests = []
    driver = removed(
        "franz-go", E.UNKNOWN_MEMBER_ID, retry_backoff_ms=250, retry_backoff_max_ms=5_000
    )
    for error in (E.UNKNOWN_MEMBER_ID, E.REBALANCE_IN_PROGRESS, E.UNKNOWN_MEMBER_ID, E.NONE):
        rests.append(driver.advance_until(JoinGroupRequest))
        driver.joined(2)
        driver.synced(0)
        driver.advance_until(HeartbeatRequest)
        driver.beaten(error)

    first, second, at_once, third = rests
    assert 200 <= first <= 300
    assert 400 <= second <= 600
    assert (0, True) == (at_once, 200 <= third <= 300)


@pytest.mark.parametrize(("assignor", "rests_ms"), [("cooperative-sticky", 1_000), ("range", 0)])
def test_librdkafka_joins_at_most_once_a_second_unless_it_has_revoked(assignor, rests_ms):
    """``rkcg_join_intvl``; a cooperative member joins without a poll, as it calls no listener before."""
    driver = background("librdkafka", assignors=(assignor,), enable_auto_commit=False)
    driver.stable({0: 0})
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    if assignor == "range":
        driver.advance(100)
        assert not driver.pending(JoinGroupRequest)
        driver.poll()
    sent = driver.ever(JoinGroupRequest)[0].at_us
    driver.advance_until(JoinGroupRequest)

    assert sent + rests_ms * 1_000 <= driver.now_us
    assert (driver.now_us == sent + 1_000_000) is (assignor != "range")


@pytest.mark.parametrize(("client", "rest_ms"), [("librdkafka", 2_000), ("aiokafka", 100)])
def test_a_refused_join_is_followed_by_a_rest(client: str, rest_ms: int):
    """Librdkafka adds a second to its interval; aiokafka sleeps ``retry_backoff_ms``."""
    driver = background(client, enable_auto_commit=False)
    driver.poll_until(JoinGroupRequest)
    sent = driver.now_us
    driver.join_error(E.MEMBER_ID_REQUIRED, "m-2")
    assert driver.pending(JoinGroupRequest)
    driver.join_error(E.UNKNOWN_MEMBER_ID)
    driver.advance_until(JoinGroupRequest)

    assert sent + rest_ms * 1_000 == driver.now_us


@pytest.mark.parametrize(("client", "rest_ms"), [("librdkafka", 1_000), ("aiokafka", 100)])
def test_a_sync_group_that_a_rebalance_overtakes_is_followed_by_a_rest(client: str, rest_ms: int):
    """Librdkafka counts from its JoinGroup on, aiokafka from the answer."""
    driver = background(client, enable_auto_commit=False)
    driver.poll_until(JoinGroupRequest)
    sent = driver.now_us
    driver.joined()
    driver.synced(error=E.REBALANCE_IN_PROGRESS)
    driver.advance_until(JoinGroupRequest)

    assert sent + rest_ms * 1_000 == driver.now_us


@pytest.mark.parametrize(
    ("client", "assignor", "calls"),
    [
        ("franz-go", "cooperative-sticky", [("revoked", ())]),
        ("franz-go", "range", [("revoked", ())]),
        ("librdkafka", "cooperative-sticky", []),
        ("librdkafka", "range", [("revoked", ())]),
    ],
)
def test_whether_the_listener_is_called_without_partitions(client, assignor, calls):
    """franz-go ``revokeThisSession``; librdkafka ``rd_kafka_cgrp_revoke_all_rejoin`` (eager)."""
    driver = background(client, assignors=(assignor,), enable_auto_commit=False)
    driver.stable({})
    driver.calls.clear()
    if not driver.pending(HeartbeatRequest):
        driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.poll()

    assert calls == driver.calls
