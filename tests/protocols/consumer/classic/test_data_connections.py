"""Connections to brokers that records are fetched from: what is done when they break."""

from __future__ import annotations

from protocols.messages import FetchRequest

from .elections import reading

BROKEN = 1
"""It leads the partition, and coordinates; only the data connection to it breaks."""


def attempts_ms(driver, count: int) -> list[float]:
    """Break each connection as soon as a fetch goes over it; return how long each one took."""
    waits = []
    for _ in range(count):
        driver.disconnect(BROKEN)
        waits.append(driver.advance_until(FetchRequest))
    return waits


def test_a_broker_that_is_gone_is_fetched_from_again_after_the_reconnect_back_off():
    """50 ms, doubled up to a second, though metadata name that leader again and again.

    Those first have to be asked for, which they are at most every 100 ms.
    """
    waits = attempts_ms(reading(heartbeat_interval_ms=10_000), 8)

    assert [99, 100, 200, 400, 800, 1_000, 1_000, 1_000] == waits
