"""Frameworks as keys of a group, and commits that a rebalance refuses and the application keeps."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

import emulator
from emulator.events import CommitRefused, CommitSent, Polled
from emulator.handler_facts import _describe_framework
from emulator.scenario.clients.frameworks import FRAMEWORKS, summary
from emulator.scenario.model import Group, Scenario
from emulator.scenario.problems import ScenarioError
from emulator.scenario.tables.groups import FrameworkName

SCENARIO = """
title = "a framework"
run_for = "20s"

[[topic]]
name = "t"
partitions = 2
rate = "5/s"

[[group]]
id = "g"
topics = ["t"]
members = 2
framework = "{framework}"
{group}
"""


def group_of(framework: str, group: str = "") -> Group:
    """Return the group of a scenario."""
    scenario: Scenario = emulator.loads(SCENARIO.format(framework=framework, group=group))
    return scenario.group[0]


def test_every_framework_has_a_name_in_the_schema():
    assert set(get_args(FrameworkName)) == set(FRAMEWORKS)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_can_be_played_and_prints_what_it_sets(name):
    run = emulator.run(emulator.loads(SCENARIO.format(framework=name, group="")), 0)

    assert run.ledger.processed > 0
    assert run.ledger.reprocessed == run.ledger.lost == 0
    assert summary(name).startswith(f"framework {name} (")
    assert "when" not in FRAMEWORKS[name] or "when" in summary(name)


@pytest.mark.parametrize("rule", ["", 'poison = [{ every = 50, error = "skip" }]'])
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_head_of_a_report_names_the_framework(name, rule):
    """Also of one that does nothing about failing records, with and without such records."""
    assert _describe_framework(group_of(name, rule)).startswith(f"framework {name} (")


def test_keys_of_the_scenario_replace_those_of_the_framework():
    plain = group_of("spring-batch")
    own = group_of("spring-batch", 'commit = "sync per record"\npoll_timeout = "1s"')

    assert (plain.commit.when, plain.poll_timeout) == ("batch", 5_000_000)
    assert (own.commit.when, own.poll_timeout) == ("record", 1_000_000)
    faust = group_of("faust", 'settings = { "session.timeout.ms" = 60000 }')
    assert faust.settings["session.timeout.ms"] == 60_000
    assert faust.settings["auto.offset.reset"] == "earliest"


def test_records_that_fail_without_a_reaction_get_that_of_the_framework():
    rules = '[[group.poison]]\nevery = 9\n[[group.poison]]\nevery = 5\nerror = "stop"\n'
    ours, own = group_of("spring-record", rules).poison

    assert (ours.error, ours.attempts, ours.backoff, ours.then) == ("seek", 10, 0, "skip")
    assert own.error == "stop"


def test_an_unknown_framework_is_refused_with_the_nearest_name():
    with pytest.raises(ScenarioError, match=r"framework = .spring-bach.: .*spring-batch"):
        group_of("spring-bach")


def test_a_refused_commit_is_kept_and_sent_again_behind_the_next_poll():
    """For the partitions that the consumer still owns, the same offsets once more."""
    scenario = emulator.load(
        "d1-commit-refused-in-rebalance",
        overrides=[
            "group[billing].commit.on_refusal=keep",
            "run_for=20s",
        ],
    )
    events = emulator.run(scenario, 0).events
    offsets = {e.what.commit: e.what.offsets for e in events if isinstance(e.what, CommitSent)}
    refused = [
        e.what for e in events if isinstance(e.what, CommitRefused) and "REBALANCE" in e.what.error
    ]
    sent = Counter(pair for given in offsets.values() for pair in given)
    again = [pair for what in refused for pair in offsets[what.commit] if sent[pair] > 1]

    assert len(refused) > 20
    assert len(again) > 20


def test_a_framework_of_another_client_is_refused():
    with pytest.raises(ScenarioError, match='spring-batch is written with client = "java"'):
        group_of("spring-batch", 'client = "librdkafka"')


@pytest.mark.parametrize(
    ("group", "shown"),
    [
        ("", {"commit", "poll_timeout"}),
        ('commit = "auto"', {"poll_timeout"}),
        ("[[group.poison]]\nevery = 9\n", {"commit", "poll_timeout", "poison"}),
        ('[[group.poison]]\nevery = 9\nthen = "forward"\n', {"commit", "poll_timeout"}),
    ],
)
def test_the_head_of_a_report_has_the_keys_that_are_not_replaced(group, shown):
    said = _describe_framework(group_of("spring-batch", group))

    assert shown == {key for key in FRAMEWORKS["spring-batch"] if f"{key}=" in said}


# -- what a crash repeats, counted by hand ----------------------------------------------------------

BACKLOG = """
title = "a crash in the middle of 500 records of 10 ms"
run_for = "{run_for}"
[[topic]]
name = "t"
rate = "0/s"
backlog = 500
[[group]]
id = "g"
topics = ["t"]
members = 1
work = "10ms"
framework = "{framework}"
settings = {{ "auto.offset.reset" = "earliest" }}
{more}
"""
AT_CRASH = {
    "spring-record": (0, 1),  # each record is committed: at most the one whose commit is in flight
    "spring-manual-immediate": (0, 1),
    "spring-batch": (250, 250),  # the batch of 500 was not committed
    "spring-manual": (250, 250),
    "kafka-consumer": (250, 250),  # poll() commits what it returned before
    "faust": (1, 250),  # all since the last commit, which was at most 2.8 s ago
    "confluent-kafka": (1, 250),  # all since the last automatic commit, every 5 s
}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_crash_repeats_what_the_framework_had_not_committed(name):
    """250 records and a half after the first poll; the process starts again."""
    first = emulator.run(
        emulator.loads(BACKLOG.format(framework=name, run_for="15s", more="")), 0, polls=True
    )
    begin = next(event.at_us for event in first.events if isinstance(event.what, Polled))
    crash_us = begin + 2_505_000
    restart = f'[[fault]]\ncrash = "g-0"\nat = "{crash_us}us"\nrestart_after = "1s"\n'
    run_for = "90s" if name == "faust" else "65s"
    text = BACKLOG.format(framework=name, run_for=run_for, more=restart)
    run = emulator.run(emulator.loads(text), 0)

    committed = 0
    for event in run.events:
        if event.at_us < crash_us and isinstance(event.what, CommitSent):
            ((_, committed),) = event.what.offsets
    fewest, most = AT_CRASH[name]
    assert fewest <= run.ledger.reprocessed <= most
    if most > 1:
        assert run.ledger.reprocessed == 250 - committed
    assert run.ledger.lost == 0


def test_single_keys_of_a_commit_or_handler_of_a_framework_can_be_changed():
    """A table that says what kind of commit it is replaces the whole one."""
    changed = group_of("faust", 'commit.every = "1s"\nhandler.queue = 10')
    replaced = group_of("faust", 'commit = { call = "sync", when = "every", every = "1s" }')

    assert (changed.commit.call, changed.commit.every, changed.commit.records) == (
        "sync",
        1_000_000,
        10_000,
    )
    assert (changed.handler.queue, changed.handler.drain) == (10, "running")
    assert (replaced.commit.records, replaced.commit.on_revoke) == (None, False)


def test_advice_for_commits_at_an_interval_of_the_application_shortens_it():
    """Not the batches: Faust's commits do not depend on them."""
    text = """
title = "a Faust app is killed"
run_for = "60s"
topic = [{ name = "orders", partitions = 2, rate = "20/s" }]
fault = [{ crash = "billing-1", at = "30s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"
framework = "faust"
settings = { "session.timeout.ms" = 9000 }
"""
    advice = emulator.advise(emulator.loads(text), 1, jobs=1, most=1)
    [hint] = [each for each in advice.hints if each.id == "commit-more-often"]
    [change] = [each for each in advice.changes if each.id == "commit-more-often"]

    assert "broker_commit_interval" in hint.text
    assert "max.poll.records" not in hint.text
    assert change.overrides == ("group[billing].commit.every=500ms",)


def test_faust_commits_every_2_8_s_and_has_the_timeouts_of_its_settings():
    """``broker_commit_interval``, ``broker_session_timeout``, ``broker_max_poll_interval``."""
    group = group_of("faust")

    assert (group.commit.every, group.commit.records) == (2_800_000, 10_000)
    assert group.settings["session.timeout.ms"] == 60_000
    assert group.settings["max.poll.interval.ms"] == 1_000_000
