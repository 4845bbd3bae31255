"""Findings as one self-contained HTML page with charts: the groups to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import emulator
from emulator.logs.imports.assessing import HOUR_MS
from emulator.logs.imports.notices import clock, iso
from emulator.logs.imports.reasons import Explained, Reason
from emulator.logs.imports.screen import (
    GROUP_TITLES,
    Shortlist,
    findings_screen,
    group_row,
    headline,
    member_table,
    notice_lines,
    urgent,
)
from emulator.logs.imports.values import GroupFindings
from emulator.report.pages.charts import (
    Axis,
    Bar,
    Bars,
    Curve,
    Dots,
    Plot,
    Point,
    Series,
    draw_plot,
    time_axis,
    value_axis_of,
)
from emulator.report.pages.page import Cell, Number, Page, Part, Table, render
from emulator.report.wording import UNWRAPPED, counted, file_width
from emulator.versions import KAFKA

MAX_BARS: Final = 120
MAX_GENERATIONS: Final = 2_000
"""Maximum number of generations drawn: the newest ones."""

_STYLE_OF: Final = {
    Reason.EXPIRED: 6,
    Reason.LATE_POLL: 14,
    Reason.GONE: 1,
    Reason.LEFT: 4,
    Reason.EMPTIED: 12,
    Reason.RESTARTED: 3,
    Reason.STATIC_REJOIN: 11,
    Reason.JOINED: 2,
    Reason.FORMED: 10,
}
"""Related reasons have one colour, as 6 and 14, and different markers."""

_OTHER: Final = 5
_REWIND: Final = 6


def pictures_of(found: GroupFindings) -> Iterator[Plot]:
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


def _generations(found: GroupFindings) -> Plot:
    changes = found.changes[-MAX_GENERATIONS:]
    members = [Point(each.change.place.at_ms, each.change.members) for each in changes]
    members.append(Point(found.pace.last_ms, changes[-1].change.members))
    series: list[Series] = [
        Curve("", 0, members, steps=True, markers=False),
        *_marks(changes, found.term),
    ]
    words = (
        f"The line is the number of members; each mark is one {found.term}, by its probable reason."
        + " Shaded: probably a deploy." * bool(found.deploys)
    )
    left_out = len(found.changes) - len(changes)
    more = f" {left_out} older ones are not drawn; rebalances.parquet has them." if left_out else ""
    return Plot(
        title=f"Members over time, with each {found.term}",
        caption=words + more,
        x=_times([point.x for point in members]),
        y=value_axis_of("members", [point.y for point in members]),
        series=series,
        bands=[(deploy.from_ms, deploy.to_ms) for deploy in found.deploys],
    )


def _times(at_ms: Sequence[float]) -> Axis:
    return time_axis(int(min(at_ms)), int(max(at_ms)))


def _marks(changes: tuple[Explained, ...], term: str) -> Iterator[Dots]:
    for reason in dict.fromkeys(each.reason for each in changes):
        points = [
            Point(
                each.change.place.at_ms,
                each.change.members,
                text=f"{term} {each.change.epoch}: {each.words}, {iso(each.change.place.at_ms)}",
            )
            for each in changes
            if each.reason is reason
        ]
        yield Dots(str(reason), _STYLE_OF.get(reason, _OTHER), points)


# -- rebalances an hour ----------------------------------------------------------------------------


def _rebalances_an_hour(found: GroupFindings) -> Plot:
    counts = Counter(
        (each.reason, each.change.place.at_ms // HOUR_MS)
        for each in found.changes
        if each.is_rebalance
    )
    tops: Counter[int] = Counter()
    series = []
    for reason, _ in found.pace.reasons:
        bars = []
        for hour in sorted(hour for each, hour in counts if each is reason):
            base, number = tops[hour], counts[reason, hour]
            tops[hour] += number
            tip = f"{reason}: {number}, from {iso(hour * HOUR_MS)}"
            begin = hour * HOUR_MS
            bars.append(Bar(begin, begin + HOUR_MS, base, base + number, text=tip))
        series.append(Bars(str(reason), _STYLE_OF.get(reason, _OTHER), bars))
    return Plot(
        title="Rebalances an hour",
        caption="Rebalances per hour, by probable reason. UTC.",
        x=_times([at for hour in tops for at in (hour * HOUR_MS, (hour + 1) * HOUR_MS)]),
        y=value_axis_of("rebalances in the hour", list(tops.values())),
        series=series,
    )


# -- committed offsets -----------------------------------------------------------------------------


def _offsets(found: GroupFindings) -> Plot:
    series: list[Series] = [
        Curve(
            f"{curve.topic}-{curve.partition}",
            number,
            [Point(at_ms, offset) for at_ms, offset in curve.points],
            markers=False,
        )
        for number, curve in enumerate(found.curves)
    ]
    drawn = {(curve.topic, curve.partition) for curve in found.curves}
    back = [each for each in found.rewinds if (each.topic, each.partition) in drawn]
    if back:
        points = [
            Point(
                each.at_ms,
                each.to_offset,
                text=f"{each.topic}-{each.partition}: {each.from_offset:,} to {each.to_offset:,}, "
                f"{each.member or 'no owner'}, {found.term} {each.epoch}, {iso(each.at_ms)}",
            )
            for each in back
        ]
        series.append(Dots("rewind", _REWIND, points))
    left_out = len(found.partitions) - len(found.curves)
    more = f" {left_out} partitions that advanced less are not drawn." if left_out else ""
    places = [point for curve in found.curves for point in curve.points]
    return Plot(
        title="Committed offsets of each partition over time",
        caption="One line for each partition, of a limited number of points; a later line "
        f"covers an equal one.{' Marks: an offset went backwards.' * bool(back)}{more}",
        x=_times([at_ms for at_ms, _ in places]),
        y=value_axis_of("committed offset", [offset for _, offset in places]),
        series=series,
    )


# -- cadence ---------------------------------------------------------------------------------------


def _cadence(found: GroupFindings) -> Plot:
    bars = [
        Bar(low / 1000, high / 1000, 0, times, text=f"from {low / 1000:.4g} s: {times}")
        for low, high, times in _coarse(found.intervals_ms)
    ]
    return Plot(
        title="Commit cadence",
        caption="Histogram of the time between two commits of a partition by one owner.",
        x=value_axis_of("time between two commits (s)", [bar.end for bar in bars]),
        y=value_axis_of("times", [bar.value for bar in bars]),
        series=[Bars("", 0, bars)],
    )


def _coarse(intervals_ms: tuple[tuple[int, int], ...]) -> list[tuple[int, int, int]]:
    """Return at most that many bars of equal width: begin, end and count of each."""
    most = intervals_ms[-1][0] + 1
    width = max(-(-most // MAX_BARS), 1)
    counts: dict[int, int] = {}
    for low, times in intervals_ms:
        counts[low // width] = counts.get(low // width, 0) + times
    return [(bar * width, (bar + 1) * width, counts[bar]) for bar in sorted(counts)]


MAX_DRAWN: Final = 12
"""Maximum number of groups with charts."""

TITLE: Final = "Consumer groups, according to their offsets log"


@file_width()
def findings_page(shortlist: Shortlist) -> str:
    """Return the page as HTML; the same findings give the same bytes."""
    groups = shortlist.first()[:MAX_DRAWN]
    return render(
        Page(
            title=TITLE,
            facts=_facts(shortlist),
            answer=[_answer(shortlist, groups)],
            numbers=_numbers(shortlist),
            parts=[*_groups(shortlist), *(_part(at, each) for at, each in enumerate(groups))],
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


def _answer(shortlist: Shortlist, groups: Sequence[GroupFindings]) -> str:
    if not shortlist.troubled:
        return f"{counted(shortlist.groups, 'group')}, none with a notice."
    some = f"{shortlist.troubled:,} of {counted(shortlist.groups, 'group')} with notices"
    return f"{some}; look first at {groups[0].group}: {urgent(groups[0])}."


def _numbers(shortlist: Shortlist) -> list[Number]:
    """Return the numbers of groups and, if all groups are kept, sums over them."""
    groups = shortlist.first()
    numbers = [
        Number(f"{shortlist.groups:,}", "groups"),
        Number(f"{shortlist.troubled:,}", "groups with notices", shortlist.troubled > 0),
    ]
    if len(groups) < shortlist.groups:
        return numbers
    sums = (
        (sum(len(each.members) for each in groups), "members at the end"),
        (sum(len(each.partitions) for each in groups), "partitions with commits"),
        (sum(each.pace.rebalances for each in groups), "rebalances"),
    )
    return [*numbers, *(Number(f"{value:,}", label) for value, label in sums)]


def _groups(shortlist: Shortlist) -> Iterator[Part]:
    """Yield the table of the groups; those with charts link to them."""
    groups = shortlist.first()
    if not groups:
        return
    rows: list[list[str | Cell]] = [list(GROUP_TITLES)]
    for place, found in enumerate(groups):
        name, *others = group_row(found)
        rows.append([Cell(name, f"group-{place}" if place < MAX_DRAWN else ""), *others])
    caption = "The groups, those to look at first at the top"
    yield Part(title="Groups", anchor="groups", tables=[Table(caption=caption, rows=rows)])


def _part(place: int, found: GroupFindings) -> Part:
    with file_width(UNWRAPPED):
        notices = "\n".join(notice_lines(found))
    members, note = member_table(found)
    caption = f"Commits by member, the busiest first. {note}".strip()
    return Part(
        title=found.group,
        anchor=f"group-{place}",
        facts=headline(found),
        texts=[("", notices)] if notices else (),
        tables=[Table(caption=caption, rows=members)] if members else (),
        charts=list(map(draw_plot, pictures_of(found))),
    )
