"""The heartbeat thread: its clocks, its turns, what it does about each answer."""

from __future__ import annotations

import pytest

from protocols.consumer.classic.state import Membership
from protocols.consumer.clients import Busy
from protocols.consumer.lookup import Known
from protocols.facts import CoordinatorLost
from protocols.messages import (
    HeartbeatRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, manual_member, parts

E = ErrorCode


# -- when it runs --------------------------------------------------------------------------------


def test_heartbeats_leave_every_interval_while_the_application_works():
    """No poll is needed for them, and earlier ones need not be answered."""
    driver = manual_member()
    driver.advance(12_500)

    assert [3_000, 6_000, 9_000, 12_000] == driver.times_ms(HeartbeatRequest)


def test_heartbeats_leave_at_turns_of_the_thread():
    """The thread turns every retry.backoff.ms: an interval of 250 ms comes every 300 ms."""
    driver = manual_member(heartbeat_interval_ms=250)
    driver.advance(1_000)

    assert [300, 600, 900] == driver.times_ms(HeartbeatRequest)


def test_a_poll_sends_a_heartbeat_that_is_due():
    """It wakes the thread instead of leaving it asleep until its turn."""
    driver = manual_member(heartbeat_interval_ms=250)
    driver.advance(260)
    driver.poll()

    assert [260] == driver.times_ms(HeartbeatRequest)


def test_a_waiting_poll_sends_heartbeats_on_time():
    """Blocked for data, poll turns when a heartbeat is due."""
    driver = manual_member(heartbeat_interval_ms=250)
    driver.poll(10_000)
    driver.advance(1_100)

    assert [250, 500, 750, 1_000] == driver.times_ms(HeartbeatRequest)


@pytest.mark.parametrize(("busy", "sent"), [(Busy.WORK, 0), (Busy.LISTENER, 1), (Busy.FETCH, 1)])
def test_heartbeats_wait_for_the_application_only_in_a_client_that_does_both(busy, sent):
    """While the application works, a listener call or a fetch keeps nothing from being sent."""
    driver = manual_member()
    consumer = driver.client.consumer
    profile = replace(consumer.profile, heartbeats_wait_for=frozenset({busy}))
    driver.client.consumer = replace(consumer, profile=profile)
    driver.advance(4_000)

    assert sent == len(driver.ever(HeartbeatRequest))


def test_no_heartbeats_are_sent_until_the_join_is_answered():
    """Unjoined and preparing, the thread is disabled."""
    driver = ClientDriver(heartbeat_interval_ms=200)
    driver.look_up()
    driver.advance(5_000)

    assert [] == driver.times_ms(HeartbeatRequest)


def test_a_join_answer_lies_unread_while_the_application_works():
    """Only poll() reads it: until then there is no SyncGroup and no heartbeat."""
    driver = ClientDriver(heartbeat_interval_ms=200)
    driver.look_up()
    driver.joined()
    driver.advance(2_500)
    assert Membership.PREPARING_REBALANCE is driver.membership
    assert [] == driver.times_ms(HeartbeatRequest)

    driver.poll()
    driver.advance(1_000)
    assert Membership.COMPLETING_REBALANCE is driver.membership
    assert [2_700, 2_900, 3_100, 3_300, 3_500] == driver.times_ms(HeartbeatRequest)


def test_heartbeats_are_sent_while_completing_a_rebalance():
    """From the JoinGroup answer on the thread is enabled."""
    driver = ClientDriver(heartbeat_interval_ms=1_000)
    driver.look_up()
    driver.joined(3)
    driver.poll()
    driver.advance(1_000)

    assert [3] == [sent.message.generation_id for sent in driver.ever(HeartbeatRequest)]


def test_a_poll_sends_a_heartbeat_that_is_due_while_the_sync_group_is_in_flight():
    """Polls that only wait for the SyncGroup response still wake the thread, between two of its turns."""
    driver = ClientDriver(heartbeat_interval_ms=250)
    driver.look_up()
    driver.joined(3)
    driver.poll()
    joined_ms = driver.now_us / 1_000
    driver.poll()
    driver.advance(250)
    driver.poll()

    assert [joined_ms + 250] == driver.times_ms(HeartbeatRequest)


def test_a_rejoin_disables_the_thread_and_its_answer_resets_the_timers():
    """A member that waits in its join sends none; then the interval restarts."""
    driver = manual_member()
    driver.learn()
    driver.poll()
    sent = len(driver.times_ms(HeartbeatRequest))
    driver.advance(10_000)
    assert sent == len(driver.times_ms(HeartbeatRequest))

    driver.joined(2)
    driver.poll()
    began = driver.now_ms
    driver.advance(3_000)
    assert began + 3_000 == driver.times_ms(HeartbeatRequest)[-1]


def test_the_thread_reads_what_has_arrived_at_its_next_turn():
    """While the application works, responses wait for the thread, at most 100 ms."""
    driver = manual_member()
    driver.advance(3_050)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    unread = driver.state.rejoin
    driver.advance(49)
    still = driver.state.rejoin
    driver.advance(1)

    assert (None, None) == (unread, still)
    assert "group is already rebalancing" == driver.state.rejoin


def test_the_thread_completes_a_sync_behind_the_applications_back():
    """Stable with the new generation, but the assignment waits for the application."""
    driver = manual_member()
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.poll()
    driver.synced(1)
    driver.tick()

    assert Membership.STABLE is driver.membership
    assert [("revoked", parts(0, 1))] == driver.calls
    driver.poll()
    assert ("assigned", parts(1)) == driver.calls[-1]


# -- the session ---------------------------------------------------------------------------------


def test_a_silent_coordinator_is_forgotten_after_the_session_timeout():
    """The client only looks it up again; member id, generation and partitions stay."""
    driver = manual_member(session_timeout_ms=10_000)
    generation = driver.state.generation
    driver.advance(10_000)

    assert [10_000_000] == [driver.now_us for _ in driver.emitted(CoordinatorLost)]
    assert generation == driver.state.generation
    assert parts(0, 1) == driver.state.assignment
    assert [] == driver.calls


def test_an_answered_heartbeat_winds_the_session_up():
    """Success and REBALANCE_IN_PROGRESS both count as signs of life."""
    for error in (E.NONE, E.REBALANCE_IN_PROGRESS):
        driver = manual_member(session_timeout_ms=10_000)
        driver.learn(error)
        driver.advance(9_900)
        assert [] == driver.emitted(CoordinatorLost)

        driver.advance(100)
        assert 1 == len(driver.emitted(CoordinatorLost))


def test_a_commit_does_not_wind_the_session_up():
    """The client's own copy of its session knows heartbeats only."""
    driver = manual_member(session_timeout_ms=10_000)
    for _ in range(9):
        driver.commit_sync({0: 1})
        driver.committed()
        driver.advance(1_000)
    driver.advance(1_000)

    assert 1 == len(driver.emitted(CoordinatorLost))


def test_a_coordinator_that_is_found_winds_the_session_up():
    """Otherwise it would be forgotten again at once."""
    driver = manual_member(session_timeout_ms=10_000)
    driver.advance(10_500)
    assert Known(1) == driver.state.coordinator

    driver.advance(9_000)
    assert Known(1) == driver.state.coordinator


def test_requests_in_flight_fail_with_a_forgotten_coordinator():
    """Its connection is dropped: unanswered heartbeats and commits are over."""
    driver = manual_member(session_timeout_ms=10_000)
    driver.commit_async({0: 1})
    driver.advance(10_500)

    assert [] == [f for f in driver.state.in_flight.values() if f.deadline_us < 40_000_000]


def test_a_lost_heartbeat_is_repeated_after_a_back_off_not_an_interval():
    """The next one leaves as soon as the coordinator is known again."""
    driver = manual_member()
    driver.advance(3_000)
    driver.disconnect()
    began = driver.now_ms
    driver.advance(1_000)

    assert driver.times_ms(HeartbeatRequest)[-1] - began <= 500


def test_failed_heartbeats_back_off_exponentially():
    """Each failure in a row doubles the pause, up to a second; a success forgets them."""
    driver = manual_member(heartbeat_interval_ms=3_000)
    pauses = []
    for _ in range(6):
        driver.advance_until(HeartbeatRequest)
        failed = driver.now_ms
        driver.beaten(E.COORDINATOR_NOT_AVAILABLE)
        driver.tick()
        assert driver.state.beat is not None
        pauses.append(round(driver.state.beat.due_us / 1_000 - failed - 100))

    assert pauses == sorted(pauses)
    assert 1_000 == pauses[-1]


@pytest.mark.parametrize(
    ("before", "pauses_ms"),
    [(E.UNKNOWN_MEMBER_ID, [200, 400]), (E.REBALANCE_IN_PROGRESS, [100, 200])],
)
def test_a_join_does_not_forget_failed_heartbeats(before, pauses_ms):
    """``Heartbeat.heartbeatAttempts`` is reset by a successful heartbeat only."""
    driver = manual_member()
    driver.learn(before)
    driver.join(0, 1, generation=2)
    pauses = []
    for _ in pauses_ms:
        driver.advance_until(HeartbeatRequest)
        failed_us = driver.now_us
        driver.beaten(E.UNKNOWN_SERVER_ERROR)
        driver.tick()
        assert driver.state.beat is not None
        pauses.append(round((driver.state.beat.due_us - failed_us) / 1_000))

    assert pauses_ms == [pause - 100 for pause in pauses]


def test_a_late_thread_puts_off_only_its_next_heartbeat():
    """Its clocks are judged by the time it is woken: the session lasts beyond that."""
    interval_ms = 3_050  # not a turn of the thread: only a poll wakes it then
    driver = manual_member(session_timeout_ms=10_000, heartbeat_interval_ms=interval_ms)
    late_us = 8_000_000
    object.__setattr__(driver.client.consumer, "late", lambda _due: late_us)
    driver.poll(100_000)
    driver.advance(interval_ms)
    (sent,) = driver.pending(HeartbeatRequest)
    woken = sent.at_us
    flight = driver.state.in_flight[sent.number]

    assert [interval_ms] == driver.times_ms(HeartbeatRequest)
    assert woken + late_us + interval_ms * 1_000 == driver.state.beat.due_us
    assert woken + driver.settings.request_timeout_ms * 1_000 == flight.deadline_us
