"""One HTML page with pictures, for studies and imports: a file that loads nothing from a network.

The page contains plotly's script. The addresses in it, of map servers and the like, are not used
by any of our pictures; their schemes are removed, and the page's content security policy forbids
every connection. Importing this module raises ``ModuleNotFoundError`` without plotly, which is an
optional dependency.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from plotly.offline import get_plotlyjs

Figure = dict[str, Any]
"""A plotly figure: ``data`` and ``layout``."""

COLOURS: Final = (
    *("#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2"),
    *("#b58b00", "#5b6770", "#d1495b", "#00798c"),
)
"""Colours of curves; they differ in brightness as well as in hue."""

REMOTE_ADDRESS: Final = re.compile(r"https?://(?!www\.w3\.org/)")
"""The scheme of an address that a browser could fetch; addresses of W3C are names of formats."""

POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; form-action 'none'; base-uri 'none'"
)

CONFIG: Final = {
    "responsive": True,
    "displaylogo": False,
    "plotlyServerURL": "",
    "topojsonURL": "",
    "modeBarButtonsToRemove": ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d"],
}
"""Options of plotly; the tools that upload a picture are removed."""

TEMPLATE: Final = Path(__file__).with_name("page.html.j2")


@dataclass(frozen=True, slots=True)
class Picture:
    """A plotly figure with its title and caption."""

    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page: texts, then pictures."""

    title: str = ""
    """Empty: the pictures are sections of their own."""

    facts: str = ""
    texts: Sequence[tuple[str, str]] = ()
    """Preformatted texts, each below a heading that may be empty."""

    pictures: Sequence[Picture] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The content of a page, in the order in which it is shown."""

    title: str
    question: str = ""
    facts: str = ""
    answer: Sequence[str] = ()
    """Paragraphs in larger type."""

    table: Sequence[Sequence[str]] = ()
    """Rows of cells, the column titles first."""

    sections: Sequence[Section] = ()
    """Several titled ones get a table of contents."""

    text: str = ""
    """The report as on a terminal, at the end."""


def render(page: Page) -> str:
    """Return a page as HTML; the same content gives the same bytes."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    titled = [section for section in page.sections if section.title]
    return template.render(
        page=page,
        contents=titled if len(titled) > 1 else [],
        policy=POLICY,
        config=CONFIG,
        script=plotly_script(),
    )


def plotly_script() -> str:
    """Return plotly's script without addresses that a browser could fetch."""
    return REMOTE_ADDRESS.sub("", get_plotlyjs()).replace("</script", "<\\/script")
