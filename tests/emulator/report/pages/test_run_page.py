"""The page of a run: a timeline that shows its events, entries that explain its ledger."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

import emulator
from emulator.report.pages.history import Historian

from ...cli.commands import CRASH, rebalance
from .browser import open_page, violations

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the path of the page of a run in which a member crashes."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "crash.toml").write_text(CRASH)
    path = folder / "crash.html"
    assert 0 == rebalance("run", folder / "crash.toml", "--html", path).status
    return path


@pytest.fixture(scope="module")
def run():
    return emulator.run(emulator.loads(CRASH))


def figures(page):
    """Return the timelines of a page as XML; parsing fails if they are not well formed."""
    content = page.read_text(encoding="utf-8")
    return [
        ET.fromstring(each)
        for each in re.findall(r"<svg class=\"figure\".*?</svg>(?=\s*</div>)", content, re.DOTALL)
    ]


def titles(figure, kind):
    """Return the tool tips of the shapes of one class."""
    return [each.findtext("title") for each in figure.iter("rect") if each.get("class") == kind]


def test_the_page_says_the_answer_and_five_figures(page, run):
    """Those of the report."""
    content = page.read_text(encoding="utf-8")
    numbers = re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd></div>", content)[:5]

    assert f"{run.ledger.reprocessed} records were reprocessed, none lost." in content
    assert f"Because: crashed while uncommitted ({run.ledger.reprocessed} records)." in content
    assert ("records reprocessed", f"{run.ledger.reprocessed}") == numbers[0]
    assert ["records lost", "rebalances"] == [name for name, _ in numbers[1:3]]
    assert "longest time without an owner" == numbers[3][0]


def test_owners_and_gaps_are_those_of_the_events(page, run):
    """One shape for each ownership, and one for the time that the dead member's partitions wait."""
    figure = figures(page)[0]
    history = Historian()
    for event in run.events:
        history.feed(event)
    owners = history.close().groups["billing"].owners
    gaps = titles(figure, "gap")

    assert set(map(str, owners)) == {tip.split(":")[0] for tip in titles(figure, "piece")}
    assert all("no owner" in tip for tip in gaps)
    assert len(gaps) == 4


def test_faults_rebalances_members_and_curves_are_drawn(page):
    """On one time axis."""
    figure = figures(page)[0]
    classes = {each.get("class") for each in figure.iter()}

    assert {"rebalance", "lane-member", "curve log-end", "curve processed"} <= classes
    assert ["F1"] == [
        each.text for each in figure.iter("text") if each.get("class") == "fault-name"
    ]
    assert any("billing-1 crashes" in (each.text or "") for each in figure.iter("title"))


def test_every_mark_links_to_an_entry_with_its_sequence(page, run):
    """The events that rebalance explain shows."""
    content = page.read_text(encoding="utf-8")
    links = {each.get("href") for figure in figures(page) for each in figure.iter("a")}

    assert {f"#entry-{entry.id}" for entry in run.ledger.entries} == links
    for entry in run.ledger.entries:
        details = re.search(rf'<details id="entry-{entry.id}".*?</details>', content, re.DOTALL)
        assert details is not None
        assert "evidence" in details[0]
        explained = emulator.explain(run, entry.id)
        assert all(line.text.split(" (")[0][:30] in details[0] for line in explained.lines[:3])


def test_the_page_loads_nothing_and_is_the_same_every_time(page, tmp_path, monkeypatch):
    """On any terminal; no address, and a policy that permits the page's own script and style."""
    content = page.read_text(encoding="utf-8")
    again = tmp_path / "again.html"
    monkeypatch.setenv("COLUMNS", "60")
    rebalance("run", page.with_suffix(".toml"), "--html", again)

    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", content)
    assert "default-src 'none'; style-src 'sha256-" in content
    assert set() == set(re.findall(r"https?://[^\s\"']*", content))
    strip = str(page.with_suffix("")), str(again.with_suffix(""))
    assert content == again.read_text(encoding="utf-8").replace(*reversed(strip))


def test_a_file_of_another_origin_is_not_replaced(page, tmp_path):
    """But a page is."""
    mine = tmp_path / "mine.html"
    mine.write_text("<p>mine")

    assert 2 == rebalance("run", page.with_suffix(".toml"), "--html", mine).status
    assert mine.read_text() == "<p>mine"
    assert 0 == rebalance("run", page.with_suffix(".toml"), "--html", page).status


# -- in a browser ------------------------------------------------------------------------------


@pytest.mark.long
def test_a_click_on_a_mark_opens_its_entry(page):
    """Without an error of the console; also with the keyboard, since marks are links."""
    click = (
        "document.querySelector('svg a').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    shown = (
        "new Promise(done => setTimeout(() => { const one = document.querySelector('details[open]');"
        " done([one.id, one.getBoundingClientRect().top < innerHeight, one.innerText]) }, 300))"
    )
    opened = open_page(page, f"{click}; 0", shown)
    entry, is_visible, text = opened.answers[1]

    assert ([], "entry-D1", True) == (opened.errors, entry, is_visible)
    assert "cause" in text


FOCUS = (
    "(() => { const one = document.activeElement; const look = getComputedStyle(one);"
    " return [one.tagName.toLowerCase(), one.getAttribute('aria-label') || one.id || '',"
    " look.outlineStyle !== 'none', !!one.closest('svg'),"
    " !!(one.closest('details') || {}).open] })()"
)


@pytest.mark.long
def test_entries_are_reached_and_opened_with_the_keyboard(page):
    """Tab reaches each mark, Enter goes to its entry, and Tab and Enter open the next; all visibly."""
    tabs = [each for _ in range(9) for each in ("press Tab", FOCUS)]
    opened = open_page(page, *tabs)
    reached = [answer for answer in opened.answers if isinstance(answer, list)]
    marks = [place for place, each in enumerate(reached) if each[0] == "a" and each[3]]

    assert len(marks) >= 2
    assert reached[marks[0]][1].startswith("D")
    assert all(visible for _, _, visible, _, _ in reached)

    to_mark = ["press Tab"] * (marks[0] + 1)
    after = ("press Enter", "new Promise(done => setTimeout(done, 300))", FOCUS)
    following = ("press Tab", "press Enter", FOCUS)
    *_, at_entry, _, _, at_next = open_page(page, *to_mark, *after, *following).answers

    assert ["summary", True, False, True] == [at_entry[0], *at_entry[2:]]
    assert at_next[4]


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, scheme):
    """In light and in dark."""
    assert [] == violations(page, scheme)


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_scrolls_sideways(page, width):
    """Figures, tables and text fit into each width; no label is smaller than 11 pixels."""
    wider = (
        "[...document.querySelectorAll('.plot, .scroll, pre, main')]"
        ".filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.className)"
    )
    least = (
        "Math.min(...[...document.querySelectorAll('main *')]"
        ".map(one => parseFloat(getComputedStyle(one).fontSize)))"
    )
    opened = open_page(page, wider, least, width=width)

    assert ([], True) == (opened.errors, opened.width <= width)
    assert [] == opened.answers[0]
    assert 11 <= opened.answers[1]


@pytest.mark.long
def test_a_tall_figure_is_scaled_to_a_page_of_paper(page):
    """While it is printed; the first entries are open on paper."""
    tall = "document.querySelector('.plot').style.height = '1120px'"
    zoom = "parseFloat(getComputedStyle(document.querySelector('.plot')).zoom)"
    of = "document.querySelectorAll('.entry"
    counts = f"[{of}').length, {of}[open]').length]"
    before, after = (f"dispatchEvent(new Event('{each}print')); 0" for each in ("before", "after"))
    opened = open_page(page, tall, before, zoom, counts, after, zoom)
    _, _, printed, entries, _, shown = opened.answers

    assert ([], 0.5, 1) == (opened.errors, printed, shown)
    assert entries[0] == entries[1] > 0


@pytest.mark.long
def test_trials_of_changes_are_on_the_page(tmp_path):
    """Their effects in a table, and the settings to paste."""
    (tmp_path / "crash.toml").write_text(CRASH)
    path = tmp_path / "crash.html"
    answer = rebalance("run", tmp_path / "crash.toml", "--html", path, "--advise")
    content = path.read_text(encoding="utf-8")
    (named,) = re.findall(r"^  ([a-z-]+): better", answer.out, re.MULTILINE)[:1]

    assert ">Changes tried</h2>" in content
    assert re.search(rf"<td data-title=.change.[^>]*>{named}</td>", content)
    assert "auto.commit.interval.ms=1000\n--set " in content
