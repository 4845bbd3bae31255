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


@pytest.mark.long
def test_the_site_is_built_and_needs_no_network(tmp_path):
    """Strict: no link and no anchor is broken; nothing is loaded from elsewhere."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (extra docs): no site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    pages = list(tmp_path.rglob("*.html"))

    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not LOADED.search(text), page
        assert not STYLES.search(text), page


@pytest.mark.long
def test_the_commands_of_the_first_steps_run(monkeypatch):
    """Those in a shell, which change files, after the examples of the page."""
    page = (ROOT / "docs" / "start" / "your-own-cluster.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with example_folder():
        for command, _ in examples(page):
            output(command)
        subprocess.run(["sh", "-eu", "-c", script], check=True, stdout=subprocess.DEVNULL)

        assert Path("crash.html").stat().st_size > 10_000
