"""The least value of every setting, with no latency: a run ends, or says why it does not."""

from __future__ import annotations

import pytest

import emulator
from emulator.scenario.problems import ScenarioError
from emulator.world import kernel as kernels
from emulator.world.stalled_clock import StalledClockError
from protocols.consumer.clients import CLIENTS
from protocols.settings import BrokerSettings, ConsumerSettings, Kind, settings_of

MIN = """
title = "least"
run_for = "700ms"
network = {{ latency = "0ms" }}
topic = [{{ name = "orders", partitions = 2, rate = "5/s" }}]
fault = [{{ crash = "billing-1", at = "500ms" }}]
[cluster]
settings = {{ "group.initial.rebalance.delay.ms" = 0{brokers} }}
[[group]]
id = "billing"
topics = ["orders"]
members = 2
client = "{client}"
settings = {{ "group.protocol" = "{protocol}"{consumers} }}
"""

NUMBERS = (Kind.TIME_MS, Kind.MINUTES, Kind.BYTES, Kind.COUNT)
OF_CONSUMERS = {
    each.name: each.minimum
    for each in settings_of(ConsumerSettings).values()
    if each.kind in NUMBERS
}
OF_BROKERS = {
    each.name: each.minimum
    for each in settings_of(BrokerSettings).values()
    if each.kind in NUMBERS and each.name != "group.initial.rebalance.delay.ms"
}

STALLED = {
    ("classic", "fetch.max.wait.ms"),
    ("classic", "max.message.bytes"),
}
"""Kafka makes such a loop at the speed of its network; without latency it never waits."""

OTHER_CLIENTS = [("librdkafka", "consumer"), *((name, "classic") for name in CLIENTS[1:])]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(kernels, "CHECKED_EVERY", 256)
    monkeypatch.setattr(kernels, "MAX_AT_AN_INSTANT", 2_048)
    monkeypatch.setattr(kernels, "MAX_BY_A_PARTY", 20)
    monkeypatch.setattr(kernels, "NAMED_AFTER", 100)


def play(name, client, protocol):
    """Play the least value of one setting; it may be refused when the scenario is loaded."""
    consumers = f', "{name}" = {OF_CONSUMERS[name]}' if name in OF_CONSUMERS else ""
    brokers = f', "{name}" = {OF_BROKERS[name]}' if name in OF_BROKERS else ""
    text = MIN.format(client=client, protocol=protocol, consumers=consumers, brokers=brokers)
    try:
        scenario = emulator.loads(text)
    except ScenarioError as refused:
        assert name.rpartition(".")[2] in str(refused)  # noqa: PT017  the setting, or one that it bounds
        return
    emulator.run(scenario, keep_events=False)


@pytest.mark.plain_of(3)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("name", [*OF_CONSUMERS, *OF_BROKERS])
def test_virtual_time_advances_or_the_run_is_stopped(protocol, name):
    """An interval, a back-off or a size of 0 or 1 is no endless run, and no traceback."""
    if (protocol, name) in STALLED:
        with pytest.raises(StalledClockError):
            play(name, "java", protocol)
        return
    play(name, "java", protocol)


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(("client", "protocol"), OTHER_CLIENTS)
@pytest.mark.parametrize("name", OF_CONSUMERS)
def test_virtual_time_advances_with_other_clients(client, protocol, name):
    """Each has loops of its own; what a client refuses is refused."""
    try:
        play(name, client, protocol)
    except StalledClockError:
        assert name == "fetch.max.wait.ms"  # the network's speed, as with Java's client
