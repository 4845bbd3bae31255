"""Failures of brokers in a real cluster, played from their description.

Three brokers, replication 3, min ISR 2; three members that commit automatically every 5 s, six
partitions of 20 records a second, 10 ms of work a record; a session of 6 s.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from emulator.conformance.observed import View, observe
from emulator.conformance.prediction.noise import (
    BROKER_HEARTBEAT_MS,
    FENCING_TURN_MS,
    broker_session_ms,
)
from emulator.scenario.load import loads
from emulator.world.build import play
from emulator.world.run import Replay

FAULT_US = 20_000_000
SCENARIO = """
title = "a broker fails"
run_for = "60s"
topic = [{{ name = "t", partitions = 6, rate = "20/s" }}]
cluster.settings = {{ "min.insync.replicas" = 2, "broker.session.timeout.ms" = {session_ms} }}

[[group]]
id = "g"
topics = ["t"]
members = 3
work = "10ms"
coordinator = 1

[group.settings]
"auto.offset.reset" = "earliest"
"session.timeout.ms" = 6000
"heartbeat.interval.ms" = 1000

[[fault]]
at = "20s"
{fault}
"""
KILLED = 'crash_broker = "{broker}"\nrestart_after = "15s"'
STOPPED = 'pause_broker = "{broker}"\nfor = "4s"'
COORDINATOR, ANOTHER = "coordinator of g", "broker-3"


@lru_cache
def failed(fault, broker, *, session_ms=9_000, seed=0):
    """Play a failure and watch the work on each record; return what was seen."""
    text = SCENARIO.format(fault=fault.format(broker=broker), session_ms=session_ms)
    events, records = [], []
    play(loads(text), seed, (events.append,), replay=Replay(on_record=records.append))
    view = View(prefix="", fault_us=FAULT_US, faulted=None, end_us=60_000_000)
    return observe(events, view, records)


@pytest.mark.parametrize("broker", [COORDINATOR, ANOTHER])
@pytest.mark.parametrize("fault", [KILLED, STOPPED], ids=["killed", "stopped"])
def test_no_member_is_removed_and_nothing_reprocessed_or_lost(fault, broker):
    """The generation is kept, though the stall of a kill is longer than the session."""
    seen = failed(fault, broker)

    assert ((1,), 0, {}, {}) == (seen.generations, seen.rebalances, seen.duplicates, seen.lost)
    assert all([call for call, _ in calls] == ["assigned"] for calls in seen.calls.values())


@pytest.mark.plain_of(3)
@pytest.mark.parametrize("broker", [COORDINATOR, ANOTHER])
@pytest.mark.parametrize("seed", range(3))
def test_a_kill_stalls_all_partitions_until_the_broker_is_missed(capture, broker, seed):
    """Those that others lead, too: 7.3 to 12.5 s, the first of them until it is fenced."""
    session_ms = broker_session_ms(capture("crash-range-auto/run-1"), seed)
    stalls = failed(KILLED, broker, session_ms=session_ms, seed=seed).stalls.values()

    assert 6 == len(stalls)
    assert all(7.0 <= stall <= 12.7 for stall in stalls)
    assert session_ms / 1_000 == pytest.approx(min(stalls), abs=0.3)


def test_backlogs_are_worked_off_one_after_the_other():
    """The second partition of a member waits for all that the first one has: about 2 s."""
    stalls = failed(KILLED, COORDINATOR).stalls.values()

    assert 1.5 <= max(stalls) - min(stalls) <= 3.5


def test_commits_to_a_living_coordinator_are_answered_when_the_dead_broker_is_missed():
    """It cannot replicate them before: 7.3 to 9.0 s after the kill.

    What it has had for ``offsets.commit.timeout.ms`` it refuses, and members commit again.
    """
    seen = failed(KILLED, ANOTHER)

    assert 9.0 == pytest.approx(seen.first_commit_s, abs=0.1)
    assert 1 < seen.commit_wait_s < 5


def test_commits_to_a_dead_coordinator_are_taken_by_the_next_one():
    """The first 9.3 to 13.3 s after the kill; none of them waits there."""
    seen = failed(KILLED, COORDINATOR)

    assert 9.0 <= seen.first_commit_s <= 13.3
    assert seen.commit_wait_s < 0.5


@pytest.mark.parametrize("broker", [COORDINATOR, ANOTHER])
def test_a_stop_stalls_all_partitions_for_as_long_as_it_lasts(broker):
    """All six for 4.0 to 4.1 s, each member's second partition too."""
    seen = failed(STOPPED, broker)

    assert [4.0] * 6 == pytest.approx(list(seen.stalls.values()), abs=0.1)


def test_commits_sent_to_a_stopped_coordinator_are_answered_when_it_runs_again():
    """The interval of automatic commits keeps its phase."""
    seen = failed(STOPPED, COORDINATOR)

    assert 4.0 == pytest.approx(seen.first_commit_s, abs=0.1)
    assert 0 < seen.commit_wait_s < 4.1


def test_a_broker_is_missed_sooner_or_later_than_its_session_by_chance(capture):
    """Its last heartbeat may be 2 s old, and the controller looks every eighth of the session."""
    run = capture("crash-range-auto/run-1")
    drawn = [broker_session_ms(run, seed) for seed in range(200)]

    assert 9_000 == broker_session_ms(run, None)
    assert 9_000 - BROKER_HEARTBEAT_MS <= min(drawn) < 7_500
    assert 9_600 < max(drawn) <= 9_000 + FENCING_TURN_MS


def test_lookups_of_the_coordinator_show_when_a_dead_one_was_missed(capture):
    """One 8.5 s after the kill still named it, one at 8.7 s did not."""
    run = capture("coordinator-kill-consumer/run-1")
    drawn = [broker_session_ms(run, seed) for seed in range(50)]

    assert 8_529 <= min(drawn) < 8_560
    assert 8_670 < max(drawn) <= 8_702
    assert 8_615 == broker_session_ms(run, None)
    silent = replace(run, client_logs=dict.fromkeys(run.client_logs, ()))
    assert 9_000 == broker_session_ms(silent, None)
