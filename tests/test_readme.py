"""The README and the tour show what the commands print."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import emulator
from emulator.cli.main import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

CONSOLE = re.compile(r"^```console\n\$ rebalance (.*)\n((?s:.*?))^```$", re.MULTILINE)

SHOWN = [
    shown
    for name in ("README.md", "docs/start/tour.md")
    for shown in CONSOLE.findall((ROOT / name).read_text(encoding="utf-8"))
]
"""Commands, and what they print."""

LINKS = [
    (page.relative_to(ROOT), link)
    for page in PAGES
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
]


def in_its_time(command: str, printed: str) -> Any:
    """Leave a command that plays many runs to the long tests."""
    marks = [pytest.mark.long] if "--seeds" in command else []
    return pytest.param(command, printed, id=command, marks=marks)


@pytest.mark.parametrize(("command", "printed"), [in_its_time(*shown) for shown in SHOWN])
def test_a_command_prints_what_is_shown(command, printed, monkeypatch):
    """Line by line, and ends well."""
    monkeypatch.chdir(ROOT)
    answer = CliRunner().invoke(app, shlex.split(command))

    assert answer.exit_code == 0
    assert printed.splitlines() == answer.stdout.rstrip().splitlines()


def test_commands_are_shown():
    """The first one runs the main job's scenario."""
    assert len(SHOWN) >= 4
    assert SHOWN[0][0] == "run deploy-kills-in-mid-batch"


def test_the_scenario_shown_keeps_its_expectations():
    """It loads, something is repeated, and the bounds hold."""
    (written,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    run = emulator.run(emulator.loads(written))

    assert run.ok
    assert run.ledger.reprocessed > 0


def test_the_python_shown_does_what_it_says():
    """As a session."""
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False)

    assert results.attempted > 3
    assert results.failed == 0


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_links_lead_to_files_of_the_repository(page, link):
    """Links of the README and of every page in docs/."""
    assert (ROOT / page.parent / link).exists()
