"""Messages about a scenario file name the line of the key."""

from __future__ import annotations

import pytest

from emulator.scenario.lines import key_lines
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError

TEXT = """\
title = "every place of a key"
run_for = "2min"
topic = [{ name = "orders", partitions = 6 },
  { name = "refunds", rat = "20/s" }]

[[group]]
id = "billing"
topics = ["orders"]
member = [{ name = "b-0" },
  { name = "b-1", wrk = "3ms" }]
settings.auto.offset.reset = "earlest"
settings."session.timeout.ms" = "soon"

[[act]]
start = "b-1"
at = 5
[[fault]]
crash = "b-1"
[[act]]
id = "second"
pause = "b-1"
for = \'\'\'
at = "5s" \'\'\'
at = "6s"

[expect]
losst = 0
"""


def refused(text, overrides=()):
    with pytest.raises(ScenarioError) as error:
        loads(text, "a.toml", overrides)
    return str(error.value).splitlines()


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (4, "topic[refunds].rat "),
        (10, "group[billing].member[b-1].wrk "),
        (11, "group[billing].settings[auto.offset.reset] "),
        (12, "group[billing].settings[session.timeout.ms] "),
        (16, "act[start-1].at "),
        (22, "act[second].for "),
    ],
)
def test_a_problem_names_the_line_of_its_key(line, path):
    """In tables, lists of inline tables, dotted and quoted keys; after text of several lines."""
    assert any(said.startswith(f"a.toml:{line}: {path}") for said in refused(TEXT))


def test_a_missing_key_has_the_line_of_its_table():
    """The line of the header."""
    assert any(said.startswith("a.toml:17: fault[crash-1]") for said in refused(TEXT))


def test_what_an_override_has_changed_has_no_line():
    """The file does not have that value."""
    right = TEXT.replace("at = 5\n", 'at = "5s"\n')
    said = refused(right, ["fault[start-1].at=soon"])

    assert [each for each in said if each.startswith("a.toml: act[start-1].at = ")]


def test_lines_count_tables_of_tables():
    """Each belongs to the last table of its parent."""
    lines = key_lines("[[a]]\n[[a.b]]\nx = 1\n[[a]]\n[[a.b]]\n[[a.b]]\ny = 2")

    assert lines["a", 0, "b", 0, "x"] == 3
    assert lines["a", 1, "b", 1, "y"] == 7


def test_a_statement_that_is_too_long_ends_the_search():
    """Nothing is known from there on."""
    assert key_lines("a = 1\nb = [\n" + "1,\n" * 300 + "]\nc = 1") == {("a",): 1}


def test_a_clients_settings_in_place_of_a_scenario_are_told_apart():
    """But not the line of a scenario's own settings."""
    (client,) = refused("# prod\nbootstrap.servers=b:9092\n")
    (scenario,) = refused("[[group]]\nsettings.x = y\nmax.poll.records = 5\n")

    assert "a.toml:2: not TOML: the settings of a client; rebalance init --config FILE" in client
    assert "no value of TOML" in scenario


def test_an_error_of_the_parser_has_its_line_like_others():
    """Editors and terminals lead there; the line itself is in the message."""
    assert [
        "a.toml:2: not TOML: no value of TOML; a text needs quotes (at line 2, column 8): seed = x"
    ] == refused('title = "x"\nseed = x')
