"""All problems of a file come at once, where they are independent; none that follows from another one."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from random import Random  # noqa: TID251  cases of a test
from typing import Any

import pytest

import emulator
from emulator.scenario import catalogue, further_problems, load
from emulator.scenario.problems import ScenarioError

MANY = """
title = "many problems"
run_for = "10 minutes"

[[topic]]
name = "payments"
partitions = 4
rate = "300 per sec"

[[group]]
id = "billing"
topics = ["paymnts"]
members = 6
work = "35"
settings = { "auto.offset.rest" = "earliest" }

[[act]]
rolling_restart = "biling"
at = "1min"

[[fault]]
crash = "billing-9"
at = "20s"

[expect]
reprocesed = 0
lost = "<< 3"
"reprocessed.by_cause[crashed]" = 0
"""


def refusal(text: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as raised:
        emulator.loads(text)
    return raised.value


def test_three_rounds_are_one():
    """Values that cannot be read, names that do not exist, and metrics that do not exist."""
    assert [problem.line for problem in refusal(MANY).problems] == [
        3,
        8,
        12,
        14,
        15,
        18,
        22,
        26,
        27,
        28,
    ]


def test_a_member_is_not_missing_if_the_number_of_members_is_what_is_wrong():
    """The crash of billing-5 is right, as soon as the number can be read."""
    right = MANY.replace("billing-9", "billing-5")

    assert "billing-5" not in str(refusal(right.replace("members = 6", 'members = "six"')))
    assert "billing-5" not in str(refusal(right.replace("members = 6", "memebers = 6")))
    assert "crash" in str(refusal(MANY))


def test_a_target_that_is_missing_comes_with_the_unknown_keys_of_its_act():
    """What depends on the values of the act's other keys does not: one of them may be meant."""
    said = str(refusal(MANY.replace('"billing-9"', '"billing-9"\ngrace = "3s"\nstart_up = "3s"')))

    assert "crash-1].grace = " in said
    assert 'crash = "billing-9": no such member' in said
    assert "does not come back" not in said


def test_wrong_names_and_wrong_metrics_come_together():
    """Both are found in a scenario that can be read."""
    text = MANY
    for wrong, right in (
        ("10 minutes", "10min"),
        ("300 per sec", "300/s"),
        ('"35"', '"35ms"'),
        ('"auto.offset.rest"', '"auto.offset.reset"'),
        ("<< 3", "<= 3"),
    ):
        text = text.replace(wrong, right)

    assert [problem.line for problem in refusal(text).problems] == [12, 18, 22, 26, 28]


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each key below the first level."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for step, below in items if isinstance(node, dict | list) else ():
        yield from leaves(below, (*path, step)) if isinstance(below, dict | list) else ()
        if path and isinstance(node, dict):
            yield (*path, step)


def broken(document: dict[str, Any], path: tuple[Any, ...], draw: Random) -> dict[str, Any]:
    """Return a document with one key misspelt, or with a value that cannot be right."""
    changed = copy.deepcopy(document)
    table: Any = changed
    for step in path[:-1]:
        table = table[step]
    if draw.random() < 0.4:
        table[f"{path[-1]}x"] = table.pop(path[-1])
    else:
        table[path[-1]] = draw.choice([{"nonsense": {}}, -5, "zz zz"])
    return changed


@pytest.mark.parametrize("seed", range(3))
def test_one_wrong_value_of_a_right_file_has_no_further_problems(seed, monkeypatch):
    """Each would be one that is none once the value is right."""
    found = []
    original = further_problems.further_problems

    def noted(*arguments):
        found.extend(original(*arguments))
        return []

    monkeypatch.setattr(further_problems, "further_problems", noted)
    draw = Random(seed)
    refused = 0
    for name in draw.sample(catalogue.names(), 12):
        text, folder = catalogue.read(name), catalogue.path_of(name).parent
        document = tomllib.loads(text)
        for path in draw.sample([*leaves(document)], 12):
            changed = load.tidy(broken(document, path, draw))
            source = load.ScenarioSource(name, folder)
            try:
                load._checked(changed, source, lambda *_: ())
            except ScenarioError:
                refused += 1

    assert refused > 80
    assert found == []
