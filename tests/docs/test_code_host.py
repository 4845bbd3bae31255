"""``docs/`` reads well on a code host, without the site: in the Markdown that GitHub and GitLab show."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SITE_ONLY = re.compile(r"^(?:!!!|\?\?\?|===) |\{[:.#][^}]*\}|\]\[|\]\(", re.MULTILINE)
"""Admonitions, tabs and attributes of mkdocs, and links that were not understood as links."""


@cache
def tokens_of(page):
    """Return a page as a code host reads it."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def inline(page, kind):
    return [
        child for token in tokens_of(page) for child in token.children or () if child.type == kind
    ]


@cache
def anchors(page):
    """Return the anchors that a code host gives to the headings of a page."""
    found: dict[str, int] = {}
    for opened, content in pairwise(tokens_of(page)):
        if opened.type == "heading_open":
            text = "".join(each.content for each in content.children)
            plain = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = found.get(plain, 0)
            found[plain] = number + 1
            if number:
                found[f"{plain}-{number}"] = 1
    return {*found}


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_needs_no_site(page):
    """No syntax of the site, no tag that would not be seen, and no text that ought to be a table."""
    texts = [each.content for each in inline(page, "text")]
    tags = {each.content for each in inline(page, "html_inline")}
    blocks = [token.content for token in tokens_of(page) if token.type == "html_block"]
    indented = [token.content for token in tokens_of(page) if token.type == "code_block"]

    assert [text for text in texts if SITE_ONLY.search(text)] == []
    assert [text for text in texts if re.match(r"\s*\|.*\|\s*$", text)] == []
    assert tags <= {"<br>"}
    assert all(block.startswith("<!--") for block in blocks)
    assert [] == indented, "text that is indented is shown as code"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_rows_of_a_table_have_the_cells_of_its_head(page):
    """A code host drops others; a pipe in a cell is written with a backslash, also in code."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for token in tokens_of(page):
        if token.type == "table_open":
            rows = lines[slice(*token.map)]
            cells = [len(re.findall(r"(?<!\\)\|", row.strip().strip("|"))) for row in rows]
            assert {*cells} == {cells[0]}, rows[0]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_to_sections_lead_to_a_heading(page):
    """Under the anchor that a code host makes of it, one heading only; files are checked with the README."""
    for link in inline(page, "link_open"):
        path, _, anchor = link.attrs["href"].partition("#")
        target = (page.parent / path).resolve() if path else page
        if anchor and target in PAGES:
            assert anchor in anchors(target), link.attrs["href"]
            assert f"{anchor}-1" not in anchors(target), link.attrs["href"]
