"""The catalogue: scenarios that come along, short, explained, and right."""

from __future__ import annotations

import pytest

from emulator.scenario import catalogue, families
from emulator.scenario.load import load
from emulator.scenario.problems import ScenarioError

FROM_INCIDENTS = ["a1", "b2", "c1", "d1", "d3", "f3", "h1", "k1", "l1", "m1", "n1", "o1", "o4"]
TRIGGERS = [
    *("member-joins", "member-closes", "member-crashes", "heartbeats-stop"),
    *("partitions-added", "topic-matches-pattern"),
]


@pytest.mark.parametrize("name", catalogue.names())
def test_every_scenario_reads(name):
    """All shipped scenarios are valid."""
    load(catalogue.path_of(name))


VARIANT_TABLES = ("coordinator-dies-at-a-step", "migration-there-and-back")
"""Scenarios that compare each step of a protocol, or each combination, in a variant of its own."""


@pytest.mark.parametrize("name", catalogue.names())
def test_every_scenario_is_short(name):
    """At most 30 lines with its variants, blank ones aside: it can be written during the incident."""
    text = catalogue.read(name)
    if name in VARIANT_TABLES:
        text = text.partition("\n[[variant]]")[0]

    assert sum(map(bool, map(str.strip, text.splitlines()))) <= 30


@pytest.mark.parametrize("name", catalogue.names())
def test_every_scenario_says_what_it_asks(name):
    """It begins with two or three lines of comment, of at most 100 columns."""
    lines = catalogue.read(name).partition("\n[[variant]]")[0].splitlines()
    comment = [line for line in lines[:3] if line.startswith("#")]

    assert max(map(len, lines)) <= 100
    assert len(comment) in (2, 3)
    assert lines[len(comment)].startswith("title = ")
    assert any("?" in line for line in comment) or name == "off-by-one"


def test_the_classic_triggers_and_incidents_are_there():
    """At least twenty, among them each trigger of a rebalance and the chosen incidents."""
    names = catalogue.names()

    assert len(names) >= 20
    assert set(TRIGGERS) <= set(names)
    for family in FROM_INCIDENTS:
        named = [name for name in names if name.startswith(f"{family}-")]

        assert 1 == len(named)
        assert catalogue.entry(named[0]).source.startswith("https://github.com/")


def test_an_entry_has_title_and_comment_without_marks():
    """A list shows the first lines of a scenario."""
    entry = catalogue.entry("member-crashes")

    assert "a member crashes" == entry.title
    assert "One of three members is killed and sends no LeaveGroup." == entry.about[0]
    assert "" == entry.source


def test_an_unknown_name_is_refused_with_the_nearest():
    """A misspelled name is offered its right spelling."""
    with pytest.raises(ScenarioError, match='did you mean "member-crashes"'):
        catalogue.read("member-crash")


def test_a_copy_can_be_run_and_is_not_written_over(tmp_path):
    """A copy goes into a folder or to a file; an existing file stays as it is."""
    copied = catalogue.copy("quiet", tmp_path)

    assert tmp_path / "quiet.toml" == copied
    assert catalogue.read("quiet") == copied.read_text(encoding="utf-8")
    copied.write_text("mine")
    with pytest.raises(ScenarioError, match="exists already"):
        catalogue.copy("quiet", copied)
    assert "mine" == copied.read_text()
    catalogue.copy("quiet", copied, overwrite=True)
    assert catalogue.read("quiet") == copied.read_text(encoding="utf-8")
    assert [copied] == list(tmp_path.iterdir())


def test_a_copy_to_nowhere_is_refused(tmp_path):
    """A folder that does not exist is named, and no file is written."""
    with pytest.raises(ScenarioError, match="cannot be written: No such file"):
        catalogue.copy("quiet", tmp_path / "no" / "such" / "folder.toml")

    assert [] == list(tmp_path.iterdir())


def test_every_scenario_has_one_family():
    """A new scenario is added to one; a family has no name that does not exist."""
    listed = " ".join(families._NAMES.values()).split()

    assert sorted(listed) == catalogue.names()
    assert families.SUBJECTS.keys() == families._NAMES.keys() == set(families.Family)


@pytest.mark.parametrize(
    ("words", "family", "protocol", "expected"),
    [
        (["POISON", "skipped"], None, None, ["record-skipped", "spring-kept-commits"]),
        (["poison spring"], None, None, ["c4-retries-block-the-poll-loop", "spring-kept-commits"]),
        (["blue green"], None, None, ["a6-new-group-id"]),
        (["Blue-Green"], None, None, ["a6-new-group-id"]),
        (["kept-spring container"], None, None, ["spring-kept-commits"]),
        (["migrations", "canary"], None, None, ["migration-no-way-back"]),
        (["eager", "KIP848"], families.Family.DEPLOYS, "consumer", ["rolling-restart-kip848"]),
        ([], families.Family.UNDISTURBED, "classic", ["quiet"]),
    ],
)
def test_scenarios_are_found_by_word_family_and_protocol(words, family, protocol, expected):
    """All of them must fit."""
    found = [entry.name for entry in catalogue.search(words, family, protocol)]

    assert found == expected


@pytest.mark.parametrize(
    ("symptom", "shows_it", "does_not"),
    [
        ("doubled", "deploy-kills-in-mid-batch", "quiet"),
        ("overload", "hot-key", "member-crashes"),
        ("REBALANCE_IN_PROGRESS", "d1-commit-refused-in-rebalance", "member-crashes"),
        ("FENCED_INSTANCE_ID", "k1-instance-id-reused", "member-crashes"),
        ("OffsetOutOfRangeException", "retention-overtakes", "member-crashes"),
        ("missing", "record-skipped", "member-crashes"),
    ],
)
def test_a_symptom_or_an_error_finds_the_scenarios_that_show_it(symptom, shows_it, does_not):
    """By what their files expect or describe, though they name it otherwise."""
    found = {entry.name for entry in catalogue.search([symptom])}

    assert shows_it in found
    assert does_not not in found


def test_both_protocols_of_a_migration_are_known():
    """One of them is in its deploy."""
    assert catalogue.entry("migration-there-and-back").protocols == ("classic", "consumer")
    assert catalogue.entry("kip848-member-crashes").protocols == ("consumer",)
    assert catalogue.entry("member-crashes").protocols == ("classic",)


def test_a_search_without_result_names_the_nearest():
    """Or the way to the list."""
    with pytest.raises(ScenarioError, match='about membr-crashes; did you mean "member-crashes"'):
        catalogue.search(["membr-crashes"])
    with pytest.raises(ScenarioError, match="about xylophone; rebalance scenarios lists them"):
        catalogue.search(["xylophone"])
