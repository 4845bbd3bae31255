"""The answer of a study with a goal, on figures made by hand: the best, its rivals, how sure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.scenario.problems import ScenarioError
from emulator.study.answer import answers, best_of_all, guaranteed_share
from emulator.study.answer_text import answer_table, sentences
from emulator.study.planning import plan_study
from emulator.study.running import run_study
from emulator.study.screen import study_screen
from emulator.study.summary import differences
from emulator.verdicts.disqualifying import Disqualified

from .samples import SEEDS, findings_with, plan_of, results_of, study_of, written

MEMBERS = """
[[vary]]
name = "members"
set = "group[billing].members"
values = [2, 3]
"""


def test_the_best_cell_has_the_least_where_the_bounds_hold():
    """A cell that has less, but breaks a bound in one run, is none."""
    goal = '{ least = "commit interval", expect = { reprocessed = "<= 5" } }'
    found = findings_with(goal, [1, 6, 1, 1], [4, 5, 4, 4])

    assert (1, (1,)) == (found.best.best, found.best.feasible)
    assert "Best of 2 cells: commit interval=5s: reprocessed 4.25 (4 to 5), maximum 5." in list(
        sentences(found)
    )


def test_a_bound_over_seeds_is_compared_with_the_statistic():
    """One run may be outside."""
    goal = '{ least = "commit interval", expect = { "reprocessed.mean" = "<= 5" } }'
    found = findings_with(goal, [1, 6, 1, 1], [4, 5, 4, 4])

    assert (0, (0, 1)) == (found.best.best, found.best.feasible)


def test_expectations_over_seeds_are_reported_for_the_best():
    """If the mean does not show them."""
    goal = '{ least = "commit interval", expect = { "reprocessed.p75" = "<= 5" } }'
    found = findings_with(goal, [1, 6, 2, 1], [4, 5, 4, 4])

    assert "commit interval=500ms: reprocessed 2.5 (1 to 6), p75 2." in " ".join(sentences(found))


def test_the_mean_of_two_seeds_is_shown_with_both_values():
    """The interval of 1 and 659 would be 330 ± 4,180; five seeds have one that says something."""
    two = findings_with('{ least = "reprocessed" }', [1, 659], [700, 800])
    five = findings_with('{ least = "reprocessed" }', [1, 9, 4, 5, 6], [70, 80, 70, 80, 70])

    assert "Worst: commit interval=5s: reprocessed 750 (700 to 800)." in list(sentences(two))
    assert "reprocessed 330 (1 to 659)" in " ".join(sentences(two))
    assert "reprocessed 5 ± 3.62" in " ".join(sentences(five))
    assert "of fewer than 5 runs, their smallest and largest value" in (
        " ".join(" ".join(study_screen(two)).split())
    )


@pytest.mark.parametrize("goal", ['{ least = "reprocessed" }', None])
def test_few_seeds_say_that_a_difference_may_be_chance(goal):
    """Also without a goal; five seeds have intervals, and those of a scenario without chance are equal."""
    said = "With 2 seeds in a cell a difference between cells may be chance: --seeds 20 tells more."

    for values, is_said in (([1, 659], True), ([7, 7], False), ([1, 9, 4, 5, 6], False)):
        screen = " ".join(" ".join(study_screen(findings_with(goal, values, values[::-1]))).split())
        assert (said in screen) == is_said


def test_cells_that_are_all_the_same_have_no_worst():
    """The best one would be called the worst, too."""
    same = list(sentences(findings_with('{ least = "reprocessed" }', [4, 5], [5, 4])))

    assert "Reprocessed is the same in all 2 cells: 4.5 (4 to 5)." in same
    assert not any(sentence.startswith("Worst") for sentence in same)


def test_cells_that_may_equal_the_best_are_named():
    """The mean of paired differences may be zero."""
    untold = findings_with('{ least = "reprocessed" }', [1, 9, 1, 9], [9, 1, 9, 2])
    distinct = findings_with('{ least = "reprocessed" }', [1, 2, 3, 4], [2, 3, 4, 6])

    assert ((0, 1), (0,)) == (untold.best.ties, distinct.best.ties)
    assert "Not significantly different with these seeds: commit interval=5s." in list(
        sentences(untold)
    )
    assert "Worst: commit interval=5s: reprocessed 3.75 (2 to 6)." in list(sentences(distinct))


NOISY = [0, 0, 0, 0, 0, 0, 0, 2912]
"""364 ± 861: its difference to 0 in every run is not significant."""


def test_a_noisy_cell_is_not_preferred_to_one_with_nothing_in_every_run():
    """Although it has fewer neighbours that are worse, and the seeds do not tell it from the least."""
    changes = [('values = ["500ms", "5s"]', 'values = ["1s", "2s", "4s", "8s"]')]
    found = findings_with(
        '{ least = "reprocessed" }', [50] * 8, [0] * 8, NOISY, NOISY, changes=changes
    )
    text = list(sentences(found))

    assert (1, (1,), (1, 2, 3)) == (found.best.best, found.best.as_good, found.best.ties)
    assert "Best of 4 cells: commit interval=2s: reprocessed 0." == text[0]
    assert (
        "Too noisy to be called as good, though not significantly different: commit interval=4s "
        "with reprocessed 364 ± 861; commit interval=8s with reprocessed 364 ± 861." in text
    )


@pytest.mark.parametrize(
    ("other", "as_good"),
    [
        ([3, 0, 2, 1], True),
        ([1, 2, 1, 3], False),
        ([40, 0, 0, 0], False),
        ([0, 2, 1, 2], True),
    ],
    ids=["by chance", "never smaller", "outside the interval", "smaller in one seed"],
)
def test_a_cell_is_as_good_if_its_mean_lies_within_the_interval_of_the_least(other, as_good):
    """And if it is smaller in some seed: the least cell has 1.25 ± 1.52."""
    found = findings_with('{ least = "reprocessed" }', [1, 2, 0, 2], other)

    assert as_good == (1 in found.best.as_good)


def test_the_answer_names_the_cell_with_the_least_mean_if_another_one_is_more_robust():
    """With the reason."""
    changes = [('values = ["500ms", "5s"]', 'values = ["1s", "2s", "4s", "8s"]')]
    rows = [50] * 4, [1, 9, 1, 9], [9, 1, 9, 2], [9, 1, 9, 2]
    found = findings_with('{ least = "reprocessed" }', *rows, changes=changes)

    assert (2, 1) == (found.best.best, found.best.least)
    assert (
        "The smallest mean has commit interval=2s with reprocessed 5 (1 to 9): too close to tell apart with "
        "these seeds, but with more worse or untried neighbours." in list(sentences(found))
    )


def test_the_second_goal_decides_where_the_first_is_equal():
    """A cell that has less of the second alone is named beside the best."""
    goal = '{ least = ["reprocessed", "members"] }'
    found = findings_with(goal, [5, 5], [0, 0], [7, 7], [1, 1], more=MEMBERS)

    assert (1, (1,)) == (found.best.best, found.best.ties)
    assert (0,) == found.best.alternatives
    assert (
        "Pareto-optimal alternative, smaller in members: commit interval=500ms, members=2."
        in list(sentences(found))
    )


def test_less_of_what_has_names_goes_by_the_order_of_the_file():
    """Many are not less than few."""
    names = """
[[vary]]
name = "team"
values = [{ name = "few", set = ["group[billing].members=2"] },
          { name = "many", set = ["group[billing].members=3"] }]
"""
    goal = '{ least = ["reprocessed", "team", "commit interval"] }'
    found = findings_with(goal, [9, 9], [5, 5], [1, 1], [7, 7], more=names)
    distinct = [each for each in sentences(found) if each.startswith("Pareto-optimal alternative")]

    assert [
        "Pareto-optimal alternative, smaller in commit interval: commit interval=500ms, team=few.",
        "Pareto-optimal alternative, smaller in commit interval: commit interval=500ms, team=many.",
    ] == distinct


def test_a_cell_in_which_every_run_failed_takes_no_answer_along():
    """It is not among those that were tried."""
    goal = '{ least = "commit interval", expect = { reprocessed = "<= 5" } }'
    found = findings_with(goal, [], [4, 5, 4, 4])

    assert (1, (1,)) == (found.best.best, found.best.tried)
    assert any("all 4 runs of a cell" in each for each in sentences(found))


def test_given_settings_are_answered_value_by_value():
    """It is not a choice; a table has a row for each value."""
    given = f"{MEMBERS}given = true\n"
    found = findings_with('{ least = "reprocessed" }', [5, 5], [1, 1], [2, 2], [9, 9], more=given)

    assert found.best is None
    assert [("2", 2), ("3", 1)] == [(*each.given, each.best) for each in found.answers]
    assert [("members", "commit interval"), ("2", "5s"), ("3", "500ms")] == [
        row[:2] for row in answer_table(found)
    ]


def test_where_no_cell_is_as_expected_nothing_is_called_the_best():
    """It is said, and the table says none."""
    given = f"{MEMBERS}given = true\n"
    goal = '{ least = "reprocessed", expect = { reprocessed = "< 1" } }'

    whole = findings_with(goal, [5, 5], [1, 1])
    parts = findings_with(goal, [5, 5], [0, 0], [5, 5], [9, 9], more=given)

    assert "No feasible cell: none of 2 cells tried meets the constraints." in list(
        sentences(whole)
    )
    assert [("2", "none"), ("3", "500ms")] == [row[:2] for row in answer_table(parts)[1:]]


def test_a_cell_with_a_failed_run_is_never_the_best():
    """The result of that run is unknown."""
    plan = plan_of(study_of((SEEDS, f'{SEEDS}\ngoal = {{ least = "reprocessed" }}')))
    first, second = results_of(plan, [0, 0], [5, 5])

    found = best_of_all([replace(first, failed=1), second], plan.study.goal)

    assert (1, (1,)) == (found.best, found.feasible)


def test_how_sure_it_is_depends_on_the_number_of_runs():
    """As many runs that keep a bound as that bear it out, at 95 %: 59 for 95 in 100."""
    assert guaranteed_share(59) > 0.95 > guaranteed_share(58)


def test_a_study_without_a_goal_has_no_answer():
    """Its tables speak for themselves."""
    results = results_of(plan_of(), [1], [2])

    assert ([], None) == (answers(results, None), best_of_all(results, None))


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ('{ least = "reprocesed" }', "is not a metric or an axis that can be chosen"),
        ('{ least = "reprocessed", expect = { losst = 0 } }', "did you mean lost"),
        ('{ least = "reprocessed", expect = { lost = "few" } }', 'a text such as "<= 200"'),
        ("{ most = 1 }", "unknown key"),
        ('{ least = "members" }', "is not a metric or an axis that can be chosen"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(goal, said):
    """With what is allowed; an axis that is given is no choice."""
    with pytest.raises(ScenarioError, match=said):
        study_of((SEEDS, f"{SEEDS}\ngoal = {goal}"), more=f"{MEMBERS}given = true\n")


def test_differences_are_to_the_first_choice_under_the_same_circumstances():
    """Given settings stay the same."""
    plan = plan_of(study_of(more=f"{MEMBERS}given = true\n"))

    found = differences(results_of(plan, [1], [2], [4], [8]), ["reprocessed"])

    assert [(2, 0, 3.0), (3, 1, 6.0)] == [
        (each.cell, each.reference, each.comparison.mean.value) for each in found
    ]


def test_a_cell_whose_deploy_stopped_is_never_the_best():
    """It repeats nothing; the answer says which cells are disqualified, and why."""
    stopped = Disqualified("deploy stopped", "a rolling restart stopped", 1)
    found = findings_with('{ least = "reprocessed" }', [0, 0], [5, 5])
    results = [replace(found.results[0], disqualified=(stopped,)), found.results[1]]
    goal = found.plan.study.goal
    told = replace(
        found, results=results, answers=answers(results, goal), best=best_of_all(results, goal)
    )
    first, *others = sentences(told)

    assert (1, (1,)) == (told.best.best, told.best.feasible)
    assert first.startswith("Best of 2 cells: commit interval=5s")
    assert "500ms is disqualified (deploy stopped (1 of 2))" in " ".join(others)
    assert (
        "1 cell is disqualified, and never the best: commit interval=500ms: deploy stopped (1 of 2). "
        "For example commit interval=500ms: a rolling restart stopped." in others
    )
    assert "| deploy stopped (1 of 2) |" in "\n".join(study_screen(told))


def test_the_reasons_are_kept_with_the_runs(tmp_path):
    """A run that ends before the dead member is removed proves nothing."""
    short = (SEEDS, f'{SEEDS}\nset = ["run_for=11s"]\ngoal = {{ least = "reprocessed" }}')
    planned = plan_study(written(tmp_path, short, ("seeds = 6", "seeds = 2")))

    result = run_study(planned, tmp_path / "out", jobs=1)

    assert result.answer[0].startswith("No feasible cell: none of 2 cells tried has only runs")
    assert all("inconclusive" in row["disqualified"] for row in result.as_json()["cells"])
