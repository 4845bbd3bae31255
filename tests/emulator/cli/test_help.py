"""The help of every command: examples that work, all statuses, and lines that fit."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.capturing.experiment import plan_of
from emulator.loading import path_of
from emulator.report.wording import WIDTH

from .commands import Answer, rebalance, written

COMMANDS = [
    *("", "run", "compare", "study", "explain", "ledger"),
    *("assign", "log", "import", "audit", "blame", "verify", "scenarios", "init", "schema"),
]
LONGEST = ("compare", "blame")
"""Their examples play hundreds of runs."""

MANY = [pytest.param(name, marks=pytest.mark.soak if name in LONGEST else ()) for name in COMMANDS]
ALL = [*COMMANDS, "capture", "scenarios show", "scenarios copy", "scenarios list"]
EXAMPLES = re.compile(r"^  Examples:\n((?:    .*\n)+)", re.MULTILINE)


def help_of(command: str) -> str:
    """Return the help of a command."""
    status, out, err = rebalance(*command.split(), "--help")
    assert (0, "") == (status, err)
    return out


def examples(command: str) -> list[str]:
    """Return the commands that a help shows."""
    found = EXAMPLES.search(help_of(command))
    assert found
    return [block.partition("\n")[2] for block in found[1].split("    # ")[1:]]


def plays_many(example: str) -> bool:
    """Such an example is left to the long tests."""
    longer = (" compare ", " blame ", "--seeds", "--advise", "--perfetto", "--html")
    return any(word in example for word in longer)


def answer_to_one(command: str) -> Answer:
    """Run one command; its words may be patterns of files."""
    first, *words = shlex.split(command)
    assert "rebalance" == first
    return rebalance(*(path for word in words for path in sorted(Path().glob(word)) or [word]))


def answer_to(example: str) -> Answer:
    """Run an example: in this process unless it needs a shell, which takes longer."""
    if len(example.splitlines()) == 1 and not set("|>&") & {*example}:
        answers = [answer_to_one(command) for command in example.split(";")]
        return next((answer for answer in answers if answer[0]), answers[-1])
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example],
        env={**os.environ, "PATH": scripts},
        capture_output=True,
        text=True,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def assert_works(command: str, folder: Path, *, many: bool) -> None:
    """Run the examples of a help, one after the other: some read what an earlier one wrote."""
    for example in examples(command):
        if plays_many(example) == many:
            status, out, err = answer_to(example)

            assert (0, "") == (status, err), example
            assert out or any(folder.glob("*.json")), example


@pytest.mark.one_of(2)
@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_a_help_work_without_a_checkout(command, tmp_path, monkeypatch):
    """Users copy them before they read anything."""
    monkeypatch.chdir(tmp_path)

    assert_works(command, tmp_path, many=False)


@pytest.mark.one_of(2)
@pytest.mark.long
@pytest.mark.parametrize("command", MANY)
def test_examples_with_many_runs_work_without_a_checkout(command, tmp_path, monkeypatch):
    """They need no files at all."""
    monkeypatch.chdir(tmp_path)

    assert_works(command, tmp_path, many=True)


def test_the_examples_of_captures_need_no_file_that_only_a_checkout_has(tmp_path, monkeypatch):
    """The experiment can be captured; the last example copies it, to be changed."""
    monkeypatch.chdir(tmp_path)
    first, *_, copy = (shlex.split(example) for example in examples("capture"))
    experiment = first[2]

    assert experiment == plan_of(path_of(experiment)).name
    assert 0 == rebalance(*copy[1:]).status
    assert plan_of(Path(f"{experiment}.toml")).tracks == plan_of(path_of(experiment)).tracks


@pytest.mark.parametrize(
    "command", ["", "run", "compare", "study", "explain", "assign", "log", "verify"]
)
def test_the_help_has_the_exit_statuses(command):
    """Pipelines depend on them."""
    joined = " ".join(help_of(command).split())

    assert "Exit status: 0 " in joined
    assert re.search(r"; 2 (bad input|a line cannot be read)", joined)


@pytest.mark.parametrize("command", ["run", "compare", "study", "explain", "verify"])
def test_the_help_lists_the_keys_of_json(command):
    """The keys need not be guessed from one example."""
    assert "--json prints " in " ".join(help_of(command).split())


@pytest.mark.parametrize(
    ("call", "keys"),
    [
        (
            ("run", "--json"),
            "seed digest reprocessed lost partial by_cause rebalances ledger metrics",
        ),
        (
            ("run", "--json", "--seeds", 2, "--jobs", 1),
            "seeds worst_seed runs summary expectations",
        ),
        (("compare", "--json", "--jobs", 1), "seeds variants"),
        (("explain", "--json"), "entry lines"),
    ],
)
def test_json_has_the_keys_that_the_help_names(tmp_path, call, keys):
    """The help lists the same keys."""
    command, *options = call
    entry = ["D1"] if command == "explain" else []

    document = rebalance(command, written(tmp_path), *entry, *options).document

    assert set(keys.split()) <= document.keys()
    joined = " ".join(help_of(command).split()).partition("--json prints ")[2]
    assert not [key for key in keys.split() if key not in joined]


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("command", ALL)
def test_the_help_fits(command, columns, monkeypatch):
    """In the usual terminal, and never wider than a report; no line is cut off."""
    monkeypatch.setenv("COLUMNS", str(columns))

    lines = help_of(command).splitlines()

    assert max(map(len, lines)) <= WIDTH
    several = re.compile(r"(COMMAND|CAPTURE|EXPERIMENT|FILE|LOG|SOURCE|WORD)\W.*\.\.\.$")
    assert not [line for line in lines if line.endswith("...") and not several.search(line)]


@pytest.mark.long
def test_the_list_can_be_asked_for_by_name():
    """``scenarios list`` is what people type."""
    assert rebalance("scenarios") == rebalance("scenarios", "list")
    assert rebalance("scenarios", "--json") == rebalance("scenarios", "list", "--json")
