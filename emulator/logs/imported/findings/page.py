"""Findings as one page with pictures that needs nothing from anywhere: the groups to look at first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Final

import emulator
from emulator.logs.imported.findings.figures import pictures_of
from emulator.logs.imported.findings.moments import clock
from emulator.logs.imported.findings.screen import (
    Shortlist,
    findings_screen,
    group_lines,
    headline,
    member_lines,
)
from emulator.logs.imported.findings.values import GroupFindings
from emulator.report.wording import counted
from emulator.scenario.manifest import KAFKA
from emulator.study.figures import Picture
from emulator.study.page import CONFIG, POLICY, STYLE, own_script

MOST_DRAWN: Final = 12
"""Groups with pictures."""

TITLE: Final = "Consumer groups, as their offsets log shows them"


def findings_page(shortlist: Shortlist) -> str:
    """Return the page as HTML; the same findings give the same bytes."""
    return "\n".join(_lines(shortlist))


def _lines(shortlist: Shortlist) -> Iterator[str]:
    groups = shortlist.first()[:MOST_DRAWN]
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(TITLE)}</title>\n<style>{STYLE}</style>"
    yield f"<script>{own_script()}</script>\n</head>\n<body>\n<h1>{escape(TITLE)}</h1>"
    yield f'<p class="facts">{escape(_facts(shortlist))}</p>'
    yield from _contents(groups)
    for number, found in enumerate(groups):
        yield from _group(number, found)
    text = "\n".join(findings_screen(shortlist))
    yield f"<h2>In numbers</h2>\n<pre>{escape(text)}</pre>\n</body>\n</html>\n"


def _facts(shortlist: Shortlist) -> str:
    ends = [found.assumptions.end_ms for found in shortlist.first()]
    parts = [
        counted(shortlist.groups, "group"),
        f"{shortlist.troubled:,} of them to look at",
        *([f"the log ends {clock(max(ends))} UTC"] if ends else []),
        f"Apache Kafka {KAFKA}",
        f"rebalance-emulator {emulator.__version__}",
    ]
    return " | ".join(parts)


def _contents(groups: list[GroupFindings]) -> Iterator[str]:
    if len(groups) < 2:
        return
    links = (
        f'<li><a href="#group-{number}">{escape(found.group)}</a></li>'
        for number, found in enumerate(groups)
    )
    yield f"<ul>{''.join(links)}</ul>"


def _group(number: int, found: GroupFindings) -> Iterator[str]:
    yield f'<h2 id="group-{number}">{escape(found.group)}</h2>'
    yield f'<p class="facts">{escape(headline(found))}</p>'
    told = "\n".join(list(group_lines(found))[1:])
    yield f"<pre>{escape(told)}</pre>"
    members = "\n".join(member_lines(found))
    if members:
        yield f"<h3>Who committed</h3>\n<pre>{escape(members)}</pre>"
    for place, picture in enumerate(pictures_of(found)):
        yield from _picture(f"picture-{number}-{place}", picture)


def _picture(name: str, picture: Picture) -> Iterator[str]:
    data = json.dumps(picture.figure, allow_nan=False).replace("</", "<\\/")
    yield f'<figure>\n<h3>{escape(picture.title)}</h3>\n<div class="picture" id="{name}"></div>'
    yield f"<figcaption>{escape(picture.words)}</figcaption>\n</figure>"
    call = f'Plotly.newPlot("{name}", shown.data, shown.layout, {json.dumps(CONFIG)})'
    yield f"<script>{{ const shown = {data}; {call}; }}</script>"
