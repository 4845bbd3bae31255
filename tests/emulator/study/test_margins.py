"""An answer names its margin: which next values are worse, and which were never tried."""

from __future__ import annotations

import pytest

from emulator.study.answer_text import answer_table, sentences
from emulator.study.findings import Findings

from .samples import findings_with

VALUES = 'values = ["500ms", "5s"]'
FIVE = 'values = ["1s", "2s", "4s", "8s", "16s"]'


def findings_of(goal: str, *values: list[float], axis: str = FIVE, more: str = "") -> Findings:
    """Return findings whose cells have these values of ``reprocessed``."""
    return findings_with(goal, *values, changes=((VALUES, axis),), more=more)


MIN = '{ least = ["reprocessed", "commit interval"] }'
BAD, GOOD = [5, 7, 6, 9], [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            (BAD, BAD, GOOD, GOOD, GOOD),
            "as good: at 2s, reprocessed is 6.75 (5 to 9). 8s has 4 s of margin.",
        ),
        (
            (BAD, BAD, BAD, BAD, GOOD),
            "No larger value was tried, so no margin is known.",
        ),
        (
            (BAD, GOOD, BAD, BAD, BAD),
            "2s has no margin: at 1s, reprocessed is 6.75 (5 to 9), and at 4s, reprocessed is 6.75",
        ),
        (
            (GOOD, GOOD, GOOD, BAD, BAD),
            "1s is the smallest value tried, and 2s is as good: a smaller one may be better or worse",
        ),
    ],
)
def test_the_answer_says_how_far_the_edge_is(values, said):
    """With the figure of the next value that is worse."""
    assert said in " ".join(sentences(findings_of(MIN, *values)))


def test_one_bad_run_is_an_edge():
    """It hardly moves the mean, but the value with it is not as good."""
    found = findings_of(MIN, BAD, [0, 0, 0, 40], GOOD, GOOD, GOOD)

    assert "4s is the smallest value tried that is as good: at 2s" in " ".join(sentences(found))


def test_of_values_that_seeds_cannot_tell_apart_the_one_away_from_the_edge_is_best():
    """Its mean is larger by chance; the others are named."""
    edge, inside = [1, 9, 1, 9], [9, 1, 9, 2]
    found = findings_of('{ least = "reprocessed" }', [50] * 4, edge, inside, inside, [70] * 4)

    assert 2 == found.best.best
    assert (2, 1, 3) == found.best.ties
    text = " ".join(sentences(found))
    assert "commit interval=4s has a margin on both sides: 2s and 8s are as good." in text
    assert (
        "2s is the smallest value tried that is as good, which leaves 2 s of margin: at 1s" in text
    )
    assert (
        "8s is the largest value tried that is as good, which leaves 4 s of margin: at 16s" in text
    )


def test_of_equal_values_none_at_an_end_of_the_range_is_best():
    """What lies beyond an end is unknown; at an end of which the other side is worse, it is said."""
    inside = findings_of('{ least = "reprocessed" }', *[GOOD] * 5)
    at_end = findings_of('{ least = "reprocessed" }', BAD, BAD, BAD, GOOD, GOOD)

    assert 1 == inside.best.best
    assert 4 == at_end.best.best
    assert "commit interval=16s is the largest value tried, and 8s is as good" in " ".join(
        sentences(at_end)
    )


def test_a_value_that_breaks_a_constraint_is_an_edge():
    """Although nothing else is minimised than the axis."""
    goal = '{ least = "commit interval", expect = { reprocessed = "<= 5" } }'
    text = " ".join(sentences(findings_of(goal, BAD, GOOD, GOOD, GOOD, GOOD)))

    assert (
        "2s is the smallest value tried that is as good: 1s does not meet the constraints" in text
    )
    assert "4s has 2 s of margin." in text


def test_what_was_not_tried_is_said():
    """Beyond the ends, between the values, and other settings."""
    text = " ".join(sentences(findings_of(MIN, BAD, BAD, GOOD, GOOD, GOOD)))

    assert (
        "Not tried: commit interval below 1s, above 16s, or between the 5 values; any setting but "
        "commit interval." in text
    )


def test_a_table_of_answers_has_the_next_values():
    """For each given value its own."""
    given = """
[[vary]]
name = "members"
set = "group[billing].members"
values = [2, 3]
given = true
"""
    two = 'values = ["1s", "2s"]'
    found = findings_of(MIN, BAD, GOOD, GOOD, GOOD, axis=two, more=given)
    head, *rows = answer_table(found)
    place = head.index("next values tried")

    (best,) = [each for each in sentences(found) if each.startswith("Best")]

    assert "members=2: commit interval=2s (the largest value tried); for" in best
    assert "members=3: commit interval=1s (the smallest value tried)." in best
    assert {"1s is worse, no larger one tried", "no smaller one tried, 2s is as good"} == {
        row[place] for row in rows
    }


def test_a_margin_says_at_which_value_of_the_other_setting_it_holds():
    """At another one the edge may be elsewhere; a study of one setting has nothing to say."""
    members = """
[[vary]]
name = "members"
set = "group[billing].members"
values = [2, 3]
"""
    two = 'values = ["1s", "2s"]'
    found = findings_of(MIN, BAD, BAD, GOOD, BAD, axis=two, more=members)
    text = " ".join(sentences(found))

    assert "With members=2: commit interval=2s is the smallest value tried that is as good" in text
    assert "With commit interval=2s: members=2 is the largest value tried that is as good" in text
    assert "interval. With c" not in " ".join(sentences(findings_of(MIN, BAD, GOOD, axis=two)))
