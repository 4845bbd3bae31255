"""Calls that a host may not make: they raise, under ``python -O`` too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocols.consumer.calls import IllegalCallError
from protocols.machine import Call

from .classic.driver import ClientDriver as ClassicDriver
from .kip848.driver import ClientDriver as ConsumerDriver
from .kip848.driver import parts


@pytest.mark.parametrize("driver_of", [ClassicDriver, ConsumerDriver])
def test_no_listener_call_can_end_that_was_never_made(driver_of):
    """``called`` answers a ``Call`` of the client."""
    driver = driver_of()

    with pytest.raises(IllegalCallError, match="no listener call is running"):
        driver.client.called(Call("revoked", parts(0)), driver.now_us)


@pytest.mark.parametrize("driver_of", [ClassicDriver, ConsumerDriver])
def test_a_commit_sync_can_not_begin_inside_another(driver_of):
    """The application thread waits in the first one."""
    driver = driver_of(enable_auto_commit=False)
    driver.stable()
    driver.commit_sync({0: 5})

    with pytest.raises(IllegalCallError, match="commitSync from CommittingSync"):
        driver.commit_sync({0: 6})


def test_a_classic_consumer_has_topics_or_a_pattern():
    """It could never say what it subscribes to."""
    with pytest.raises(ValueError, match="topics or to a pattern"):
        replace(ClassicDriver().client.consumer, topics=None)
