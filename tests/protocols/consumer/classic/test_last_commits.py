"""What clients of the background commit when they close, and which fetch sessions end then."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed
from protocols.consumer.clients import profile_of
from protocols.consumer.fetching import CLOSES_SESSION
from protocols.messages import FetchRequest, OffsetCommitRequest
from protocols.values import replace

from .driver import ClientDriver, offsets, parts
from .test_background import background
from .test_close import librdkafka


def test_a_librdkafka_with_partitions_of_its_own_commits_when_it_closes():
    """It is no member, so it cannot have lost its membership."""
    driver = background("librdkafka", assigned=parts(0))
    driver.client.consumer.positions.seek(parts(0)[0], 7)
    driver.poll()
    driver.close()

    assert offsets({0: 7}) == driver.one(OffsetCommitRequest).offsets


def test_a_listener_that_returns_at_the_deadline_of_close_does_not_cost_librdkafka_its_commit():
    """The commit gets a request timeout of its own."""
    driver, _ = librdkafka()
    driver.hold_calls = True
    driver.close(1_000)
    driver.advance(1_000)
    driver.end_call()

    assert driver.pending(OffsetCommitRequest)


def reading(client: str) -> ClientDriver:
    """Return a consumer without a group that has a fetch session."""
    driver = ClientDriver(assigned=parts(0), enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.client.consumer.positions.seek(parts(0)[0], 0)
    driver.poll_until(FetchRequest)
    return driver


@pytest.mark.parametrize(
    ("client", "within_ms", "ends"),
    [("java", 1, 1), ("java", 0, 0), ("kafka-python", 1, 0)],
)
def test_only_java_ends_its_fetch_sessions_and_only_if_close_may_wait(client, within_ms, ends):
    """``Fetcher.maybeCloseFetchSessions`` sends its requests in the polls of the time that is left."""
    driver = reading(client)
    driver.close(within_ms)

    assert ends == [sent.message for sent in driver.history].count(CLOSES_SESSION)
    assert ends or driver.returned[-1] == Closed()
