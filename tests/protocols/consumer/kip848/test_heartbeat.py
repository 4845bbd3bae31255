"""When heartbeats leave, how they are paced after failures, and what errors do."""

from __future__ import annotations

import pytest

from protocols.consumer.kip848.member import MemberState
from protocols.consumer.lookup import Known, Unknown
from protocols.messages import ConsumerGroupHeartbeatRequest, FindCoordinatorRequest
from protocols.messages.errors import ErrorCode

from .driver import MEMBER, Beat, ClientDriver, ids


@pytest.fixture
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1; its heartbeats are due every five seconds."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable()
    return made


def full(epoch: int, *numbers: int) -> ConsumerGroupHeartbeatRequest:
    """What a member says that does not know what of its words arrived."""
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=MEMBER,
        member_epoch=epoch,
        rebalance_timeout_ms=300_000,
        subscribed_topic_names=("t",),
        topic_partitions=ids(*numbers),
    )


def test_the_interval_begins_when_a_heartbeat_leaves(driver):
    """Answers that are slow do not shift the next heartbeat."""
    driver.beat_due()
    driver.advance(1_500)
    driver.beaten()

    assert 3_500 == driver.advance_until(Beat)


def test_a_new_interval_begins_with_its_answer(driver):
    """A changed interval counts from when it was received."""
    driver.beat_due()
    driver.advance(1_000)
    driver.beaten(interval_ms=2_000)

    assert 2_000 == driver.advance_until(Beat)


def test_an_acknowledgement_restarts_the_interval(driver):
    """An acknowledgement is a heartbeat: the member's phase shifts to it."""
    driver.beat_due()
    driver.beaten(3, 0, 1, 2)
    driver.advance(1_000)
    driver.poll()
    assert ids(0, 1, 2) == driver.one(Beat).topic_partitions
    driver.beaten()

    assert 5_000 == driver.advance_until(Beat)


def test_an_epoch_of_zero_is_not_shown_to_the_application(driver):
    """Its ``groupMetadata`` keeps the last one that is greater (``onMemberEpochUpdated``)."""
    driver.beat_due()
    driver.beaten(0)

    assert (0, 2) == (driver.epoch, driver.state.shown_generation)


def test_one_heartbeat_is_in_flight_at_a_time(driver):
    """A heartbeat without an answer holds the next one up."""
    driver.beat_due()
    driver.advance(20_000)

    assert 1 == len(driver.pending(Beat))


def test_an_unanswered_heartbeat_breaks_the_connection(driver):
    """After request.timeout.ms the coordinator is looked up and gets a full request."""
    driver.beat_due()
    driver.lose(Beat)
    driver.advance(30_000)
    assert isinstance(driver.state.coordinator, Known)
    driver.advance(100)

    assert full(2, 0, 1) == driver.one(Beat)


def test_a_lost_connection_is_backed_off(driver):
    """The next heartbeat leaves after retry.backoff.ms, and says all."""
    driver.beat_due()
    driver.disconnect()
    assert [] == driver.pending(Beat)

    assert 100 == driver.advance_until(Beat)
    assert full(2, 0, 1) == driver.one(Beat)


def test_the_back_off_doubles_up_to_its_limit(driver):
    """A coordinator that loads is asked after 100, 200, 400, 800, 1000, 1000 ms."""
    driver.beat_due()
    waits = []
    for _ in range(6):
        driver.refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        waits.append(driver.advance_until(Beat))

    assert [100, 200, 400, 800, 1_000, 1_000] == waits
    assert full(2, 0, 1) == driver.one(Beat)
    assert MemberState.STABLE is driver.member


def test_a_good_answer_ends_the_back_off(driver):
    """After a success the next failure starts from the first back-off again."""
    driver.beat_due()
    for _ in range(3):
        driver.refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        driver.advance_until(Beat)
    driver.beaten()
    driver.beat_due()
    driver.refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    assert 100 == driver.advance_until(Beat)


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_gets_a_full_request_at_once(driver, error):
    """The heartbeat is repeated as soon as the new coordinator is known, without back-off."""
    driver.coordinator = None
    driver.beat_due()
    driver.refused(error)
    assert isinstance(driver.state.coordinator, Unknown)
    driver.coordinator = 2
    driver.advance_until(Beat)

    assert isinstance(driver.state.coordinator, Known)
    assert 2 == driver.state.coordinator.broker
    assert full(2, 0, 1) == driver.one(Beat)
    assert [0, 1] == driver.owned()


def test_a_joining_member_does_not_wait_for_the_back_off():
    """While it joins a member asks again at once, paced by the round trip alone."""
    driver = ClientDriver()
    driver.joining()
    driver.refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    assert 1 == len(driver.pending(Beat))
    assert 0 == driver.one(Beat).member_epoch


def test_a_lost_acknowledgement_is_made_up_for(driver):
    """The owned partitions are sent again when it is unknown whether they arrived."""
    driver.beat_due()
    driver.beaten(3, 0, 1, 2)
    driver.poll()
    driver.disconnect()
    driver.advance_until(Beat)

    assert full(3, 0, 1, 2) == driver.one(Beat)


def test_a_topic_that_may_not_be_read_is_thrown_once(driver):
    """The application hears of it from poll; the member goes on after the back-off."""
    driver.beat_due()
    driver.refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    thrown = driver.poll()

    assert "TopicAuthorizationException" == thrown.exception
    assert () == driver.poll()
    assert MemberState.STABLE is driver.member
    driver.advance(100)
    assert full(2, 0, 1) == driver.one(Beat)


FATAL = [
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.UNSUPPORTED_ASSIGNOR,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_REGULAR_EXPRESSION,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_SERVER_ERROR,
]


@pytest.mark.parametrize("error", FATAL)
def test_fatal_errors_lose_everything_and_every_poll_throws(driver, error):
    """The listener hears that all is lost; no heartbeat leaves any more, and polls throw."""
    driver.beat_due()
    driver.refused(error)
    first = driver.poll()

    assert MemberState.FATAL is driver.member
    assert [("lost", (0, 1))] == driver.calls
    assert error is first.error
    assert first == driver.poll()
    assert [] == driver.owned()
    driver.advance(400_000)
    assert [] == driver.pending(Beat)


def test_an_answer_to_a_heartbeat_from_before_a_reset_is_ignored(driver):
    """A late answer to the old membership does not become the epoch of the new one."""
    sent = driver.beat_due()
    (flight,) = [s for s in driver.pending(Beat) if s.message is sent]
    driver.advance(296_000)
    assert MemberState.STALE is driver.member
    driver.poll()
    driver.poll()
    driver.advance(1)
    (joining,) = [s for s in driver.pending(Beat) if s.message.member_epoch == 0]
    driver.sent = [flight, joining]
    driver.beaten(2)

    assert 0 == driver.epoch


def test_a_broken_connection_is_noticed_by_the_next_request():
    """The Java client has no look at the connection itself (``handleCoordinatorDisconnect``)."""
    driver = ClientDriver()
    driver.stable()
    before = len(driver.ever(FindCoordinatorRequest))
    driver.disconnect()
    assert isinstance(driver.state.coordinator, Known)

    driver.advance_until(Beat)
    driver.disconnect()
    assert before + 1 == len(driver.ever(FindCoordinatorRequest))
