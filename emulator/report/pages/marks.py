"""Marks of ledger entries on a timeline: each links to the entry's place on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from emulator.ledger.entries import EntryKind
from emulator.report.merging import Merged
from emulator.report.pages.drawing import TimeScale, across, element, title
from emulator.report.wording import counted

MAX_MARKS: Final = 400
"""Marks of all figures of a page."""

SHAPES: Final[Mapping[EntryKind, str]] = {
    EntryKind.REPROCESSED: "M0 -7L7 6H-7Z",
    EntryKind.LOST: "M-6 -3L-3 -6L0 -3L3 -6L6 -3L3 0L6 3L3 6L0 3L-3 6L-6 3L-3 0Z",
    EntryKind.TRUNCATED: "M0 -7L7 0L0 7L-7 0Z",
    EntryKind.PARTIAL: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0",
}
"""Paths around the point of a mark: triangle, cross, rhombus, circle."""

NAMES: Final[Mapping[EntryKind, str]] = {
    EntryKind.REPROCESSED: "reprocessed",
    EntryKind.LOST: "lost",
    EntryKind.TRUNCATED: "truncated before processing",
    EntryKind.PARTIAL: "in flight when its process ended",
}


def anchor_of(entry: str, prefix: str = "") -> str:
    """Return the id of an entry's place on a page; *prefix*: of a part of the page."""
    return f"{prefix}entry-{entry}"


def glyph(kind: EntryKind, x: str | float, y: float) -> str:
    """Return the shape of a kind of entry at a point."""
    return element("use", href=f"#{shape_of(kind)}", x=x, y=y, class_=f"mark {kind.value}")


def shape_of(kind: EntryKind) -> str:
    """Return the name of the shape of a kind of entry."""
    return f"m-{kind.value}"


class Mark(NamedTuple):
    """A ledger entry as a timeline shows it."""

    id: str
    kind: EntryKind
    partition: str
    records: int
    at_us: int
    """Reprocessed: when it was processed again. Lost: when the group continued behind it."""

    cause: str


def marks_of(entries: Iterable[Merged]) -> list[Mark]:
    """Return the marks of entries, at the time of the first of those together; some have no time."""
    found = []
    for merged in entries:
        entry = merged.leading
        owner = entry.second_owner or entry.first_owner
        if owner is not None:
            partition, cause = str(entry.topic_partition), str(entry.cause or "")
            found.append(Mark(entry.id, entry.kind, partition, merged.count, owner.at_us, cause))
    return found


def glyphs(
    marks: Sequence[Mark],
    places: Mapping[str, float],
    scale: TimeScale,
    moment: Callable[[int], str],
    prefix: str = "",
) -> str:
    """Return the shapes of marks, each a link.

    *places*: the middle of each row, by partition. *prefix*: of the entries' places on the page.
    """
    drawn = []
    for mark in marks:
        if mark.partition not in places:
            continue
        x = min(max(scale.x(mark.at_us), 8), scale.width - 8)
        words = f"{words_of(*mark[:4], mark.cause)} at {moment(mark.at_us)}"
        shape = glyph(mark.kind, across(x), places[mark.partition])
        target = f"#{anchor_of(mark.id, prefix)}"
        drawn.append(element("a", title(words) + shape, href=target, aria_label=words))
    return "".join(drawn)


def words_of(entry_id: str, kind: EntryKind, partition: str, count: int, cause: str) -> str:
    """Return an entry in a few words."""
    because = f", {cause}" if cause else ""
    return f"{entry_id}: {partition}, {counted(count, 'record')} {NAMES[kind]}{because}"


def entry_words(merged: Merged) -> str:
    """Return an entry of a run's ledger, or several together, in a few words."""
    entry = merged.leading
    partition, cause = str(entry.topic_partition), str(entry.cause or "")
    return words_of(merged.name, entry.kind, partition, merged.count, cause)
