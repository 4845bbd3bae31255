"""Offset stores that are slow or down: what waits, what ends, and what is processed again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import emulator
from assignors.types import TopicPartition
from emulator.events import (
    CommitAnswered,
    ConsumerStopped,
    OffsetsRead,
    OffsetsStored,
    StoreRestored,
)
from emulator.ledger.entries import Cause
from emulator.scenario.problems import ScenarioError
from protocols.consumer.store_history import StoreHistory

from ...brute_force.test_brute_force import hold_against_count, hold_laws, play
from ...brute_force.worlds import DISTURBED
from .store_group import TOPIC_AND_GROUP
from .test_database import in_a_database
from .test_zookeeper import in_zookeeper

SCENARIO = (
    """
title = "a store with faults"
run_for = "42s"

[{store}]
latency = "20ms"
{table}

"""
    + TOPIC_AND_GROUP
    + """\
offsets = "{store}"
settings = {{ "session.timeout.ms" = "6s", "auto.commit.interval.ms" = "5s", "max.poll.interval.ms" = "13s" }}

[[fault]]
{verb} = "{store}"
at = "20s"
{fault}
for = "{length}"

{more}
"""
)
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


# -- backups ---------------------------------------------------------------------------------------


def restored(store, *, fault="", **more):
    return run_of(store, "restore_store", fault=f'age = "6s"\n{fault}', length="1s", **more)


def test_offsets_and_results_go_back_together_and_each_record_has_one_result():
    """The fence shows it to the members; what they process again has no result any more."""
    run = restored("database")
    restores = [event.what for event in of_kind(run, StoreRestored)]

    assert run.ledger.by_cause() == {}
    assert run.metrics["results_undone"] == pytest.approx(4 * 20 * 6, abs=40)
    assert [what.undone for what in restores] == [((w.offset, w.before),) for w in restores]
    assert run.ledger.processed == run.ledger.distinct + run.metrics["results_undone"]


def test_without_a_fence_the_results_since_the_backup_are_lost():
    run = restored("database", table="fenced = false")

    assert run.ledger.reprocessed == 0
    assert run.ledger.lost == run.metrics["results_undone"] > 0
    assert {entry.detail for entry in run.ledger.entries} == {
        "results removed by a restored backup"
    }


def test_offsets_restored_alone_repeat_what_has_results_already():
    run = restored("database", fault='what = "offsets"')
    undone = sum(e.what.before - e.what.offset for e in of_kind(run, StoreRestored))

    assert run.metrics["results_undone"] == run.ledger.lost == 0
    assert run.ledger.by_cause() == {Cause.RESET: undone}
    assert {entry.root.verb for entry in run.ledger.entries} == {"restore_store"}


def test_records_whose_next_owner_reads_them_again_are_not_lost():
    """All members have ended; the restored offset is where the next one would begin."""
    stops = "".join(f'[[fault]]\ncrash = "g-{each}"\nat = "19s"\n' for each in range(2))
    run = restored("database", more=stops)

    assert run.metrics["results_undone"] > 0
    assert run.ledger.lost == 0
    assert run.ledger.backlog >= run.metrics["results_undone"]


def test_an_offset_that_the_backup_does_not_have_is_the_cause_of_the_reset():
    """An application that finds no row begins at the beginning."""
    text = SCENARIO.format(
        store="database",
        verb="restore_store",
        table="",
        fault='age = "1min"\nwhat = "offsets"',
        length="1s",
        more="",
    )
    run = emulator.run(emulator.loads(text), 0)

    assert set(run.ledger.by_cause()) == {Cause.DELETED}
    assert {entry.detail for entry in run.ledger.entries} == {"reset to earliest"}


@pytest.mark.parametrize(("crash_at", "repeated"), [("23500ms", True), ("27s", False)])
def test_only_the_owners_that_begin_before_the_next_write_notice_a_restore_of_zookeeper(
    crash_at, repeated
):
    crash = f'[[fault]]\ncrash = "g-1"\nat = "{crash_at}"\nrestart_after = "1s"'
    causes = restored("zookeeper", fault='delay = "2s"', more=crash).ledger.by_cause()

    assert set(causes) == {Cause.RESET if repeated else Cause.CRASHED}


def test_a_history_knows_what_a_backup_does_not_have():
    one, other = ("g", TopicPartition("t", 0)), ("g", TopicPartition("t", 1))
    history = StoreHistory()
    history.note(10, {one: 5, other: 2}, {one: (0, 5), other: (0, 2)})
    history.note(20, {one: 9}, {one: (3, 9)})

    assert history.results_since(10) == {one: ((5, 9),)}
    assert history.offsets_at(10) == {one: 5, other: 2}
    history.restore(10, results=False)
    assert history.offsets_at(99) == {one: 5, other: 2}
    assert history.results_since(10) == {one: ((5, 9),)}


# -- refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ('stop_store = "zookeeper"\nat = "1s"\nfor = "1s"', 'set offsets = "zookeeper" of a group'),
        ('stop_store = "databse"\nat = "1s"\nfor = "1s"', 'did you mean "database"'),
        ('slow_store = "database"\nat = "1s"\nfor = "1s"', "by: is missing"),
        ('restore_store = "database"\nat = "1s"', "age: is missing"),
        (
            'restore_store = "database"\nat = "1s"\nage = "1s"\nwhat = "offset"',
            'did you mean "offsets"',
        ),
    ],
)
def test_a_fault_of_a_store_that_no_group_uses_is_refused(fault, words):
    with pytest.raises(ScenarioError, match=words):
        run_of("database", more=f"[[fault]]\n{fault}")


def with_faults(document, store, verb, moment, what):
    """Add a fault of its store to a document."""
    fault = {verb: store, "at": moment, "for": "8s"}
    if verb == "slow_store":
        fault["by"] = "2s"
    if verb == "restore_store":
        fault |= {"age": "4s", "for": "1s", "what": what}
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
    max_examples=12,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    world=WORLDS,
    verb=st.sampled_from(["slow_store", "stop_store", "restore_store", "restore_store"]),
    what=st.sampled_from(["everything", "offsets"]),
    moment=st.sampled_from(["2s", "9s", "14s"]),
    seed=st.integers(0, 1 << 30),
)
def test_the_ledger_counts_every_message(world, verb, moment, what, seed):
    run = play(with_faults(*world, verb, moment, what), seed)

    hold_against_count(run)
    hold_laws(run)
