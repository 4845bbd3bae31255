"""Which broker a client asks for its coordinator."""

from __future__ import annotations

import pytest

from protocols.consumer.lookup import least_loaded
from protocols.messages import FetchRequest, FetchResponse

from .classic.driver import ClientDriver

BROKERS = (1, 2, 3)


def reader(*read_from: int) -> ClientDriver:
    """Return a consumer that has a fetch in flight to each of these brokers."""
    driver = ClientDriver(brokers=read_from, enable_auto_commit=False)
    driver.stable()
    driver.poll_until(FetchRequest)
    return driver


def asked(driver: ClientDriver, attempt: int = 0) -> int:
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
