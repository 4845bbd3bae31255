"""The groups of a log for people: one row each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich import box
from rich.table import Table

from emulator.logs.offsets_log.words import Words
from emulator.report.figures import as_lines, cells
from emulator.report.wording import counted, printable, width

UNKNOWN = "?"


def table_lines(groups: Mapping[str, Words], log_name: str) -> Iterator[str]:
    """Yield the lines of a table of groups, as :mod:`emulator.logs.offsets_log.describing` has them."""
    yield f"{log_name}: {counted(len(groups), 'group')}"
    if not groups:
        return
    yield ""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("group", overflow="fold")
    for heading in ("type", "state"):
        table.add_column(heading)
    for heading in ("epoch", "members", "offsets", "pending"):
        table.add_column(heading, justify="right")
    for group_id, words in groups.items():
        table.add_row(*cells(printable(group_id), *_row(words)))
    yield from as_lines(table, width())


def _row(words: Words) -> Iterator[str]:
    yield words["type"] or ""
    yield words["state"] or UNKNOWN
    yield _epoch(words)
    yield f"{len(words.get('members', ())):,}"
    yield _number(words)
    yield f"{sum(int(_number(each)) for each in words.get('pendingOffsets', ())) or ''}"


def _epoch(words: Words) -> str:
    """Return the generation of a classic group, or the epochs of another: group's and target's."""
    if "groupEpoch" in words:
        wanted, target = words["groupEpoch"], words["targetEpoch"]
        return f"{wanted}" if wanted == target else f"{wanted}, target {target}"
    return str(words.get("generation", ""))


def _number(words: Words) -> str:
    return str(sum(map(len, words["offsets"].values())))
