"""The README and the pages of ``docs/`` show what the commands print."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import emulator
from docs.pages.shown import examples, excerpt, output, shown_pages

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

SHOWN = [
    (page.relative_to(ROOT), command, printed)
    for page in shown_pages()
    for command, printed in examples(page.read_text(encoding="utf-8"))
]
"""Commands of each page, and what they print."""

LINKS = [
    (page.relative_to(ROOT), link)
    for page in PAGES
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
]


def in_its_time(page: Path, command: str, printed: str) -> Any:
    """Leave commands that play many runs, and the pages with many commands, to the long tests."""
    often = "--seeds" in command or page.parent.name in {"incidents", "explanation"}
    return pytest.param(command, printed, id=command, marks=[pytest.mark.long] if often else [])


@pytest.mark.parametrize(("command", "printed"), [in_its_time(*shown) for shown in SHOWN])
def test_a_command_prints_what_is_shown(command, printed):
    """Line by line, and ends well."""
    assert printed.splitlines() == excerpt(output(command), printed).splitlines()


def test_commands_are_shown():
    """The first one runs the main job's scenario; each family of incidents shows two or more."""
    assert SHOWN[0][1] == "run deploy-kills-in-mid-batch"
    assert sum(page.parent.name == "incidents" for page, *_ in SHOWN) >= 35


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
