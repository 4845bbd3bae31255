"""Sequence diagrams are in Mermaid's language, and show every name as it is written."""

from __future__ import annotations

import html
import json
import re

import pytest

from emulator.events import Event, FaultBegan
from emulator.events.messages import MessageCarried
from emulator.report.traces.sequence import MAX_TEXT, Window, diagram_of, mermaid

from ..pages.browser import MERMAID, open_page

NAMES = (
    "a.b",
    "a-b",
    "end",
    "x; y #1",
    "50%% {at} {all}",
    "%%{init: {}}%%",
    "wrap:<b>&amp;",
    "loop -->> z",
    "$$x^2$$",
    "Ünï",
)
ID = r"p_\w+"
TEXT = r"(?:#\d+;|[^#;\n])+"
LINES = re.compile(
    rf"  participant {ID} as {TEXT}|  {ID}(?:->>|-->>|-x){ID}: {TEXT}|  Note over {ID}(?:,{ID})?: {TEXT}"
)
"""The statements that are used, in the words of Mermaid's grammar (``sequenceDiagram.jison``): ``#``
and ``;`` end a text, except as an entity such as ``#59;``."""


def hostile():
    """Return the lines of a diagram in which members have the names above."""
    messages = [
        MessageCarried("Fetch", True, name, "broker-1", f"{name}#1", number, number + 1, "")
        for number, name in enumerate(NAMES)
    ]
    messages += [
        MessageCarried("JoinGroup", True, name, "broker-1", f"{name}#2", 9, None, "; # <b>%%{x}%%")
        for name in NAMES
    ]
    fault = Event(0, 5, None, FaultBegan(fault="f", verb="cut", target="{all} $$; %%{y}%%"), 0)
    return list(mermaid(diagram_of([fault], messages, Window(0, 99)), "%%{init: {}}%%; a", str))


def decoded(text):
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text)


def test_every_line_is_a_statement():
    """After the comments and the kind of the diagram."""
    lines = hostile()

    assert [line[:2] for line in lines[:2]] == ["%%", "%%"]
    assert "%%{" not in "\n".join(lines)
    assert lines[2] == "sequenceDiagram"
    assert [line for line in lines[3:] if not LINES.fullmatch(line)] == []


def test_every_name_is_shown_as_it_is_written_under_an_identifier_of_its_own():
    """Also names that differ in punctuation only."""
    declared = [line.split(" ", 5)[3:] for line in hostile() if line.startswith("  participant")]

    assert len({identifier for identifier, *_ in declared}) == len(NAMES) + 1
    assert {decoded(name) for _, _, name in declared} == {*NAMES, "broker-1"}


def test_a_diagram_is_no_longer_than_mermaid_draws():
    """The rest is counted."""
    name = "x" * 240
    messages = [
        MessageCarried("JoinGroup", True, name, "broker-1", f"{n}", n, n, "") for n in range(300)
    ]
    lines = list(mermaid(diagram_of([], messages, Window(0, 999)), "long", str))

    assert MAX_TEXT - 600 < sum(map(len, lines)) < 50_000
    assert re.fullmatch(r".*: \d+ more steps until 999 are left out", lines[-1])


@pytest.mark.long
def test_mermaid_draws_it(tmp_path):
    """In a browser, with the names as text."""
    if MERMAID is None:
        pytest.skip("mermaid is not installed (make browser): the diagram is not drawn")
    page = tmp_path / "page.html"
    page.write_text(
        f'<!doctype html><meta charset=utf-8><body><script src="{MERMAID.as_uri()}"></script>'
    )
    texts = (
        f"mermaid.render('d', {json.dumps(chr(10).join(hostile()))}).then(r => "
        "{ document.body.innerHTML = r.svg;"
        " return [...document.querySelectorAll('text')].map(t => t.textContent) })"
    )
    errors, [_, shown], _ = open_page(page, "mermaid.initialize({ startOnLoad: false }); 0", texts)

    assert errors == []
    assert {*NAMES} <= {html.unescape(each) for each in shown} | {*shown}
    assert "5 fault f begins: network cut: {all} $$; %%{y}%%" in shown
