"""The printed pages of ``docs/`` say what the code says."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

import emulator
from docs.pages import consumer_protocol, consumer_verdicts, coordinator_failures
from docs.pages.__main__ import DOCS, PAGES, PLAYED
from docs.pages.advice import advice_page, hint_ids
from docs.pages.causes import causes_page
from docs.pages.scenario_files import ARRIVALS, TIMES, scenario_files_page
from emulator.advice.changes import CHANGES
from emulator.ledger.entries import Cause
from emulator.scenario.short_forms import TARGETS

TABLES = [
    pytest.param(
        page, path, name, id=name, marks=pytest.mark.soak if name in consumer_protocol.SEEDS else ()
    )
    for page, path in (
        (consumer_protocol, "explanation/consumer-protocol.md"),
        (coordinator_failures, "explanation/coordinator-failures.md"),
    )
    for name in re.findall(r"^\{([a-z0-9-]+)\}$", page._PAGE, re.MULTILINE)
]
"""The tables of the pages that the long tests play; two more pages are left to the soaks."""


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
@pytest.mark.one_of(3)
@pytest.mark.parametrize(("page", "path", "name"), TABLES)
def test_a_table_of_a_played_page_shows_what_the_runs_come_to(page, path, name):
    """It is that of ``rebalance compare``."""
    written = (DOCS / path).read_text(encoding="utf-8")

    assert f"\n\n{page._table(name)}\n" in written, "python -m docs.pages"


@pytest.mark.parametrize("path", ["consumer-protocol", "coordinator-failures"])
def test_the_sentences_of_a_played_page_match_the_code(path):
    """What stands between its tables; these are played by the long tests."""
    written = (DOCS / "explanation" / f"{path}.md").read_text(encoding="utf-8")
    page = {each.values[1]: each.values[0] for each in TABLES}[f"explanation/{path}.md"]

    for sentences in re.split(r"^\{[a-z0-9-]+\}$", page._PAGE, flags=re.MULTILINE):
        before, found, written = written.partition(sentences)
        assert found, sentences
        assert not before.strip() or before.startswith("|")


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("name", PLAYED)
def test_a_played_page_shows_what_the_runs_come_to(name):
    """All of its tables, some of which play dozens of runs."""
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
