"""The printed pages of ``docs/`` say what the code says."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

import emulator
from docs.pages import consumer_verdicts
from docs.pages.__main__ import DOCS, PAGES, PLAYED
from docs.pages.advice import advice_page, hint_ids
from docs.pages.causes import causes_page
from docs.pages.scenario_files import ARRIVALS, TIMES, scenario_files_page
from emulator.advice.changes import CHANGES
from emulator.ledger.entries import Cause
from emulator.scenario.short_forms import TARGETS


def played_pages() -> list:
    """Return their names; the longest are left to the soaks.

    One plays 38 captured runs under nine seeds; what the other one shows is held by the tests of the
    published set-ups.
    """
    longest = ("reference/captured-runs.md", "explanation/published.md")
    return [
        pytest.param(name, marks=pytest.mark.soak if name in longest else ()) for name in PLAYED
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_matches_the_code(name):
    """A change of the code needs a new page."""
    assert PAGES[name]() == (DOCS / name).read_text(encoding="utf-8"), "python -m docs.pages"


def test_every_key_of_a_scenario_file_has_a_meaning():
    """Its own, that of its table, or that of the group's key."""
    rows = [line for line in scenario_files_page().splitlines() if line.startswith("| `")]

    assert [] == [row for row in rows if row.endswith("|  |")]
    assert len(rows) > 300


@pytest.mark.long
@pytest.mark.parametrize("name", played_pages())
def test_a_played_page_shows_what_the_runs_come_to(name):
    """Its tables are those of ``rebalance compare``."""
    assert PLAYED[name]() == (DOCS / name).read_text(encoding="utf-8"), "python -m docs.pages"


@pytest.mark.parametrize("state", ["STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"])
def test_the_senders_of_the_verdict_tables_are_in_the_state_of_their_column(state):
    """So that a cell is about that state."""
    situation = consumer_verdicts.COLUMNS[state]()
    member = situation.cluster.member(situation.sender)

    assert member is not None
    assert (state, situation.epoch) == (member.current.state.name, member.current.epoch)


def test_every_cause_has_a_paragraph():
    """None without a sentence and something that may help."""
    page = causes_page()

    assert [] == [cause for cause in Cause if f"\n### {cause}\n" not in page]


def test_every_verb_has_its_table():
    """Those of faults and those of acts."""
    page = scenario_files_page()

    assert [] == [verb for verb in TARGETS if f"\n### {verb}\n" not in page]


def test_links_of_the_scenario_page_lead_somewhere():
    """Each names a heading of the page."""
    page = scenario_files_page()
    found = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    headings = {heading.lower().replace(" ", "-") for heading in found}

    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= headings


def test_the_scenario_and_the_examples_of_the_page_can_be_played():
    """A member crashes, so records are reprocessed; each example takes the place of its key."""
    written, *examples = re.findall(r"```toml\n(.*?)```", scenario_files_page(), re.DOTALL)
    plain = {"rate": 'rate = "20/s"', "work": 'work = "4ms"'}

    assert emulator.run(emulator.loads(written)).ledger.reprocessed > 0
    assert len(examples) == len(ARRIVALS) + len(TIMES)
    for example in examples:
        key = example.partition(" ")[0]
        assert plain[key] in written
        emulator.loads(written.replace(plain[key], example.strip()))


def test_every_hint_of_the_code_has_its_section_and_every_section_its_hint():
    """Their ids are found in the source, so that a hint outside the tables is noticed, too."""
    sources = (Path(emulator.__file__).parent / "report").rglob("*.py")
    made = [
        re.findall(r'\b(?:Hint|Given)\(\s*"([a-z0-9-]+)"', path.read_text()) for path in sources
    ]
    sections = re.findall(r"^## (.+)$", advice_page(), re.MULTILINE)

    changes = {name for changes in CHANGES.values() for name, _ in changes}

    assert {*chain(*made), *changes} == {*sections}
    assert CHANGES.keys() <= {*chain(*made)}
    assert len({*sections}) == len(sections) > 50


def test_the_hints_of_causes_lead_to_their_sections():
    """By their ids."""
    linked = re.findall(r"\]\(advice\.md#([^)]+)\)", causes_page())

    assert linked
    assert {*linked} <= hint_ids()
