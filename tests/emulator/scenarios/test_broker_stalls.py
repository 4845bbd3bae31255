"""How long brokers are unavailable for reading, compared with how long work really stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.conformance.stalls import Pace
from emulator.events import BrokerDown, Event
from emulator.metrics.metrics import measure
from emulator.scenario import catalogue
from emulator.scenario.load import loads
from emulator.world.build import play
from emulator.world.run import NOTHING_REPLAYED

SOON_S = 0.2
"""So long a consumer takes to find a new leader, or to be handed what it can read again."""

BACKLOG_S = 3.0
"""So long it works off what another partition of its has gathered meanwhile, and has priority."""


@pytest.fixture(scope="module")
def events() -> list[Event]:
    """A broker dies and the work on every record is written by itself; no member dies."""
    scenario = loads(catalogue.read("coordinator-broker-dies"))
    happened: list[Event] = []
    alone = scenario.model_copy(update={"fault": scenario.fault[:1]})
    play(alone, 0, (happened.append,), replay=replace(NOTHING_REPLAYED, by_record=True))
    return happened


@pytest.mark.long
def test_work_stops_as_long_as_brokers_are_unavailable_and_little_longer(events):
    """The stall that ``verify`` compares is the metric and the delay of consumers."""
    down_us = next(event.at_us for event in events if isinstance(event.what, BrokerDown))
    pace = Pace(down_us)
    for event in events:
        pace.see(event)
    unreadable = measure(events).metrics.tables["unreadable.by_partition"]
    longer = {str(tp): stall - unreadable[str(tp)] for tp, stall in pace.stalls.items()}

    assert {f"orders-{number}" for number in range(6)} == set(unreadable) == set(longer)
    assert -0.05 <= min(longer.values()) <= SOON_S
    assert max(longer.values()) <= BACKLOG_S
    assert 3 <= sum(late <= SOON_S for late in longer.values())


@pytest.mark.long
def test_ownership_knows_nothing_of_it(events):
    """Every partition has an owner at work all the time."""
    values = measure(events).metrics

    assert 0.1 > values["downtime_max_s"]
    assert 8 < values["unreadable_max_s"] < 10
    assert values["unreadable_max_s"] <= values["commits_unavailable_max_s"] < 10
