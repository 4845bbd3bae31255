"""Summaries, differences, stopping rules, ranks and fronts, on figures made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from emulator.metrics.distribution import summarise
from emulator.study.model import Until, Within
from emulator.study.sensitivity import bootstrap_weights, draws, influences
from emulator.study.summary import differences, front, rules_not_met, summaries, summary_row
from emulator.verdicts.disqualifying import Disqualified
from emulator.world.draws import draw

from .samples import plan_of, results_of, study_of

MEMBERS = """
[[vary]]
name = "members"
set = "group[billing].members"
values = [2, 3, 4]
"""


@pytest.fixture
def grid():
    """Return the plan of two commit intervals by three numbers of members."""
    return plan_of(study_of(more=MEMBERS))


def test_a_cells_figures_are_those_of_the_measuring_room():
    """One way to count for one run, a comparison and a study."""
    results = results_of(plan_of(), [1, 2, 3, 4], [5, 5, 5, 9])

    (first, second) = summaries(results, ["reprocessed"])

    assert summarise([1, 2, 3, 4]) == first.summary
    assert (1, 6.0, 9.0) == (second.cell, second.summary.mean.value, second.summary.maximum)
    assert {"p95", "p95_low", "p95_high", "mean_low"} <= summary_row(first).keys()


def test_differences_are_paired_by_seed():
    """Over the seeds that did not fail in either cell."""
    first, second = results_of(plan_of(), [1, 20, 300], [2, 21])

    (found,) = differences([first, second], ["reprocessed"])

    assert ("settings", 1, 0) == (found.against, found.cell, found.reference)
    assert (2, 1.0, 2) == (
        found.comparison.runs,
        found.comparison.mean.value,
        found.comparison.more,
    )


def test_protocols_are_compared_with_the_first_at_the_same_settings():
    """Settings are compared with the first ones under the same protocol."""
    plan = plan_of(study_of(("seeds = 6", 'seeds = 6\nprotocols = ["eager", "static"]')))
    results = results_of(plan, [1, 1], [2, 2], [4, 4], [8, 8])

    found = differences(results, ["reprocessed"])

    moves = [
        (each.against, each.cell, each.reference, each.comparison.mean.value) for each in found
    ]
    assert [
        ("protocol", 1, 0, 1.0),
        ("settings", 2, 0, 3.0),
        ("protocol", 3, 2, 4.0),
        ("settings", 3, 1, 6.0),
    ] == moves


@pytest.mark.parametrize(
    ("within", "values", "holds"),
    [
        (Within(share=0.05), [100, 101, 99, 100], True),
        (Within(share=0.001), [100, 101, 99, 100], False),
        (Within(absolute=2.0), [100, 101, 99, 100], True),
        (Within(share=0.05), [0, 0, 0, 0], True),
        (Within(share=0.05), [0, 0, 0, 1], False),
        (Within(share=0.05), [7], False),
    ],
)
def test_a_rule_holds_when_every_interval_is_narrow_enough(within, values, holds):
    """One value alone has no interval."""
    results = results_of(plan_of(), [5, 5, 5, 5], values)
    rule = Until(metric="reprocessed", within=within)

    open_rules = rules_not_met(results, [rule])

    assert holds == (open_rules == [])
    assert holds or "reprocessed mean in commit interval=5s" in open_rules[0]


def test_the_setting_that_moves_a_metric_is_ranked_first(grid):
    """With the values under which it is least and most."""
    noise = [0, 1, 2, 1]
    rows = [[10 * members + each for each in noise] for _ in range(2) for members in (2, 3, 4)]

    first, second = influences(results_of(grid, *rows), ["reprocessed"])

    assert ("members", "commit interval") == (first.axis, second.axis)
    assert (1.0, 0.0) == (pytest.approx(first.share), second.share)
    assert ("2", 21.0, "4", 41.0) == (first.least, first.least_mean, first.most, first.most_mean)


def test_a_weaker_setting_keeps_its_share_in_a_grid(grid):
    """The effect of the stronger one is not chance; without noise and interaction they add up to 1."""
    rows = [[10 * members + 8 * late] * 4 for late in (0, 2) for members in (2, 3, 4)]
    first, second = influences(results_of(grid, *rows), ["reprocessed"])
    means = np.array([row[0] for row in rows]).reshape(2, 3)

    assert first.share + second.share == pytest.approx(1.0)
    assert {first.axis: first.share, second.axis: second.share} == {
        "commit interval": pytest.approx(means.mean(axis=1).var() / means.var()),
        "members": pytest.approx(means.mean(axis=0).var() / means.var()),
    }


def test_noise_alone_gives_no_setting_a_share(grid):
    """The share of randomness is subtracted; the interval includes zero."""
    chance = np.random.default_rng(5).normal(size=(6, 30))

    found = influences(results_of(grid, *chance.tolist()), ["reprocessed"])

    assert all(each.low == 0.0 for each in found)


@pytest.mark.parametrize("case", range(20))
def test_a_share_is_in_its_own_interval(grid, case):
    """With three seeds, of which a bootstrap knows little: 78 % (0 % to 66 %) would be no interval."""
    noise = np.random.default_rng(case).normal(size=(6, 3))
    effects = np.array([10 + 2 * members + late for late in (0, 1) for members in (0, 1, 2)])

    for each in influences(results_of(grid, *(effects[:, None] + noise).tolist()), ["reprocessed"]):
        assert 0 <= each.low <= each.share <= each.high <= 1


def test_a_negligible_difference_has_no_cause(grid):
    """A difference below one percent has no cause worth naming."""
    rows = [
        [1000 + members + each for each in (0, 1, 2)] for _ in range(2) for members in (2, 3, 4)
    ]

    found = influences(results_of(grid, *rows), ["reprocessed"])

    assert [(0.0, 0.0, 0.0)] * 2 == [(each.share, each.low, each.high) for each in found]


def test_ranks_need_two_cells_and_two_seeds():
    """With fewer there is no variance to divide."""
    assert [] == influences(results_of(plan_of(), [1], [2]), ["reprocessed"])
    assert [] == influences([], ["reprocessed"])


def test_many_draws_at_once_are_the_same_draws():
    """By address, as everywhere."""
    addresses = np.arange(100, dtype=np.uint64)

    assert [draw(12345, at) for at in range(100)] == draws(12345, addresses).tolist()


def test_a_bootstrap_draws_as_many_seeds_as_there_are():
    """Each replicate's weights sum to one, and they are the same every time."""
    weights = bootstrap_weights(10, 50)

    assert (50, 10) == weights.shape
    assert weights.sum(axis=1) == pytest.approx(1.0)
    assert 0.9 < weights.mean() * 10 < 1.1
    assert (weights == bootstrap_weights(10, 50)).all()


def test_the_front_is_pareto_optimal(grid):
    """Equal in one and better in the other is better; equal in both is not."""
    costs = [(1, 9), (2, 5), (2, 6), (3, 1), (9, 9), (1, 9)]
    results = results_of(grid, *[[first] * 2 for first, _ in costs])
    for each, (_, second) in zip(results, costs, strict=True):
        each.values["lost"] = (second, second)

    found = front(results, ("reprocessed", "lost"))

    assert (0, 5, 1, 3) == found.cells
    assert (2.0, 6.0) == found.means[2]


def test_a_disqualified_cell_dominates_nothing(grid):
    """Its members died, so that its downtime is 0; without it, the next cell is Pareto-optimal."""
    results = results_of(grid, *([cost] * 2 for cost in (0.0, 5.0, 6.0, 7.0, 8.0, 9.0)))
    died = Disqualified("members died", "2 of 2 members ended", 2)
    results[0] = replace(results[0], disqualified=(died,))
    found = front(results, ("reprocessed",))

    assert ((1,), (0,)) == (found.cells, found.left_out)
    assert (0.0,) == found.means[0]
