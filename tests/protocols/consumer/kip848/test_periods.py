"""Clients between two polls, whose state repeats with a period."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.kip848.periods import is_at_rest, keys
from protocols.consumer.kip848.state import ClientState, Commit
from protocols.consumer.kip848.threads import AwaitingCheck, CommittingSync, Lag, Polling
from protocols.consumer.requests import Renumbered
from protocols.messages import OffsetCommitRequest
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, offsets, parts


@pytest.fixture
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable({0: 3, 1: 4})
    return made


def test_only_the_first_attempt_of_a_commit_sync_alone_repeats_with_the_period(driver):
    """A retry has its back-off, and earlier asynchronous commits end before it."""
    driver.commit_sync({0: 9})
    assert is_at_rest(driver.state, driver.client.consumer)

    driver.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance_until(OffsetCommitRequest)
    assert not is_at_rest(driver.state, driver.client.consumer)

    driver.committed()
    driver.commit_async({0: 9})
    driver.commit_sync({0: 9})
    assert not is_at_rest(driver.state, driver.client.consumer)


def test_a_commit_sync_that_the_background_thread_has_yet_to_take_repeats_with_the_period(driver):
    """It is the only event that may be queued."""
    driver.lags = dict.fromkeys(Lag, 1000)
    driver.commit_sync({0: 9})

    assert [Commit] == [type(event) for event in driver.state.events]
    assert is_at_rest(driver.state, driver.client.consumer)


LATER_US = 7_000_000
RECORDS = {parts(0)[0]: 11, parts(1)[0]: 0}


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize(
    "before",
    [
        lambda driver: None,
        lambda driver: driver.begin_poll(1_000),
        lambda driver: driver.poll(1_000),
        lambda driver: (driver.commit_sync({0: 9}), driver.advance(1)),
        lambda driver: driver.carry_out(driver.client.commit_sync(driver.now_us, offsets({0: 9}))),
    ],
    ids=["outside", "an event waits", "in poll", "commitSync", "commitSync waits"],
)
def test_a_client_that_was_moved_goes_on_as_before(before, automatic):
    """Relative to its time and its positions nothing has changed; the clock of no commits stands."""
    driver = ClientDriver(enable_auto_commit=automatic)
    driver.stable({0: 3, 1: 4})
    driver.poll()
    driver.lags = dict.fromkeys(Lag, 1_000)
    before(driver)
    client, state, now = driver.client, driver.state, driver.now_us
    assert client.is_at_rest
    relative = client.relative(now)
    numbers = {*state.in_flight, *keys(state, client.consumer)}
    client.move(LATER_US, RECORDS, Renumbered(5, {number: number + 5 for number in numbers}))

    assert relative == client.relative(now + LATER_US)
    assert client.state.beat.due_us == state.beat.due_us + LATER_US
    assert client.state.poll_due_us == state.poll_due_us + LATER_US
    assert at_of(client.state) == [at_us + LATER_US for at_us in at_of(state)]
    timer_us = state.request_timer_us
    assert client.state.request_timer_us == (None if timer_us is None else timer_us + LATER_US)
    assert client.state.autocommit_us == state.autocommit_us + LATER_US * automatic
    assert client.state.reads.next_correlation_id == state.reads.next_correlation_id + 5
    assert {0: 14, 1: 4} == driver.positions()
    assert [offset + 11 for offset in committed(state)] == committed(client.state)


def at_of(state: ClientState) -> list[int]:
    """Return when (us) the poll event was issued and when it ends, if there is one."""
    return [] if state.slot is None else [state.slot.at_us, state.slot.deadline_us]


def committed(state: ClientState) -> list[int]:
    """Return the offsets of partition 0 that are queued, in flight or waited for."""
    commits = [event for event in state.events if isinstance(event, Commit)]
    commits += [flight.commit for flight in state.in_flight.values() if flight.commit]
    waits = [state.app] if isinstance(state.app, CommittingSync) else []
    return [entry.offset for each in (*commits, *waits) for entry in each.offsets]


@pytest.mark.parametrize(
    ("changed", "rests"),
    [
        (lambda s: {}, True),
        (lambda s: {"beat": s.beat._replace(number=7)}, False),
        (lambda s: {"beat": s.beat._replace(armed_us=None)}, False),
        (lambda s: {"beat": s.beat._replace(retry_us=7)}, False),
        (lambda s: {"app": Polling(s.poll_due_us)}, True),
        (lambda s: {"app": AwaitingCheck(s.poll_due_us)}, False),
        (lambda s: {"thrown": Failed("KafkaException")}, False),
    ],
)
def test_a_client_rests_in_poll_or_outside_with_a_heartbeat_planned(driver, changed, rests):
    """One in flight, or one that waits for a back-off, ends that."""
    driver.poll()
    state = replace(driver.state, **changed(driver.state))

    assert rests is is_at_rest(state, driver.client.consumer)
