"""Offset stores that are slow or down: what waits, what ends, and what is processed again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from emulator.events import CommitAnswered, ConsumerStopped, OffsetsRead, OffsetsStored
from emulator.ledger.entries import Cause
from emulator.scenario.problems import ScenarioError

from ..test_brute_force import hold_against_count, hold_laws, play
from ..worlds import DISTURBED
from .test_database import in_a_database
from .test_zookeeper import in_zookeeper

SCENARIO = """
title = "a store with faults"
run_for = "42s"

[{store}]
latency = "20ms"
{table}

[[topic]]
name = "t"
partitions = 4
rate = "20/s"

[[group]]
id = "g"
topics = ["t"]
members = 2
work = "5ms"
offsets = "{store}"
settings = {{ "session.timeout.ms" = "6s", "auto.commit.interval.ms" = "5s", "max.poll.interval.ms" = "13s" }}

[[fault]]
{verb} = "{store}"
at = "20s"
{fault}
for = "{length}"

{more}
"""
SECOND = 1_000_000


def run_of(store, verb="stop_store", *, table="", fault="", length="12s", more="", seed=0):
    text = SCENARIO.format(
        store=store, verb=verb, table=table, fault=fault, length=length, more=more
    )
    return emulator.run(emulator.loads(text), seed)


def of_kind(run, kind):
    return [event for event in run.events if type(event.what) is kind]


def during_outage(events):
    return [event for event in events if 20 * SECOND <= event.at_us < 32 * SECOND]


@pytest.mark.parametrize("store", ["zookeeper", "database"])
def test_nothing_is_written_or_read_while_a_store_is_down_and_nothing_is_repeated(store):
    run = run_of(store, more='[[fault]]\nclose = "g-1"\nat = "22s"\nrestart_after = "1s"')
    written = of_kind(run, OffsetsStored)

    assert not during_outage(written)
    assert not during_outage(of_kind(run, OffsetsRead))
    assert max(event.at_us for event in written) > 35 * SECOND
    assert run.ledger.by_cause() == {}


def test_an_application_tries_its_transaction_again_after_each_back_off():
    run = run_of("database", table='backoff = "3s"')
    failed = [e for e in of_kind(run, CommitAnswered) if e.what.error == "unavailable"]
    of_one = [event.at_us for event in failed if event.what.consumer == "g-0"]

    assert len(of_one) == 4
    assert all(b - a == 3_020_000 for a, b in pairwise(of_one[1:]))
    assert run.metrics["lag_processed_peak"] > 4 * 20 * 11


def test_an_application_may_exit_and_its_work_is_rolled_back():
    run = run_of("database", table='on_failure = "stop"')
    ends = {e.what.consumer: e for e in of_kind(run, ConsumerStopped) if e.at_us < 30 * SECOND}

    assert {end.what.how for end in ends.values()} == {"failed"}
    assert set(ends) == {"g-0", "g-1"}
    assert run.metrics["rolled_back"] > 0
    assert run.ledger.by_cause() == {}


def test_an_outage_longer_than_the_poll_interval_costs_the_partitions_and_no_result():
    run = run_of("database", length="14s")

    assert run.metrics["drop_outs"] == 2
    assert run.ledger.by_cause() == {}


START = '[[fault]]\ncrash = "g-1"\nat = "19s"\nrestart_after = "5s"'


@pytest.mark.parametrize(("length", "ends"), [("12s", ["crashed", "failed"]), ("9s", ["crashed"])])
def test_a_start_waits_for_zookeeper_for_six_seconds(length, ends):
    run = run_of("zookeeper", length=length, more=START)
    stops = [e for e in of_kind(run, ConsumerStopped) if e.what.consumer == "g-1"]

    assert [stop.what.how for stop in stops] == ends
    assert [stop.at_us for stop in stops][1:] == [30 * SECOND] * (len(ends) - 1)


def test_a_write_in_flight_is_repeated_unless_its_process_is_gone():
    """Writes of a round at 20 s break; of a process that dies during the outage they never come."""
    crash = '[[fault]]\ncrash = "g-1"\nat = "25s"'
    whole = run_of("zookeeper", fault='delay = "5ms"')
    run = run_of("zookeeper", fault='delay = "5ms"', more=crash)
    waited = [e.what.waited_us for e in of_kind(whole, OffsetsStored)]

    assert max(waited) > 11 * SECOND
    assert whole.metrics["store_wait_max_s"] == max(waited) / 1e6
    assert run.ledger.by_cause() == {Cause.CRASHED: pytest.approx(20 * 2 * 10, abs=40)}


@pytest.mark.parametrize("store", ["zookeeper", "database"])
def test_a_slow_store_adds_to_each_write_and_is_fast_again(store):
    run = run_of(store, "slow_store", fault='by = "700ms"')
    took = [(e.what.sent_us, e.at_us - e.what.sent_us) for e in of_kind(run, OffsetsStored)]
    slow = [us for sent, us in took if 21 * SECOND < sent < 31 * SECOND]

    assert min(slow) >= 720_000
    assert max(us for sent, us in took if sent < 20 * SECOND) < 200_000
    assert max(us for sent, us in took if sent > 36 * SECOND) < 200_000


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ('stop_store = "zookeeper"\nat = "1s"\nfor = "1s"', 'set offsets = "zookeeper" of a group'),
        ('stop_store = "databse"\nat = "1s"\nfor = "1s"', 'did you mean "database"'),
        ('slow_store = "database"\nat = "1s"\nfor = "1s"', "by: is missing"),
    ],
)
def test_a_fault_of_a_store_that_no_group_uses_is_refused(fault, words):
    with pytest.raises(ScenarioError, match=words):
        run_of("database", more=f"[[fault]]\n{fault}")


def with_faults(document, store, verb, moment):
    """Add a fault of its store to a document."""
    fault = {verb: store, "at": moment, "for": "8s"}
    if verb == "slow_store":
        fault["by"] = "2s"
    return document | {"fault": [*document["fault"], fault]}


WORLDS = st.one_of(
    st.builds(in_zookeeper, DISTURBED, st.sampled_from(["5/s", "1000/s"])).map(
        lambda document: (document, "zookeeper")
    ),
    st.builds(in_a_database, DISTURBED, st.booleans()).map(lambda document: (document, "database")),
)


@pytest.mark.long
@settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    world=WORLDS,
    verb=st.sampled_from(["slow_store", "stop_store"]),
    moment=st.sampled_from(["2s", "9s", "14s"]),
    seed=st.integers(0, 1 << 30),
)
def test_the_ledger_counts_every_message(world, verb, moment, seed):
    run = play(with_faults(*world, verb, moment), seed)

    hold_against_count(run)
    hold_laws(run)
