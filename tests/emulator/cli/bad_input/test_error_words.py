"""Errors say what was meant: the verb, the member, the line, the option, the study."""

from __future__ import annotations

import json
import shlex

import pytest

import emulator
from tests.emulator.cli.commands import CRASH, rebalance


@pytest.fixture
def refused(tmp_path):
    """Return a function that runs a changed scenario and returns the message."""

    def call(old, new, *arguments, command="run"):
        path = tmp_path / "crash.toml"
        path.write_text(CRASH.replace(old, new), encoding="utf-8")
        status, out, err = rebalance(command, str(path), *arguments)
        assert (2, "") == (status, out)
        return err.removeprefix(str(path))

    return call


@pytest.mark.parametrize(
    ("word", "verb"), [("kill", "crash"), ("deploy", "rolling_restart"), ("stop", "close")]
)
def test_a_word_for_a_verb_is_answered_with_the_verb(refused, word, verb):
    """Although it is not spelled alike."""
    assert f'no verb; did you mean "{verb}"?' in refused('crash = "', f'{word} = "')


def test_a_restart_is_a_stop_that_ends_or_a_restart_of_all(refused):
    """Which one depends on what is restarted; the first one, as written, is a scenario."""
    said = refused('crash = "', 'restart = "')

    assert 'no verb; did you mean close = "MEMBER" with restart_after = "5s"' in said
    assert 'rolling_restart = "GROUP" for all its members?' in said
    restart = CRASH.replace('crash = "billing-1"', 'close = "billing-1"\nrestart_after = "5s"')
    assert emulator.loads(restart).fault[0].verb == "close"


def test_a_group_in_place_of_a_member_lists_its_members(refused):
    """All of them, if there are few."""
    message = refused('crash = "billing-1"', 'crash = "billing"')

    assert 'a group; write one of its members: "billing-0", "billing-1"\n' in message


def test_a_time_in_place_of_a_moment_is_answered_with_the_key_for_it(refused):
    """Not with all steps that a moment may have."""
    message = refused('at = "18s"', 'when = "18s"')

    assert 'when = "18s": a time; write at = "18s", or between = ["…", "…"]\n' in message


def test_a_line_that_is_not_toml_is_shown(refused):
    """With its number."""
    message = refused("members = 2", "members = = 2")

    assert (
        "not TOML: no value of TOML; a text needs quotes (at line 13, column 11): members = = 2\n"
        in message
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("egaer", "--with 'egaer': 'egaer' is neither one of"),
        ("egaer", 'did you mean "eager"?'),
        ("x: run_fro=5s", "--with run_fro=5s: no such key"),
    ],
)
def test_a_typing_error_in_with_is_named_so(refused, option, message):
    """And not as one of ``--set``."""
    assert message in refused("", "", "--with", option, command="compare")


def test_a_column_of_a_comparison_can_be_played_alone(tmp_path, monkeypatch):
    """The command is printed, with everything that the preset sets."""
    monkeypatch.chdir(tmp_path)
    text = CRASH.replace("40s", "3s").replace("18s", "2s")
    (tmp_path / "crash.toml").write_text(text, encoding="utf-8")
    out = rebalance("compare", "crash.toml", "--with", "eager", "--with", "kip848")[1]

    commands = out.partition("One column alone\n")[2].replace("\\\n", " ").splitlines()
    name, command = (line.strip() for line in commands[-2:])
    program, *words = shlex.split(command)
    document = json.loads(rebalance(*words, "--json")[1])
    assert (name, program) == ("kip848:", "rebalance")
    assert document["settings"]["group"]["billing"]["group.protocol"] == "consumer"


def test_a_study_that_does_not_exist_comes_before_its_folder():
    """Nobody needs a folder for it."""
    status, out, err = rebalance("study", "f3-comit-interval")

    assert (2, "") == (status, out)
    assert 'did you mean "f3-commit-interval"' in err


@pytest.mark.parametrize(
    ("option", "word", "message"),
    [
        ("--family", "deploy", "'deploy' is not one of members, deploys, "),
        ("--family", "deploy", "did you mean 'deploys'?"),
        ("--protocol", "KIP", "'KIP' is not one of classic, consumer"),
    ],
)
def test_a_family_or_protocol_that_does_not_exist_is_answered_with_those_that_do(
    option, word, message
):
    status, out, err = rebalance("scenarios", option, word)

    assert (2, "") == (status, out)
    assert message in " ".join(err.split())
    assert "Value error" not in err


def test_a_handler_without_yield_is_refused(tmp_path):
    """It would take the records of each poll and process none of them."""
    (tmp_path / "silent.py").write_text(
        "class Silent:\n    def handle(self, records):\n        print(*records)\n"
    )
    path = tmp_path / "a.toml"
    path.write_text(CRASH.replace("members = 2", 'members = 2\nhandler = "silent:Silent"'))

    assert "its method handle(records) has no yield" in rebalance("run", path).err
