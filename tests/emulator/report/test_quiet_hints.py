"""Hints on what a run did not show: a batch that outlasts the grace period, a backlog that is not read."""

from __future__ import annotations

import pytest

import emulator
from emulator.advising import reported
from emulator.loading import load_named
from emulator.report.hints.given import hints_of
from emulator.verdicts.verdict import VerdictId

DEPLOY = "rolling-restart-eager"
GRACE = "act[rolling_restart-1].grace"
WORK = "group[billing].work=40ms"


def longer_grace(*changes: str):
    """Return the hints on the grace period, and the ids of the proposed changes."""
    loaded = load_named(DEPLOY, ["run_for=70s", "topic[orders].rate=2/s", *changes])
    _, report = reported(loaded, 0)
    hints = [hint for hint in hints_of(report) if hint.id == "longer-grace"]
    return hints, {proposal.id for proposal in report.proposals}


def test_a_full_batch_that_outlasts_the_grace_period_is_named_without_a_victim():
    """With the numbers; the change is tried in further runs, as it may show its effect there."""
    (hint,), proposed = longer_grace(WORK, f"{GRACE}=10s", "act[rolling_restart-1].pre_stop=2s")

    assert "500 × 40 ms = 20 s" in hint.text  # noqa: RUF001
    assert "has 8 s from SIGTERM to SIGKILL" in hint.text
    assert "longer-grace" in proposed


@pytest.mark.parametrize(
    "changes",
    [
        (WORK, f"{GRACE}=30s"),
        (WORK, f"{GRACE}=10s", "group[billing].settings[max.poll.records]=100"),
        (WORK, f"{GRACE}=10s", "group[billing].commit={ call = 'sync', when = 'record' }"),
        (WORK,),
    ],
)
def test_a_batch_that_ends_in_time_or_costs_nothing_is_not_named(changes):
    """So do one with a commit for each record, and a restart that kills nobody."""
    assert longer_grace(*changes)[0] == []


BACKLOG = """
title = "a backlog"
run_for = "20s"

[[topic]]
name = "orders"
partitions = 2
rate = "1/s"
backlog = 300

[[group]]
id = "billing"
topics = ["orders"]
members = 1
work = "1ms"
"""


def unread(text: str) -> list[str]:
    run = emulator.run(emulator.loads(text), keep_events=False)
    return [each.sentence for each in run.verdicts if each.id is VerdictId.BACKLOG_UNREAD]


def test_a_backlog_that_latest_leaves_unread_is_a_problem():
    """A new group begins at the end, and the run looks as if all were processed."""
    (sentence,) = unread(BACKLOG)

    assert "billing did not read 600 records of the backlog of orders" in sentence


@pytest.mark.parametrize(
    "more",
    [
        'settings.auto.offset.reset = "earliest"\n',
        '[[act]]\nseek = "billing-0"\nto = "earliest"\nat = "10s"\n',
    ],
)
def test_a_backlog_that_is_read_is_no_problem(more):
    """At the start, or after a seek."""
    assert unread(BACKLOG + more) == []


def test_records_that_arrive_before_the_first_start_are_no_backlog():
    """A group that subscribes with latest expects them to be skipped."""
    assert unread(BACKLOG.replace("backlog = 300", "")) == []
