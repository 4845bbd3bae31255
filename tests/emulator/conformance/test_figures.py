"""Figures are inside or outside by the rules the project promised."""

import json
from dataclasses import replace

import pytest

from emulator.conformance.figures import (
    EQUAL,
    NOT_JUDGED,
    Figure,
    Tolerances,
    Verdict,
    compare,
    compare_records,
    inside_range,
    judge_by_seeds,
    tolerance,
    tolerances_of,
)
from emulator.conformance.history.run import history
from emulator.conformance.observed import Observed, View, observe

TERMS = Tolerances(
    view=View(prefix="", fault_us=0, faulted=None, end_us=1), tolerance=25.0, takeover_s=0.5
)
REAL = Observed(
    generations=(1, 2),
    rebalances=1,
    assignments={1: {"m1.1": ("t0-0", "t0-1")}, 2: {"m1.1": ("t0-0",), "m2.1": ("t0-1",)}},
    calls={"m1.1": (("assigned", ("t0-0", "t0-1")), ("revoked", ("t0-1",)))},
    duplicates={"t0-0": 40, "t0-1": 3},
    lost={},
    takeovers={"t0-0": 7.0, "t0-1": 9.5},
    owners={"t0-0": "m1.1", "t0-1": "m1.1"},
    stalls={"t0-0": 9.0, "t0-1": 12.0},
    first_commit_s=9.6,
    commit_wait_s=0.3,
    commits={"m1.1": 6},
)


def judged(emulated, real=REAL, tolerances=TERMS):
    return {figure.name: figure for figure in compare(real, emulated, tolerances)}


def test_a_run_is_inside_itself():
    """Real against real: every figure is inside."""
    assert all(figure.inside for figure in compare(REAL, REAL, TERMS))


def test_the_figures_have_their_names():
    """One figure a thing, with its partition, consumer or generation in the name."""
    expected = [
        "generations",
        "rebalances",
        "assignments.1",
        "assignments.2",
        "calls.m1.1",
        "duplicates",
        "duplicates.t0-0",
        "duplicates.t0-1",
        "lost",
        "takeover_first_s",
        "takeover_last_s",
        "commits.m1.1",
    ]
    assert expected == list(judged(REAL))


def test_of_epochs_there_are_figures_where_a_group_has_them():
    """Of the group, of each target and of each consumer; they are equal or outside."""
    real = replace(
        REAL,
        epochs=(2, 3),
        targets={2: {"m1.1": ("t0-0", "t0-1")}},
        steps={"m1.1": (("2 STABLE", ("t0-0", "t0-1")),)},
    )
    other = replace(real, epochs=(2, 4), steps={"m1.1": (("2 STABLE", ("t0-0",)),)})
    found = judged(other, real)

    assert ["epochs", "targets.2", "steps.m1.1"] == list(found)[5:8]
    assert [False, True, False] == [found[name].inside for name in list(found)[5:8]]
    assert [["2 STABLE", ["t0-0"]]] == found["steps.m1.1"].emulated


@pytest.mark.parametrize(
    ("rate", "work_us", "records"),
    [(20, 10_000, 25.0), (20, 5_000, 50.0), (20, 100_000, 5.0), (200, 10_000, 50.0), (1, 0, 5.0)],
)
def test_the_tolerance_is_a_quarter_second_of_work_or_production(rate, work_us, records):
    """The faster of the two decides, and at least five records may differ."""
    assert records == tolerance(rate, work_us)


def test_duplicates_may_differ_by_the_tolerance_in_each_partition():
    """A partition is judged by the tolerance, the run by as many as it has touched ones."""
    near = judged(replace(REAL, duplicates={"t0-0": 65, "t0-1": 28}))
    far = judged(replace(REAL, duplicates={"t0-0": 66, "t0-1": 3}))

    assert (near["duplicates"].allowed, near["duplicates"].inside) == (50.0, True)
    assert near["duplicates.t0-0"].inside
    assert not far["duplicates.t0-0"].inside
    assert far["duplicates"].inside


def test_a_loss_that_only_the_emulation_has_is_a_figure():
    """A partition that is touched on one side alone is compared with none."""
    found = judged(replace(REAL, lost={"t0-5": 30}))

    assert Figure("lost.t0-5", 0, 30, 25.0, inside=False) == found["lost.t0-5"]
    assert not found["lost"].inside


def test_without_any_loss_none_is_allowed():
    """No touched partition, no tolerance: nothing equals nothing."""
    assert Figure("lost", 0, 0, 0.0, inside=True) == judged(REAL)["lost"]


@pytest.mark.parametrize(
    ("first", "inside"), [(7.69, True), (6.31, True), (7.71, False), (6.29, False)]
)
def test_the_first_takeover_may_differ_by_a_tenth(first, inside):
    """Ten percent of seven seconds are more than half a second."""
    found = judged(replace(REAL, takeovers={"t0-0": first, "t0-1": 99.0}))

    assert inside == found["takeover_first_s"].inside
    assert (found["takeover_last_s"].allowed, found["takeover_last_s"].inside) == (NOT_JUDGED, True)


def test_a_quiet_machine_allows_less_of_a_short_takeover():
    """Half a second, or 0.3 s for the quiet runs, where ten percent are less."""
    real = replace(REAL, takeovers={"t0-0": 1.0})
    emulated = replace(REAL, takeovers={"t0-0": 1.4})

    assert judged(emulated, real)["takeover_first_s"].inside
    quiet = replace(TERMS, takeover_s=0.3)
    assert not judged(emulated, real, quiet)["takeover_first_s"].inside


def test_a_takeover_that_never_comes_is_outside():
    """None equals none only."""
    never = replace(REAL, takeovers={})

    assert not judged(never)["takeover_first_s"].inside
    assert judged(never, never)["takeover_first_s"].inside


BROKERS = replace(TERMS, broker_failed=True)


def test_stalls_are_figures_where_brokers_fail():
    """The first and the last partition to go on, each by itself, and the commits."""
    expected = {
        "stall_first_s": (9.0, 0.9),
        "stall_last_s": (12.0, 1.2),
        "stalls.m1.1[1]": (9.0, 0.9),
        "stalls.m1.1[2]": (12.0, 1.2),
        "stall.t0-0": (9.0, NOT_JUDGED),
        "stall.t0-1": (12.0, NOT_JUDGED),
        "commit_wait_s": (0.3, 0.5),
        "first_commit_s": (9.6, NOT_JUDGED),
    }
    added = {n: f for n, f in judged(REAL, tolerances=BROKERS).items() if n not in judged(REAL)}

    assert expected == {name: (figure.real, figure.allowed) for name, figure in added.items()}


@pytest.mark.parametrize(
    ("last", "inside"), [(13.1, True), (10.9, True), (13.3, False), (10.7, False)]
)
def test_a_stall_may_differ_by_a_tenth(last, inside):
    """Or by half a second, where that is more."""
    found = judged(replace(REAL, stalls={"t0-0": last, "t0-1": 9.4}), tolerances=BROKERS)

    assert inside == found["stall_last_s"].inside
    assert found["stall_first_s"].inside


def test_each_consumers_stalls_are_judged_in_order_of_length():
    """Whichever of its partitions comes first; those of others hide nothing."""
    of_two = {"t0-0": "m1.1", "t0-1": "m1.1", "t0-2": "m2.1", "t0-3": "m2.1"}
    real = replace(
        REAL, owners=of_two, stalls={"t0-0": 9.0, "t0-1": 12.0, "t0-2": 9.1, "t0-3": 12.0}
    )
    turned = replace(real, stalls={"t0-0": 12.0, "t0-1": 9.0, "t0-2": 9.1, "t0-3": 12.0})
    hidden = replace(real, stalls={"t0-0": 9.0, "t0-1": 12.0, "t0-2": 9.1, "t0-3": 9.2})

    assert all(figure.inside for figure in judged(turned, real, BROKERS).values())
    outside = [n for n, f in judged(hidden, real, BROKERS).items() if not f.inside]
    assert ["stalls.m2.1[2]"] == outside


def test_a_stall_on_one_side_only_is_outside():
    """There is nothing to compare it with."""
    found = judged(replace(REAL, stalls={"t0-0": 9.0}), tolerances=BROKERS)

    assert (None, False) == (found["stalls.m1.1[2]"].emulated, found["stalls.m1.1[2]"].inside)


def test_a_commit_may_wait_half_a_second_longer():
    """Ten percent of a short wait are nothing."""
    waits = [judged(replace(REAL, commit_wait_s=w), tolerances=BROKERS) for w in (0.7, 0.9, None)]

    assert [True, False, False] == [found["commit_wait_s"].inside for found in waits]


def test_no_commit_waits_for_a_dead_coordinator():
    """Its connections break at once; a commit then waits for the next one's start."""
    killed = replace(BROKERS, coordinator_killed=True)
    found = judged(replace(REAL, commit_wait_s=2.0), tolerances=killed)

    assert (NOT_JUDGED, True) == (found["commit_wait_s"].allowed, found["commit_wait_s"].inside)


def test_the_order_of_calls_counts():
    """Revoked before assigned is not assigned before revoked."""
    turned = {"m1.1": tuple(reversed(REAL.calls["m1.1"]))}

    assert not judged(replace(REAL, calls=turned))["calls.m1.1"].inside


def test_a_consumer_on_one_side_alone_is_outside():
    """Calls and assignments of a consumer the other side does not have are compared with none."""
    more = judged(replace(REAL, calls=REAL.calls | {"m4.1": ()}))

    assert Figure("calls.m4.1", None, [], EQUAL, inside=False) == more["calls.m4.1"]


def test_how_many_commits_there_were_is_only_shown():
    """Commits are a matter of time."""
    assert judged(replace(REAL, commits={}))["commits.m1.1"].inside


@pytest.mark.parametrize(
    ("real", "values", "inside"),
    [
        (5, [3, 9], True),
        (9, [3, 9], True),
        (10, [3, 9], False),
        (2.5, [None, 3, 9], False),
        (None, [None, 3], True),
        (None, [1, 3], False),
        (4, [None], False),
        ([1, 2], [[1], [1, 2]], True),
        ([2, 1], [[1], [1, 2]], False),
    ],
)
def test_a_race_is_judged_by_what_the_seeds_gave(real, values, inside):
    """Numbers lie between the smallest and the largest, all else is one of the values."""
    assert inside == inside_range(real, values)


def test_only_figures_outside_are_judged_by_the_spread():
    """Figures inside stay as compared; a race has the spread as the allowed range."""
    emulated = [replace(REAL, duplicates={"t0-0": n}, generations=(1, 2)) for n in (90, 30, 120)]
    seeds = [compare(REAL, one, TERMS) for one in emulated]

    found = {figure.name: figure for figure in judge_by_seeds(seeds[0], seeds)}
    assert (
        Figure("duplicates.t0-0", 40, 90, "30 to 120 in 3 seeds", inside=True)
        == found["duplicates.t0-0"]
    )
    assert Figure("duplicates.t0-1", 3, 0, 25.0, inside=True) == found["duplicates.t0-1"]
    assert found["generations"].allowed == EQUAL


def test_a_line_of_json_holds_the_whole_run():
    """The capture, whether all is inside, and the figures; JSON gives the same values back."""
    line = Verdict(capture="crash/run-1", figures=compare(REAL, REAL, TERMS)).as_json()

    assert line == json.loads(json.dumps(line))
    assert (line["capture"], line["inside"]) == ("crash/run-1", True)
    assert {"name", "real", "emulated", "allowed", "inside"} == set(line["figures"][0])


def test_the_offsets_log_is_one_figure():
    """Outlines are equal line by line, or outside."""
    outline = ["GroupMetadata, generation 0", "OffsetCommit t0-0"]

    assert compare_records(outline, outline).inside
    assert compare_records(outline, outline[:1]) == Figure(
        "records", outline, outline[:1], EQUAL, inside=False
    )


def test_the_terms_of_a_capture(capture):
    """Fault, faulted member and tolerance come from the capture."""
    run = capture("crash-range-auto/run-1")
    tolerances = tolerances_of(run)

    assert ("m1", run.fault_us) == (tolerances.view.faulted, tolerances.view.fault_us)
    assert round(0.25 / 0.01059, 1) == round(tolerances.tolerance, 1)
    assert tolerances.takeover_s == 0.5
    assert tolerances_of(capture("pause-zombie-range/run-21")).takeover_s == 0.3
    assert tolerances_of(capture("join-cooperative-auto/run-21")).view.faulted is None
    assert not tolerances.broker_failed


def test_a_capture_is_inside_its_own_figures(capture):
    """The same functions compute both sides."""
    run = capture("nocommit-eager-join/run-1")
    tolerances = tolerances_of(run)
    found = observe(history(run), tolerances.view)

    figures = {figure.name: figure for figure in compare(found, found, tolerances)}
    assert all(figure.inside for figure in figures.values())
    assert figures["duplicates"].real == 92
    assert figures["calls.m4.1"].real == [["assigned", ["t0-5"]]]
