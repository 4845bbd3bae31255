"""The README and the pages of ``docs/`` show what the commands print."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import emulator
from docs.pages.shown import example_folder, examples, excerpt, output, shown_pages, write_files

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

SHOWN = {
    str(page.relative_to(ROOT)): examples(page.read_text(encoding="utf-8"))
    for page in shown_pages()
}
"""Commands of each page, and what they print."""

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")

AT_ONCE = [
    pytest.param(command, printed, id=command)
    for command, printed in SHOWN["README.md"] + SHOWN["docs/start/tour.md"]
    if "--seeds" not in command
]
"""The others play many runs."""


@pytest.mark.parametrize(("command", "printed"), AT_ONCE)
def test_a_command_prints_what_is_shown(command, printed):
    """Line by line, and ends well."""
    with example_folder():
        assert printed.splitlines() == excerpt(output(command), printed).splitlines()


@pytest.mark.long
@pytest.mark.parametrize("page", SHOWN)
def test_the_commands_of_a_page_print_what_is_shown(page):
    """One after the other: an example may read what an earlier one wrote."""
    with example_folder():
        write_files((ROOT / page).read_text(encoding="utf-8"))
        for command, printed in SHOWN[page]:
            shown = excerpt(output(command), printed)
            assert printed.splitlines() == shown.splitlines(), command


def test_commands_are_shown():
    """The first one runs the main job's scenario; each family of incidents shows some."""
    assert SHOWN["README.md"][0][0] == "run deploy-kills-in-mid-batch"
    assert sum(len(shown) for page, shown in SHOWN.items() if "incidents" in page) >= 35


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_of_the_repository(page):
    """Links of the README and of every page in docs/."""
    links = LINK.findall(page.read_text(encoding="utf-8"))

    assert [] == [link for link in links if not (page.parent / link).exists()]
