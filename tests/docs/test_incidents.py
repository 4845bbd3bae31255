"""Each situation of ``docs/incidents`` has a scenario that exists."""

from __future__ import annotations

import re

import pytest

from docs.pages.shown import ROOT
from emulator.scenario import catalogue
from emulator.scenario.load import load
from emulator.scenario.model import Scenario

FOLDER = ROOT / "docs" / "incidents"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([A-Z])(\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
SITUATIONS = {f"{family}{number}": cell for family, number, _, cell in ROW.findall(INDEX)}
PAGES = {path.name[0].upper(): path for path in FOLDER.glob("[a-z]-*.md")}
MAX = dict(zip("ABCDEFGHIJKLMNOPQRSTU", map(int, "957895777654646644547"), strict=True))
"""The number of situations of each family."""


def named(cell: str) -> list[str]:
    """Return the scenarios of the catalogue that a cell names."""
    return re.findall(r"`([a-z0-9-]+)`", cell)


def test_every_family_has_all_its_situations_and_a_page():
    """Numbered without a gap."""
    assert list(SITUATIONS) == [f"{f}{n}" for f, most in MAX.items() for n in range(1, most + 1)]
    assert set(MAX) == set(PAGES)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_situation_has_a_scenario_a_study_or_an_example(situation):
    """Each name exists, and each scenario bounds what it shows."""
    cell = SITUATIONS[situation]
    scenarios = named(cell)
    studies = re.findall(r"`rebalance study ([a-z0-9-]+)`", cell)
    examples = [FOLDER / link for link in re.findall(r"\]\(([^)]+)\)", cell)]
    files = [ROOT / "emulator" / "studies" / f"{name}.toml" for name in studies]

    assert scenarios + studies + examples
    assert set(scenarios) <= set(catalogue.names())
    assert all(path.is_file() for path in examples + files)
    for name in scenarios:
        played: Scenario = load(catalogue.path_of(name))
        assert played.expect


def test_a_scenario_named_after_a_situation_is_in_its_row():
    """``a1-deploy-goes-back`` is one of A1."""
    own = [name for name in catalogue.names() if re.match(r"[a-z]\d-", name)]
    placed = [name for name in own if name not in named(SITUATIONS[name[:2].upper()])]

    assert [] == placed


@pytest.mark.parametrize("family", PAGES)
def test_the_page_of_a_family_names_the_scenarios_of_its_situations(family):
    """A reader finds them in either place; those of another family are found on that one's page."""
    page = PAGES[family].read_text(encoding="utf-8")
    own = [name for name in catalogue.names() if re.match(rf"{family.lower()}\d-", name)]

    assert [] == [name for name in own if f"`{name}`" not in page and f" {name}\n" not in page]
