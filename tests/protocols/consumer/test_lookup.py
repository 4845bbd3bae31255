"""Which broker a client asks for its coordinator."""

from __future__ import annotations

import pytest

from protocols.consumer.clients import profile_of
from protocols.consumer.lookup import least_loaded
from protocols.consumer.reader import Listing, Metadata, Validation
from protocols.messages import (
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    MetadataRequest,
)
from protocols.values import replace

from .classic.driver import ClientDriver
from .kip848.driver import ClientDriver as AsyncDriver

BROKERS = (1, 2, 3)


DRAWS = (0.1, 0.4, 0.9)
"""Draws that begin the search at the first, the second and the third broker."""


def reader(*read_from: int, client: str = "java") -> ClientDriver:
    """Return a consumer that has a fetch in flight to each of these brokers."""
    driver = ClientDriver(brokers=read_from, topics={"t": 3}, enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.stable(dict.fromkeys(range(len(read_from)), 0))
    driver.poll_until(FetchRequest)
    return driver


def asked(driver: ClientDriver | AsyncDriver, *dropped: int) -> list[int | None]:
    """Return which of three known brokers is asked, by draw; *dropped*: those of dropped lookups."""
    reads, consumer = driver.state.reads, driver.client.consumer
    known = replace(reads, metadata=replace(reads.metadata, brokers=BROKERS))
    found = []
    for draw in DRAWS:
        object.__setattr__(consumer, "jitter", lambda _what, _when, draw=draw: draw)
        found.append(least_loaded(consumer, known, driver.now_us, dropped=dropped))
    return found


def test_a_connected_broker_without_a_request_in_flight_is_asked():
    """``leastLoadedNode`` returns the first such broker that it finds."""
    driver = reader(1, 2)
    driver.client.consumer.fetcher.connect(3)

    assert [3, 3, 3] == asked(driver)


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": Metadata(in_flight=7, asked_broker=1)},
        {"listing": {7: Listing(1, ())}},
        {"validating": {7: Validation(1, {})}},
    ],
)
def test_of_busy_brokers_the_one_with_the_fewest_requests_in_flight_is_asked(more):
    """Each kind of request counts, and each one of a kind."""
    driver = reader(1, 2)
    driver.client.state = replace(driver.state, reads=replace(driver.state.reads, **more))

    assert [2, 2, 2] == asked(driver)


def test_so_does_a_lookup_that_the_client_no_longer_waits_for():
    """The heartbeat thread drops it, its request is still in flight."""
    assert [2, 2, 3] == asked(reader(1, 2, 3), 1)
    assert [2, 2, 2] == asked(reader(1, 2, 3), 1, 3)


def test_among_equal_brokers_the_first_is_drawn():
    """``leastLoadedNode`` begins at a random one."""
    assert [1, 2, 3] == asked(reader(1, 2, 3))


def test_a_fetch_in_flight_is_no_reason_to_open_a_connection():
    """The lookup waits behind it, until the broker has answered it."""
    assert [1, 1, 1] == asked(reader(1))


def test_a_connection_that_is_opened_again_is_the_second_best_choice():
    """It counts until a response has arrived over it."""
    driver = reader(1, 2)
    fetcher = driver.client.consumer.fetcher
    driver.disconnect(1)
    driver.advance(1_000)
    assert [2, 2, 2] == asked(driver)

    fetcher.connect(1, driver.now_us)
    assert [2, 2, 2] == asked(driver)

    fetcher.disconnected(2)
    assert [1, 1, 1] == asked(driver)

    fetcher.connect(2, driver.now_us)
    fetcher.answered(1)
    assert [1, 1, 1] == asked(driver)


def test_without_a_connection_the_broker_of_the_oldest_attempt_is_asked():
    """Those to which none was opened come first, in the order from the drawn one."""
    driver = ClientDriver(brokers=BROKERS)
    fetcher = driver.client.consumer.fetcher
    assert [1, 2, 3] == asked(driver)

    for broker, at_us in ((2, 1_000), (1, 2_000), (3, 3_000)):
        fetcher.connect(broker, at_us)
        fetcher.disconnected(broker)
        if broker == 2:
            assert [1, 3, 3] == asked(driver)
    assert [2, 2, 2] == asked(driver)


def test_before_the_first_metadata_each_attempt_takes_another_bootstrap_server():
    """The first one is drawn for the whole life of the client."""
    driver = ClientDriver(brokers=BROKERS)
    reads, consumer = driver.state.reads, driver.client.consumer

    def server(attempt: int) -> int | None:
        return least_loaded(consumer, reads, driver.now_us, attempt=attempt)

    assert [2, 3, 1, 2] == [server(attempt) for attempt in range(4)]

    consumer.fetcher.disconnected(2, driver.now_us + 1)
    assert [3, 3, 1] == [server(attempt) for attempt in range(3)]


@pytest.mark.parametrize(
    ("client", "brokers"),
    [
        ("java", [1, 1, 1]),
        ("kafka-python", [2, 2, 3]),
        ("librdkafka", [1, 1, 1]),
        ("aiokafka", [1, 2, 3]),
        ("franz-go", [1, 2, 3]),
    ],
)
def test_which_broker_is_the_better_choice_depends_on_the_client(client, brokers):
    """``least_loaded_node``, ``rd_kafka_broker_weight_usable``, ``get_random_node``, ``Client.broker``."""
    assert brokers == asked(reader(1, client=client))


def test_of_idle_brokers_kafka_python_asks_a_connected_one():
    """Also when it is not that one's turn."""
    driver = reader(2, client="kafka-python")
    driver.client.consumer.fetcher.arrived(FetchResponse(2, ()))

    assert [2, 2, 2] == asked(driver)


@pytest.mark.parametrize("request_kind", [MetadataRequest, FindCoordinatorRequest])
def test_a_broker_that_does_not_answer_in_time_is_asked_last(request_kind):
    """The connection is closed (``NetworkClient.handleTimedOutRequests``); there is no other request."""
    driver = ClientDriver(brokers=BROKERS, request_timeout_ms=2_000, metadata_max_age_ms=1_000)
    driver.coordinator = None
    driver.poll(20_000)
    driver.advance(500)
    driver.deaf = {request_kind}
    driver.advance(9_000)
    silent = [sent.node for sent in driver.ever(request_kind)][-3:]

    assert {1, 2, 3} == set(silent)


def without_brokers(driver: ClientDriver | AsyncDriver, for_us: int) -> None:
    """Break the connections to all brokers; none may be opened again for that time."""
    for broker in BROKERS:
        driver.client.consumer.fetcher.disconnected(broker, driver.now_us + for_us)


def test_no_broker_is_asked_while_the_back_off_of_each_runs():
    """``leastLoadedNode`` finds none."""
    driver = ClientDriver(brokers=BROKERS)
    without_brokers(driver, 1_000)
    assert [None, None, None] == asked(driver)

    driver.advance(1)
    assert [1, 2, 3] == asked(driver)


def test_to_a_classic_consumer_a_lookup_without_a_broker_has_failed():
    """It looks again after the back-off, which grows: 0.1 s, 0.2 s, 0.4 s."""
    driver = ClientDriver(brokers=BROKERS)
    without_brokers(driver, 500_000)
    driver.poll(10_000)
    driver.advance(1_000)

    assert [700] == driver.times_ms(FindCoordinatorRequest)


def test_a_consumer_of_the_consumer_protocol_looks_for_a_broker_every_retry_back_off():
    """``NetworkClientDelegate.doSend`` keeps the request."""
    driver = AsyncDriver(brokers=BROKERS)
    without_brokers(driver, 450_000)
    driver.poll(10_000)
    driver.advance(499)
    assert [] == driver.ever(FindCoordinatorRequest)

    driver.advance(1)
    assert 1 == len(driver.ever(FindCoordinatorRequest))


def test_commits_kept_for_a_lookup_end_if_no_broker_can_be_asked():
    """``commitOffsetsAsync`` hears at once that the lookup has failed."""
    driver = reader(1)
    driver.disconnect()
    without_brokers(driver, 500_000)
    driver.commit_async({0: 1})

    assert () == driver.state.pending_commits
