"""When clients request metadata again: by their age or in fixed steps, and what makes them incomplete."""

from __future__ import annotations

import pytest

from protocols.consumer import metadata
from protocols.messages import MetadataRequest
from protocols.values import replace

from .classic.driver import BROKER, ClientDriver, parts
from .classic.test_background import background


def reader(client: str, interval_ms: int) -> ClientDriver:
    """Return a consumer without a group."""
    settings = {
        "assigned": parts(0),
        "metadata_max_age_ms": interval_ms,
        "enable_auto_commit": False,
    }
    driver = ClientDriver(**settings) if client == "java" else background(client, **settings)
    driver.client.consumer.positions.seek(parts(0)[0], 0)
    return driver


@pytest.mark.parametrize(
    ("client", "interval_ms", "times_ms"),
    [
        ("java", 60_000, [0, 30_050, 90_050]),
        ("aiokafka", 60_000, [0, 30_050, 90_050]),
        ("librdkafka", 60_000, [0, 30_050, 60_000, 120_000]),
        ("librdkafka", 0, [0, 30_050]),
    ],
)
def test_metadata_are_requested_by_their_age_or_in_steps_from_the_first_request(
    client: str, interval_ms: int, times_ms: list[int]
):
    """Librdkafka counts on when a broken connection has made it ask in between; 0 switches that off.

    The one broker there is may be asked again after its reconnect back-off.
    """
    driver = reader(client, interval_ms)
    driver.poll(200_000)
    driver.advance(30_000)
    driver.disconnect(BROKER)
    driver.advance(100_000)

    assert times_ms == driver.times_ms(MetadataRequest)


def test_a_broker_with_the_number_0_is_a_leader():
    """Metadata with it are complete: they are not requested again."""
    driver = ClientDriver(brokers=(0,), assigned=parts(0), enable_auto_commit=False)
    driver.client.consumer.positions.seek(parts(0)[0], 0)
    driver.poll(10_000)
    driver.advance(10_000)

    assert [0] == driver.times_ms(MetadataRequest)


@pytest.mark.parametrize("asks", [True, False])
def test_an_update_that_is_wanted_already_keeps_its_back_off(asks: bool):
    """Neither the request that has failed is repeated earlier, nor one in flight beside: the timer runs."""
    driver = reader("java", 60_000)
    driver.poll()
    driver.advance(30_000)
    now, reads = driver.now_us, driver.state.reads
    known = replace(reads.metadata, wanted=not asks, retry_us=now + 50_000)
    known = replace(known, in_flight=7 if asks else None)
    before = replace(reads, metadata=known)
    step = metadata.request_update(before, driver.client.consumer, now)

    assert step.state == before
    assert step.effects == ()
