"""Offsets in ZooKeeper: writes one by one at the rate of the ensemble, and what a crash repeats."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from assignors.types import TopicPartition
from emulator.events import CommitAccepted, CommitSent, OffsetsRead, OffsetsStored
from emulator.ledger.entries import Cause
from emulator.scenario.problems import ScenarioError
from protocols.consumer.store_history import NOTHING_STORED
from protocols.consumer.zookeeper import NO_VERSION, Ensemble, znode_of

from ...brute_force.test_brute_force import hold_against_count, hold_laws, play
from ...brute_force.worlds import DISTURBED

SCENARIO = """
title = "offsets in ZooKeeper"
run_for = "{run_for}"

[zookeeper]
{zookeeper}

[[topic]]
name = "t"
partitions = 6
rate = "20/s"

[[group]]
id = "g"
topics = ["t"]
members = 3
work = "5ms"
offsets = "zookeeper"
settings = {{ "session.timeout.ms" = "6s"{settings} }}
{group}

{more}
"""
CRASH = '[[fault]]\ncrash = "g-1"\nat = "{at}"'
PAGE = Path("docs/how-to/zookeeper.md")


def run_of(run_for="100s", zookeeper="", group="", more="", given="", seed=0):
    text = SCENARIO.format(
        run_for=run_for, zookeeper=zookeeper, group=group, more=more, settings=given
    )
    return emulator.run(emulator.loads(text), seed)


def stored(run):
    return [event for event in run.events if type(event.what) is OffsetsStored]


# -- the ensemble ------------------------------------------------------------------------------


def test_a_write_replaces_the_offset_without_a_condition():
    path = znode_of("g", TopicPartition("t", 1))
    ensemble = Ensemble(1)
    before = ensemble.read(path)
    ensemble.write(path, 7)
    ensemble.write(path, 5)

    assert before == NOTHING_STORED
    assert ensemble.znodes[path] == 5


def test_a_write_with_an_old_version_fails():
    path = znode_of("g", TopicPartition("t", 1))
    ensemble = Ensemble(1)

    assert ensemble.write(path, 7, NO_VERSION)
    read = ensemble.version(path)
    assert ensemble.write(path, 9, read)
    assert not ensemble.write(path, 8, read)
    assert ensemble.read(path) == 9


@pytest.mark.parametrize("versioned", ["true", "false"])
def test_only_without_versions_does_a_former_owner_move_the_offset_back(versioned):
    """ZooKeeper knows no generation: only a version refuses a consumer that lost its partitions."""
    pause = '[[fault]]\npause = "g-1"\nat = "10s"\nfor = "10s"'
    run = run_of("30s", f"versioned = {versioned}", 'commit = "sync"\npoll_timeout = "10ms"', pause)
    failed = [e for e in run.events if getattr(e.what, "error", "") == "BadVersion"]

    assert bool(failed) is (versioned == "true")
    assert run.metrics["commits_refused"] == len(failed)
    assert (run.metrics["rewinds"] == 0) is (versioned == "true")


@pytest.mark.long
@pytest.mark.parametrize(("claim", "refused"), [("true", {"g-1"}), ("false", {"g-0", "g-2"})])
def test_a_claim_refuses_the_former_owner_instead_of_the_new_ones(claim, refused):
    """The former owner goes on between the read of the new owners, at 27.04 s, and their first writes."""
    pause = '[[fault]]\npause = "g-1"\nat = "20s"\nfor = "7040ms"'
    keys = f"versioned = true\nclaim = {claim}"
    run = run_of("34s", keys, 'commit = "sync"\npoll_timeout = "10ms"', pause)
    failed = {e.what.consumer for e in run.events if getattr(e.what, "error", "") == "BadVersion"}

    assert failed == refused
    assert run.ledger.lost == run.metrics["rewinds"] == 0


def test_a_claim_needs_versions():
    with pytest.raises(ScenarioError, match="set versioned = true"):
        run_of("10s", "claim = true", 'commit = "sync"', "")


def test_with_versions_a_running_consumer_cannot_write_over_a_restored_offset():
    restore = '[[fault]]\nrestore_store = "zookeeper"\nat = "12s"\nage = "5s"'
    run = run_of("20s", "versioned = true", 'commit = "sync"', restore)
    late = [event for event in stored(run) if event.at_us > 13_000_000]

    assert not late
    assert run.metrics.tables["commits_refused.by_error"]["BadVersion"] > 10


# -- the automatic commit ----------------------------------------------------------------------


@pytest.mark.long
def test_without_a_setting_a_crash_repeats_up_to_a_minute():
    """Two partitions of 20 records a second; the last commit was made at 60 s."""
    run = run_of(more=CRASH.format(at="80s"))

    assert run.ledger.by_cause() == {Cause.CRASHED: pytest.approx(20 * 2 * 20, abs=4)}
    assert not [event for event in run.events if type(event.what) is CommitAccepted]


def test_the_thread_commits_during_the_work_on_a_batch():
    """Every two seconds from the start of its process on; Kafka's client commits when it polls."""
    run = run_of("30s", given=', "auto.commit.interval.ms" = "2s"')
    times = {event.at_us // 1_000_000 for event in run.events if type(event.what) is CommitSent}

    assert set(range(10, 30, 2)) <= times
    assert run.ledger.reprocessed == run.ledger.lost == 0


def test_a_crash_while_a_covered_record_is_in_progress_loses_it():
    """The automatic commit covers the record that the handler works on."""
    slow = SCENARIO.replace('work = "5ms"', 'work = "900ms"').replace('"20/s"', '"1/s"')
    text = slow.format(
        run_for="40s",
        zookeeper="",
        group="",
        settings=', "auto.commit.interval.ms" = "5s"',
        more=CRASH.format(at="20100ms"),
    )
    runs = [emulator.run(emulator.loads(text), seed) for seed in range(2)]

    assert {Cause.COMMITTED_AHEAD} >= {cause for run in runs for cause in run.ledger.by_cause()}
    assert all(run.ledger.lost == 1 for run in runs)


@pytest.mark.long
def test_each_partition_is_a_write_of_its_own_and_waits_for_the_one_before():
    run = run_of("70s")
    rounds = [event.what for event in stored(run)]
    of_one = [event for event in stored(run) if event.what.consumer == "g-0"]

    assert all(len(what.offsets) == 1 for what in rounds)
    assert all(b.what.sent_us >= a.at_us for a, b in itertools.pairwise(of_one))


def test_a_slow_ensemble_makes_the_interval_longer_than_the_setting():
    given = ', "auto.commit.interval.ms" = "1s"'
    slow = run_of("30s", zookeeper='writes = "2/s"', given=given)
    fast = run_of("30s", given=given)

    assert len(stored(slow)) <= 2 * 30 + 3 < len(stored(fast))
    assert slow.metrics["store_wait_max_s"] >= 0.5
    assert fast.metrics["store_wait_max_s"] < 0.01


def test_an_unchanged_offset_is_not_written_again():
    text = SCENARIO.format(
        run_for="60s",
        zookeeper="",
        group="",
        settings=', "auto.commit.interval.ms" = "1s"',
        more="",
    ).replace('rate = "20/s"', 'rate = "20/s"\nproduce_until = "10s"')
    run = emulator.run(emulator.loads(text), 0)

    assert max(event.at_us for event in stored(run)) < 15_000_000


# -- owners --------------------------------------------------------------------------------------


def test_the_next_owner_begins_at_the_znode():
    run = run_of("30s", group='commit = "sync"', more=CRASH.format(at="12s"))
    reads = [event.what for event in run.events if type(event.what) is OffsetsRead]

    assert any(offset > 0 for what in reads for _, offset in what.offsets)
    assert run.ledger.lost == 0
    assert run.ledger.reprocessed < 40


@pytest.mark.long
def test_a_failed_coordinator_costs_no_offset_that_is_in_zookeeper():
    broker = '[[fault]]\ncrash_broker = "coordinator of g"\nat = "10s"\nrestart_after = "12s"'
    run = run_of("35s", group='commit = "sync"', more=broker)

    assert set(run.ledger.by_cause()) <= {Cause.KEPT_REWOUND, Cause.REVOKED, Cause.CRASHED}


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ('client = "librdkafka"', "only the Java consumer of Kafka 0.8"),
        ('commit = { call = "sync", arguments = false }', "goes to Kafka"),
        ("handler = { workers = 2 }", "does not know workers"),
        ('[[fault]]\ndelete_group = "g"\nat = "1s"', "Kafka's admin client"),
    ],
)
def test_impossible_combinations_are_refused_with_the_reason(group, words):
    with pytest.raises(ScenarioError, match=words):
        run_of(group=group)


# -- random worlds -------------------------------------------------------------------------------


STRATEGY = "partition.assignment.strategy"


def _of_kafka_08(owner):
    """Replace the assignors that Kafka 0.8 does not have, of a group or a member."""
    settings = owner.get("settings", {})
    if settings.get(STRATEGY, "range") in ("range", "roundrobin"):
        return owner
    return owner | {"settings": settings | {STRATEGY: "roundrobin"}}


def in_zookeeper(document, rate):
    """Move the offsets of the group there, without what only Kafka has."""
    (group,) = document["group"]
    commit = group.get("commit", "auto")
    if isinstance(commit, dict):
        new = ("arguments", "leader_epoch")
        commit = {key: value for key, value in commit.items() if key not in new}
    members = [_of_kafka_08(member) for member in group["members"]]
    group = _of_kafka_08(group) | {"members": members}
    acts = ("delete_offsets", "reset_offsets", "delete_group")
    return document | {
        "group": [group | {"offsets": "zookeeper", "commit": commit, "static": False}],
        "fault": [fault for fault in document["fault"] if not fault.keys() & set(acts)],
        "zookeeper": {"writes": rate},
    }


@pytest.mark.long
@settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    document=st.builds(in_zookeeper, DISTURBED, st.sampled_from(["5/s", "1000/s"])),
    seed=st.integers(0, 1 << 30),
)
def test_the_ledger_counts_every_message(document, seed):
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


# -- the page --------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_scenario_of_the_page_repeats_more_with_zookeeper_than_with_kafka():
    text = PAGE.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    zookeeper = emulator.run(emulator.loads(text), 0)
    kafka_text = text.replace('offsets = "zookeeper"', 'offsets = "kafka"')
    kafka = emulator.run(emulator.loads(kafka_text), 0)

    assert zookeeper.ledger.lost == kafka.ledger.lost == 0
    assert zookeeper.ledger.reprocessed > 1.5 * kafka.ledger.reprocessed > 0
