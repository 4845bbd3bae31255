"""Which broker a client asks for its coordinator."""

from __future__ import annotations

import pytest

from protocols.consumer.clients import profile_of
from protocols.consumer.lookup import least_loaded
from protocols.messages import FetchRequest, FetchResponse, FindCoordinatorRequest
from protocols.values import replace

from .classic.driver import ClientDriver
from .kip848.driver import ClientDriver as AsyncDriver

BROKERS = (1, 2, 3)


def reader(*read_from: int, client: str = "java") -> ClientDriver:
    """Return a consumer that has a fetch in flight to each of these brokers."""
    driver = ClientDriver(brokers=read_from, enable_auto_commit=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile_of(client))
    driver.stable()
    driver.poll_until(FetchRequest)
    return driver


def asked(driver: ClientDriver, attempt: int = 0) -> int | None:
    return least_loaded(BROKERS, driver.client.consumer, attempt, driver.now_us)


def test_a_connected_broker_without_a_fetch_in_flight_is_asked():
    """The first one is connected, because a new client asks it."""
    assert 1 == asked(reader(2))
    assert 1 == asked(reader(2, 3))


def test_a_fetch_in_flight_is_no_reason_to_open_a_connection():
    """The lookup waits behind it, until the broker has answered it."""
    assert 1 == asked(reader(1))

    driver = reader(1, 2)
    driver.answer(FetchRequest, FetchResponse(1, ()))
    assert 1 == asked(driver)


@pytest.mark.parametrize(("attempt", "broker"), [(0, 2), (1, 2), (2, 2)])
def test_a_broker_whose_connection_broke_is_asked_last(attempt, broker):
    """Even when it could be connected again: another one is connected."""
    driver = reader(1, 2)
    driver.disconnect(1)
    driver.advance(1_000)

    assert broker == asked(driver, attempt)


def test_without_a_connection_each_attempt_asks_another_broker():
    """As Kafka draws one."""
    driver = ClientDriver(brokers=BROKERS)

    assert [1, 2, 3, 1] == [asked(driver, attempt) for attempt in range(4)]


@pytest.mark.parametrize(
    ("client", "fetching", "brokers"),
    [
        ("java", 2, [1, 2, 2]),
        ("java", 1, [1, 1, 1]),
        ("kafka-python", 1, [2, 2, 3]),
        ("librdkafka", 2, [1, 2, 2]),
        ("aiokafka", 1, [1, 2, 3]),
        ("franz-go", 1, [1, 2, 3]),
    ],
)
def test_which_broker_is_the_better_choice_depends_on_the_client(client, fetching, brokers):
    """``least_loaded_node``, ``rd_kafka_broker_weight_usable``, ``get_random_node``, ``Client.broker``."""
    driver = reader(fetching, client=client)

    assert brokers == [asked(driver, attempt) for attempt in range(3)]


def test_of_idle_brokers_kafka_python_asks_a_connected_one():
    """Also when it is not that one's turn."""
    driver = reader(2, client="kafka-python")
    driver.client.consumer.fetcher.arrived(FetchResponse(2, ()))

    assert 2 == asked(driver, 2)


def without_brokers(driver: ClientDriver | AsyncDriver, for_us: int) -> None:
    """Break the connections to all brokers; none may be opened again for that time."""
    for broker in BROKERS:
        driver.client.consumer.fetcher.disconnected(broker, driver.now_us + for_us)


def test_no_broker_is_asked_while_the_back_off_of_each_runs():
    """``leastLoadedNode`` finds none."""
    driver = ClientDriver(brokers=BROKERS)
    without_brokers(driver, 1_000)
    assert asked(driver) is None

    driver.advance(1)
    assert 1 == asked(driver)


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
