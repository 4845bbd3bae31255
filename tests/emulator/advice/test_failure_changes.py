"""Advice for members that fail, drop out, or are removed: the change is confirmed by its run."""

from __future__ import annotations

import pytest

import emulator
from emulator.advice.proposing import changed
from emulator.advising import reported
from emulator.loading import load_named
from emulator.report.hints.given import hints_of
from emulator.report.proposals import Effect
from emulator.verdicts.verdict import VerdictId


@pytest.mark.long
def test_paused_retries_let_the_group_pass_the_record():
    name = "c4-retries-block-the-poll-loop"
    (proposed,) = [c for c in emulator.advise(name, seeds=1).changes if c.id == "pause-retries"]
    metrics = emulator.run(emulator.load(name, overrides=proposed.overrides), 0).metrics

    assert metrics["drop_outs"] == metrics["reprocessed"] == metrics["lost"] == 0


@pytest.mark.parametrize(
    "name", ["record-skipped", pytest.param("spring-kept-commits", marks=pytest.mark.long)]
)
def test_records_in_a_dead_letter_topic_are_not_lost(name):
    (proposed,) = [c for c in emulator.advise(name, seeds=1).changes if c.id == "forward-failed"]
    before, after = (
        emulator.run(emulator.load(name, overrides=overrides), 0).metrics
        for overrides in ((), proposed.overrides)
    )

    assert before["lost"] == after["forwarded"] > 0
    assert after["lost"] == 0


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(
    ("name", "change", "why", "problem"),
    [
        (
            "a3-drain-beyond-interval",
            "longer-poll-interval",
            "a call of the listener 6.5 s",
            VerdictId.MEMBER_LOOP,
        ),
        (
            "b3-stopped-during-a-rebalance",
            "longer-grace",
            "a call of the listener 8 s, and the grace period is 5 s",
            VerdictId.KILLED_IN_GROUP,
        ),
        (
            "b4-close-beyond-session",
            "shorter-listener",
            "the session times out after 10 s",
            VerdictId.REMOVED_IN_CLOSE,
        ),
        (
            "m3-set-up-beyond-interval",
            "longer-poll-interval",
            "a call of the listener 40 s",
            VerdictId.NOTHING_PROCESSED,
        ),
        (
            "k4-threads-share-an-id",
            "own-instance-id",
            "has the group.instance.id of billing-0",
            VerdictId.MEMBERS_DIED,
        ),
        (
            "n2-member-that-never-syncs",
            "shorter-poll-interval",
            "waits up to max.poll.interval.ms = 1 min 30 s",
            VerdictId.LONG_DOWNTIME,
        ),
    ],
)
def test_the_first_change_for_an_incident_removes_its_problem(name, change, why, problem):
    """It is proposed first, with the numbers that it follows from."""
    loaded = load_named(name)
    before, report = reported(loaded, 0)
    first = report.proposals[0]
    after = emulator.run(changed(loaded, first), 0, keep_events=False)

    assert problem in {verdict.id for verdict in before.verdicts}
    assert (first.id, why in first.why) == (change, True)
    assert problem not in {verdict.id for verdict in after.verdicts}


@pytest.mark.parametrize("name", ["c1-slow-record-loop", "p6-one-bounce"])
def test_a_group_that_dies_or_loops_gets_no_advice_on_restarts(name):
    """Instance ids and cooperative assignors do not help it; batches do not shorten one record."""
    hints = {hint.id for hint in hints_of(reported(load_named(name), 0)[1])}

    assert hints
    assert {"static-membership", "smaller-batches"}.isdisjoint(hints)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("k1-instance-id-reused", "own-instance-id"),
        ("reader-without-group-id", "group-id-and-commits"),
        pytest.param("u2-monitor-window", "commit-more-often", marks=pytest.mark.long),
    ],
)
def test_the_change_that_helps_most_is_tried_first_and_called_better(name, change):
    """With its own id no process is fenced, and the start that replaced one is needless, not missing."""
    best = emulator.advise(name, seeds=1).trials[0]

    assert best.proposal.id == change
    assert best.effect is Effect.BETTER
    assert not best.disqualified


@pytest.mark.parametrize(
    ("name", "given", "not_given"),
    [
        ("k3-rejoin-not-in-the-log", "newer-brokers", "own-instance-id"),
        ("i7-reset-at-each-assignment", "as-the-client-does", "find-removal"),
        pytest.param(
            "seek-back-after-a-bug", "seek-no-further", "check-seek", marks=pytest.mark.long
        ),
    ],
)
def test_hints_do_not_name_what_did_not_happen(name, given, not_given):
    """No two processes had one id, nothing removed an offset, and the seek was an act of the scenario."""
    _, report = reported(load_named(name), 0)
    found = {hint.id for hint in hints_of(report)}

    assert given in found
    assert not_given not in found
