"""A member of the consumer protocol that works without the application's poll, as librdkafka does.

Source: librdkafka ``rd_kafka_cgrp_consumer_serve``, ``rd_kafka_cgrp_serve`` (automatic commits) and
``rd_kafka_consume_batch_queue`` (the timeout of a poll).
"""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed, ExceptionName, Failed
from protocols.consumer.clients import profile_of
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.background import on_disconnected
from protocols.consumer.kip848.background_client import BackgroundClient
from protocols.consumer.lookup import Known
from protocols.consumer.requests import Renumbered
from protocols.messages import FetchRequest, OffsetCommitRequest, coordinator_node
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, parts


def background(**settings: object) -> ClientDriver:
    """Return the driver of a stable member with partitions 0 and 1, whose client is librdkafka's."""
    driver = ClientDriver(**settings)
    fetcher = Fetcher(errors_in_order=False)
    consumer = replace(driver.client.consumer, profile=profile_of("librdkafka"), fetcher=fetcher)
    driver.client = BackgroundClient(consumer, 500)  # type: ignore[assignment]  # the same calls
    driver.stable({0: 0, 1: 0})
    return driver


def test_a_poll_without_records_returns_empty_when_its_time_is_over():
    """And not earlier; it does not begin to wait again at that instant."""
    driver = background(enable_auto_commit=False)
    returned = len(driver.returned)
    driver.poll(250)
    driver.advance(249)
    assert returned == len(driver.returned)
    driver.advance(1)

    assert [()] == driver.returned[returned:]


def test_a_client_with_an_exception_for_the_next_poll_or_a_reconciliation_is_not_at_rest():
    """A poll without records changes nothing. A stable member may still have a reconciliation to abandon."""
    driver = background(enable_auto_commit=False)
    driver.poll()
    client = driver.client
    assert client.is_at_rest
    client.consumer.fetcher.revoking = True
    assert not client.is_at_rest
    client.consumer.fetcher.revoking = False

    failed = Failed(ExceptionName.DISCONNECT)
    client.state = replace(client.state, slot=client.state.slot._replace(failed=failed))
    assert not client.is_at_rest


def test_a_client_that_was_moved_is_at_rest_as_before():
    """Its poll event is no event of a time; without a store of offsets it has none to repeat."""
    driver = background(enable_auto_commit=False)
    driver.poll()
    client, now = driver.client, driver.now_us
    relative = client.relative(now)
    client.move(3_000_000, {}, Renumbered(5, {}))

    assert client.is_at_rest
    assert relative == client.relative(now + 3_000_000)
    assert relative[1] is None


def test_the_order_of_partitions_is_that_of_the_records_until_an_assignment():
    """One that returned records is fetched last."""
    driver = background(enable_auto_commit=False)
    driver.records({0: 4, 1: 0})
    driver.poll()
    driver.poll()

    assert parts(1, 0) == driver.client.consumer.positions.assigned


@pytest.mark.parametrize("others", [False, True])
def test_only_the_coordinator_is_unknown_behind_a_broken_connection(others: bool):
    """A request in flight is not needed for librdkafka to notice it."""
    driver = background(enable_auto_commit=False)
    state, consumer = driver.state, driver.client.consumer
    node = coordinator_node(state.coordinator.broker + others)
    lost = on_disconnected(replace(state, in_flight={}), consumer, node, driver.now_us).state

    assert others is isinstance(lost.coordinator, Known)


def test_close_ends_no_fetch_session():
    """Each request of librdkafka is a full fetch."""
    driver = background(enable_auto_commit=False)
    driver.poll(100)
    before = len(driver.ever(FetchRequest))
    driver.close()
    driver.beaten(-1)

    assert Closed() == driver.returned[-1]
    assert before == len(driver.ever(FetchRequest))


def test_a_poll_of_zero_returns_at_once():
    """It looks into the queue and does not wait."""
    assert () == background(enable_auto_commit=False).poll(0)


@pytest.mark.parametrize("polls", [True, False])
def test_positions_are_committed_whether_or_not_the_application_polls(polls):
    """Every ``auto.commit.interval.ms``, by the thread of the client."""
    driver = background(auto_commit_interval_ms=1_000)
    before = len(driver.ever(OffsetCommitRequest))
    for _ in range(10):
        driver.advance(100)
        if polls:
            driver.poll()

    assert 1 == len(driver.ever(OffsetCommitRequest)) - before


def test_an_interval_of_zero_disables_the_commits_of_the_interval():
    """``rd_kafka_cgrp_new`` starts no timer; ``close`` commits what is stored all the same."""
    driver = background(auto_commit_interval_ms=0)
    driver.advance(30_000)

    assert [] == driver.ever(OffsetCommitRequest)


def test_records_are_fetched_before_the_application_polls():
    """They wait in its queue."""
    driver = background(enable_auto_commit=False)

    assert driver.pending(FetchRequest)


@pytest.mark.parametrize("waits", [True, False])
def test_a_poll_returns_records_at_once(waits):
    """When they arrive, or from the queue."""
    driver = background(enable_auto_commit=False)
    if waits:
        driver.poll(10_000)
    driver.records({0: 4, 1: 0})
    handed = driver.returned[-1] if waits else driver.poll(10_000)

    assert [4] == [part.next_offset for part in handed]


def test_records_that_arrive_during_commit_sync_are_those_of_the_next_poll():
    """The queue is filled beside the application."""
    driver = background(enable_auto_commit=False)
    assert driver.commit_sync({0: 5}) is None
    driver.records({0: 1, 1: 0})
    driver.committed()

    assert [1] == [part.next_offset for part in driver.poll(10_000)]


@pytest.mark.parametrize("waits", [True, False])
def test_a_position_out_of_range_that_nothing_resets_is_thrown_by_poll(waits):
    """The application gets the error of the queue (``auto.offset.reset=error``)."""
    driver = background(enable_auto_commit=False, auto_offset_reset="none")
    if waits:
        driver.poll(10_000)
    driver.records({0: 0}, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    thrown = driver.returned[-1] if waits else driver.poll(10_000)

    assert "OffsetOutOfRangeException" == thrown.exception


def test_an_error_that_ends_the_membership_is_thrown_by_the_next_poll():
    """Nothing returns before."""
    driver = background(enable_auto_commit=False)
    driver.beat_due()
    returned = len(driver.returned)
    driver.refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert returned == len(driver.returned)

    assert ErrorCode.GROUP_AUTHORIZATION_FAILED is driver.poll(10_000).error


def test_a_poll_without_a_subscription_throws():
    """``unsubscribe`` has dropped it."""
    driver = background(enable_auto_commit=False)
    driver.unsubscribe()
    driver.beaten(-1)

    assert ExceptionName.ILLEGAL_STATE is driver.poll(10_000).exception


def test_the_tick_of_a_reconciliation_commits_nothing():
    """The timer goes on; the next one commits."""
    driver = background(auto_commit_interval_ms=1_000)
    driver.hold_calls = True
    driver.to_own(0)
    before = len(driver.ever(OffsetCommitRequest))
    driver.advance(1_000)

    assert before == len(driver.ever(OffsetCommitRequest))
    assert driver.now_us < driver.timers["auto-commit"] <= driver.now_us + 1_000_000


def test_librdkafka_commits_what_its_listener_gave_away_before_it_leaves():
    """``rd_kafka_assignment_serve_removals``, behind the callback and also without a new offset."""
    driver = background()
    driver.hold_calls = True
    before = len(driver.ever(OffsetCommitRequest))
    driver.close()
    assert driver.running
    assert before == len(driver.ever(OffsetCommitRequest))
    driver.end_call()

    assert before + 1 == len(driver.ever(OffsetCommitRequest))
    assert driver.client.state.member.epoch > 0
    driver.committed()
    driver.beaten(-1)
    assert Closed() == driver.returned[-1]
