"""The documentation as a site: ``mkdocs.yml`` and its hook."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from docs.pages.shown import example_folder, examples, output
from docs.pages.site import on_page_markdown

from ..emulator.report.pages.browser import open_page

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc="?(?://|https?:)|@import\s+url\(["']?http"""
)
STYLES = re.compile(r"""<link[^>]*rel="?(?:stylesheet|preconnect)"?[^>]*href="?(?://|https?:)""")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[metrics](../reference/metrics.md#values)", "[metrics](../reference/metrics.md#values)"),
        ("[three](../../examples/assignors)", "three (`examples/assignors`)"),
        ("[`Makefile`](../../Makefile)", "`Makefile`"),
        ("[Kafka](https://kafka.apache.org)", "[Kafka](https://kafka.apache.org)"),
    ],
)
def test_a_link_out_of_the_docs_becomes_a_name(written, shown):
    """Other links stay."""
    page = SimpleNamespace(file=SimpleNamespace(src_uri="start/tour.md"))

    assert on_page_markdown(written, page=page) == shown


def test_every_page_has_a_place_in_the_site():
    """And every place a page."""
    placed = re.findall(
        r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    docs = ROOT / "docs"

    assert sorted(placed) == sorted(str(page.relative_to(docs)) for page in docs.rglob("*.md"))


def test_the_front_page_links_to_every_page_for_readers():
    """So that the documentation reads on a code host without the site; incidents have a page of their own."""
    docs = ROOT / "docs"
    front = re.findall(r"\(([\w./-]+\.md)[)#]", (docs / "README.md").read_text(encoding="utf-8"))
    folders = ("start", "how-to", "explanation", "reference")

    assert not {
        str(page.relative_to(docs)) for folder in folders for page in (docs / folder).glob("*.md")
    }.difference(front)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site. Strict: no link and no anchor is broken."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (extra docs): no site")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


@pytest.mark.long
def test_the_site_needs_no_network(site):
    """Nothing is loaded from elsewhere."""
    pages = list(site.rglob("*.html"))

    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not LOADED.search(text), page
        assert not STYLES.search(text), page


SEARCH = """
(async () => {
  const until = async (found) => {
    for (let i = 0; i < 100 && !found(); i += 1) await new Promise((done) => setTimeout(done, 100));
  };
  const links = () => [...document.querySelectorAll(".md-search-result__link")];
  const input = document.querySelector(".md-search__input");
  await new Promise((done) => setTimeout(done, 1000));
  input.focus();
  await until(() => typeof __index !== "undefined");
  input.value = "grace period";
  input.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  await until(() => links().length);
  return links().map((link) => link.href.split("/").slice(-2).join("/"));
})()
"""


@pytest.mark.long
def test_the_search_works_from_disk(site):
    """A worker is refused to pages from disk; an iframe takes its place."""
    opened = open_page(site / "glossary.html", SEARCH)

    assert [] == opened.errors
    assert any(link.startswith("incidents/b-shutdown.html") for link in opened.answers[0])


@pytest.mark.soak
@pytest.mark.minutes
@pytest.mark.long
def test_the_commands_of_the_first_steps_run(monkeypatch):
    """Those in a shell, which change files, after the imports of the page; with less to play than there."""
    page = (ROOT / "docs" / "start" / "your-own-cluster.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    assert "--seeds 10 " in script
    script = script.replace("--seeds 10 ", "--seeds 2 ")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with example_folder():
        for command, _ in examples(page):
            if command.startswith("import "):
                output(command)
        group = Path("group.toml")
        text = group.read_text(encoding="utf-8")
        assert 'run_for = "10min"' in text
        group.write_text(text.replace('run_for = "10min"', 'run_for = "3min"'), encoding="utf-8")
        subprocess.run(["sh", "-eu", "-c", script], check=True, stdout=subprocess.DEVNULL)

        assert Path("crash.html").stat().st_size > 10_000
