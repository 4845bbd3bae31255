"""The report of an import on a terminal: counts, a table of groups, and notices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.table import Table

from emulator.logs.imports.folder import rows_in
from emulator.logs.imports.notices import clock, notices, weight
from emulator.logs.imports.values import CadenceFinding, GroupFindings, State
from emulator.report.figures import cells, fitted
from emulator.report.wording import counted, duration, figure, joined, paragraph, printable

if TYPE_CHECKING:
    from emulator.logs.imports.request import Planned

MAX_GAPS: Final = 3
MAX_ROWS: Final = 40
MAX_MEMBERS: Final = 40
MAX_DETAILED: Final = 10
"""Maximum number of groups that are described one by one."""


class Shortlist:
    """Keeps the most urgent groups in bounded memory."""

    def __init__(self, most: int = MAX_ROWS) -> None:
        self.groups = 0
        self.troubled = 0
        self._most = most
        self._kept: list[tuple[int, int, GroupFindings]] = []

    def add(self, found: GroupFindings) -> None:
        """Add one group, in the order of ids."""
        heavy = weight(found)
        self.groups += 1
        self.troubled += heavy > 0
        self._kept.append((heavy, -self.groups, found))
        if len(self._kept) > 2 * self._most:
            self._kept = nlargest(self._most, self._kept, key=lambda each: each[:2])

    def first(self) -> list[GroupFindings]:
        """Return the groups, the most urgent first."""
        kept = nlargest(self._most, self._kept, key=lambda each: each[:2])
        return [found for _, _, found in kept]


def findings_screen(shortlist: Shortlist) -> Iterator[str]:
    """Yield the lines of the report."""
    groups = shortlist.first()
    quiet = shortlist.groups - shortlist.troubled
    yield f"{counted(shortlist.groups, 'group')}, {shortlist.troubled:,} with notices"
    if not groups:
        return
    yield ""
    yield from fitted(_table(groups))
    if shortlist.groups > len(groups):
        yield f"The first {len(groups)} of {shortlist.groups:,} groups; groups.parquet has all."
    for each in groups[:MAX_DETAILED]:
        if weight(each):
            yield ""
            yield from group_lines(each)
    if quiet:
        yield ""
        yield from paragraph(f"{counted(quiet, 'group')} without notices.")
    yield from paragraph(
        'Reasons with "probably" are inferred from the last commits of members; the log does not '
        "contain them. Times are UTC."
    )


def group_lines(found: GroupFindings) -> Iterator[str]:
    """Yield the lines about one group."""
    yield from paragraph(headline(found), "", "  ")
    yield from notice_lines(found)


def notice_lines(found: GroupFindings) -> Iterator[str]:
    """Yield the notices of a group, those to look at first with an exclamation mark."""
    for notice in notices(found):
        mark = "! " if notice.weight else "  "
        yield from paragraph(notice.words, f"  {mark}", "    ")
        for detail in notice.details:
            yield from paragraph(detail, "      ", "        ")


def member_table(found: GroupFindings) -> tuple[list[tuple[str, ...]], str]:
    """Return commits by member, the busiest first, below titles, and what is left out."""
    rows = sorted(_by_member(found).items(), key=lambda each: (-_advanced(each[1]), each[0]))
    if not rows:
        return [], ""
    titles = ("member", "partitions", "commits", "records", "records/s", "commits every", "p95")
    shown = [(name, *_member_row(mine)) for name, mine in rows[:MAX_MEMBERS]]
    all_in = "" if len(rows) <= MAX_MEMBERS else _all_members(len(rows))
    return [titles, *shown], all_in


def _all_members(number: int) -> str:
    return f"The first {MAX_MEMBERS} of {number:,} members; cadence.parquet has all."


def _by_member(found: GroupFindings) -> dict[str, list[CadenceFinding]]:
    by_member: dict[str, list[CadenceFinding]] = {}
    for each in found.cadence:
        by_member.setdefault(each.member or "(unknown)", []).append(each)
    return by_member


def _advanced(mine: Sequence[CadenceFinding]) -> int:
    return sum(each.advanced for each in mine)


def _member_row(mine: Sequence[CadenceFinding]) -> Iterator[str]:
    """Return sums over a member's partitions, and the ranges of their commit intervals."""
    taken_ms = max(each.last_ms for each in mine) - min(each.first_ms for each in mine)
    rate = _advanced(mine) * 1000 / taken_ms if taken_ms else None
    yield str(len({(each.topic, each.partition) for each in mine}))
    yield f"{sum(each.commits for each in mine):,}"
    yield f"{_advanced(mine):,}"
    yield "" if rate is None else figure(rate)
    yield _between(each.median_ms for each in mine)
    yield _between(each.p95_ms for each in mine)


def _between(values_ms: Iterable[int | None]) -> str:
    """Return the smallest and the largest of some times, or one if both are shown alike."""
    known = [value for value in values_ms if value is not None]
    ends = dict.fromkeys(_ms(value) for value in (min(known), max(known))) if known else {}
    return " to ".join(ends)


def headline(found: GroupFindings) -> str:
    """Return a one-line description of a group."""
    pace = found.pace
    parts = [found.group, f"{found.group_type or 'unknown'} protocol", str(found.state)]
    if found.members:
        parts.append(counted(len(found.members), "member"))
    if found.assignors:
        parts.append(joined([name for name, _ in found.assignors]))
    if found.epoch is not None:
        parts.append(f"{found.term} {found.epoch}")
    parts.append(counted(len(found.partitions), "partition"))
    parts.append(
        f"seen from {clock(pace.first_ms)} for {duration((pace.last_ms - pace.first_ms) / 1000)}"
    )
    if found.median_ms is not None and found.p95_ms is not None:
        parts.append(f"commits every {_ms(found.median_ms)} (p95 {_ms(found.p95_ms)})")
    return " | ".join(parts)


_TITLES: Final = (
    "members",
    "partitions",
    "commits every",
    "p95",
    "records/s",
    "rebalances/h",
)


def _table(groups: Sequence[GroupFindings]) -> Table:
    table = Table(box=box.MARKDOWN)
    for title in GROUP_TITLES:
        table.add_column(title, justify="right" if title in _TITLES else "left")
    for found in groups:
        table.add_row(*cells(*group_row(found)))
    return table


GROUP_TITLES: Final = ("group", "protocol", "state", *_TITLES, "notices")


def group_row(found: GroupFindings) -> tuple[str, ...]:
    """Return a group in the columns of :data:`GROUP_TITLES`."""
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
        urgent(found),
    )


def urgent(found: GroupFindings) -> str:
    """Return what to look at first in a group, in a few words; empty: nothing."""
    return ", ".join(notice.short for notice in notices(found) if notice.weight)


def _ms(value: int | None) -> str:
    return "" if value is None else duration(value / 1000)


# -- what was imported -------------------------------------------------------------------------


def import_lines(plan: Planned, manifest: dict[str, Any]) -> Iterator[str]:
    """Yield what was read: rows, groups, times, and what could not be read."""
    rows, times = manifest["tables"], manifest["times_ms"]
    yield (
        f"{counted(rows['commits'], 'commit')} and {counted(rows['groups'], 'other record')} of "
        f"{counted(manifest['groups'], 'group')}, in "
        f"{counted(manifest['log_partitions'], 'partition')} of the offsets topic"
    )
    if times is not None:
        yield f"from {_utc(times[0])} to {_utc(times[1])}"
    if not manifest["groups"] and not plan.selection.is_everything:
        yield "no record matches --group, --from and --to"
    transactions = manifest["transactions"]
    if transactions:
        counts = ", ".join(f"{number:,} {outcome}" for outcome, number in transactions.items())
        yield f"commits in transactions: {counts}; aborted and pending ones do not count"
    if rows["gaps"]:
        yield from _gap_lines(plan, rows["gaps"])
    if manifest["unknown_parts"]:
        commits = counted(manifest["unknown_parts"], "commit")
        yield f"{commits} have more fields than the columns: headers, or fields of a newer Kafka"
    for path in plan.empty:
        yield printable(f"{path}: an empty segment")


def _gap_lines(plan: Planned, number: int) -> Iterator[str]:
    """Yield that not everything could be read, and the first gaps."""
    yield f"{counted(number, 'gap')}: not everything could be read"
    for gap in rows_in(plan.folder, "gaps").head(MAX_GAPS).to_pylist():
        yield printable(f"  {gap['source']}{_place(gap, plan)}: {gap['reason']}")
    if number > MAX_GAPS:
        yield f"  and {number - MAX_GAPS:,} more; see the table gaps"


def _place(gap: Mapping[str, Any], plan: Planned) -> str:
    """Return the position of a gap; empty for a single record, whose reason contains its offset."""
    if not gap["length"]:
        return ""
    unit = "log offset" if plan.is_live else "byte"
    start = f"{gap['position']:,}" if plan.is_live else f"byte {gap['position']:,}"
    return f", {counted(gap['length'], unit)} from {start}"


def _utc(time_ms: int) -> str:
    """Return a time of a record, which may have any value."""
    text = clock(time_ms)
    return text if text.endswith("ms") else f"{text} UTC"


def next_steps(shortlist: Shortlist, folder: Path) -> Iterator[str]:
    """Yield the commands to continue with, for the group to look at first."""
    groups = [each for each in shortlist.first() if each.state is not State.OFFSETS_ONLY]
    if groups:
        source, group = quote(str(folder)), quote(groups[0].group)
        yield f"Next:     rebalance import {source} --scenario {group} -o group.toml"
        yield "          writes a group as a scenario, to simulate its next deploy or failure;"
        yield f"          rebalance audit LOGS --commits {source} --group {group}"
        yield "          counts which of its records were reprocessed or lost."
