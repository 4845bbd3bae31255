"""Offsets in the user's own database: written in the transaction of the results, fenced or not."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from assignors.types import TopicPartition
from emulator.events import (
    CommitAccepted,
    ConsumerStopped,
    OffsetsStored,
    Processed,
    ResultsRolledBack,
)
from emulator.ledger.entries import Cause
from emulator.report.hints.by_cause import HINTS
from emulator.scenario.problems import ScenarioError
from protocols.consumer.offset_table import OffsetTable
from protocols.consumer.store_history import NOTHING_STORED

from ...brute_force.test_brute_force import hold_against_count, hold_laws, play
from ...brute_force.worlds import DISTURBED

SCENARIO = """
title = "offsets in a database"
run_for = "60s"

[database]
{database}

[[topic]]
name = "t"
partitions = 4
rate = "20/s"

[[group]]
id = "g"
topics = ["t"]
members = 2
work = "10ms"
offsets = "database"
settings = {{ "session.timeout.ms" = "6s", "auto.offset.reset" = "earliest" }}
{group}

{more}
"""
KEY = ("g", TopicPartition("t", 0))
OTHER = ("g", TopicPartition("t", 1))
CRASH = '[[fault]]\ncrash = "g-1"\nbetween = ["20s", "21s"]'
PAGE = Path("docs/how-to/database.md")
FENCE = "fence-at-destination"
PAUSE = '[[fault]]\npause = "g-1"\nbetween = ["20s", "21s"]\nfor = "12s"'


def run_of(database="", group="", more="", seed=0):
    text = SCENARIO.format(database=database, group=group, more=more)
    return emulator.run(emulator.loads(text), seed)


def test_a_fenced_transaction_writes_all_rows_or_none():
    table = OffsetTable(None)

    assert table.commit({KEY: 5, OTHER: 2}, {KEY: NOTHING_STORED, OTHER: NOTHING_STORED})
    assert not table.commit({KEY: 9, OTHER: 4}, {KEY: 5, OTHER: 1})
    assert (table.read(KEY), table.read(OTHER)) == (5, 2)
    assert table.commit({KEY: 1}, None)
    assert table.read(KEY) == 1


def test_a_crash_leaves_no_duplicate_in_the_results_only_work_that_is_rolled_back():
    """Whether it falls into the work on a batch or into the commit of its transaction."""
    runs = [run_of('latency = "300ms"', more=CRASH, seed=seed) for seed in range(3)]
    kinds = [type(event.what) for run in runs for event in run.events]
    back = [e.what for run in runs for e in run.events if type(e.what) is ResultsRolledBack]

    assert [run.ledger.by_cause() for run in runs] == [{}] * 3
    assert {what.why for what in back} == {"stopped"}
    assert sum(run.metrics["rolled_back"] for run in runs) == sum(
        what.next_offset - what.first for what in back
    )
    assert CommitAccepted not in kinds


IN_THE_COMMIT = '[[fault]]\ncrash = "g-1"\nat = "20400ms"\n'


def stored_late(run):
    """Return the transactions of a process that were committed after its end."""
    (end,) = [e.at_us for e in run.events if type(e.what) is ConsumerStopped]
    found = [e for e in run.events if type(e.what) is OffsetsStored and e.what.consumer == "g-1"]
    return [e for e in found if e.what.sent_us < end < e.at_us]


def test_a_commit_on_its_way_takes_effect_when_its_process_crashes():
    """The results have their offsets: the next owner begins behind them."""
    run = run_of('latency = "300ms"', more=IN_THE_COMMIT.replace("400", "200"))
    (late,) = stored_late(run)
    then = (e.what for e in run.events if type(e.what) is Processed and e.at_us == late.at_us)
    work = {(what.partition, what.next_offset) for what in then if what.consumer == "g-1"}

    assert work == set(late.what.offsets)
    assert run.ledger.by_cause() == {}
    assert run.ledger.lost == run.metrics["rolled_back"] == 0


def test_a_commit_that_takes_effect_late_processes_no_marker(monkeypatch):
    """Its work is written as that of a process that runs: in ranges of records only."""
    marked = SCENARIO.replace('"20/s"', '"20/s"\ntransaction_records = 1')
    monkeypatch.setitem(globals(), "SCENARIO", marked)
    run = run_of('latency = "300ms"', more=IN_THE_COMMIT.replace("400", "200"))
    (late,) = stored_late(run)
    then = [e.what for e in run.events if type(e.what) is Processed and e.at_us == late.at_us]
    offsets = [at for what in then for at in range(what.first, what.next_offset)]

    assert offsets
    assert not [at for at in offsets if at % 2]
    assert not run.findings


@pytest.mark.parametrize(("fenced", "doubled"), [("true", 0), ("false", 132)])
def test_a_successor_that_reads_before_the_commit_arrives_is_fenced(fenced, doubled):
    """It has processed the same records; its own transaction then expects another offset."""
    run = run_of(
        f'latency = "2s"\nfenced = {fenced}',
        "static = true",
        IN_THE_COMMIT + 'restart_after = "50ms"',
    )

    assert stored_late(run)
    assert run.ledger.reprocessed == doubled
    assert run.ledger.lost == 0
    assert not run.findings


def test_a_commit_on_its_way_to_a_database_that_goes_down_is_rolled_back():
    stop = '[[fault]]\nstop_store = "database"\nat = "21s"\nfor = "1s"'
    run = run_of('latency = "2s"', more=f"{IN_THE_COMMIT}\n{stop}")

    assert stored_late(run) == []
    assert run.ledger.by_cause() == {}
    assert {e.what.why for e in run.events if type(e.what) is ResultsRolledBack} == {"stopped"}


@pytest.mark.long
def test_a_fenced_process_that_lost_its_partitions_changes_nothing():
    slow = 'latency = "150ms"'
    fenced = [run_of(slow, more=PAUSE, seed=seed) for seed in range(3)]
    open_ = [run_of(slow + "\nfenced = false", more=PAUSE, seed=seed) for seed in range(3)]

    assert [run.ledger.by_cause() for run in fenced] == [{}] * 3
    assert any(
        event.what.why == "fenced"
        for run in fenced
        for event in run.events
        if type(event.what) is ResultsRolledBack
    )
    assert sum(run.ledger.reprocessed for run in open_) > 0
    assert {cause for run in open_ for cause in run.ledger.by_cause()} <= {
        Cause.TWO_OWNERS,
        Cause.REWIND,
    }


@pytest.mark.long
def test_the_price_is_the_latency_of_each_transaction():
    """Records are processed when the database has committed them, not before."""
    run = run_of('latency = "200ms"')
    work = {
        (e.what.partition, e.what.next_offset): e.at_us
        for e in run.events
        if type(e.what) is Processed
    }
    stored = [e for e in run.events if type(e.what) is OffsetsStored]

    assert all(work[end] == e.at_us for e in stored for end in e.what.offsets)
    assert len(stored) < len([e for e in run_of().events if type(e.what) is OffsetsStored])


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ('commit = "async"', "one poll"),
        ("handler = { workers = 2 }", "one thread"),
        ("deduplication = {}", "no duplicates behind"),
        ('client = "aiokafka"', "only the Java consumer"),
    ],
)
def test_impossible_combinations_are_refused_with_the_reason(group, words):
    with pytest.raises(ScenarioError, match=words):
        run_of(group=group)


def test_the_scenario_of_the_page_has_duplicates_without_the_fence_only():
    page = PAGE.read_text(encoding="utf-8")
    text = page.split("```toml\n")[1].split("```")[0]
    fenced = emulator.run(emulator.loads(text), 0)
    not_fenced = emulator.run(emulator.loads(text.replace("latency", "fenced = false\nlatency")), 0)

    assert fenced.ledger.reprocessed == fenced.ledger.lost == not_fenced.ledger.lost == 0
    assert not_fenced.ledger.reprocessed > 0
    assert f"| not fenced | {not_fenced.ledger.reprocessed:11} |" in page


@pytest.mark.parametrize("unfenced", [True, False])
def test_the_hint_for_two_owners_names_the_key_that_fences(unfenced):
    """Kafka's transactions do not help a database."""
    fences = [hint for hint in HINTS[Cause.TWO_OWNERS] if hint.id == FENCE]
    (hint,) = (hint for hint in fences if hint.when(two_owners(unfenced)))

    assert unfenced == ("database.fenced=true" in hint.text)


def two_owners(unfenced):
    """Return only what the hints on fencing depend on."""
    case = MagicMock(given_twice=False, group=MagicMock(unfenced=unfenced))
    case.mentions.return_value = False
    return case


def in_a_database(document, fenced):
    """Move offsets and results of the group there, without what only Kafka has."""
    (group,) = document["group"]
    acts = {"delete_offsets", "reset_offsets", "delete_group"}
    without = ("commit", "poison", "handler", "deduplication")
    kept = {key: value for key, value in group.items() if key not in without}
    return document | {
        "group": [kept | {"offsets": "database"}],
        "fault": [fault for fault in document["fault"] if not fault.keys() & acts],
        "database": {"fenced": fenced, "latency": "20ms"},
    }


@pytest.mark.long
@settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    document=st.builds(in_a_database, DISTURBED, st.booleans()),
    seed=st.integers(0, 1 << 30),
)
def test_the_ledger_counts_every_message(document, seed):
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
