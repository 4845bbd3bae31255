"""A member of the consumer protocol that works without the application's poll, as librdkafka does.

Source: librdkafka ``rd_kafka_cgrp_consumer_serve``, ``rd_kafka_cgrp_serve`` (automatic commits) and
``rd_kafka_consume_batch_queue`` (the timeout of a poll).
"""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed
from protocols.consumer.clients import profile_of
from protocols.consumer.kip848.background_client import BackgroundClient
from protocols.messages import FetchRequest, OffsetCommitRequest
from protocols.values import replace

from .driver import ClientDriver


def background(**settings: object) -> ClientDriver:
    """Return the driver of a stable member with partitions 0 and 1, whose client is librdkafka's."""
    driver = ClientDriver(**settings)
    consumer = replace(driver.client.consumer, profile=profile_of("librdkafka"))
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
