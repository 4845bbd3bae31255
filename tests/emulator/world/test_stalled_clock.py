"""A run whose clock stands still ends, and says who makes the events."""

from __future__ import annotations

from collections import Counter

import pytest

import emulator
from emulator.world import kernel as kernels
from emulator.world.administrator import FIRST_INDEX
from emulator.world.consumer.application import Application
from emulator.world.kernel import Kernel, Rank
from emulator.world.stalled_clock import StalledClockError
from protocols.consumer.fetch_buffer import Handed
from protocols.machine import Return, Step

ENDLESS = """
title = "no delay anywhere"
run_for = "5s"
cluster = { replication = "0s", load = "0s" }
network = { latency = "0s" }

[[topic]]
name = "orders"
partitions = 2
rate = "20/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2

[group.settings]
"retry.backoff.ms" = 0
"retry.backoff.max.ms" = 0
"metadata.max.age.ms" = 0
"fetch.max.wait.ms" = 0
"request.timeout.ms" = 0
"""


@pytest.fixture
def impatient(monkeypatch):
    """Stop runs after fewer events than usual."""
    monkeypatch.setattr(kernels, "CHECKED_EVERY", 256)
    monkeypatch.setattr(kernels, "MAX_AT_AN_INSTANT", 512)
    monkeypatch.setattr(kernels, "MAX_BY_A_PARTY", 20)
    monkeypatch.setattr(kernels, "NAMED_AFTER", 100)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("mode", ["folded", "exact"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_scenario_without_any_delay_ends_with_the_names(protocol, mode):
    """Under both protocols, whether polls are folded or not."""
    changes = [f"group[billing].settings[group.protocol]={protocol}"]
    scenario = emulator.load(emulator.loads(ENDLESS), changes)

    with pytest.raises(StalledClockError, match=r"does not advance .* of billing-\d") as stopped:
        emulator.run(scenario, mode=mode)

    assert "give network.latency more than 0" in str(stopped.value)


def test_consumers_that_a_deploy_adds_and_tools_have_names():
    """They come behind the members of the scenario."""
    made = Counter({("CLIENT_TIMER", 1): 3, ("AT_BROKER", FIRST_INDEX): 2, ("AT_CLIENT", 0): 1})
    text = str(StalledClockError(0, 9, made, ["g-0", "g-0*"]))

    assert "timers of g-0*, requests of an administrator, responses to g-0." in text


def again(kernel: Kernel, left: int):
    """Return an action that schedules itself at the same instant some more times."""

    def act(_):
        nonlocal left
        left -= 1
        if left > 0:
            kernel.at(kernel.now, Rank.CLIENT_TIMER, 1, act)

    return act


@pytest.mark.usefixtures("impatient")
def test_events_at_one_instant_are_counted_from_the_last_advance():
    """Many events in all are no reason, nor many at an instant that ends."""
    kernel = Kernel()
    for number in range(40):
        kernel.at(number, Rank.CLIENT_TIMER, 1, again(kernel, 500))

    kernel.run(1_000)

    assert 40 * 500 == kernel.scheduled


@pytest.mark.usefixtures("impatient")
def test_an_instant_that_ends_late_is_no_reason():
    """Counting by party stops when the clock advances again."""
    kernel = Kernel()
    kernel.at(5, Rank.CLIENT_TIMER, 1, again(kernel, 810))
    for number in range(6, 400):
        kernel.at(number, Rank.CLIENT_TIMER, 1, lambda _: None)
        kernel.at(number, Rank.CLIENT_TIMER, 1, again(kernel, 3))

    kernel.run(1_000)

    assert kernel.now == 1_000


@pytest.mark.usefixtures("impatient")
def test_a_broker_is_named_by_its_number():
    """As in all other output."""
    kernel = Kernel()

    def tick(_):
        kernel.at(kernel.now, Rank.BROKER_TIMER, 2, tick)

    kernel.at(7, Rank.BROKER_TIMER, 2, tick)

    with pytest.raises(StalledClockError, match=r"beyond 0\.000007 s.* work of broker-2\. "):
        kernel.run(1_000)


def test_a_loop_within_one_event_ends_with_the_name(monkeypatch):
    """Such a loop schedules nothing: the client returns to its application again and again."""
    monkeypatch.setattr(kernels, "MAX_IN_AN_EVENT", 500)

    def poll_again(application: Application, records: tuple[Handed, ...]) -> None:
        application._process.carry_out(Step(None, (Return(records),)))

    monkeypatch.setattr(Application, "polled", poll_again)

    with pytest.raises(StalledClockError, match=r"500 events .*: the application of billing-0"):
        emulator.run(
            emulator.loads(ENDLESS.partition("[group.settings]")[0].replace('"0s"', '"1ms"'))
        )


@pytest.mark.parametrize("mode", ["folded", "exact"])
def test_automatic_commits_without_an_interval_take_time(mode):
    """Kafka commits in every pass of its poll loop; here at most once in each of its milliseconds."""
    text = """
    title = "commits all the time"
    run_for = "300ms"
    topic = [{ name = "orders", partitions = 1, rate = "100/s" }]
    cluster = { settings = { "group.initial.rebalance.delay.ms" = 0 } }
    [[group]]
    id = "billing"
    topics = ["orders"]
    members = 1
    settings = { "auto.commit.interval.ms" = 0 }
    """

    run = emulator.run(emulator.loads(text), mode=mode)

    assert 100 < run.metrics.plain_values()["commits_accepted"] <= 300
