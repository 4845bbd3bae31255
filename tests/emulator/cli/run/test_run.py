"""``rebalance run``: one run on a screen, as JSON, as Parquet; many seeds as a table."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

import emulator
from emulator.events import Event
from emulator.report.wording import WIDTH
from emulator.scenario.writing import scenario_hash

from ..commands import changed, rebalance, written

EARLY_COMMITS = """
title = "commits before the work"
run_for = "20s"
[[topic]]
name = "orders"
partitions = 5
rate = "5/s"
[[group]]
id = "billing"
topics = ["orders"]
members = 5
work = "4ms"
commit = "sync before"
"""
"""Each of five members commits ahead of its work."""

CLOCK = ('run_for = "40s"', 'run_for = "40s"\nstart = 2026-05-04T09:00:00Z')


def test_the_screen_says_what_happened_how_many_why_and_what_would_help(tmp_path):
    """In this order, on one screen."""
    status, out, err = rebalance("run", written(tmp_path))

    lines = out.splitlines()
    order = ["What happened", "Reprocessed: ", "Hints", "Expectations", "Figures"]
    places = [next(at for at, line in enumerate(lines) if line.startswith(o)) for o in order]
    assert (0, "") == (status, err)
    assert sorted(places) == places
    assert len(lines) <= 45
    assert (
        max(len(each) for each in lines if ": rebalance " not in each) <= WIDTH
    )  # commands stay whole
    assert "  0:00:18.000  billing-1 crashes" in lines
    assert "crashed while uncommitted" in out
    assert "auto.commit.interval.ms (now 5000)" in out


def test_the_first_lines_name_scenario_seed_kafka_and_what_is_in_force(tmp_path):
    """The output identifies the run."""
    _, out, _ = rebalance("run", written(tmp_path), "--seed", 7)

    first, second = out.splitlines()[:2]
    assert "one of two crashes | seed 7 | Apache Kafka 4.4.0 | 40 s long" == first
    assert second.startswith("billing: 2 members, range (eager), auto commit every 5s, ")
    assert "session.timeout.ms=6000" in out


def test_json_is_one_document_with_the_run_in_it(tmp_path):
    """The same numbers as in Python, and what they are the result of."""
    path = written(tmp_path)
    finished = emulator.run(emulator.load(path), 3)

    document = rebalance("run", path, "--seed", 3, "--json").document

    ledger = finished.ledger
    assert finished.digest == document["digest"]
    assert (3, 1, "4.4.0") == tuple(document[k] for k in ("seed", "schema_version", "kafka"))
    assert scenario_hash(finished.scenario) == document["scenario_hash"]
    assert ledger.by_cause() == document["by_cause"]
    assert [ledger.reprocessed, ledger.lost, ledger.partial] == [
        document[key] for key in ("reprocessed", "lost", "partial")
    ]
    assert finished.metrics["rebalances"] == document["rebalances"]
    assert [entry.id for entry in ledger.entries] == [e["id"] for e in document["ledger"]]
    assert json.loads(json.dumps(finished.metrics.as_dict())) == document["metrics"]
    assert 6000 == document["settings"]["group"]["billing"]["session.timeout.ms"]


def test_json_has_the_timeline_and_the_hints_of_the_screen(tmp_path):
    """Acts and removed members with their times, and the advice in full sentences."""
    path = written(tmp_path)

    document = rebalance("run", path, "--json").document
    out = " ".join(rebalance("run", path).out.split())

    (first, *_) = document["timeline"]
    assert {
        "at_us": 18_000_000,
        "what": "billing-1 crashes",
        "times": 1,
        "last_us": 18_000_000,
    } == first
    assert all(happening["what"] in out for happening in document["timeline"])
    assert document["hints"]
    assert all(f"- {hint}" in out for hint in document["hints"])


def test_the_ledger_in_json_adds_up(tmp_path):
    """Entries add up to the totals, and so do causes."""
    document = rebalance("run", written(tmp_path), "--json").document

    counted = [entry for entry in document["ledger"] if entry["kind"] == "reprocessed"]
    assert document["reprocessed"] == sum(entry["count"] for entry in counted) > 0
    assert document["reprocessed"] + document["lost"] == sum(document["by_cause"].values())
    assert all(entry["last"] - entry["first"] + 1 == entry["count"] for entry in counted)


def test_a_scenario_with_a_start_speaks_clock_time(tmp_path):
    """On the screen and in JSON."""
    path = written(tmp_path, changed(CLOCK))

    entry = rebalance("run", path, "--json").document["ledger"][0]

    assert "  2026-05-04 09:00:18.000  billing-1 crashes" in rebalance("run", path).out
    assert (18_000_000, "2026-05-04T09:00:18+00:00") == (
        entry["root"]["at_us"],
        entry["root"]["at"],
    )


def test_set_changes_one_key_and_is_repeated_in_the_command_shown(tmp_path):
    """The suggested next command plays the same run."""
    key = "group[billing].settings[auto.commit.interval.ms]=1s"
    path = written(tmp_path)

    _, out, _ = rebalance("run", path, "--set", key)

    assert "auto commit every 1s" in out
    assert f"explain {path} D1 --seed 0 --set '{key}'" in out


@pytest.mark.parametrize(
    "key",
    [
        "group[billing].settings[auto.commit.interval.ms]=1s",
        "group[billing].settings.auto.commit.interval.ms=1s",
        'group[billing].settings."auto.commit.interval.ms"=1s',
        "group['billing'].settings[\"auto.commit.interval.ms\"]=1000",
        "group[billing].settings['auto.commit.interval.ms']='1s'",
    ],
)
def test_set_takes_every_spelling_of_a_setting(tmp_path, key):
    """In brackets as we show it, dotted or quoted as TOML has it."""
    path = written(tmp_path)

    assert "auto commit every 1s" in rebalance("run", path, "--set", key).out


def test_set_takes_members_lists_and_several_keys_the_last_one_wins(tmp_path):
    """As in a file."""
    path = written(tmp_path)
    keys = [
        "topic[orders].skew=[2, 1, 1, 0]",
        "group[billing].member[billing-0].work=1ms",
        "group[billing].settings[partition.assignment.strategy]=roundrobin,range",
        "fault[crash-1].at=12s",
        "fault[crash-1].at=14s",
    ]

    _, out, _ = rebalance("run", path, *(word for key in keys for word in ("--set", key)))

    assert "billing: 2 members, roundrobin, range (eager)" in out
    assert "  0:00:14.000  billing-1 crashes" in out


@pytest.mark.parametrize(
    ("key", "near"),
    [
        (
            "group[billing].settings[session.timeout]=9s",
            "group[billing].settings[session.timeout.ms]",
        ),
        ('group[billing].settings."sesion.timeout.ms"=9s', "settings[session.timeout.ms]"),
        ("group.billing.static=true", "group[billing].static"),
        ("topic[order].rate=9/s", "topic[orders].rate"),
        ("fault[0].at=9s", "fault[crash-1].at"),
        ("run-for=9s", "run_for"),
    ],
)
def test_set_offers_the_nearest_paths(tmp_path, key, near):
    """Paths need not be known by heart."""
    status, out, err = rebalance("run", written(tmp_path), "--set", key)

    assert (2, "") == (status, out)
    assert f"--set {key}: no such key; nearest: " in err
    assert near in err


def test_a_scenario_may_come_from_the_input(tmp_path):
    """For those who make it with a program."""
    out = rebalance("run", written(tmp_path), "--json").out

    assert out == rebalance("run", "-", "--json", given=changed()).out
    assert out == rebalance("run", "-", "--json", given=b"\xef\xbb\xbf" + changed().encode()).out
    status, _, err = rebalance("run", "-", given=b"\xff")
    assert (2, "the input: not UTF-8 at byte 0; save it as UTF-8\n") == (status, err)


def test_a_failed_expectation_is_shown_and_exits_with_1(tmp_path):
    """For those who run it in a pipeline."""
    path = written(tmp_path, changed(("lost = 0", 'lost = ">= 1"')))

    status, out, _ = rebalance("run", path)

    assert 1 == status
    assert "  FAILED  lost is 0, expected >= 1" in out
    assert 1 == rebalance("run", path, "--json").status


def test_a_name_of_the_catalogue_is_a_scenario():
    """The path of the file is not needed."""
    status, out, _ = rebalance("run", "quiet", "--set", "run_for=15s")

    assert 0 == status
    assert "No records were reprocessed, none were lost." in out


def test_seeds_are_summed_up_with_the_worst_one_named(tmp_path):
    """Quantiles over seeds, and where to look next."""
    path = written(tmp_path, changed(('at = "18s"', 'between = ["15s", "20s"]')))

    status, out, _ = rebalance("run", path, "--seeds", 3, "--jobs", 1)
    document = rebalance("run", path, "--seeds", 3, "--jobs", 1, "--json").document

    worst = max(document["runs"], key=lambda run: (run["lost"], run["reprocessed"]))
    assert 0 == status
    assert "3 seeds, 0 to 2" in out
    assert document["worst_seed"] == worst["seed"]
    figures = f"0 records lost, {worst['reprocessed']:,} reprocessed"
    assert f"The worst seed is {worst['seed']} ({figures}, " in out
    assert "compared in this order): rebalance run" in " ".join(out.split())
    assert [0, 1, 2] == document["seeds"] == [run["seed"] for run in document["runs"]]
    assert 3 == document["summary"]["reprocessed"]["runs"]


def test_seeds_that_change_nothing_are_said_to(tmp_path):
    """A fault at a fixed time, fixed latencies: nothing is left to chance."""
    path = written(tmp_path)

    out = rebalance("run", path, "--seeds", 2, "--jobs", 1).out

    assert "All seeds gave the same figures" in out
    assert "In brackets" not in out


@pytest.mark.long
def test_jobs_change_nothing_but_the_time_it_takes(tmp_path):
    """Results come in order of the seeds, in any number of processes."""
    path = written(tmp_path)

    alone = rebalance("run", path, "--seeds", 3, "--jobs", 1, "--json")
    shared = rebalance("run", path, "--seeds", 3, "--jobs", 2, "--json")

    assert alone == shared


def test_expectations_over_seeds_are_checked_against_all_of_them(tmp_path):
    """``.p95`` is over all seeds."""
    path = written(tmp_path, changed(("lost = 0", '"reprocessed.p95" = "< 1"')))

    status, out, _ = rebalance("run", path, "--seeds", 2, "--jobs", 1)

    assert 1 == status
    assert "FAILED  reprocessed.p95 over 2 runs is " in out


@pytest.mark.parametrize("clock", [False, True])
def test_events_go_to_a_parquet_file(tmp_path, clock):
    """Every event, with what is in force in the file's metadata."""
    path = written(tmp_path, changed(CLOCK) if clock else changed())
    target = tmp_path / "events.parquet"
    expected: list[Event] = []
    finished = emulator.run(emulator.load(path), 5, sink=expected.append)

    assert rebalance("run", path, "--seed", 5, "--events", target).status == 0

    table = pq.read_table(target)
    metadata = table.schema.metadata
    assert len(expected) == table.num_rows
    assert [event.id for event in expected] == table["id"].to_pylist()
    assert list(range(len(expected))) == table["row"].to_pylist()
    assert clock == ("clock" in table.column_names)
    assert (b"5", b"4.4.0", b"1") == tuple(
        metadata[key] for key in (b"seed", b"kafka", b"schema_version")
    )
    assert scenario_hash(finished.scenario).encode() == metadata[b"scenario_hash"]
    assert {path, target} == set(tmp_path.iterdir())


def test_an_assignor_that_gives_a_partition_twice_is_warned_of(plugin):
    """Kafka accepts it, but it is rarely intended."""
    status, out, _ = rebalance("run", plugin("twice"))

    assert 0 == status
    assert "warning: twice assigned orders-0 to " in out
    assert "without declaring exclusive = False" in " ".join(out.split())


def test_members_that_commit_ahead_are_named_three_times_and_counted(tmp_path):
    """Each member of a large group has the same one; JSON has them all."""
    path = tmp_path / "early.toml"
    path.write_text(EARLY_COMMITS)
    status, out, _ = rebalance("run", path)
    found = json.loads(rebalance("run", path, "--json").out)["findings"]

    assert (0, 5) == (status, len(found))
    assert 3 == out.count("warning: billing-")
    assert "warning: 2 other members too: commit ahead of processing; --json has all" in out


def test_an_assignor_that_means_to_share_is_not_warned_of(plugin):
    """``exclusive = False`` says that it is meant: each member counts for itself."""
    status, out, _ = rebalance("run", plugin("shared"))

    assert 0 == status
    assert "warning" not in out
    assert "erred" not in out
    assert "two owners at once" not in out


@pytest.mark.long
def test_seeds_of_an_assignor_beside_the_scenario_can_be_shared(plugin):
    """The other processes find it where the first one did."""
    assert 0 == rebalance("run", plugin("fine"), "--seeds", 2, "--jobs", 2).status


def test_members_without_partitions_are_named(tmp_path):
    """Six members for four partitions: one replaces a dead one; with four, nothing is said."""
    spare = changed(("members = 2", "members = 6"))
    enough = changed(("members = 2", "members = 4"))

    assert "1 of 6 members had no partition for most of the run: billing-5" in (
        " ".join(rebalance("run", written(tmp_path, spare, "spare.toml")).out.split())
    )
    assert "had no partition" not in rebalance("run", written(tmp_path, enough, "four.toml")).out


def test_one_seed_of_several_is_named_as_one(tmp_path):
    """``--seeds 1`` is a summary of one run."""
    status, out, _ = rebalance("run", written(tmp_path), "--seeds", 1, "--jobs", 1)

    assert 0 == status
    assert "| seed 0 |" in out
