"""One scenario with names full of markup, in every output: none of it is taken for syntax."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ..commands import CRASH, Answer, rebalance, written

MARKUP = '::error::%0A<img src=x onerror=b7()>"&`$(b7)`|;#a{{ ]]><b7>[x](javascript:b7)'
"""Of GitHub's log, HTML, a shell, Mermaid, XML and Markdown."""

NAME = MARKUP.replace("[", "(").replace("]", ")")
"""A name of a group, a member or a fault has no square brackets."""

HOSTILE = f"""
title = '{MARKUP}'
run_for = "40s"
topic = [{{ name = "orders", partitions = 4, rate = "20/s" }}]

[[group]]
id = '{NAME}'
topics = ["orders"]
members = ['{NAME}1', '{NAME}2']
work = "5ms"
settings = {{ "auto.offset.reset" = "earliest", "session.timeout.ms" = "6s" }}

[[fault]]
id = '{NAME}3'
crash = '{NAME}1'
at = "18s"

[expect]
lost = "> 5"
"""


class Elements(HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.attributes = set[str](), set[str]()
        self.links = list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Answer]:
    """Return the folder with the outputs of one run, and what it printed, as on GitHub."""
    folder = tmp_path_factory.mktemp("hostile")
    path = written(folder, HOSTILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_ACTIONS", "true")
        files = {
            "--html": "p.html",
            "--perfetto": "t.json",
            "--sequence": "s.mmd",
            "--junit": "j.xml",
        }
        options = [each for key, name in files.items() for each in (key, folder / name)]
        return folder, rebalance("run", path, *options)


def elements(html: str) -> Elements:
    """Return the parsed page."""
    found = Elements()
    found.feed(html)
    return found


@pytest.mark.long
def test_the_page_has_no_element_and_no_attribute_of_theirs(made):
    """Nor a link to a script."""
    page = elements((made[0] / "p.html").read_text())

    assert "b7()" in (made[0] / "p.html").read_text()
    assert not page.tags & {"img", "b7"}
    assert "onerror" not in page.attributes
    assert not [link for link in page.links if link.lower().startswith("javascript")]


def test_github_takes_only_the_annotation_for_a_command(made):
    """A line of a log that begins with two colons is one."""
    lines = [line.strip() for line in made[1].out.splitlines()]
    commands = [line for line in lines if line.startswith(("::", "##["))]

    assert 1 == len(commands)
    assert re.match(r"::error file=[^,:]+,line=\d+,title=[^:,\n]*::lost is 0", commands[0])


def test_the_sequence_diagram_has_lines_of_known_kinds_alone(made):
    """A semicolon would end a statement, a number sign begin an entity, an angle bracket an element."""
    kinds = r"(sequenceDiagram|participant|actor|Note|note|loop|end|alt|opt|rect|par|and|else|title|accTitle|accDescr|autonumber|activate|deactivate|box|create|destroy|%%|\S+\s*(-|=|x|\)|>))"
    lines = [line.strip() for line in (made[0] / "s.mmd").read_text().splitlines() if line.strip()]

    assert any("b7" in line for line in lines)
    for line in lines:
        assert re.match(kinds, line), line
        assert not re.search(r"[<>]b7|<img|;(?!\s*$)(?<!#\d\d;)(?<!#\d;)(?<!#\d\d\d;)", line), line


def test_traces_and_cases_are_one_document(made):
    """With the names as they are."""
    trace = json.loads((made[0] / "t.json").read_text())
    assert "b7" in json.dumps(trace)
    suite = ET.fromstring((made[0] / "j.xml").read_bytes())
    assert not list(suite.iter("b7"))
    assert [case.get("name") for case in suite.iter("testcase")]


def test_a_table_of_markdown_keeps_its_columns(tmp_path):
    """And has no element and no link."""
    table = rebalance("compare", written(tmp_path, HOSTILE), "--with", "eager", "--markdown").out
    rows = [line for line in table.splitlines() if line.startswith("|")]

    assert 1 == len({len(re.findall(r"(?<!\\)\|", row)) for row in rows})
    assert not re.search(r"(?<!\\)<(img|b7)", table)
    assert not re.search(r"(?<!\\)\]\(javascript", table)
    assert CRASH
