"""The results of a scenario: figures, what never happened, and comparisons that prove nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import emulator
from emulator.errors import RefusedError
from emulator.testing.figures import comparison_message
from emulator.testing.ledger_files import LedgerFiles
from emulator.testing.playing import play_seeds
from emulator.testing.results import Results
from tests.emulator.small_scenario import SMALL


def results(*overrides, seeds=(0,)):
    """Return the results of the small scenario: 15 records are reprocessed after a crash."""
    scenario = emulator.loads(SMALL, overrides=overrides)
    return Results(scenario, play_seeds(scenario, seeds), "", LedgerFiles(Path(), update=False))


@pytest.fixture(scope="module")
def small():
    return results()


@pytest.fixture
def too_short():
    """Return a run that ends a second after its crash."""
    return results("run_for=15s")


def test_figures_compare_in_every_way(small):
    """And only what fails is kept, in the order of the test."""
    figure = small.reprocessed

    assert figure == 15
    assert 15 == figure
    assert figure != 14
    assert 14 < figure < 16
    assert small.claims == []
    assert not figure < 15
    assert not figure >= 16
    assert [claim.message for claim in small.claims[-2:]] == [
        "reprocessed is 15, expected < 15",
        "reprocessed is 15, expected >= 16",
    ]
    assert float(figure) == 15.0


def test_a_message_is_the_same_whichever_side_the_figure_is_on(small):
    assert comparison_message(">=", 3, small.lost) == comparison_message("<=", small.lost, 3)
    assert comparison_message("in", small.lost, 3) is None


def test_a_figure_alone_is_no_condition(small):
    """``assert run.lost`` would be true for a loss."""
    with pytest.raises(RefusedError, match="lost is a figure; compare it: lost == 0"):
        assert small.lost


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda run: run.reprocesed, "did you mean reprocessed"),
        (lambda run: run.reprocessed.by_couse, 'did you mean "by_cause"'),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(small, read, message):
    with pytest.raises(AttributeError, match=message):
        read(small)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda run: run.never("two owner at"), 'did you mean "two owners at once"'),
        (lambda run: run.never(""), "no cause, warning or metric begins so"),
        (lambda run: run.rebalances_per("crush"), 'did you mean "crash"'),
    ],
)
def test_a_question_about_nothing_is_refused(small, read, message):
    """Nothing would have been tested."""
    with pytest.raises(RefusedError, match=message):
        read(small)


def test_never_names_what_happened(small):
    """A cause by its first words, or a metric."""
    assert not small.never("crashed")
    assert not small.never("evictions")
    assert small.never("revoked while uncommitted")
    assert [claim.message for claim in small.claims[-2:]] == [
        "number of records with the cause 'crashed while uncommitted' is 15, expected == 0",
        "evictions is 1, expected == 0",
    ]


@pytest.mark.parametrize(
    "holds",
    [
        lambda run: run.reprocessed == 0,
        lambda run: run.reprocessed != 15,
        lambda run: run.never("crashed while uncommitted"),
        lambda run: run.rebalances_per("crash") == 0,
    ],
)
def test_a_run_that_is_too_short_proves_nothing(too_short, holds):
    """The crash is a second old; the claim says why it is open."""
    assert not holds(too_short)
    (claim,) = too_short.claims
    assert "1 partition of billing had no owner" in claim.message


def test_rebalances_are_counted_for_each_restart():
    """Two for each of two restarts: it leaves, and joins again."""
    run = results(
        'fault=[{rolling_restart="billing", at="10s", down_time="5s", gap="9s"}]', "run_for=60s"
    )

    assert run.rebalances_per("restart").values == (2, 2)
    assert run.rebalances_per("rolling_restart").values == (4,)
    assert run.rebalances_per("rolling_restart-1/billing-1") == 2


def test_a_restart_with_surge_is_a_restart():
    """Two rebalances: its successor joins, and it leaves."""
    run = results(
        'fault=[{rolling_restart="billing", at="10s", surge=1, ready_after="9s", gap="9s"}]',
        "run_for=90s",
    )

    assert run.rebalances_per("restart").values == run.rebalances_per("surge").values == (2, 2)


def test_a_run_without_a_restart_is_refused_instead_of_compared():
    """The search for the smallest scenario removes faults, and counts a refusal as no failure."""
    restart = "fault=[{rolling_restart='billing', at='10s', down_time='5s', gap='9s'}]"
    run = results(restart, "run_for=60s")
    assert not run.rebalances_per("restart") > 99
    (claim,) = run.claims

    with pytest.raises(RefusedError, match="nothing can be compared"):
        claim.holds(results("fault=[]", "run_for=5s").runs)


def test_a_comparison_that_a_run_is_too_short_for_says_so(too_short):
    """The run has lost nothing yet; that alone would read as a success."""
    run = replace(too_short, claims=[])

    held = run.lost == 0

    assert not held
    assert str(comparison_message("==", run.lost, 0)).startswith("inconclusive: lost is 0")


@pytest.mark.parametrize("update", [False, True])
def test_the_ledger_of_an_inconclusive_run_is_neither_written_nor_accepted(
    too_short, tmp_path, update
):
    """A longer run could have another one."""
    run = replace(too_short, ledger_files=LedgerFiles(tmp_path, update), claims=[])
    if not update:
        LedgerFiles(tmp_path, update=True).differences("small.json", run.runs)

    assert not run.matches_ledger("small.json")
    (claim,) = run.claims
    assert "with seed 0 is inconclusive: 1 partition of billing had no owner" in claim.message
    assert (tmp_path / "small.json").exists() is not update
