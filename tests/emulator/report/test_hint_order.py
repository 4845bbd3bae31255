"""Hints are in the order of the records that their causes account for, and say what they recommend."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.advising import reported
from emulator.loading import ScenarioText, load_named, load_text
from emulator.report.hints.given import hint_texts, hints_of
from emulator.report.subject import FinishedRun

DEPLOY = """
title = "a deploy of a group with a backlog"
run_for = "4min"

[[topic]]
name = "orders"
partitions = 12
rate = "12.5/s"
backlog = 5000

[[group]]
id = "billing"
topics = ["orders"]
members = 6
work = { lognormal = { median = "35ms", p99 = "90ms" } }
settings."auto.offset.reset" = "earliest"
settings."partition.assignment.strategy" = "ASSIGNOR"
commit = "COMMIT"

[[act]]
rolling_restart = "billing"
at = "1min"
down_time = "5s"
gap = "10s"
grace = "GRACE"
"""

LOSE = """
[[group.poison]]
topic = "orders"
partition = 0
offset = 5
error = "skip"
"""
"""Behind the act: a table of the group above it."""


def report_of(assignor: str, commit: str, grace: str, more: str = "", most: int = 3) -> FinishedRun:
    text = DEPLOY.replace("ASSIGNOR", assignor).replace("COMMIT", commit).replace("GRACE", grace)
    loaded = load_text(ScenarioText("deploy", "deploy", text + more, Path()))
    return reported(loaded, 0, most)[1]


@pytest.mark.parametrize(("commit", "asks_to_poll"), [("auto", False), ("sync", True)])
def test_refused_commits_after_long_batches_ask_for_smaller_ones(commit, asks_to_poll):
    """An application cannot repeat automatic commits: only for its own ones is there something to call."""
    report = report_of("cooperative-sticky", commit, "40s")
    hints = {hint.id: hint for hint in hints_of(report)}

    assert report.ledger.reprocessed == hints["smaller-batches"].records > 500
    assert asks_to_poll == ("poll-then-commit" in hints)
    assert "smaller-batches" == report.proposals[0].id
    assert "60 records take 2.3 s" in report.proposals[0].why


def test_batches_beyond_the_grace_period_ask_for_smaller_ones():
    """With the limit of the grace period, whatever the heartbeats."""
    report = report_of("range", "auto", "5s")
    hints = {hint.id: hint for hint in hints_of(report)}
    (change,) = [each for each in report.proposals if each.id == "smaller-batches"]

    assert ("crashed while uncommitted",) == hints["smaller-batches"].causes
    assert "the grace period is 5 s" in change.why


def test_the_cause_with_more_records_comes_first_whatever_its_kind():
    """A few lost records are less than thousands that are reprocessed, and each hint counts those of its causes."""
    report = report_of("cooperative-sticky", "auto", "40s", LOSE)
    hints = {hint.id: hint for hint in hints_of(report)}
    records = {name: hint.records for name, hint in hints.items()}

    assert [*records.values()] == sorted(records.values(), reverse=True)
    assert records["smaller-batches"] > records["dead-letter-topic"] > 0
    assert ("downtime", "commit refused") == hints["static-membership"].causes
    assert records["static-membership"] == records["smaller-batches"]


def test_a_hint_names_the_changes_that_have_another_id():
    """What is tried for it can be found by its name."""
    report = report_of("cooperative-sticky", "sync", "40s", most=6)
    (text,) = [each for each in hint_texts(report) if each.endswith("[rebalance-timeout]")]

    assert "shorter-poll-interval" in {each.id for each in report.proposals}
    assert "(Changes: shorter-poll-interval.)" in text


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("l4-assign-listener-throws", "catch-in-listener"),
        ("a5-two-applications-one-group", "separate-groups"),
    ],
)
def test_a_problem_whose_cost_is_in_time_comes_before_the_records(name, first):
    """A few records are reprocessed beside it."""
    report = reported(load_named(name), 0)[1]

    assert report.ledger.reprocessed > 0
    assert first == hints_of(report)[0].id
