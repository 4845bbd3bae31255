"""Fill the template of a page: one HTML file that loads nothing and opens anywhere.

The content security policy names the one script and the one style of the page by their digests and
forbids everything else, every connection included.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from assignors.values import dataclass
from emulator.report.pages.automation import BELL, BELL_PATH
from emulator.report.pages.drawing import definitions, element, fill_of
from emulator.report.pages.lanes import LANES
from emulator.report.pages.marks import NAMES, SHAPES, glyph, shape_of
from emulator.report.pages.timeline import Drawing
from emulator.report.wording import visible

FOLDER: Final = Path(__file__).parent
GENERATOR: Final = "rebalance-emulator"
"""Named near the beginning of each page, so that the page may be replaced later."""

MAX_NAMED: Final = 32
"""Owners in a legend; fills repeat beyond."""

LONG_NUMBER: Final = 7
"""Characters of a figure at the top that has large digits."""


@dataclass(frozen=True, slots=True)
class Number:
    """One of the figures at the top of a page."""

    value: str
    label: str
    is_bad: bool = False
    """Whether records were reprocessed or lost; the value is then marked, not only coloured."""

    @property
    def is_long(self) -> bool:
        """Whether the value needs smaller digits to be on one line of its box."""
        return len(self.value) > LONG_NUMBER


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A timeline with its heading and description."""

    title: str
    caption: str
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as SVG, with its heading and description."""

    title: str
    caption: str
    labels: str
    figure: str
    legend: Sequence[tuple[str, str]] = ()
    """Pairs of a swatch, as SVG, and a name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that links to another place of the page."""

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; the first row has the titles of the columns."""

    caption: str
    rows: Sequence[Sequence[str | Cell]]
    is_index: bool = False
    """Whether the entries below have all that it shows: phones show only these."""

    has_row_names: bool = False
    """Whether the first column names the rows: phones show a name above the rest of its row."""


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line of a sequence of events."""

    moment: str
    text: str
    is_evidence: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDetails:
    """One ledger entry with the sequence of events that explains it."""

    anchor: str
    title: str
    facts: Sequence[tuple[str, str]]
    lines: Sequence[EventLine]
    note: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a page; everything in it is optional and shown in this order."""

    title: str = ""
    anchor: str = ""
    facts: str = ""
    paragraphs: Sequence[str] = ()
    texts: Sequence[tuple[str, str]] = ()
    """Preformatted texts, each below a heading that may be empty."""

    figures: Sequence[Figure] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    entries: Sequence[EntryDetails] = ()
    items: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The content of a page, in the order in which it is shown."""

    title: str
    question: str = ""
    facts: str = ""
    answer: Sequence[str] = ()
    """Sentences in larger type, the most important first."""

    numbers: Sequence[Number] = ()
    parts: Sequence[Part] = ()
    text: str = ""
    """The report as on a terminal, at the end."""


def render(page: Page) -> str:
    """Return a page as HTML; the same content gives the same bytes."""
    style, script = _file("page.css"), _file("page.js")
    template = _environment().get_template("page.html.j2")
    titled = [part for part in page.parts if part.title and part.anchor]
    page_html = template.render(
        page=page,
        contents=titled if len(titled) > 2 else [],
        policy=_policy(style, script),
        generator=GENERATOR,
        style=Markup(style),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704
        definitions=_definitions(page),
        legend_of=legend_of,
        mark_legend=mark_legend,
    )
    return visible(page_html)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    digests = (f"'sha256-{_digest(each)}'" for each in (style, script))
    style_digest, script_digest = digests
    return (
        f"default-src 'none'; style-src {style_digest}; script-src {script_digest}; "
        "form-action 'none'; base-uri 'none'"
    )


def _digest(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _definitions(page: Page) -> Markup:
    """Return the patterns and shapes that the figures and legends of a page refer to."""
    used = [each.drawing.figure for part in page.parts for each in part.figures]
    for chart in (each for part in page.parts for each in part.charts):
        used += [chart.figure, *(swatch for swatch, _ in chart.legend)]
    names = set(re.findall(r"#([a-z0-9-]+)[\")]", "".join(used)))
    names |= {"double", "outside", "paused"} if any(part.figures for part in page.parts) else set()
    marks = [(BELL, BELL_PATH), *((shape_of(kind), path) for kind, path in SHAPES.items())]
    return Markup(definitions(names, marks) if names else "")  # noqa: S704  made of escaped parts


def legend_of(owners: Sequence[str]) -> list[tuple[Markup, str]]:
    """Return a swatch and a name for each owner of a figure."""
    shown = [(_swatch(fill_of(place)), name) for place, name in enumerate(owners[:MAX_NAMED])]
    if len(owners) > MAX_NAMED:
        shown.append((Markup(""), f"and {len(owners) - MAX_NAMED} more, whose fills repeat"))
    return shown


def _swatch(fill: str) -> Markup:
    return swatch(element("rect", x=1, y=1, width=26, height=12, fill=fill, class_="piece"))


def swatch(content: str) -> Markup:
    """Return a small drawing for a legend; *content*: 28 by 14 pixels of SVG."""
    drawn = element(
        "svg",
        content,
        class_="swatch",
        width=28,
        height=14,
        viewBox="0 0 28 14",
        aria_hidden="true",
    )
    return Markup(drawn)  # noqa: S704  made of escaped parts


def mark_legend(drawing: Drawing) -> list[tuple[Markup, str]]:
    """Return what the shapes of a timeline mean, of those that it has."""

    def box(kind: str) -> Markup:
        return swatch(element("rect", x=1, y=1, width=26, height=12, class_=kind))

    def line(kind: str) -> Markup:
        return swatch(element("polyline", points="0,7 28,7", class_=f"curve {kind}"))

    place = {"x": 1, "y": 1, "width": 26, "height": 12}
    both = element("rect", class_="c0", **place) + element("rect", class_="double", **place)
    fault = element("line", x1=14, x2=14, y1=0, y2=14)
    found = [
        *((f"mark {kind.value}", swatch(glyph(kind, 14, 7)), name) for kind, name in NAMES.items()),
        ("gap", box("gap"), drawing.without),
        ("double", swatch(both), "two owners"),
        ("fault", swatch(element("g", fault, class_="fault")), "fault or act"),
        ("rebalance", box("rebalance"), "rebalance"),
        *((kind, box(kind), f"process: {state}") for state, kind in LANES.items()),
        ("curve replicas", line("replicas"), "replicas of the autoscaler"),
        ("stuck", box("stuck"), "partition stuck, noticed"),
        ("missed", box("missed"), "partition stuck, not noticed"),
        ("alarm", box("alarm"), "alarm"),
        ("false-alarm", box("false-alarm"), "false alarm"),
        ("curve log-end", line("log-end"), "end of the log"),
        ("curve processed", line("processed"), "processed"),
        ("curve committed", line("committed"), "committed"),
    ]
    return [(drawn, name) for kind, drawn, name in found if f'class="{kind}"' in drawing.figure]
