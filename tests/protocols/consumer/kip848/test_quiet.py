"""Until when only records can arrive at a member of the consumer protocol that is outside poll."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.kip848.calm import CalmPoll, is_settled, quiet_until
from protocols.consumer.kip848.state import Progress, Slot
from protocols.consumer.kip848.threads import FetchesWanted, Polled, Polling
from protocols.values import replace

from .driver import ClientDriver

ISSUED = Slot(5, 9)


def quiet_driver(**settings: Any) -> ClientDriver:
    """Return a member that reads two partitions, and is outside poll."""
    driver = ClientDriver(**settings)
    driver.stable({0: 0, 1: 0})
    driver.poll()
    return driver


@pytest.mark.parametrize(
    ("slot", "events", "settled"),
    [
        (None, (), True),
        (None, (FetchesWanted(),), True),
        (None, (Polled(5),), False),
        (ISSUED, (Polled(5),), True),
        (ISSUED, (FetchesWanted(), Polled(5)), True),
        (ISSUED, (), False),
        (ISSUED._replace(progress=Progress.COMPLETE), (), True),
        (ISSUED._replace(progress=Progress.COMPLETE), (Polled(5),), False),
        (ISSUED._replace(progress=Progress.TAKEN), (), False),
        (ISSUED._replace(failed=Failed("KafkaException")), (Polled(5),), False),
    ],
)
def test_a_client_is_settled_if_its_poll_event_waits_or_is_complete(slot, events, settled):
    """One that the background thread has taken still waits for something."""
    driver = quiet_driver()
    state = replace(driver.state, slot=slot, events=events)

    assert settled is is_settled(state, driver.client.consumer)


@pytest.mark.parametrize("commits", [True, False])
def test_a_client_is_quiet_before_its_first_duty(commits: bool):
    """With automatic commits that may be one of them."""
    driver = quiet_driver(enable_auto_commit=commits, auto_commit_interval_ms=1_000)
    state, consumer = driver.state, driver.client.consumer
    due_us = state.autocommit_us if commits else state.beat.due_us
    assert state.autocommit_us < state.beat.due_us

    assert due_us == quiet_until(state, consumer, due_us - 1)
    assert quiet_until(state, consumer, due_us) is None


def test_a_client_is_quiet_until_its_poll_interval_ends():
    """The background thread then leaves the group."""
    driver = quiet_driver(enable_auto_commit=False)
    state = replace(driver.state, poll_due_us=driver.now_us + 7)

    assert driver.now_us + 7 == quiet_until(state, driver.client.consumer, driver.now_us)


def test_a_back_off_that_ends_with_the_interval_of_heartbeats_delays_none():
    """The next heartbeat is due then in any case."""
    driver = quiet_driver(enable_auto_commit=False)
    state = driver.state
    beat = state.beat._replace(retry_us=state.beat.due_us)
    quiet_us = quiet_until(replace(state, beat=beat), driver.client.consumer, driver.now_us)

    assert state.beat.due_us == quiet_us


def test_a_poller_gives_back_the_poll_event_that_it_was_given():
    """The background thread has yet to take it."""
    driver = quiet_driver()
    state = replace(driver.state, slot=ISSUED, events=(Polled(5),), events_us=driver.now_us)
    calm = CalmPoll(state, driver.client.consumer, answered=False)

    assert state == calm.leave(state).state


def test_a_poll_event_that_comes_again_restarts_the_poll_interval_later():
    """By as much as its poll is later."""
    driver = quiet_driver()
    now, state = driver.now_us, driver.state
    calm = CalmPoll(state, driver.client.consumer, answered=False)
    assert calm.poll(now, 1_000_000) is None
    calm.restore(calm.saved(now), now + 7)
    calm.take_events()

    interval_us = driver.settings.max_poll_interval_ms * 1_000
    assert now + 7 + interval_us == calm.leave(state).state.poll_due_us


def test_a_poller_without_time_to_wait_returns_nothing_at_once():
    driver = quiet_driver()
    calm = CalmPoll(driver.state, driver.client.consumer, answered=False)

    assert () == calm.poll(driver.now_us, 0)


def test_a_wait_that_comes_again_ends_later_with_its_poll():
    """Outside poll there is no time at which it returns."""
    driver = quiet_driver()
    now = driver.now_us
    calm = CalmPoll(driver.state, driver.client.consumer, answered=False)
    assert 0 == calm.saved(now).until_us

    assert calm.poll(now, 1_000_000) is None
    calm.restore(calm.saved(now), now + 7)
    assert Polling(now + 1_000_007) == calm.leave(driver.state).state.app
