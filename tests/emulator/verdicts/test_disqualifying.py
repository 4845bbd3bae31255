"""Disqualified runs: the one rule for comparisons, trials and studies."""

from __future__ import annotations

import pytest

from emulator.verdicts.disqualifying import (
    INCONCLUSIVE,
    MEANINGS,
    REASONS,
    disqualified,
    mark,
    reasons_of,
    sentences,
)
from emulator.verdicts.verdict import EVERYTHING, Verdict, VerdictId


def verdict(name: VerdictId, **more: object) -> Verdict:
    """Return a verdict that says its own id."""
    return Verdict(id=name, sentence=f"it is {name}", **more)  # type: ignore[arg-type]


STOPPED = verdict(VerdictId.DEPLOY_STOPPED, problem=True)
SHORT = verdict(VerdictId.REBALANCING, cut_short=EVERYTHING)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (STOPPED, "deploy stopped"),
        (SHORT, "inconclusive"),
        (verdict(VerdictId.MEMBERS_DIED, problem=True), "members died"),
        (verdict(VerdictId.WITHOUT_OWNER, cut_short=EVERYTHING), "partition without owner"),
        (verdict(VerdictId.LONG_DOWNTIME, problem=True), "no owner for a minute"),
        (verdict(VerdictId.LAG_GROWS, problem=True), "lag grows"),
        (verdict(VerdictId.IN_FLIGHT, cut_short=EVERYTHING), "records unprocessed"),
    ],
)
def test_a_run_without_success_is_disqualified(found, reason):
    """Its sentence says what happened."""
    assert {reason: found.sentence} == reasons_of([found])


def test_a_problem_that_leaves_the_figures_comparable_disqualifies_nothing():
    """Flapping and idle replicas are judged by the figures."""
    flaps = verdict(VerdictId.AUTOSCALER_FLAPS, problem=True)

    assert {} == reasons_of([flaps, verdict(VerdictId.IDLE_REPLICAS, problem=True)])


def test_reasons_are_counted_over_runs():
    """The most frequent one is first; only partial ones have a number."""
    found = disqualified([[SHORT], [STOPPED, SHORT], []])

    assert "inconclusive (2 of 3), deploy stopped (1 of 3)" == mark(found, 3)
    assert "inconclusive: it is rebalancing (2 of 3 runs)" == next(sentences(found, 3))
    assert "deploy stopped" == mark(disqualified([[STOPPED]]), 1)


@pytest.mark.parametrize(("needless", "reasons"), [(2, set()), (1, {"fault did not fire"})])
def test_a_start_of_a_process_that_was_running_makes_a_run_no_worse(needless, reasons):
    """Of two faults that did not fire; a change that keeps a process alive has such starts."""
    missed = verdict(
        VerdictId.FAULT_MISSED,
        numbers={"faults": 2, "needless": needless},
        cut_short=EVERYTHING,
    )

    assert reasons == set(reasons_of([missed]))


def test_each_reason_has_a_meaning():
    """A table of a study has no sentence for each."""
    assert {*REASONS.values(), INCONCLUSIVE} == MEANINGS.keys()
