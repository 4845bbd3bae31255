"""How long a poll of the consumer protocol waits, and which records wait for the background thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocols.consumer.kip848.application import Taking, held_back, raced, wait_until
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.state import Progress, Slot
from protocols.consumer.kip848.threads import Polling
from protocols.values import replace

from .driver import ClientDriver, parts

ISSUED = Slot(0, 0)
FAR_US = 10**12


def member(**settings: Any) -> ClientDriver:
    """Return a member that reads two partitions, and is outside poll."""
    driver = ClientDriver(**settings)
    driver.stable({0: 0, 1: 0})
    driver.poll()
    return driver


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("reconciles", [True, False])
@pytest.mark.parametrize("progress", [None, *Progress])
def test_records_wait_for_the_event_of_their_poll_if_their_position_may_change(
    progress: Progress | None, reconciles: bool, reads: bool, buffered: bool
):
    """In a reconciliation, and while a position is not validated; never behind an event that was taken."""
    driver = member()
    if buffered:
        driver.records({0: 3})
    if not reads:
        driver.client.consumer.positions.reset(parts(1)[0])
    slot = None if progress is None else ISSUED._replace(progress=progress)
    state = replace(driver.state, slot=slot)
    if reconciles:
        state = state.becoming(state.member.to(MemberState.RECONCILING))
    waits = progress is Progress.QUEUED and (reconciles or (not reads and buffered))

    assert waits is held_back(state, driver.client.consumer)


@pytest.mark.parametrize(
    ("changed", "commits", "later_us", "races"),
    [
        (lambda s: {"slot": ISSUED}, True, 0, True),
        (lambda s: {"slot": ISSUED}, True, -1, False),
        (lambda s: {"slot": ISSUED, "beat": s.beat._replace(number=7)}, True, -1, True),
        (lambda s: {"slot": ISSUED}, False, 0, False),
        (lambda s: {"slot": None}, True, 0, False),
        (lambda s: {"slot": ISSUED._replace(progress=Progress.TAKEN)}, True, 0, False),
    ],
)
def test_only_an_automatic_commit_can_be_early(
    changed: Callable[[Any], dict[str, Any]], commits: bool, later_us: int, races: bool
):
    """It is due with the event that waits, or the response to a heartbeat lets a round begin."""
    driver = member(enable_auto_commit=commits)
    state = replace(driver.state, **changed(driver.state))

    assert races is raced(state, driver.client.consumer, state.autocommit_us + later_us)


@pytest.mark.parametrize(
    ("changed", "paused", "waits_ms"),
    [
        (lambda s, now: {}, (0, 1), 3_000),
        (lambda s, now: {}, (0,), 100),
        (lambda s, now: {"assignment": ()}, (0, 1), 100),
        (lambda s, now: {"awaiting": parts(1)}, (0, 1), 100),
        (lambda s, now: {"beat": s.beat._replace(due_us=now, retry_us=now + 50_000)}, (0, 1), 50),
        (lambda s, now: {"beat": s.beat._replace(due_us=now)}, (0, 1), 100),
        (lambda s, now: {"poll_due_us": now + 20_000}, (0, 1), 10),
        (lambda s, now: {"poll_due_us": now}, (0, 1), 100),
    ],
)
def test_a_poll_that_can_fetch_nothing_waits_for_its_next_duty(
    changed: Callable[[Any, int], dict[str, Any]], paused: tuple[int, ...], waits_ms: int
):
    """Else, and if a duty is overdue, for ``retry.backoff.ms`` at most."""
    driver = member(enable_auto_commit=False)
    now, state = driver.now_us, driver.state
    state = replace(state, beat=state.beat._replace(due_us=now + 3_000_000))
    driver.client.consumer.fetcher.pause(parts(*paused))
    state = replace(state, **changed(state, now))

    until_us = wait_until(state, driver.client.consumer, Polling(FAR_US), now)
    assert waits_ms * 1_000 == until_us - now


def test_a_poll_looks_for_positions_that_it_does_not_know():
    """Also if all its partitions are paused."""
    driver = member(enable_auto_commit=False)
    driver.client.consumer.fetcher.pause(parts(0, 1))
    driver.client.consumer.positions.reset(parts(1)[0])
    until_us = wait_until(driver.state, driver.client.consumer, Polling(FAR_US), driver.now_us)

    assert 100_000 == until_us - driver.now_us


@pytest.mark.parametrize(
    ("commit_ms", "interval_ms", "waits_ms"),
    [(40, 60_000, 40), (0, 60_000, 100), (0, 30, 30), (0, 0, 1)],
)
def test_a_poll_waits_for_an_automatic_commit(commit_ms: int, interval_ms: int, waits_ms: int):
    """One that is overdue is made in this pass: the next one follows an interval later."""
    driver = member(auto_commit_interval_ms=interval_ms)
    state = replace(driver.state, autocommit_us=driver.now_us + commit_ms * 1_000)
    until_us = wait_until(state, driver.client.consumer, Polling(FAR_US), driver.now_us)

    assert waits_ms * 1_000 == until_us - driver.now_us


def test_records_are_taken_in_the_instant_that_their_fetch_is_reached():
    """Those of the next fetch are not."""
    driver = member(brokers=(1, 2), max_poll_records=10)
    driver.poll()
    driver.records({0: 3}, node=1)
    driver.records({1: 4}, node=2)
    fetcher = driver.client.consumer.fetcher
    whole = Taking(fetcher, 10, 0)
    first_us = whole.ends_us * 3 // 7
    whole.catch_up(first_us - 1)
    assert () == whole.finish()
    whole.catch_up(first_us)
    assert [(0, 3)] == [part[1:] for part in whole.finish()]
    whole.catch_up(whole.ends_us)

    assert [3, 4] == sorted(part.next_offset for part in whole.finish())
