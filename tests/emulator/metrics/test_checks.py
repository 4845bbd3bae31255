"""Expectations over one run and over seeds."""

from __future__ import annotations

import pytest

from emulator.metrics.checks import check_expectations, is_expectable
from emulator.metrics.metrics import Metrics

CAUSE = "reprocessed.by_cause[two owners at once]"


def run(reprocessed, owners=0):
    return Metrics(
        {"reprocessed": reprocessed, "lost": 0},
        {"reprocessed.by_cause": {"two owners at once": owners} if owners else {}},
    )


RUNS = [run(value) for value in range(1, 101)]


def test_a_bound_over_one_run_holds_or_does_not():
    """Each expectation has what was measured and a message."""
    bounds = {"lost": ("==", 0), "reprocessed": ("<=", 200)}
    kept = check_expectations(bounds, [run(200)])
    broken = check_expectations(bounds, [run(240)])

    assert [True, True] == [expected.ok for expected in kept]
    assert [True, False] == [expected.ok for expected in broken]
    assert "reprocessed is 240, expected <= 200" == broken[1].message


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("reprocessed.p95", 95),
        ("reprocessed.p50", 50),
        ("reprocessed.p99.5", 100),
        ("reprocessed.mean", 50.5),
        ("reprocessed.min", 1),
        ("reprocessed.max", 100),
    ],
)
def test_a_statistic_over_seeds(name, measured):
    """Percentiles are order statistics; mean, min and max are what they are."""
    (expected,) = check_expectations({name: ("==", measured)}, RUNS)

    assert expected.ok
    assert measured == expected.measured


def test_without_a_statistic_every_run_must_hold():
    """The one farthest off is named, and how many are outside."""
    (expected,) = check_expectations({"reprocessed": ("<=", 97)}, RUNS)

    assert (False, 100) == (expected.ok, expected.measured)
    assert "reprocessed is 100, expected <= 97 (3 of 100 runs are outside)" == expected.message


@pytest.mark.parametrize(
    ("relation", "value", "worst"), [(">=", 1, 1), (">", 0, 1), ("<", 101, 100), ("==", 90, 1)]
)
def test_the_worst_run_depends_on_the_relation(relation, value, worst):
    """Low values are bad where a lower bound is set."""
    (expected,) = check_expectations({"reprocessed": (relation, value)}, RUNS)

    assert worst == expected.measured


def test_a_cause_can_be_bounded():
    """An entry of a table counts 0 where it is absent."""
    bounds = {CAUSE: ("==", 0), f"{CAUSE}.max": ("<=", 4)}

    assert [False, False] == [e.ok for e in check_expectations(bounds, [run(5, 5), run(5)])]
    assert [True, True] == [e.ok for e in check_expectations(bounds, [run(5)])]


def test_an_unknown_name_is_refused_with_the_nearest():
    """A misspelt metric never passes silently."""
    with pytest.raises(KeyError, match="did you mean reprocessed"):
        check_expectations({"reproccessed.p95": ("<=", 1)}, RUNS)


def test_names_can_be_checked_before_a_run():
    """Values, entries of tables, and statistics of both."""
    good = ["lost", "takeover_last_s.p95", CAUSE, f"{CAUSE}.mean"]
    bad = ["losses", "lost.p", "lost.p95x", "reprocessed.by_cause", "lost.median"]

    assert [] == [name for name in good if not is_expectable(name)]
    assert [] == [name for name in bad if is_expectable(name)]


CUT = {"reprocessed": "a rebalance had run for 3 s"}


@pytest.mark.parametrize(
    ("bound", "outcome"),
    [
        (("<=", 10), (False, True)),
        (("<=", 4), (False, False)),
        ((">=", 5), (True, False)),
        ((">", 5), (False, True)),
        (("==", 4), (False, False)),
        (("==", 5), (False, True)),
    ],
)
def test_a_run_cut_short_decides_what_can_only_grow(bound, outcome):
    """Five records so far: more than four for certain, ten or fewer not yet."""
    (expected,) = check_expectations({"reprocessed": bound}, [run(5)], [CUT])

    assert outcome == (expected.ok, expected.inconclusive)


def test_one_run_cut_short_leaves_all_inconclusive():
    """Unless another one fails."""
    runs, cuts = [run(5), run(6), run(7)], [{}, CUT, {}]
    (undecided,) = check_expectations({"reprocessed.p95": ("<=", 10)}, runs, cuts)
    (worst,) = check_expectations({"reprocessed": ("<=", 10)}, runs, cuts)
    (failed,) = check_expectations({"reprocessed": ("<=", 6)}, runs, cuts)
    (other,) = check_expectations({"lost": ("==", 0)}, runs, cuts)

    assert [True, True] == [undecided.inconclusive, worst.inconclusive]
    assert worst.message.endswith("a rebalance had run for 3 s at the end (in 1 of 3 runs)")
    assert (False, False) == (failed.inconclusive, failed.ok)
    assert other.ok


def test_a_table_is_cut_short_with_its_metric():
    """Its entries are parts of the same figure."""
    (expected,) = check_expectations({CAUSE: ("<=", 10)}, [run(5, 5)], [CUT])

    assert expected.inconclusive


def taken(seconds):
    """A run with a takeover, or without one."""
    missing = frozenset({"takeover_first_s"} if seconds is None else ())
    return Metrics({"takeover_first_s": seconds or 0}, without_value=missing)


@pytest.mark.parametrize(
    ("relation", "runs", "outcome"),
    [
        ("<=", [None], (False, None)),
        ("none or <=", [None], (True, None)),
        ("none or <=", [4], (True, 4)),
        ("none or <=", [6], (False, 6)),
        ("<=", [4, None], (False, None)),
        ("none or <=", [4, None], (True, 4)),
        ("none or <=", [None, 6], (False, 6)),
    ],
)
def test_a_metric_without_a_value_meets_no_bound(relation, runs, outcome):
    """Nothing was taken over: that is no short takeover, unless the bound allows it."""
    bounds = {"takeover_first_s": (relation, 5)}
    (expected,) = check_expectations(bounds, [taken(value) for value in runs])

    assert outcome == (expected.ok, expected.measured)
    assert relation == expected.relation


def test_a_missing_value_says_what_is_missing_and_how_to_allow_it():
    """In a run that was long enough; in a short one it may still come."""
    bounds = {"takeover_first_s": ("<=", 5)}
    (failed,) = check_expectations(bounds, [taken(None)])
    (early,) = check_expectations(bounds, [taken(None)], [{"takeover_first_s": "too short"}])

    assert failed.message == (
        "takeover_first_s has no value: nothing was taken over; expected <= 5 "
        '(to allow it: "none or <= 5")'
    )
    assert not failed.inconclusive
    assert early.inconclusive
