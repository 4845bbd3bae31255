"""``rebalance schema`` and ``rebalance scenarios``, from the command line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.scenario import catalogue
from emulator.scenario.schema import file_schema


def command(*arguments: str) -> tuple[int, str, str]:
    """Run a command and return its exit status, output and errors."""
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.long
def test_schema_prints_the_schema():
    """The output is the JSON Schema, nothing else."""
    status, output, _ = command("schema")

    assert (0, file_schema()) == (status, json.loads(output))


def test_scenarios_lists_all_with_their_questions():
    """Each name is shown with the question of the scenario."""
    status, output, _ = command("scenarios")

    assert 0 == status
    assert all(name in output for name in catalogue.names())
    assert "how long do its partitions wait for the session timeout?" in output


def test_scenarios_for_machines_is_a_json_line_each():
    """Machines get the same as one JSON object a line."""
    _, output, _ = command("scenarios", "--json")

    assert catalogue.names() == sorted(json.loads(line)["name"] for line in output.splitlines())


def test_show_prints_the_file():
    """The output can be piped into a file."""
    assert (0, catalogue.read("quiet"), "") == command("scenarios", "show", "quiet")


def test_copy_says_where_the_copy_is(tmp_path):
    """The path of the copy is the output."""
    target = tmp_path / "mine.toml"

    assert (0, f"{target}\n", "") == command("scenarios", "copy", "quiet", str(target))
    status, _, errors = command("scenarios", "copy", "quiet", str(target))
    assert 2 == status
    assert "exists already" in errors


def test_an_unknown_name_is_bad_input():
    """Exit status 2, one line, no traceback."""
    status, output, errors = command("scenarios", "show", "quite")

    assert (2, "") == (status, output)
    assert 'quite: no such scenario in the catalogue; did you mean "quiet"?\n' == errors
