"""Commits that rebalances refuse: what ends them is named and tried, also where no record is reprocessed."""

from __future__ import annotations

import pytest

import emulator
from emulator.ledger.entries import Cause
from emulator.loading import load_text, text_of_scenario
from emulator.report.hints.advice import hints_for
from emulator.report.hints.cases import Case
from emulator.report.proposals import Effect, Trial
from emulator.subjects import subject_of

from .test_trials import PROPOSAL, runs

RESTART = """
title = "a listener container of Spring is restarted in a cooperative group"
run_for = "50s"
topic = [{ name = "orders", partitions = 4, rate = "10/s" }]
act = [{ close = "billing-1", at = "20s", restart_after = "2s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 3
work = "20ms"
framework = "spring-record"
settings = { "partition.assignment.strategy" = "cooperative-sticky", "auto.offset.reset" = "earliest" }
"""

ENDS_THEM = {"static-membership", "eager", "consumer-protocol"}


@pytest.fixture(scope="module")
def advice():
    """Return the advice for a restart that refuses commits, of one seed."""
    return emulator.advise(emulator.loads(RESTART), 1, jobs=1)


@pytest.mark.long
def test_each_hint_ends_the_refused_commits(advice):
    """The run itself shows it; none of its records was reprocessed."""
    assert 0 == advice.run.ledger.reprocessed
    assert ENDS_THEM == {trial.proposal.id for trial in advice.trials}
    for trial in advice.trials:
        before, after = trial.means("commits_refused")
        assert (before or 0) > 10 > after == 0
        assert trial.differences()["commits_refused"] < 0
        assert trial.effect in (Effect.BETTER, Effect.MIXED)


def test_refused_commits_that_the_next_ones_cover_are_no_reason_for_another_protocol():
    """At most one of each member meets a rebalance here; Spring's after each record are put at risk."""
    rare = RESTART.replace('framework = "spring-record"', 'commit = "sync"')
    rare = rare.replace("10/s", "0.5/s").replace("20ms", "800ms")
    run = emulator.run(emulator.loads(rare))
    calm, at_risk = map(hints_after, (rare, RESTART))

    assert run.metrics["commits_refused"] == run.metrics["commits_refused_covered"] == 6
    assert "static-membership" in calm
    assert calm.isdisjoint({"eager", "consumer-protocol"})
    assert ENDS_THEM <= at_risk


def hints_after(text: str) -> set[str]:
    """Return the ids of the hints of a run."""
    return {hint.id for hint in emulator.advise(emulator.loads(text), 1, most=0, jobs=1).hints}


@pytest.mark.long
def test_the_table_of_trials_has_the_refused_commits(advice):
    """They are what the changes are tried for."""
    assert "| refused" in str(advice)


def test_a_framework_that_keeps_refused_commits_is_not_asked_to_repeat_them():
    """Spring's container commits them behind its next poll; a handler of one's own may not."""
    by_itself = 'commit = { call = "sync", when = "record" }'
    own = RESTART.replace('framework = "spring-record"', by_itself)

    assert "poll-then-commit" not in hints_of_refusals(RESTART)
    assert "poll-then-commit" in hints_of_refusals(own)


def hints_of_refusals(text: str) -> list[str]:
    """Return the hints for records that are reprocessed since a rebalance refused their commit."""
    subject = subject_of(load_text(text_of_scenario(emulator.loads(text))))
    case = Case(
        cause=Cause.REFUSED,
        subject=subject,
        group=subject.groups[0],
        details=frozenset({"REBALANCE_IN_PROGRESS"}),
        verbs=frozenset(),
        evictions=frozenset(),
        given_twice=False,
    )
    return [hint.id for hint in hints_for(case)]


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({"commits_refused": [5, 5]}, {"commits_refused": [0, 0]}, Effect.BETTER),
        ({"commits_refused": [0, 0]}, {"commits_refused": [5, 5]}, Effect.NONE),
        (
            {"lost": [5, 5], "rebalances": [2, 2]},
            {"lost": [4, 9], "rebalances": [1, 1]},
            Effect.MIXED,
        ),
    ],
)
def test_more_refused_commits_are_no_harm_but_a_higher_mean_is(before, after, effect):
    """What refusals cost is in the records; no change is better beside a mean of them that rises."""
    trial = Trial(proposal=PROPOSAL, seeds=(0, 1), before=runs(**before), after=runs(**after))

    assert effect == trial.effect
