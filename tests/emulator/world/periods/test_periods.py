"""Runs whose periods are skipped, against the same runs in which every poll is played."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.scenario.load import scenario_of
from emulator.scenario.part import ScenarioSource
from emulator.world.build import play
from emulator.world.consumer.polling.calm import Cycles
from emulator.world.periods import search

from ...brute_force.test_brute_force import tidy, unhurried
from ...modes.both_ways import hold_both_ways
from ...modes.test_folding import hold_equal
from .steady_runs import steady

EARLIEST = {"auto.offset.reset": "earliest"}
LATEST = {"auto.offset.reset": "latest"}


def regular(**changes: object) -> dict:
    """A group whose records, work and network are regular."""
    group = {"id": "g", "topics": ["t"], "members": 2, "work": "2ms", "settings": EARLIEST}
    topic = {"name": "t", "partitions": 4, "rate": "10/s"}
    whole = {"title": "regular", "run_for": "20s", "topic": [topic], "group": [group]}
    for key, value in changes.items():
        place = topic if key in ("rate", "partitions", "produce_until", "skew") else group
        (whole if key in ("run_for", "fault", "network", "cluster", "lag_every") else place)[
            key
        ] = value
    return whole


@pytest.fixture
def skipped(monkeypatch):
    """Count how often some periods are skipped, or a part of one."""
    found: list[str] = []

    def count(name):
        method = getattr(Cycles, name)

        def counted(self, *given):
            found.append(name)
            return method(self, *given)

        monkeypatch.setattr(Cycles, name, counted)

    count("_later")
    count("_go")
    return found


REGULAR = {
    "as it comes": regular(),
    "intervals that are no whole microseconds": regular(rate="7/s", lag_every="5s"),
    "partitions of different rates": regular(skew=[1.0, 2.0, 0.5]),
    "records that stop": regular(produce_until="11s"),
    "one poll for each record": regular(settings={**EARLIEST, "max.poll.records": 1}),
    "answers of one record": regular(settings={**EARLIEST, "fetch.max.bytes": 1}),
    "members that never wait": regular(work="24ms", members=1, settings=LATEST),
    "long work": regular(work="45ms", members=1, partitions=2, settings=LATEST),
    "polls that leave records in the buffer": regular(
        rate="50/s",
        work="1ms",
        lag_every="5s",
        network={"latency": "50ms"},
        settings={**EARLIEST, "max.poll.records": 3},
    ),
    "responses that wait for a poll": regular(
        rate="20/s",
        work="19ms",
        members=1,
        partitions=2,
        lag_every="5s",
        network={"latency": "7ms"},
        settings={**LATEST, "retry.backoff.ms": "70ms"},
    ),
    "a handler that hangs": regular(
        settings={**EARLIEST, "max.poll.interval.ms": "7s"},
        fault=[{"hang": "g-0", "at": "10500ms", "for": "8s"}],
    ),
    "no automatic commit": regular(settings={**EARLIEST, "enable.auto.commit": False}),
    "no latency": regular(network={"latency": "0s"}),
    "samples in every period": regular(lag_every="330ms", run_for="8s"),
}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("document", REGULAR.values(), ids=REGULAR)
def test_a_run_whose_periods_are_skipped_has_the_same_events(document, skipped):
    """Each kind of regular consumer repeats, and skipping the repetitions shows in nothing."""
    hold_equal(document, 0)

    assert skipped


def in_one_instant(partitions: int):
    """Return a scenario in which two brokers answer at the same time."""
    return regular(
        run_for="16s",
        rate="1/s",
        partitions=partitions,
        work="50ms",
        poll_timeout="50ms",
        network={"latency": "0s"},
        settings={
            **EARLIEST,
            "max.poll.records": 1,
            "fetch.max.wait.ms": "50ms",
            "auto.commit.interval.ms": "1s",
            "session.timeout.ms": "6s",
            "heartbeat.interval.ms": "300ms",
        },
        fault=[{"crash": "g-0", "at": "5s", "restart_after": "1s"}],
    )


IDLE = {
    "no records": regular(rate="0/s"),
    "few records": regular(rate="0.3/s"),
    "polls that are longer than fetches": regular(
        rate="0.3/s", poll_timeout="3s", settings={**EARLIEST, "fetch.max.wait.ms": "90ms"}
    ),
    "answers of two brokers in one instant": in_one_instant(3),
    "answers of two brokers in one instant, in another order": in_one_instant(4),
    "polls and fetches that end at once": regular(
        rate="0.2/s", poll_timeout="501ms", settings={**EARLIEST, "fetch.max.wait.ms": "500ms"}
    ),
}


@pytest.mark.parametrize("document", IDLE.values(), ids=IDLE)
def test_an_idle_consumer_whose_polls_are_skipped_has_the_same_events(document):
    """Polls and fetches without records are counted, and end when they would have."""
    hold_equal(document, 0)


@pytest.mark.parametrize(
    "drawn", [{"rate": {"poisson": "10/s"}}, {"work": {"uniform": ["1ms", "3ms"]}}]
)
def test_what_is_drawn_does_not_repeat(drawn, skipped):
    """Records or work drawn at random are played one by one."""
    hold_equal(regular(run_for="6s", **drawn), 0)

    assert not skipped


@pytest.fixture
def batches(monkeypatch):
    """Count the batches that calm consumers play."""
    counted = [0]
    skip = Cycles.skip

    def count(self, calm, batch, until_us):
        counted[0] += 1
        return skip(self, calm, batch, until_us)

    monkeypatch.setattr(Cycles, "skip", count)

    def played(document: dict) -> int:
        counted[0] = 0
        play(scenario_of(tidy(document), ScenarioSource("long", None)), 0, ())
        return counted[0]

    return played


def test_a_long_quiet_run_plays_few_batches(batches):
    """The number of batches that are played grows with the disturbances, not with the records."""
    slow, fast = (
        batches(regular(rate=rate, run_for="2min", work="100us")) for rate in ("10/s", "100/s")
    )

    assert fast < 3 * slow
    assert fast < 0.1 * 2 * 60 * 400


def test_periods_are_found_again_after_a_broker_has_failed(batches):
    """Other leaders bring records in other orders, and logs remember that they stood still."""
    fault = {"crash_broker": "broker-1", "at": "10s", "restart_after": "10s"}
    once, twice = (batches(regular(run_for=run_for, fault=[fault])) for run_for in ("1min", "2min"))

    assert twice - once < 1_000, "of the 2,300 batches of that minute"


def test_states_are_not_compared_where_no_period_fits_before_the_next_fault():
    """Periods of 400 ms: 600 ms have no room for one that is found and one that is skipped."""
    paused = [{"pause": "g-1", "at": at, "for": "100ms"} for at in ("6s", "6700ms")]
    with patch.object(search, "state_of", wraps=search.state_of) as looks:
        hold_both_ways(steady(fault=paused))
    times_us = [call.args[1] for call in looks.call_args_list]

    assert not [at_us for at_us in times_us if 6_000_000 < at_us < 6_700_000]
    assert [at_us for at_us in times_us if at_us > 6_700_000]


def test_readers_of_a_broker_that_does_not_answer_poll_without_events():
    """A fetch that waits for a paused broker ends by an event of its own."""

    def kernel_events(length: str) -> int:
        fault = {"pause_broker": "broker-3", "at": "12s", "for": length}
        document = regular(run_for="40s", rate="40/s", partitions=6, fault=[fault])
        return play(
            scenario_of(tidy(document), ScenarioSource("paused", None)), 0, ()
        ).kernel_events

    assert kernel_events("20s") < 1.5 * kernel_events("5s")


GRID_MS = 50

FAULTS = st.sampled_from(
    [
        {"crash": "g-0", "restart_after": "1s"},
        {"pause": "g-0", "for": "2s"},
        {"pause_broker": "broker-1", "for": "3s"},
        {"cut": ["g-1", "broker-2"], "for": "2s"},
    ]
)


@st.composite
def regular_worlds(draw) -> dict:
    """Regular groups with a fault on a coarse grid of time, where much falls together."""
    settings = {
        **EARLIEST,
        "max.poll.records": draw(st.sampled_from([1, 3, 500])),
        "fetch.max.wait.ms": draw(st.sampled_from(["50ms", "500ms"])),
        "auto.commit.interval.ms": draw(st.sampled_from(["1s", "5s"])),
        "session.timeout.ms": "6s",
        "heartbeat.interval.ms": draw(st.sampled_from(["300ms", "2s"])),
    }
    fault = dict(draw(FAULTS))
    fault["at"] = f"{draw(st.integers(80, 200)) * GRID_MS}ms"
    return regular(
        run_for="16s",
        rate=draw(st.sampled_from(["1/s", "3/s", "10/s", "20/s"])),
        partitions=draw(st.sampled_from([1, 3, 4])),
        work=draw(st.sampled_from(["1ms", "10ms", "50ms"])),
        poll_timeout=draw(st.sampled_from(["50ms", "100ms", "1s"])),
        network={"latency": draw(st.sampled_from(["0s", "500us", "50ms"]))},
        lag_every=draw(st.sampled_from(["1s", "5s"])),
        settings=settings,
        fault=[fault],
    )


@pytest.mark.long
@settings(unhurried, max_examples=12)
@given(document=regular_worlds())
def test_a_fault_in_a_skipped_period_finds_what_it_would_have_found(document):
    """Whatever disturbs a consumer, the periods before it are played up to that instant."""
    hold_equal(document, 0)


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=400)
@given(document=regular_worlds())
def test_a_fault_in_a_skipped_period_finds_what_it_would_have_found_for_long(document):
    """The same for many more worlds."""
    hold_equal(document, 0)


@pytest.mark.parametrize("beside_us", [-1, 0, 1])
def test_a_crash_at_each_instant_of_a_period(beside_us):
    """A crash at, just before and just after the arrival of records and the end of work."""
    for instant_us in (8_000_000, 8_000_500, 8_001_000, 8_002_000, 8_025_000, 8_027_500):
        fault = {"crash": "g-0", "at": f"{instant_us + beside_us}us", "restart_after": "1s"}
        hold_equal(regular(run_for="12s", fault=[fault]), 0)
