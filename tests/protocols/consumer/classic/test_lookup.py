"""Finding the coordinator: who asks whom, how often, and what makes it unknown."""

from __future__ import annotations

import itertools

import pytest

from protocols.consumer.classic.heartbeat import on_coordinator_found
from protocols.consumer.classic.state import Reconnect
from protocols.consumer.lookup import Known, Unknown
from protocols.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver
from .test_background import background


def test_a_new_consumer_asks_once_and_joins_as_soon_as_it_knows():
    """The first poll looks the coordinator up and sends JoinGroup on its own connection."""
    driver = ClientDriver()
    driver.poll(100)

    assert 1 == len(driver.ever(FindCoordinatorRequest))
    assert coordinator_node(1) == driver.pending(JoinGroupRequest)[0].node


def test_one_lookup_is_in_flight_at_a_time():
    """Polling again while a lookup is in flight sends no second one."""
    driver = ClientDriver()
    driver.deaf = {FindCoordinatorRequest}
    for _ in range(5):
        driver.poll(10)
        driver.advance(10)

    assert [0] == driver.times_ms(FindCoordinatorRequest)


def test_failed_lookups_back_off_exponentially_up_to_the_maximum():
    """After 100 ms the pause doubles with each failure, and never passes a second."""
    driver = ClientDriver()
    driver.coordinator = None
    driver.poll(10_000)
    driver.advance(6_000)
    times = driver.times_ms(FindCoordinatorRequest)
    pauses = [round(b - a) for a, b in itertools.pairwise(times)]

    assert [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000] == pauses


def test_librdkafka_looks_the_coordinator_up_in_equal_steps():
    """500 ms from one request to the next, whatever the response takes (``rd_kafka_cgrp_coord_query``)."""
    driver = background("librdkafka")
    driver.coordinator = None
    driver.poll(10_000)
    driver.advance(3_100)

    assert [0, 500, 1_000, 1_500, 2_000, 2_500, 3_000] == driver.times_ms(FindCoordinatorRequest)


def test_a_pause_ends_with_the_poll_that_it_began_in():
    """The next poll asks at once, and its pauses begin with the shortest one again."""
    driver = ClientDriver()
    driver.coordinator = None
    for _ in range(5):
        driver.poll(250)
        driver.advance(250)

    assert [0, 100, 250, 350, 500, 600, 750, 850] == driver.times_ms(FindCoordinatorRequest)[:8]


def test_so_does_a_pause_of_commit_sync():
    """Its own begin with the shortest one; a poll before it has paused longer and longer."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable()
    driver.hand({0: 5})
    driver.coordinator = None
    driver.disconnect()
    driver.poll(1_000)
    driver.advance(1_000)
    before = len(driver.ever(FindCoordinatorRequest))
    driver.commit_sync()
    driver.advance(350)
    first, *later = driver.times_ms(FindCoordinatorRequest)[before:]

    assert [100, 300] == [round(at - first) for at in later]


def test_jitter_spreads_a_pause_by_a_fifth():
    """A back-off is drawn between 0.8 and 1.2 times its middle."""
    pauses = []
    for draw in (0.0, 1.0):
        driver = ClientDriver()
        consumer = driver.client.consumer
        object.__setattr__(consumer, "jitter", lambda _what, _when, draw=draw: draw)
        driver.coordinator = None
        driver.poll(1_000)
        driver.advance(150)
        pauses.append(driver.times_ms(FindCoordinatorRequest)[1])

    assert [80, 120] == pauses


def test_a_back_off_whose_maximum_is_not_above_its_base_is_constant():
    """With retry.backoff.max.ms at or below retry.backoff.ms the maximum is the pause."""
    driver = ClientDriver(retry_backoff_ms=100, retry_backoff_max_ms=50)
    driver.coordinator = None
    driver.poll(1_000)
    driver.advance(120)

    assert [0, 50, 100] == driver.times_ms(FindCoordinatorRequest)


def test_a_lookup_without_an_answer_is_repeated_after_the_request_timeout():
    """The request expires after request.timeout.ms and is sent again."""
    driver = ClientDriver(request_timeout_ms=2_000)
    driver.deaf = {FindCoordinatorRequest}
    driver.poll(10_000)
    driver.advance(2_200)

    assert [0, 2_100] == driver.times_ms(FindCoordinatorRequest)


def test_a_retry_asks_the_broker_that_has_answered():
    """Behind the bootstrap server, that is the one to which a connection is open."""
    driver = ClientDriver(brokers=(1, 2, 3))
    driver.coordinator = None
    driver.poll(1_000)
    driver.advance(800)
    _, *later = [sent.node for sent in driver.ever(FindCoordinatorRequest)]

    assert 3 == len(later)
    assert 1 == len(set(later))


def test_without_a_coordinator_poll_blocks_for_its_time_and_then_returns():
    """A lookup that does not succeed costs a poll its whole timeout."""
    driver = ClientDriver()
    driver.coordinator = None

    assert driver.poll(500) is None

    driver.advance(499)
    assert [] == driver.returned
    driver.advance(1)
    assert [()] == driver.returned


def test_buffered_records_are_returned_although_the_coordinator_is_unknown():
    """After its wait for the coordinator poll hands out what it has."""
    driver = ClientDriver(max_poll_records=5)
    driver.stable()
    driver.hand({0: 5, 1: 5})
    driver.coordinator = None
    driver.disconnect()
    driver.tick()

    assert driver.poll(300) is None

    driver.advance(300)
    (batch,) = driver.returned[-1]
    assert 5 == batch.next_offset - batch.first


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_heartbeat_may_say_that_the_coordinator_is_another(error):
    """The client forgets it, keeps its membership, and looks it up again."""
    driver = ClientDriver()
    driver.stable()
    generation = driver.state.generation
    driver.deaf = {FindCoordinatorRequest}
    driver.learn(error)
    driver.disconnect()

    assert isinstance(driver.state.coordinator, Unknown)
    assert generation == driver.state.generation

    driver.advance_until(FindCoordinatorRequest)
    driver.answer(FindCoordinatorRequest, FindCoordinatorResponse(node_id=2))
    driver.advance(100)
    assert Known(2) == driver.state.coordinator


def test_the_heartbeat_thread_forgets_a_lookup_that_its_last_turn_sent():
    """While enabled it asks again every second turn, so a lost lookup costs 200 ms, not 30 s."""
    driver = ClientDriver()
    driver.stable()
    driver.deaf = {FindCoordinatorRequest}
    driver.disconnect()
    began = driver.now_ms
    driver.advance(1_000)
    times = [at - began for at in driver.times_ms(FindCoordinatorRequest)[1:]]

    assert [100, 300, 500, 700, 900] == times


def test_the_answer_of_an_expired_lookup_is_used():
    """Any answer names the coordinator."""
    driver = ClientDriver()
    driver.stable()
    driver.deaf = {FindCoordinatorRequest}
    driver.disconnect()
    driver.advance_until(FindCoordinatorRequest)
    late = driver.lose(FindCoordinatorRequest)
    driver.advance(100)
    driver.respond(late, FindCoordinatorResponse(node_id=1))
    driver.advance(100)

    assert Known(1) == driver.state.coordinator


def test_a_coordinator_whose_connection_backs_off_stays_unknown_for_another_turn():
    """The first lookup after a dropped connection names it too early; the next one succeeds."""
    driver = ClientDriver(reconnect_backoff_ms=150)
    driver.stable()
    before = len(driver.times_ms(FindCoordinatorRequest))
    driver.disconnect()
    driver.tick()
    driver.advance(400)

    assert Known(1) == driver.state.coordinator
    assert 2 == len(driver.times_ms(FindCoordinatorRequest)) - before


def broken(driver: ClientDriver) -> float:
    """Let the coordinator's connection break; return for how long it backs off, in ms."""
    driver.disconnect()
    driver.tick()
    back_off = (driver.state.reconnect.ready_us - driver.now_us) / 1_000
    driver.advance(1_500)

    assert Known(1) == driver.state.coordinator
    return round(back_off)


def test_a_connection_that_breaks_again_and_again_backs_off_twice_as_long_each_time():
    """From ``reconnect.backoff.ms`` to ``reconnect.backoff.max.ms``, while nothing is answered."""
    driver = ClientDriver()
    driver.stable()

    assert [50, 100, 200, 400, 800, 1_000, 1_000] == [broken(driver) for _ in range(7)]


def test_an_answer_ends_the_doubling():
    """The connection was made after all."""
    driver = ClientDriver()
    driver.stable()
    before = [broken(driver) for _ in range(3)]
    driver.advance_until(HeartbeatRequest)
    driver.beaten()

    assert [50, 100, 200, 50] == [*before, broken(driver)]


def test_an_answer_of_another_coordinator_does_not_end_it():
    """Each broker has its own count (``ClusterConnectionStates``)."""
    driver = ClientDriver()
    driver.stable()
    driver.advance_until(HeartbeatRequest)
    elsewhere = Reconnect(2, driver.now_us, 3)
    driver.client.state = replace(driver.state, reconnect=elsewhere)
    driver.beaten()
    driver.poll(0)

    assert elsewhere == driver.state.reconnect


def test_no_lookup_is_made_while_the_coordinator_is_known():
    """Positions, fetches and heartbeats of a calm member need no further lookup."""
    driver = ClientDriver()
    driver.stable()
    for _ in range(20):
        driver.poll()
        driver.advance(1_000)
        if driver.pending(HeartbeatRequest):
            driver.beaten()

    assert 1 == len(driver.times_ms(FindCoordinatorRequest))


@pytest.mark.parametrize(("later_us", "known"), [(-1, False), (0, True)])
def test_a_coordinator_that_is_found_when_its_back_off_ends_is_known(later_us: int, known: bool):
    """Before, it counts as not available (``ClusterConnectionStates.isBlackedOut``)."""
    driver = ClientDriver()
    unknown, ready_us = Unknown(lookup=7), 50_000
    state = replace(driver.state, coordinator=unknown, reconnect=Reconnect(1, ready_us, 1))
    found = FindCoordinatorResponse(node_id=1)
    step = on_coordinator_found(state, driver.client.consumer, 7, found, ready_us + later_us)

    assert known is (step.state.coordinator == Known(1))
