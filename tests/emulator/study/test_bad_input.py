"""Odd study files of real people: one clear message each, with the line."""

from __future__ import annotations

import pytest

from emulator.errors import EmulatorError
from emulator.scenario.problems import ScenarioError
from emulator.study.model import load, loads, path_of
from emulator.study.planning import plan_study

from .samples import SCENARIO, text_of, written

VALUES = 'values = ["500ms", "5s"]'
NAME = '"commit interval"'
HIDDEN = "has the character U+202E"

SAID = {
    "a value twice": ((VALUES, 'values = ["5s", "1s", "5s"]'), "two of its values are '5s'"),
    "a level twice": (
        (VALUES, "values = [" + '{ name = "a", set = "run_for=20s" }, ' * 2 + "]"),
        "two of its values are a; give each once",
    ),
    "a name that is not shown": ((NAME, '"a\\u202eb"'), HIDDEN),
    "a level that is not shown": ((VALUES, 'values = [{ name = "\\u202e", set = "a=1" }]'), HIDDEN),
    "a very long name": ((NAME, f'"{"x" * 1_000}"'), "too long; allowed are 200 characters"),
    "an axis without a name": ((NAME, '""'), "vary[0].name: empty; a text is needed"),
    "a text for the seeds": (("seeds = 6", 'seeds = "6"'), "a whole number, or a table { count"),
    "no scenario": (('"crash.toml"', '""'), "scenario: empty; a text is needed"),
    "a bound that is none": (
        ("seeds = 6", 'seeds = 6\ngoal = { least = "lost", expect = { lost = nan } }'),
        "out of range; allowed is a finite number",
    ),
}
PLANNED = {
    "from nan": ((VALUES, "from = nan\nto = 10"), "a range goes from number to number"),
    "to infinity": ((VALUES, 'from = "1s"\nto = inf'), "a range goes from number to number"),
    "two units": ((VALUES, 'from = "1s"\nto = 10'), "to is a whole number; both need the same"),
    "the input": (('"crash.toml"', '"-"'), 'scenario = "-": the input; a study needs the name'),
    "a very long path": (('"crash.toml"', f'"{"y" * 5_000}"'), "scenario = "),
    "a very long file": (('"crash.toml"', f'"{"y" * 5_000}.toml"'), "scenario = "),
}


@pytest.mark.parametrize("kind", SAID)
def test_a_file_that_is_no_study(kind):
    """The message names the key and says what is allowed."""
    change, said = SAID[kind]

    with pytest.raises(ScenarioError) as refused:
        loads(text_of(change))

    assert said in str(refused.value)


@pytest.mark.parametrize("kind", PLANNED)
def test_a_study_that_cannot_be_planned(tmp_path, kind):
    """The message is of the study file, with the line of the key."""
    change, said = PLANNED[kind]
    (tmp_path / "crash.toml").write_text(SCENARIO)

    with pytest.raises(EmulatorError) as refused:
        plan_study(written(tmp_path, change))

    assert str(refused.value).startswith(f"{tmp_path / 'study.toml'}:")
    assert said in str(refused.value)


def test_an_empty_file_needs_what_a_study_needs(tmp_path):
    """Not what a scenario needs."""
    (tmp_path / "study.toml").write_text("# nothing yet\n")

    with pytest.raises(ScenarioError, match="empty; a study has at least a title, a scenario"):
        load(tmp_path / "study.toml")


def test_a_very_long_name_is_no_built_in_study():
    """A name that no file can have is looked up as any other."""
    with pytest.raises(ScenarioError, match="no such file, and no built-in study"):
        path_of("y" * 5_000)
