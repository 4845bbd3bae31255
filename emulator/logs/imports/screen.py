"""Findings on a terminal: all groups in a table, the ones to look at first; then what is to see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from typing import Final

from rich import box
from rich.table import Table

from emulator.logs.imports.notices import clock, notices, weight
from emulator.logs.imports.values import CadenceFinding, GroupFindings
from emulator.report.figures_shown import as_lines, cells
from emulator.report.wording import counted, figure, listed, paragraph, span

MOST_ROWS: Final = 40
MOST_MEMBERS: Final = 40
MOST_TOLD: Final = 10
"""Groups that are told of one by one."""


class Shortlist:
    """Keeps the groups to look at first, of however many."""

    def __init__(self, most: int = MOST_ROWS) -> None:
        self.groups = 0
        self.troubled = 0
        self._most = most
        self._kept: list[tuple[int, int, GroupFindings]] = []

    def add(self, found: GroupFindings) -> None:
        """Take in one group, in the order of ids."""
        heavy = weight(found)
        self.groups += 1
        self.troubled += heavy > 0
        self._kept.append((heavy, -self.groups, found))
        if len(self._kept) > 2 * self._most:
            self._kept = nlargest(self._most, self._kept, key=lambda each: each[:2])

    def first(self) -> list[GroupFindings]:
        """Return the groups, the one to look at first in front."""
        kept = nlargest(self._most, self._kept, key=lambda each: each[:2])
        return [found for _, _, found in kept]


def findings_screen(shortlist: Shortlist) -> Iterator[str]:
    """Yield the lines of the report."""
    groups = shortlist.first()
    quiet = shortlist.groups - shortlist.troubled
    yield f"{counted(shortlist.groups, 'group')}, {shortlist.troubled:,} of them to look at"
    if not groups:
        return
    yield ""
    yield from as_lines(_table(groups))
    if shortlist.groups > len(groups):
        yield f"The first {len(groups)} of {shortlist.groups:,} groups; groups.parquet has all."
    for each in groups[:MOST_TOLD]:
        if weight(each):
            yield ""
            yield from group_lines(each)
    if quiet:
        yield ""
        yield from paragraph(f"{counted(quiet, 'group')} with nothing to look at.")
    yield from paragraph(
        'Reasons with "probably" are inferred from when members committed last; the log does not '
        "hold them. Times are UTC."
    )


def group_lines(found: GroupFindings) -> Iterator[str]:
    """Yield what there is to see of one group."""
    yield from paragraph(headline(found), "", "  ")
    for notice in notices(found):
        mark = "! " if notice.weight else "  "
        yield from paragraph(notice.words, f"  {mark}", "    ")
        for detail in notice.details:
            yield from paragraph(detail, "      ", "        ")


def member_lines(found: GroupFindings) -> Iterator[str]:
    """Yield a table of who committed: how much, how often, the busiest first."""
    rows = sorted(_by_member(found).items(), key=lambda each: (-_advanced(each[1]), each[0]))
    if not rows:
        return
    table = Table(box=box.MARKDOWN)
    table.add_column("member")
    for title in ("partitions", "commits", "records", "records/s", "commits every", "95 in 100"):
        table.add_column(title, justify="right")
    for name, mine in rows[:MOST_MEMBERS]:
        table.add_row(*cells(name, *_member_row(mine)))
    yield from as_lines(table)
    if len(rows) > MOST_MEMBERS:
        yield f"The first {MOST_MEMBERS} of {len(rows):,} members; cadence.parquet has all."


def _by_member(found: GroupFindings) -> dict[str, list[CadenceFinding]]:
    by_member: dict[str, list[CadenceFinding]] = {}
    for each in found.cadence:
        by_member.setdefault(each.member or "(nobody known)", []).append(each)
    return by_member


def _advanced(mine: Sequence[CadenceFinding]) -> int:
    return sum(each.advanced for each in mine)


def _member_row(mine: Sequence[CadenceFinding]) -> Iterator[str]:
    """Yield sums over a member's partitions, and between which times their cadences lie."""
    taken_ms = max(each.last_ms for each in mine) - min(each.first_ms for each in mine)
    rate = _advanced(mine) * 1000 / taken_ms if taken_ms else None
    yield str(len({(each.topic, each.partition) for each in mine}))
    yield f"{sum(each.commits for each in mine):,}"
    yield f"{_advanced(mine):,}"
    yield "" if rate is None else figure(rate)
    yield _between(each.median_ms for each in mine)
    yield _between(each.p95_ms for each in mine)


def _between(values_ms: Iterable[int | None]) -> str:
    """Return the smallest and the largest of some times, once if they look alike."""
    told = [value for value in values_ms if value is not None]
    ends = dict.fromkeys(_ms(value) for value in (min(told), max(told))) if told else {}
    return " to ".join(ends)


def headline(found: GroupFindings) -> str:
    """Say in one line what a group is."""
    pace = found.pace
    parts = [found.group, f"{found.group_type or 'unknown'} protocol", str(found.state)]
    if found.members:
        parts.append(counted(len(found.members), "member"))
    if found.assignors:
        parts.append(listed([name for name, _ in found.assignors]))
    if found.epoch is not None:
        parts.append(f"generation {found.epoch}")
    parts.append(counted(len(found.partitions), "partition"))
    parts.append(
        f"seen from {clock(pace.first_ms)} for {span((pace.last_ms - pace.first_ms) / 1000)}"
    )
    if found.median_ms is not None and found.p95_ms is not None:
        parts.append(f"commits every {_ms(found.median_ms)} (95 in 100 within {_ms(found.p95_ms)})")
    return " | ".join(parts)


_TITLES: Final = (
    "members",
    "partitions",
    "commits every",
    "95 in 100",
    "records/s",
    "rebalances/h",
)


def _table(groups: Sequence[GroupFindings]) -> Table:
    table = Table(box=box.MARKDOWN)
    for title in ("group", "protocol", "state"):
        table.add_column(title)
    for title in _TITLES:
        table.add_column(title, justify="right")
    table.add_column("look at")
    for found in groups:
        table.add_row(*cells(*_row(found)))
    return table


def _row(found: GroupFindings) -> Iterable[str]:
    an_hour = found.pace.an_hour
    return (
        found.group,
        found.group_type or "?",
        str(found.state),
        str(len(found.members)),
        str(len(found.partitions)),
        _ms(found.median_ms),
        _ms(found.p95_ms),
        "" if found.rate is None else figure(found.rate),
        "" if an_hour is None else figure(an_hour),
        ", ".join(notice.short for notice in notices(found) if notice.weight),
    )


def _ms(value: int | None) -> str:
    return "" if value is None else span(value / 1000)
