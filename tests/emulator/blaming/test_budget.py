"""The time of a search is bounded, whatever the log."""

from __future__ import annotations

import pytest

from emulator.blaming import trials
from emulator.blaming.budget import (
    BUDGET_S,
    COMMITTED_S,
    MIN_HAPPENINGS,
    MIN_POLICIES,
    Costs,
    is_exact,
    within,
)
from emulator.blaming.case import case_of
from emulator.blaming.completing import completed
from emulator.blaming.evidence import Evidence
from emulator.blaming.happening import NOTHING
from emulator.blaming.policies import Policy
from emulator.blaming.trials import blame_for
from emulator.errors import RefusedError
from emulator.scenario.load import scenario_of, tidy
from emulator.scenario.part import ScenarioSource

from .incidents import SETUP, evidence, steady

AUTOMATIC, BATCHES = Policy("automatic", "auto"), Policy("batches", "sync")


def crash(every_s: float) -> Evidence:
    """Return two consumers, of which one stops at 100 s and another one repeats a record."""
    return evidence(
        steady("a", 0, 1, 100, every_s=every_s),
        steady("b", 1, 1, 160, every_s=every_s),
        steady("b", 0, 107, 160, first=int(99 / every_s) - 10, every_s=every_s),
        commits=[(at, 1, int(at / every_s)) for at in range(5, 160, 5)],
        generations=(0, 107),
    )


def costs_of(seen: Evidence) -> Costs:
    case = case_of(seen, SETUP)

    def scenario(policy):
        return scenario_of(tidy(completed(case.base, policy, NOTHING, 0)), ScenarioSource("blame"))

    return Costs(case, scenario)


def test_records_of_exact_runs_count_and_those_with_commits_of_the_application_count_more():
    few, many = crash(every_s=0.2), crash(every_s=0.1)

    assert is_exact(case_of(many, SETUP))
    assert costs_of(few).run_s(AUTOMATIC) < costs_of(many).run_s(AUTOMATIC)
    assert costs_of(many).run_s(AUTOMATIC) < costs_of(many).run_s(BATCHES)
    assert costs_of(many).run_s(BATCHES) > COMMITTED_S * case_of(many, SETUP).records


def test_consumers_that_always_work_poll_once_a_batch():
    """So do commits after each batch; those at an interval do not depend on polls."""
    busy = evidence(
        steady("a", 0, 1, 30, every_s=0.01),
        steady("b", 1, 1, 60, every_s=0.01),
        commits=[(at, 1, at * 100) for at in range(5, 60, 5)],
        generations=(0, 37),
    )
    every = Policy("interval", {"call": "sync", "when": "every", "every": "5s"})
    costs = costs_of(busy)

    assert case_of(busy, SETUP).busy
    assert costs.run_s(BATCHES) < 0.1 * COMMITTED_S * case_of(busy, SETUP).records
    assert costs.run_s(every) < costs.run_s(BATCHES)


def test_a_run_without_a_happening_ends_earlier():
    costs = costs_of(crash(every_s=0.1))

    assert costs.quiet_s(BATCHES) < costs.run_s(BATCHES)


def test_a_budget_is_kept_but_for_the_least_number():
    assert within(5, "abcd", lambda _: 2.0) == ["a", "b"]
    assert within(5, "abcd", lambda _: 2.0, least=3) == ["a", "b", "c"]
    assert within(0, "abcd", lambda _: 2.0) == []


@pytest.mark.parametrize("run_s", [0.01, 1.0, 5.0])
def test_costly_runs_are_fewer(monkeypatch, run_s):
    """Nothing is played: each run costs what the test says, and shows what was seen."""
    seen = crash(every_s=0.5)
    number = 0

    def play(_self, _scenario, _seed):
        nonlocal number
        number += 1
        return seen

    monkeypatch.setattr(trials._Runs, "_play", play)
    monkeypatch.setattr(Costs, "_estimated", lambda _self, _policy: run_s)
    blame_for(seen, SETUP, seeds=2)

    assert number * run_s <= BUDGET_S + (MIN_POLICIES + MIN_HAPPENINGS) * run_s
    assert number >= MIN_POLICIES + MIN_HAPPENINGS


def test_a_log_of_which_no_run_ends_in_time_is_refused(monkeypatch):
    monkeypatch.setattr(Costs, "_estimated", lambda _self, _policy: 100.0)

    with pytest.raises(RefusedError, match="choose less time with --from and --to"):
        blame_for(crash(every_s=0.5), SETUP)
