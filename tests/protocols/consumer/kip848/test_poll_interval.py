"""An application that does not poll: its member leaves by itself, and joins when it is back."""

from __future__ import annotations

import pytest

from protocols.consumer.kip848.member import MemberState
from protocols.facts import ClientDropped
from protocols.messages import FindCoordinatorRequest, OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import Beat, ClientDriver

E = ErrorCode


RARE_COMMITS = {"auto_commit_interval_ms": 600_000}


def before_the_end(**settings) -> ClientDriver:
    """A member 2 s before the end of its poll interval, and 5 s before its third heartbeat."""
    driver = ClientDriver(max_poll_interval_ms=12_000, **settings)
    driver.stable()
    for _ in range(2):
        driver.beat_due()
        driver.beaten()
    return driver


def expired(**settings) -> ClientDriver:
    """A member whose application has just been away from poll for too long."""
    driver = before_the_end(**RARE_COMMITS, **settings)
    driver.advance(2_000)
    assert MemberState.STABLE is driver.member
    driver.advance(3_000)
    return driver


def test_the_end_of_the_interval_is_noticed_when_the_next_heartbeat_is_due():
    """``AbstractHeartbeatRequestManager.poll`` waits for the heartbeat, not for its poll timer."""
    driver = before_the_end(**RARE_COMMITS)
    driver.advance(4_999)
    assert MemberState.STABLE is driver.member
    assert [] == driver.pending(Beat)
    driver.advance(1)

    assert -1 == driver.one(Beat).member_epoch


@pytest.mark.parametrize("timeout_ms", [13_000, 14_999])
def test_the_timeout_of_requests_that_were_answered_lets_it_notice_nothing(timeout_ms):
    """It was set for the first of them, and wakes no thread of Kafka's client."""
    driver = before_the_end(**RARE_COMMITS, request_timeout_ms=timeout_ms)
    driver.advance(4_999)

    assert MemberState.STABLE is driver.member


def test_an_event_of_the_application_lets_it_notice_the_end_of_the_interval():
    """A commit of the handler wakes the background thread, which then checks its poll timer."""
    driver = before_the_end(enable_auto_commit=False)
    driver.advance(2_500)
    assert MemberState.STABLE is driver.member
    driver.commit_async({0: 1})
    driver.advance(1)

    assert MemberState.STALE is driver.member


def test_the_member_leaves_without_a_call():
    """The leaving heartbeat is sent at once; the listener is called in the next poll."""
    driver = expired()

    assert -1 == driver.one(Beat).member_epoch
    assert ["PREPARE_LEAVING", "LEAVING", "STALE"] == driver.ways()
    assert [] == driver.calls
    assert ["consumer poll timeout has expired."] == [
        f.reason for f in driver.emitted(ClientDropped)
    ]


def test_a_static_member_leaves_for_a_while():
    """Its partitions stay reserved for it until the session expires."""
    driver = expired(group_instance_id="i")

    assert -2 == driver.one(Beat).member_epoch


def test_it_leaves_even_with_a_heartbeat_in_flight():
    """The last heartbeat does not wait for the answer to the one before."""
    driver = ClientDriver(max_poll_interval_ms=12_000)
    driver.stable()
    driver.beat_due()
    driver.advance(7_000)

    assert [2, -1] == [sent.message.member_epoch for sent in driver.pending(Beat)]


def in_flight() -> ClientDriver:
    """A member whose last heartbeat has no response when it leaves."""
    driver = ClientDriver(max_poll_interval_ms=12_000)
    driver.stable()
    driver.beat_due()
    driver.advance(7_000)
    return driver


def test_a_member_that_joins_takes_the_epoch_of_a_heartbeat_before_it_left():
    """``onHeartbeatSuccess`` knows no request: a second join heartbeat has the old epoch."""
    driver = in_flight()
    driver.poll()
    driver.poll()
    assert [2, -1, 0] == [sent.message.member_epoch for sent in driver.pending(Beat)]

    driver.beaten(2)
    driver.advance(1)
    *_, again = driver.pending(Beat)

    assert MemberState.JOINING is driver.member
    assert (2, ("t",), ()) == (
        again.message.member_epoch,
        again.message.subscribed_topic_names,
        again.message.topic_partitions,
    )


@pytest.mark.parametrize(
    ("error", "thrown"),
    [
        (E.FENCED_MEMBER_EPOCH, False),
        (E.UNKNOWN_MEMBER_ID, False),
        (E.GROUP_AUTHORIZATION_FAILED, True),
    ],
)
def test_an_error_for_a_heartbeat_before_it_left_leaves_a_member_stale(error, thrown):
    """No transition leads from STALE to FENCED or FATAL; only the exception reaches the poll."""
    driver = in_flight()
    driver.refused(error)

    assert MemberState.STALE is driver.member
    assert thrown is (driver.state.thrown is not None)
    assert driver.state.fatal_error is None


def test_polling_again_loses_all_and_joins():
    """onPartitionsLost, then epoch 0; nothing is committed."""
    driver = expired()
    driver.beaten(-1)
    driver.advance(30_000)
    assert [] == driver.pending(Beat)
    driver.poll()

    assert [("lost", (0, 1))] == driver.calls
    assert 0 == driver.one(Beat).member_epoch
    assert [] == driver.ever(OffsetCommitRequest)


def test_it_joins_only_after_the_call():
    """A listener that takes long holds the new membership up."""
    driver = expired()
    driver.beaten(-1)
    driver.hold_calls = True
    driver.poll()
    driver.advance(5_000)
    assert MemberState.STALE is driver.member
    assert [] == driver.pending(Beat)
    driver.end_call()

    assert MemberState.JOINING is driver.member


def test_a_stale_member_that_owned_nothing_joins_with_the_poll():
    """Without anything to give up the next poll event joins by itself."""
    driver = ClientDriver(max_poll_interval_ms=5_000)
    driver.stable({})
    driver.advance(5_000)
    assert MemberState.STALE is driver.member
    driver.poll()

    assert MemberState.JOINING is driver.member
    assert [] == driver.calls


def test_each_event_of_poll_resets_the_interval():
    """An application that polls often enough stays a member however long it runs."""
    driver = ClientDriver(max_poll_interval_ms=6_000, enable_auto_commit=False)
    driver.stable()
    for _ in range(40):
        driver.poll()
        driver.advance(1_000)
        if driver.pending(Beat):
            driver.beaten()

    assert MemberState.STABLE is driver.member


def test_no_member_leaves_while_the_coordinator_is_unknown():
    """Without a coordinator the interval is not checked; with one it is, at once."""
    driver = ClientDriver(max_poll_interval_ms=6_000)
    driver.stable()
    driver.lose_coordinator()
    driver.advance(20_000)
    assert MemberState.STABLE is driver.member
    driver.coordinator = 1
    driver.advance(1_000)

    assert MemberState.STALE is driver.member


def test_the_answer_that_nobody_waits_for_does_not_tell_of_a_broken_connection():
    """A stale member only logs how its leave heartbeat ended (``HeartbeatRequestManager``'s ``logResponse``)."""
    driver = expired()
    assert -1 == driver.one(Beat).member_epoch
    before = len(driver.ever(FindCoordinatorRequest))
    driver.disconnect()

    assert before == len(driver.ever(FindCoordinatorRequest))
