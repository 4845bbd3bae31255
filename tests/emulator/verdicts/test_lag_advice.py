"""The advice for lag that grows although members have time: what it changes when applied."""

from __future__ import annotations

from dataclasses import replace

import pytest

import emulator
from emulator.advising import reported
from emulator.loading import load_named
from emulator.report.hints.given import hints_of
from emulator.report.hints.lag import lag_grows
from emulator.subjects import subject_of
from emulator.verdicts.verdict import Verdict, VerdictId

SMALL_BATCHES = """
title = "five records a poll"
run_for = "100s"
network.latency = "100ms"
topic = [{ name = "orders", partitions = 1, rate = "40/s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 1
work = "1ms"
commit = "sync"
settings = { "auto.offset.reset" = "earliest", "max.poll.records" = 5 }
"""
EVERY_FAILING = """
[[group.poison]]
topic = "orders"
partition = 0
every = 150
error = "retry"
attempts = 3
backoff = "3s"
"""


def problems(run: emulator.Run) -> set[VerdictId]:
    """Return the problems of a run."""
    return {verdict.id for verdict in run.verdicts if verdict.problem}


def changed_by(advice: emulator.Advice, name: str) -> emulator.Run:
    """Play the scenario of some advice with one of its changes."""
    change = next(each for each in advice.changes if each.id == name)
    return emulator.run(emulator.load(advice.run.scenario, change.overrides), keep_events=False)


@pytest.mark.long
def test_larger_batches_end_the_waits_for_commits():
    """less-waiting: a commit takes 200 ms, five records 5 ms."""
    advice = emulator.advise(emulator.loads(SMALL_BATCHES), 1, jobs=1)
    after = changed_by(advice, "larger-batches")

    assert "less-waiting" in {hint.id for hint in advice.hints}
    assert VerdictId.LAG_GROWS in problems(advice.run)
    assert VerdictId.LAG_GROWS not in problems(after)
    assert after.metrics["backlog"] < 200 < advice.run.metrics["backlog"]
    assert "peak lag" in str(advice)


@pytest.mark.long
def test_members_that_wait_for_back_offs_do_not_wait_for_commits():
    """Larger batches would change nothing."""
    text = SMALL_BATCHES.replace('"max.poll.records" = 5', '"max.poll.records" = 500')
    advice = emulator.advise(emulator.loads(text + EVERY_FAILING), 1, jobs=1)
    hints = {hint.id for hint in advice.hints}

    assert problems(advice.run) & {VerdictId.LAG_GROWS, VerdictId.OVERLOAD}
    assert "forward-failing" in hints
    assert "less-waiting" not in hints


def test_single_records_that_fail_are_named():
    """Rules for single offsets take no share of the rate, but members wait for them, too."""
    numbers = {"busiest": 0.4, "idlest": 0.4, "failing": 0.0, "failed": 3}
    grows = Verdict(id=VerdictId.LAG_GROWS, sentence="", numbers=numbers)
    group = subject_of(load_named("member-crashes")).groups[0]
    waits = replace(grows, numbers={**numbers, "failed": 0})

    (hint,) = lag_grows(grows, group, ())
    assert ("forward-failing", "3 records took") == (hint.id, hint.text[:14])
    assert ["less-waiting"] == [each.id for each in lag_grows(waits, group, ())]


def test_a_number_of_members_that_divides_the_partitions_ends_the_lag():
    """even-partitions: members with three of twelve partitions are overloaded."""
    advice = emulator.advise("g4-replicas-and-partitions", 1, overrides=["run_for=100s"], jobs=1)
    after = changed_by(advice, "more-members")

    assert "even-partitions" in {hint.id for hint in advice.hints}
    assert VerdictId.OVERLOAD in problems(advice.run)
    assert not problems(after)
    assert after.metrics["backlog"] < 300 < advice.run.metrics["backlog"]


def test_members_that_the_group_keeps_from_working_get_no_hint_on_polls():
    """A leader that is removed while its assignor computes: larger batches do not help."""
    hints = {hint.id for hint in hints_of(reported(load_named("q4-slow-assignor"), 0)[1])}

    assert "session-above-assignor" in hints
    assert "less-waiting" not in hints


@pytest.mark.long
def test_a_queue_for_what_arrives_beside_a_slow_record_ends_the_lag():
    """larger-queue: twelve workers, and twelve records of which most wait behind slow ones."""
    advice = emulator.advise("s3-pool-slower-than-threads", 1, jobs=1)
    after = changed_by(advice, "larger-queue")

    assert "larger-queue" in {hint.id for hint in advice.hints}
    assert VerdictId.LAG_GROWS in problems(advice.run)
    assert not problems(after)
    assert after.metrics["backlog"] < 300 < advice.run.metrics["backlog"]


def test_a_queue_that_holds_what_arrives_is_not_the_reason():
    """Workers without records, and a queue with room for more."""
    numbers = {"busiest": 0.3, "idlest": 0.1, "failing": 0.0, "failed": 0}
    numbers |= {"topics": 1, "even_members": 0}
    grows = Verdict(id=VerdictId.LAG_GROWS, sentence="", numbers=numbers)
    group = subject_of(load_named("s3-pool-slower-than-threads")).groups[0]

    assert "larger-queue" in {each.id for each in lag_grows(grows, group, ())}
    for changed in (replace(group, queue=500), replace(group, queue=0)):
        assert "larger-queue" not in {each.id for each in lag_grows(grows, changed, ())}
    busy = replace(grows, numbers={**numbers, "busiest": 0.95})
    assert "larger-queue" not in {each.id for each in lag_grows(busy, group, ())}


@pytest.mark.long
def test_partitions_for_the_members_that_are_idle_end_the_overload():
    """more-partitions: the same records in more partitions, for fifteen members instead of five."""
    advice = emulator.advise("s5-more-members-than-partitions", 1, jobs=1)
    after = changed_by(advice, "more-partitions")

    assert VerdictId.OVERLOAD in problems(advice.run)
    assert not problems(after)
    assert after.metrics["backlog"] < 50 < advice.run.metrics["backlog"]
    assert after.metrics["processed"] > advice.run.metrics["processed"]


@pytest.mark.parametrize(
    "override",
    [
        "topic[orders].keys={ count = 100 }",
        "topic[orders].skew=[2]",
        'topic[orders].rate={ poisson = "10/s" }',
    ],
)
def test_partitions_are_not_added_where_it_is_not_known_what_they_would_get(override):
    """Keys, skewed and random rates."""
    overrides = [override]
    advice = emulator.advise("s5-more-members-than-partitions", 1, overrides=overrides, jobs=1)

    assert "more-partitions" not in {change.id for change in advice.changes}
