"""Findings as one self-contained HTML page with charts: the groups to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import emulator
from emulator.logs.imports.assessing import HOUR_MS
from emulator.logs.imports.notices import clock, iso
from emulator.logs.imports.reasons import Explained, Reason
from emulator.logs.imports.screen import (
    Shortlist,
    findings_screen,
    group_lines,
    headline,
    member_lines,
)
from emulator.logs.imports.values import GroupFindings
from emulator.report.page import COLOURS, Figure, Page, Picture, Section, render
from emulator.report.wording import counted
from emulator.versions import KAFKA

MOST_BARS: Final = 120
MOST_GENERATIONS: Final = 2_000
"""Maximum number of generations drawn: the newest ones."""

_GRID: Final = "#e6e6e6"
_RED: Final = "#c8323c"

_COLOUR_OF: Final = {
    Reason.EXPIRED: _RED,
    Reason.LATE_POLL: _RED,
    Reason.GONE: COLOURS[1],
    Reason.LEFT: COLOURS[4],
    Reason.EMPTIED: COLOURS[4],
    Reason.RESTARTED: COLOURS[3],
    Reason.STATIC_REJOIN: COLOURS[3],
    Reason.JOINED: COLOURS[2],
    Reason.FORMED: COLOURS[2],
}
_OTHER: Final = COLOURS[5]


def pictures_of(found: GroupFindings) -> Iterator[Picture]:
    """Yield the charts of a group, without those that would be empty."""
    if found.changes:
        yield _generations(found)
    if found.pace.an_hour is not None and found.pace.rebalances:
        yield _rebalances_an_hour(found)
    if found.curves:
        yield _offsets(found)
    if found.intervals_ms:
        yield _cadence(found)


# -- generations -----------------------------------------------------------------------------------


def _generations(found: GroupFindings) -> Picture:
    changes = found.changes[-MOST_GENERATIONS:]
    times = [iso(each.change.place.at_ms) for each in changes]
    members = [each.change.members for each in changes]
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": [*times, iso(found.pace.last_ms)],
        "y": [*members, members[-1]],
        "line": {"color": COLOURS[0], "shape": "hv"},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    data = [line, *_marks(changes)]
    bands = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": iso(deploy.from_ms),
            "x1": iso(deploy.to_ms),
            "y0": 0,
            "y1": 1,
            "fillcolor": f"{COLOURS[3]}22",
            "line": {"width": 0},
        }
        for deploy in found.deploys
    ]
    layout = _layout("", "members") | {"shapes": bands}
    words = (
        "The line is the number of members; each dot is a generation or epoch, coloured by its "
        "probable reason. Shaded: probably a deploy."
    )
    left_out = len(found.changes) - len(changes)
    more = f" {left_out} older ones are not drawn; rebalances.parquet has them." if left_out else ""
    return Picture("Generations", words + more, {"data": data, "layout": layout})


def _marks(changes: tuple[Explained, ...]) -> Iterator[Figure]:
    for reason in dict.fromkeys(each.reason for each in changes):
        mine = [each for each in changes if each.reason is reason]
        yield {
            "type": "scatter",
            "mode": "markers",
            "name": str(reason),
            "x": [iso(each.change.place.at_ms) for each in mine],
            "y": [each.change.members for each in mine],
            "text": [f"generation {each.change.epoch}: {each.words}" for each in mine],
            "hovertemplate": "%{text}<br>%{x}<extra></extra>",
            "marker": {"color": _COLOUR_OF.get(reason, _OTHER), "size": 9},
        }


# -- rebalances an hour ----------------------------------------------------------------------------


def _rebalances_an_hour(found: GroupFindings) -> Picture:
    counts = Counter(
        (each.reason, each.change.place.at_ms // HOUR_MS)
        for each in found.changes
        if each.is_rebalance
    )
    data = [
        {
            "type": "bar",
            "name": str(reason),
            "x": [iso(hour * HOUR_MS) for each, hour in sorted(counts) if each is reason],
            "y": [counts[each] for each in sorted(counts) if each[0] is reason],
            "width": HOUR_MS,
            "offset": 0,
            "marker": {"color": _COLOUR_OF.get(reason, _OTHER)},
        }
        for reason, _ in found.pace.reasons
    ]
    words = "Rebalances per hour, by probable reason. UTC."
    layout = _layout("", "rebalances in the hour") | {"barmode": "stack"}
    return Picture("Rebalances an hour", words, {"data": data, "layout": layout})


# -- committed offsets -----------------------------------------------------------------------------


def _offsets(found: GroupFindings) -> Picture:
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{curve.topic}-{curve.partition}",
            "x": [iso(at_ms) for at_ms, _ in curve.points],
            "y": [offset for _, offset in curve.points],
            "line": {"color": COLOURS[number % len(COLOURS)], "width": 1.5},
        }
        for number, curve in enumerate(found.curves)
    ]
    drawn = {(curve.topic, curve.partition) for curve in found.curves}
    back = [each for each in found.rewinds if (each.topic, each.partition) in drawn]
    if back:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "rewind",
                "x": [iso(each.at_ms) for each in back],
                "y": [each.to_offset for each in back],
                "text": [
                    f"{each.topic}-{each.partition}: {each.from_offset:,} to {each.to_offset:,}, "
                    f"{each.member or 'no owner'}, generation {each.epoch}"
                    for each in back
                ],
                "hovertemplate": "%{text}<br>%{x}<extra></extra>",
                "marker": {"color": _RED, "size": 11, "symbol": "triangle-down"},
            }
        )
    left_out = len(found.partitions) - len(found.curves)
    more = f" {left_out} partitions that advanced less are not drawn." if left_out else ""
    words = f"By partition, downsampled. Red: an offset went backwards.{more}"
    return Picture(
        "Committed offsets", words, {"data": data, "layout": _layout("", "committed offset")}
    )


# -- cadence ---------------------------------------------------------------------------------------


def _cadence(found: GroupFindings) -> Picture:
    bars = _coarse(found.intervals_ms)
    data = [
        {
            "type": "bar",
            "x": [low / 1000 for low, _, _ in bars],
            "width": [(high - low) / 1000 for low, high, _ in bars],
            "offset": 0,
            "y": [times for _, _, times in bars],
            "marker": {"color": COLOURS[0]},
            "hovertemplate": "from %{x:.4~g} s: %{y}<extra></extra>",
        }
    ]
    layout = _layout("time between two commits of a partition by one owner (s)", "times")
    words = "Histogram of the time between two commits of a partition."
    return Picture("Commit cadence", words, {"data": data, "layout": layout})


def _coarse(intervals_ms: tuple[tuple[int, int], ...]) -> list[tuple[int, int, int]]:
    """Return at most that many bars of equal width: begin, end and count of each."""
    most = intervals_ms[-1][0] + 1
    width = max(-(-most // MOST_BARS), 1)
    counts: dict[int, int] = {}
    for low, times in intervals_ms:
        counts[low // width] = counts.get(low // width, 0) + times
    return [(bar * width, (bar + 1) * width, counts[bar]) for bar in sorted(counts)]


def _layout(x: str, y: str) -> dict[str, Any]:
    return {
        "template": {"layout": {"colorway": list(COLOURS)}},
        "margin": {"t": 20, "r": 20},
        "hovermode": "closest",
        "xaxis": {"title": {"text": x}, "gridcolor": _GRID},
        "yaxis": {"title": {"text": y}, "gridcolor": _GRID},
        "plot_bgcolor": "#ffffff",
        "legend": {"orientation": "h", "y": 1.12},
    }


MOST_DRAWN: Final = 12
"""Maximum number of groups with charts."""

TITLE: Final = "Consumer groups, according to their offsets log"


def findings_page(shortlist: Shortlist) -> str:
    """Return the page as HTML; the same findings give the same bytes."""
    groups = shortlist.first()[:MOST_DRAWN]
    return render(
        Page(
            title=TITLE,
            facts=_facts(shortlist),
            sections=[_section(found) for found in groups],
            text="\n".join(findings_screen(shortlist)),
        )
    )


def _facts(shortlist: Shortlist) -> str:
    ends = [found.assumptions.end_ms for found in shortlist.first()]
    parts = [
        counted(shortlist.groups, "group"),
        f"{shortlist.troubled:,} with notices",
        *([f"the log ends {clock(max(ends))} UTC"] if ends else []),
        f"Apache Kafka {KAFKA}",
        f"rebalance-emulator {emulator.__version__}",
    ]
    return " | ".join(parts)


def _section(found: GroupFindings) -> Section:
    texts = [("", "\n".join(list(group_lines(found))[1:]))]
    if members := "\n".join(member_lines(found)):
        texts.append(("Commits by member", members))
    return Section(
        title=found.group, facts=headline(found), texts=texts, pictures=list(pictures_of(found))
    )
