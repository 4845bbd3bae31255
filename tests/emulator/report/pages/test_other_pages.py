"""The pages of comparisons and explanations: one time axis, paired differences, one entry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import emulator

from ...cli.commands import CRASH, rebalance
from .browser import checked, open_page

OFFSETS_LOG = Path(__file__).parents[4] / "examples" / "__consumer_offsets-4"


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "crash.toml"
    path.write_text(CRASH)
    return path


@pytest.fixture(scope="module")
def compared(scenario):
    path = scenario.with_name("compared.html")
    variants = ("--with", "eager", "--with", "kip848", "--seeds", "2", "--jobs", "1")
    assert 0 == rebalance("compare", scenario, *variants, "--html", path).status
    return path


@pytest.fixture(scope="module")
def explained(scenario):
    path = scenario.with_name("explained.html")
    assert 0 == rebalance("explain", scenario, "D1", "--html", path).status
    return path


@pytest.fixture(scope="module")
def audited(scenario):
    events, path = scenario.with_name("events.parquet"), scenario.with_name("audited.html")
    assert 0 == rebalance("run", scenario, "--events", events).status
    assert 0 == rebalance("audit", events, "--html", path).status
    return path


@pytest.fixture(scope="module")
def imported(scenario):
    folder = scenario.with_name("imported")
    assert 0 == rebalance("import", OFFSETS_LOG, "-o", folder, "--engine", "pool").status
    return folder / "report.html"


def ticks(figure):
    """Return the labels of a time axis with their places."""
    return re.findall(r'<text x="([\d.]+)%" y="34" class="tick"[^>]*>([^<]+)<', figure)


def test_variants_share_one_time_axis(compared):
    """With the differences, seed by seed, above."""
    content = compared.read_text(encoding="utf-8")
    figures = re.findall(r'<svg class="figure".*?</svg>(?=\s*</div>)', content, re.DOTALL)
    differences, *timelines = figures

    assert 2 == len(timelines)
    assert ticks(timelines[0]) == ticks(timelines[1]) != []
    assert "<circle" in differences
    assert "Reprocessed: " in content
    assert {"v0-", "v1-"} >= set(re.findall(r'<details id="(v\d-)entry', content))


def test_every_link_of_a_page_leads_somewhere(compared, explained):
    """Ids are unique, too, although variants have entries of the same name."""
    for page in (compared, explained):
        content = page.read_text(encoding="utf-8")
        ids = re.findall(r' id="([^"]+)"', content)

        assert len(ids) == len(set(ids))
        assert set(re.findall(r'href="#([^"]+)"', content)) <= set(ids)
        assert set(re.findall(r"url\(#([^)]+)\)", content)) <= set(ids)


def test_an_entry_has_its_sequence_and_the_timeline_around_it(scenario, explained):
    """Open at once."""
    content = explained.read_text(encoding="utf-8")
    lines = emulator.explain(str(scenario), "D1").lines

    assert '<details id="entry-D1" class="entry" open>' in content
    assert len(lines) == len(re.findall('<li><time>|<li class="evidence"><time>', content))
    assert "From 0:00:" in content


def test_pages_are_refused_before_anything_is_played(scenario, tmp_path):
    """As for a run."""
    for command in (("compare", scenario), ("explain", scenario, "D1")):
        answer = rebalance(*command, "--html", tmp_path / "page.txt")
        assert (2, "") == (answer.status, answer.out)
        assert "ends in .html" in answer.err


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1_280)])
def test_the_pages_work_in_a_browser(compared, explained, audited, imported, scheme, width):
    """No error of the console, nothing serious for axe, and text that fits."""
    for page in (compared, explained, audited, imported):
        opened = checked(page, scheme, width)
        assert ([], True) == (opened.errors, opened.width <= width)
        assert [] == opened.answers[1]


@pytest.mark.long
def test_a_click_on_a_mark_of_an_audit_shows_its_sequence(audited):
    """As on the page of the run."""
    click = (
        "document.querySelector('svg a').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    shown = (
        "new Promise(done => setTimeout(() => done(document.querySelector('details[open]').innerText),"
        " 300))"
    )
    opened = open_page(audited, f"{click}; 0", shown)

    assert [] == opened.errors
    assert "billing-1 crashes" in opened.answers[1]
    assert "evidence" in opened.answers[1]


@pytest.mark.long
def test_tables_of_the_report_as_text_keep_their_lines_on_paper(compared):
    """The letters are as small as the longest line wants."""
    size = "parseFloat(getComputedStyle(document.querySelector('.terminal')).fontSize)"
    wide = "document.querySelector('.terminal').textContent = 'x'.repeat(200)"
    print_, done = (
        "dispatchEvent(new Event('beforeprint'))",
        "dispatchEvent(new Event('afterprint'))",
    )
    opened = open_page(compared, size, wide, print_, size, done, size, width=390)
    before, _, _, small, _, after = opened.answers

    assert [] == opened.errors
    assert opened.width <= 390
    assert small * 200 * 0.61 <= 641
    assert small < before == after
