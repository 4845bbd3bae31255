"""Clients that work in the background, moved by whole periods: what is relative, and what moves."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.consumer.classic import periods
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.offset_store import OffsetStore, Stores
from protocols.consumer.prefetches import PrefetchFetcher
from protocols.consumer.requests import Renumbered
from protocols.messages import FetchedRecords, FetchResponse, HeartbeatRequest, LeaderAndEpoch
from protocols.values import replace

from .driver import ClientDriver, parts
from .test_background import background

LATER_US = 3_000_000
(P0,) = parts(0)


def stable(name: str) -> ClientDriver:
    """Return a member that has sent a heartbeat and holds three of ten records that have arrived."""
    driver = background(name, heartbeat_interval_ms=1_000, enable_auto_commit=False)
    driver.client._limit = 3
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten()
    driver.poll(1_000)
    driver.records({0: 10})
    return driver


@pytest.mark.parametrize("name", ["librdkafka", "aiokafka", "franz-go"])
def test_a_client_that_was_moved_goes_on_as_before(name):
    """Relative to its time and its positions nothing has changed."""
    driver = stable(name)
    client, state, now = driver.client, driver.state, driver.now_us
    assert client.is_at_rest
    relative = client.relative(now)
    client.move(LATER_US, {P0: 10}, Renumbered(5, {n: n + 5 for n in state.in_flight}))

    assert relative == client.relative(now + LATER_US)
    assert client.state.beat.due_us == state.beat.due_us + LATER_US
    assert client.consumer.positions.valid() == {P0: 13}
    if state.last_beat_us is not None:
        assert client.state.last_beat_us == state.last_beat_us + LATER_US


@pytest.mark.parametrize(
    "changed",
    [
        {"_thrown": object()},
        {"_close": lambda _: None},
        {"_listened": (None, None)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_client_with_something_to_do_is_not_at_rest(changed):
    """An exception for the next poll, a close() or a listener call that waits for another call."""
    driver = stable("librdkafka")
    for name, value in changed.items():
        setattr(driver.client, name, value)

    assert not driver.client.is_at_rest


def test_a_client_that_rebalances_or_has_a_commit_that_waits_is_not_at_rest():
    driver = stable("aiokafka")
    for changed in ({"rejoin": "why"}, {"pending_commits": ((None, None),)}):
        before = driver.client.state
        driver.client.state = replace(before, **changed)
        assert not driver.client.is_at_rest
        driver.client.state = before


def test_a_clock_of_heartbeats_stays_with_the_heartbeat_that_is_due():
    """Where a period ends before it: both stay where they are."""
    driver = stable("librdkafka")
    state = driver.state
    assert state.last_beat_us is not None
    moved = periods.moved_state(state, driver.client.consumer, 500_000, {}, Renumbered(0, {}))

    stayed = periods.with_deadlines(moved, periods.deadlines_of(state))
    assert stayed.last_beat_us == state.last_beat_us


def test_looks_at_the_polls_keep_their_distance_of_half_a_second():
    """The clock of librdkafka begins with the assignment; a period is a multiple of it."""
    driver = stable("librdkafka")
    beat = replace(driver.state.beat, assigned_us=100_000)
    driver.client.state = replace(driver.state, beat=beat)

    found = {at: driver.client.relative(at) for at in (2_000_000, 2_300_000, 2_500_000)}
    assert 400_000 in found[2_000_000]
    assert 200_000 in found[2_300_000]
    assert 400_000 in found[2_500_000]


def test_stored_offsets_move_with_the_positions():
    """Those of a partition that was given away stay: its next owner has moved on."""
    driver, gone = stable("librdkafka"), TopicPartition("t", 7)
    positions = driver.client.consumer.positions
    store = OffsetStore(Stores(at_hand_over=True, at_next_poll=False, only_forward=True))
    store.handed([Handed(P0, 0, 3)])
    store._committed[gone] = 5
    before = store.relative(positions)
    assert before == ({P0: 0}, {}, {gone: 5})

    positions.readings[P0].position += 10
    store.move({P0: 10})
    assert before == store.relative(positions)
    assert store._stored == {P0: 13}


def test_the_time_of_the_last_record_moves():
    """A client that resets a position to it would read others again."""
    driver = stable("franz-go")
    fetcher = driver.client.consumer.fetcher
    fetcher.positions.readings[P0].last_ms = 1_234
    before = fetcher.relative(2_000_000)
    fetcher.move(LATER_US, {P0: 10})

    assert fetcher.positions.readings[P0].last_ms == 4_234
    assert before == fetcher.relative(5_000_000)
    assert before != fetcher.relative(5_001_000)


def test_new_records_are_as_new_as_before():
    """Aiokafka asks their broker again 100 ms behind them; older ones are all alike."""
    fetcher = PrefetchFetcher(rest_ms=100)
    fetcher.positions.update_leaders({P0: LeaderAndEpoch(1, -1)})
    fetcher.assign([P0])
    fetcher.positions.seek(P0, 0)
    fetcher.requests(0)
    fetcher.arrived(FetchResponse(1, (FetchedRecords(P0, 0, 5),)))
    unseen = fetcher.relative(2_000)
    fetcher.requests(2_000)
    before = fetcher.relative(42_000)
    assert len({unseen, before, fetcher.relative(43_000)}) == 3
    assert fetcher.relative(102_000) == fetcher.relative(202_000)

    fetcher.move(LATER_US, {P0: 10})
    assert before == fetcher.relative(42_000 + LATER_US)
