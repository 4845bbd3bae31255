"""Study files: what they say, and what is said of those that are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emulator.scenario.problems import ScenarioError
from emulator.study.model import Level, load, loads, names, path_of

from .samples import study_of, text_of


def test_short_spellings_are_written_out():
    """A number of seeds, one path, one protocol."""
    study = study_of(("seeds = 6", 'seeds = 6\nset = "run_for=30s"\nprotocols = "eager"'))

    assert (6, 0) == (study.seeds.count, study.seeds.first)
    assert ("run_for=30s",) == study.set
    assert ("eager",) == study.protocols
    assert ("group[billing].settings[auto.commit.interval.ms]",) == study.vary[0].set


def test_a_value_may_change_several_keys_under_one_name():
    """Whereas an inline table without ``set`` is a value like any other."""
    changes = ('values = ["500ms", "5s"]', 'values = [{ name = "both", set = "a=1" }, { b = 2 }]')

    values = study_of(changes).vary[0].values

    assert (Level(name="both", set=("a=1",)), {"b": 2}) == values


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("seeds = 6", "seeds = 0"), "seeds.count: out of range; allowed is at least 1"),
        (("seeds = 6", "sead = 6"), 'sead: unknown key; did you mean "seeds"?'),
        (("seeds = 6\n", ""), "seeds: is missing; write for example seeds = 20"),
        (
            ("metrics = ", "# metrics = "),
            'metrics: is missing; write for example metrics = ["reprocessed", "lost"]',
        ),
        (('metrics = ["reprocessed"', 'metrics = ["reproces"'), "did you mean reprocessed"),
        (
            ('values = ["500ms", "5s"]', ""),
            'vary[commit interval]: give either "values", or "from"',
        ),
        (('values = ["500ms", "5s"]', "values = []"), "vary[commit interval]: values is empty"),
        (("seeds = 6", "seeds = 6\nlatin_hypercube = 3"), "latin_hypercube: wrong type"),
        (("seeds = 6", "seeds = { count = 6, most = 5 }"), "seeds: most is below count"),
        (("set = ", "sets = "), 'vary[commit interval].sets: unknown key; did you mean "set"?'),
        (("title", "title = "), "not TOML"),
    ],
)
def test_errors_have_their_place(change, said):
    """With the allowed values."""
    with pytest.raises(ScenarioError) as raised:
        loads(text_of(change), "my.toml")

    assert re.match(r"my\.toml(:\d+)?: ", str(raised.value))
    assert said in str(raised.value)


def test_a_stopping_rule_needs_an_end():
    """Or it might go on for ever."""
    rule = '[[until]]\nmetric = "reprocessed"\nwithin = "5%"'
    enough = ("seeds = 6", "seeds = { count = 6, most = 60 }")

    with pytest.raises(ScenarioError, match=r"needs seeds\.most"):
        study_of(more=rule)

    assert 0.05 == study_of(enough, more=rule).until[0].within.share


def test_the_studies_that_come_along_are_found_by_name():
    """Each has a question that it answers."""
    assert len(names()) >= 6
    assert all(load(path_of(name)).question.endswith("?") for name in names())


def test_a_misspelt_name_gets_the_closest_one():
    """Names are often typed from memory."""
    with pytest.raises(ScenarioError, match='did you mean "f3-commit-interval"'):
        path_of("f3-commit-intervall")


def test_the_study_that_the_documentation_shows_can_be_read():
    """With everything in it that a study can say."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "studies.md").read_text(
        encoding="utf-8"
    )
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)

    study = loads(shown)

    assert ["session timeout", "work", "partitions"] == [axis.name for axis in study.vary]
    assert (40, 200) == (study.seeds.count, study.seeds.most)
