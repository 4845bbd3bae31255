"""What a study came to, as one page with pictures that needs nothing from anywhere.

Plotly's script is in the page. It carries addresses of map servers and the like, which none of
our pictures uses; they lose their scheme, and the page forbids the browser every connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape

from plotly.offline import get_plotlyjs

import emulator
from emulator.report.wording import counted
from emulator.study.answer_text import answer_table, sentences
from emulator.study.findings import Findings
from emulator.study.pictures import Picture, pictures
from emulator.study.screen import study_screen
from emulator.versions import KAFKA

FOREIGN = re.compile(r"https?://(?!www\.w3\.org/)")
"""An address that a browser could fetch; those of W3C are names of formats."""

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; form-action 'none'; base-uri 'none'"
)

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2329; margin: 0 auto; max-width: 62rem;
  padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 0; }
p { margin: .3rem 0; } .facts, figcaption { color: #56616b; }
.answer { font-size: 1.1rem; } .wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .9rem; }
td, th { border: 1px solid #d5dade; padding: .2rem .6rem; text-align: left; }
figure { margin: 0; } .picture { height: 26rem; }
pre { overflow-x: auto; font-size: .85rem; background: #f6f7f8; padding: 1rem; }
"""

CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "plotlyServerURL": "",
    "topojsonURL": "",
    "modeBarButtonsToRemove": ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d"],
}
"""Of plotly's tools those are left out that would upload a picture, or select what nobody takes."""


def study_page(findings: Findings) -> str:
    """Return the page as HTML; the same findings give the same bytes."""
    return "\n".join(_lines(findings))


def _lines(findings: Findings) -> Iterator[str]:
    study = findings.plan.study
    title = escape(study.title)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{STYLE}</style>"
    yield f"<script>{own_script()}</script>\n</head>\n<body>\n<h1>{title}</h1>"
    if study.question:
        yield f"<p>{escape(study.question)}</p>"
    yield f'<p class="facts">{escape(_facts(findings))}</p>'
    yield from _answer(findings)
    for number, picture in enumerate(pictures(findings)):
        yield from _section(number, picture)
    text = "\n".join(study_screen(findings))
    yield f"<h2>In numbers</h2>\n<pre>{escape(text)}</pre>\n</body>\n</html>\n"


def _answer(findings: Findings) -> Iterator[str]:
    """Yield what the study is for, before all pictures."""
    for sentence in sentences(findings):
        yield f'<p class="answer">{escape(sentence)}</p>'
    head, *rows = answer_table(findings) or [()]
    if rows:
        titles = "".join(f"<th>{escape(title)}</th>" for title in head)
        yield f'<div class="wide"><table>\n<tr>{titles}</tr>'
        for row in rows:
            yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        yield "</table></div>"


def own_script() -> str:
    """Return plotly's script without addresses that a browser could fetch."""
    return FOREIGN.sub("", get_plotlyjs()).replace("</script", "<\\/script")


def _facts(findings: Findings) -> str:
    parts = [
        f"scenario {findings.plan.study.scenario}",
        counted(findings.runs, "run"),
        counted(len(findings.results), "cell"),
        *([f"{counted(findings.failed, 'run')} failed"] if findings.failed else []),
        f"Apache Kafka {KAFKA}",
        f"rebalance-emulator {emulator.__version__}",
    ]
    return " | ".join(parts)


def _section(number: int, picture: Picture) -> Iterator[str]:
    data = json.dumps(picture.figure, allow_nan=False).replace("</", "<\\/")
    yield f"<h2>{escape(picture.title)}</h2>\n<figure>"
    yield f'<div class="picture" id="picture-{number}"></div>'
    yield f"<figcaption>{escape(picture.words)}</figcaption>\n</figure>"
    call = f'Plotly.newPlot("picture-{number}", shown.data, shown.layout, {json.dumps(CONFIG)})'
    yield f"<script>{{ const shown = {data}; {call}; }}</script>"
