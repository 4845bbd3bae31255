"""The values of an axis: lists, ranges, and points of a Latin hypercube."""

from __future__ import annotations

from statistics import correlation

import pytest

from emulator.scenario.problems import ScenarioError
from emulator.study.model import Vary
from emulator.study.plan import choices, latin_hypercube

from .samples import plan_of, study_of


def axis(**keys: object) -> Vary:
    """Return an axis that sets one key."""
    return Vary.model_validate({"name": "a", "set": ("k",), **keys})


def labels(vary: Vary) -> list[str]:
    """Return its values as people read them."""
    return [choice.label for choice in choices(vary)]


def test_a_list_is_used_unchanged():
    """With the override of each value, and a number if it is one."""
    first, second, third = choices(axis(values=("10s", 3, True)))

    assert ('k="10s"', 10.0) == (first.overrides[0], first.number)
    assert ("k=3", 3.0) == (second.overrides[0], second.number)
    assert ("k=true", None) == (third.overrides[0], third.number)


def test_several_keys_can_take_the_same_value():
    """One override each."""
    (choice,) = choices(axis(set=("k", "m"), values=(1,)))

    assert ("k=1", "m=1") == choice.overrides


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"from": "5s", "to": "25s", "steps": 3}, ["5s", "15s", "25s"]),
        ({"from": "5s", "to": "2min", "steps": 3, "scale": "log"}, ["5s", "24.5s", "2min"]),
        ({"from": "1/s", "to": "100/s", "steps": 3, "scale": "log"}, ["1/s", "10/s", "100/s"]),
        ({"from": 1, "to": 4, "steps": 4}, ["1", "2", "3", "4"]),
        ({"from": 1, "to": 3, "steps": 9}, ["1", "2", "3"]),
        ({"from": 0.5, "to": 1, "steps": 3}, ["0.5", "0.75", "1"]),
    ],
)
def test_a_range_has_both_ends_and_round_steps(keys, expected):
    """In its own unit; whole numbers do not come twice."""
    assert expected == labels(axis(**keys))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"from": "5s", "to": "2/s"}, "from is a time, to is a rate"),
        ({"from": "5s", "to": "1s"}, "from is not below to"),
        ({"from": "5s", "to": "5s"}, "from is not below to"),
        ({"from": 0, "to": 9, "scale": "log"}, "needs a from above 0"),
        ({"from": True, "to": 9}, "a range goes from number to number"),
        ({"from": "5", "to": "9s"}, "a unit is missing"),
    ],
)
def test_a_range_without_sense_is_refused(keys, said):
    """With the reason."""
    with pytest.raises(ValueError, match=said):
        choices(axis(**keys))


def test_the_refusal_names_the_axis():
    """In the words of the file."""
    changed = study_of(('values = ["500ms", "5s"]', 'from = "5s"\nto = "1s"'))

    with pytest.raises(ScenarioError, match=r"vary\[commit interval\]: from is not below to"):
        plan_of(changed)


def test_a_latin_hypercube_has_one_point_in_each_part():
    """Whatever the seed; and the same seed gives the same points."""
    vary = axis(**{"from": 0.0, "to": 100.0})

    points = [choice.number for choice in latin_hypercube(vary, 50, seed=7)]

    assert all(2 * part - 0.1 <= at <= 2 * part + 2.1 for part, at in enumerate(sorted(points)))
    assert points != sorted(points)
    assert points == [choice.number for choice in latin_hypercube(vary, 50, seed=7)]
    assert points != [choice.number for choice in latin_hypercube(vary, 50, seed=8)]


def test_axes_of_a_latin_hypercube_are_drawn_apart():
    """Or they would rise and fall together."""
    first, second = (axis(name=name, **{"from": 0, "to": 1000}) for name in "ab")

    order = [choice.number for choice in latin_hypercube(first, 40, 0)]
    other = [choice.number for choice in latin_hypercube(second, 40, 0)]

    assert abs(correlation(order, other)) < 0.4
