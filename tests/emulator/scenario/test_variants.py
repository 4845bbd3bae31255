"""Variants of a scenario: named changes that a comparison plays side by side."""

from __future__ import annotations

import tomllib

import pytest

from emulator.scenario import catalogue
from emulator.scenario.load import load, load_with, loads
from emulator.scenario.problems import ScenarioError
from emulator.scenario.writing import dump

TEXT = """
title = "t"
run_for = "1min"
topic = [{ name = "t" }]
group = [{ id = "g", topics = ["t"], members = 1 }]

[[variant]]
name = "as it is"

[[variant]]
name = "faster"
set = ["topic[t].rate=5/s"]
"""


def test_a_variant_has_a_name_and_changes():
    """Without changes it is the scenario as written."""
    found = loads(TEXT).variant

    assert [("as it is", ()), ("faster", ("topic[t].rate=5/s",))] == [
        (each.name, each.changes) for each in found
    ]


def test_variants_change_nothing_of_the_scenario_itself():
    """They are for comparisons; a run plays what is written."""
    without = loads(TEXT.partition("[[variant]]")[0])

    assert without == loads(TEXT).model_copy(update={"variant": ()})


def test_a_dumped_scenario_keeps_its_variants():
    """In the words of a file."""
    assert [
        {"name": "as it is"},
        {"name": "faster", "set": ["topic[t].rate=5/s"]},
    ] == dump(loads(TEXT))["variant"]


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('name = "faster"', 'name = "as it is"', "variant named twice"),
        ('name = "faster"', 'name = ""', "variant[1].name"),
        ('"topic[t].rate=5/s"', '"topic[t].rate"', "allowed is path=value"),
        ('"topic[t].rate=5/s"', '"variant[faster].name=x"', "allowed is path=value"),
        ('set = ["topic', 'sets = ["topic', 'did you mean "set"'),
    ],
)
def test_a_wrong_variant_is_refused(was, becomes, said):
    """With its place and the allowed values."""
    with pytest.raises(ScenarioError) as caught:
        loads(TEXT.replace(was, becomes))

    assert said in str(caught.value)


VARIANTS = [
    (name, variant["name"])
    for name in catalogue.names()
    for variant in tomllib.loads(catalogue.path_of(name).read_text()).get("variant", ())
]
"""Read without checks, which take a second for the whole catalogue."""


@pytest.mark.parametrize(("name", "variant"), VARIANTS, ids=[": ".join(each) for each in VARIANTS])
def test_every_variant_of_the_catalogue_can_be_read(name, variant):
    """Its paths lead somewhere, and what they give is allowed there."""
    scenario = load(catalogue.path_of(name))
    (changes,) = (each.changes for each in scenario.variant if each.name == variant)
    changed = load_with(catalogue.path_of(name), changes)

    assert (changed == scenario) == (not changes)
