"""Runs in which skipped periods are summed up, against the same runs with single events."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulator
from emulator import events as ev
from emulator.scenario.load import scenario_of
from emulator.scenario.part import ScenarioSource

from ...brute_force.test_brute_force import tidy, unhurried
from .test_periods import EARLIEST, FAULTS, GRID_MS, regular

QUICK = {**EARLIEST, "auto.commit.interval.ms": "1s", "heartbeat.interval.ms": "1s"}


def world(at: str | None = "18321ms", **changes: object) -> dict:
    """A regular group with periods of a second, and a crash after some of them."""
    fault = [] if at is None else [{"crash": "g-0", "at": at, "restart_after": "1s"}]
    return regular(**{"settings": QUICK, "run_for": "24s", "fault": fault, **changes})


SUMMED = {
    "automatic commits": world(),
    "a commit for each batch": world(commit={"call": "sync"}),
    "commits in flight": world(
        commit={"call": "sync"}, members=4, partitions=8, network={"latency": "15ms"}
    ),
    "asynchronous commits": world(commit={"call": "async", "when": "every", "every": "1s"}),
    "responses that wait for the next poll": world(commit={"call": "async"}, work="8ms"),
    "partitions of different rates": world(skew=[1.0, 2.0, 0.5]),
    "commits behind processing": world(commit={"call": "sync", "off_by_one": True}),
    "a cut": world(fault=[{"cut": ["g-0", "brokers"], "at": "17s", "for": "4s"}]),
    "a coordinator that dies": world(fault=[{"crash_broker": "coordinator of g", "at": "17s"}]),
    "commits ahead of processing": world(commit={"call": "sync", "when": "before"}),
    "members that close": world(fault=[{"close": name, "at": "17s"} for name in ("g-0", "g-1")]),
}

SINGLY = {
    "too few periods": world(at=None, run_for="3s"),
}


def both(document: dict) -> tuple[emulator.Run, emulator.Run, set[type]]:
    """Return a run with single events and one with sums, and the kinds of events of the second."""
    scenario = scenario_of(tidy(document), ScenarioSource("regular", None))
    kinds = set()
    summed = emulator.run(
        scenario,
        keep_events=False,
        each_commit=False,
        sink=lambda event: kinds.add(type(event.what)),
    )
    return emulator.run(scenario), summed, kinds


def hold_results_equal(document: dict) -> set[type]:
    """Assert that everything is the same but the events; return the kinds of events with sums."""
    each, summed, kinds = both(document)
    for name in ("digest", "ledger", "metrics", "findings", "verdicts"):
        assert getattr(each, name) == getattr(summed, name), name
    return kinds


ALSO_BRIEFLY = (
    "automatic commits",
    "commits in flight",
    "responses that wait for the next poll",
    "a coordinator that dies",
    "commits ahead of processing",
)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ALSO_BRIEFLY else pytest.param(name, marks=pytest.mark.long)
        for name in SUMMED
    ],
)
def test_commits_of_skipped_periods_are_summed_up_and_all_results_are_the_same(name):
    """The digest, the ledger with the times of all owners, metrics and findings."""
    kinds = hold_results_equal(SUMMED[name])

    assert {ev.CommitsCounted, ev.AppendsCounted, ev.ProgressCounted} <= kinds


@pytest.mark.parametrize("name", SINGLY)
def test_commits_that_a_sum_cannot_stand_for_are_written_one_by_one(name):
    """Nothing is summed up then, not even what could be."""
    kinds = hold_results_equal(SINGLY[name])

    assert not kinds & {ev.CommitsCounted, ev.AppendsCounted, ev.ProgressCounted}


@st.composite
def committing_worlds(draw) -> dict:
    """Regular worlds with short periods, any policy of commits, and a fault after some periods."""
    every = {"when": "every", "every": draw(st.sampled_from(["500ms", "1s"]))}
    policies = [{"call": "sync"}, {"call": "async"}, {"call": "sync", **every}]
    commit = draw(st.sampled_from([None, *policies]))
    fault = dict(draw(FAULTS))
    fault["at"] = f"{draw(st.integers(300, 440)) * GRID_MS}ms"
    return world(
        run_for="28s",
        rate=draw(st.sampled_from(["1/s", "2/s", "10/s", "20/s"])),
        partitions=draw(st.sampled_from([1, 3, 4])),
        work=draw(st.sampled_from(["1ms", "5ms"])),
        poll_timeout=draw(st.sampled_from(["100ms", "500ms", "1s"])),
        network={"latency": draw(st.sampled_from(["0s", "500us", "5ms"]))},
        settings={**QUICK, "max.poll.records": draw(st.sampled_from([1, 500]))},
        fault=[fault],
        **({} if commit is None else {"commit": commit}),
    )


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=200)
@given(document=committing_worlds())
def test_sums_change_no_result_for_long(document):
    """Whatever disturbs the group, and however it commits."""
    hold_results_equal(document)


INSTANTS = 40


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize("name", ["automatic commits", "a commit for each batch"])
def test_a_crash_at_any_instant_finds_the_same_for_long(name):
    """When something happens, and one microsecond before and after."""
    undisturbed = SUMMED[name] | {"fault": []}
    scenario = scenario_of(tidy(undisturbed), ScenarioSource("regular", None))
    times = {event.at_us for event in emulator.run(scenario).events}
    late = sorted(at_us for at_us in times if 17_000_000 <= at_us < 19_000_000)

    for at_us in late[:: max(1, len(late) // INSTANTS)]:
        for beside_us in (-1, 0, 1):
            fault = {"crash": "g-0", "at": f"{at_us + beside_us}us", "restart_after": "1s"}
            hold_results_equal(SUMMED[name] | {"fault": [fault]})
