"""All entries of a ledger, two lines each: what, and by whom; many alike are shown together."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from emulator.ledger.entries import Entry, EntryKind, Ledger, Owner
from emulator.report.merging import MAX_SINGLY, Merged, alike
from emulator.report.subject import Subject, heading
from emulator.report.wording import counted, offset_range, paragraph

TITLES = {
    EntryKind.LOST: "Lost",
    EntryKind.REPROCESSED: "Reprocessed",
    EntryKind.TRUNCATED: "Truncated from the log before they were processed",
    EntryKind.PARTIAL: "In flight when a process ended",
}
"""The kinds, in the order of the screen."""

SECOND = {EntryKind.REPROCESSED: "reprocessed", EntryKind.LOST: "skipped"}
"""What the second owner did."""

COLUMN = 17
"""The column at which an entry's text begins."""

TIMES = (
    "A time is the end of the batch, or of the part of it, with the first record of an entry; of a lost "
    "one, when the owner finished its last record or got the partition."
)
TOGETHER = (
    "Entries of one partition with the same cause and owners are shown together: first to last offset, "
    "perhaps with gaps. --each lists every one."
)


def ledger_screen(
    subject: Subject,
    seed: int,
    ledger: Ledger,
    kinds: Collection[EntryKind],
    *,
    each: bool = False,
) -> Iterator[str]:
    """Yield the entries of some kinds, largest kind of harm first, each kind by time.

    *each*: list every entry by itself, however many there are.
    """
    yield from heading(subject, f"seed {seed}")
    shown = [kind for kind in TITLES if kind in kinds and ledger.total(kind)]
    if not shown:
        yield from ("", "No entries.")
    else:
        yield from paragraph(TIMES)
    for kind in shown:
        entries = list(ledger.of(kind))
        records = counted(ledger.total(kind), "record")
        yield from ("", f"{TITLES[kind]}: {records}, {counted(len(entries), 'entry', 'entries')}")
        if each or len(entries) <= MAX_SINGLY:
            for entry in entries:
                yield from _lines(subject, entry)
        else:
            yield from paragraph(TOGETHER, "  ")
            for merged in alike(entries):
                yield from _lines_of_many(subject, merged)


def _lines(subject: Subject, entry: Entry) -> Iterator[str]:
    offsets = offset_range(entry.first, entry.last + 1).partition(" ")[0]
    group = f" of {entry.group}" if len(subject.groups) > 1 else ""
    cause = f"  {entry.cause}" if entry.cause else ""
    detail = f": {entry.detail}" if entry.detail else ""
    begin = f"  {entry.id:<5}{entry.count:>8,}  "
    text = f"{entry.topic_partition} {offsets}{group}{cause}{detail}"
    yield from paragraph(text, begin, " " * COLUMN)
    if owners := ", ".join(_owners(subject, entry)):
        yield from paragraph(owners, " " * COLUMN)


def _lines_of_many(subject: Subject, merged: Merged) -> Iterator[str]:
    first = merged.leading
    if not merged.number:
        yield from _lines(subject, first)
        return
    group = f" of {first.group}" if len(subject.groups) > 1 else ""
    cause = f"  {first.cause}" if first.cause else ""
    detail = f": {first.detail}" if first.detail else ""
    text = f"{first.topic_partition} {merged.first}..{merged.last}{group}{cause}{detail}"
    yield from paragraph(text, f"  {first.id:<5}{merged.count:>8,}  ", " " * COLUMN)
    owners = ", ".join(_owners(subject, first))
    more = f"{merged.number}, {merged.name}; the first {owners}"
    yield from paragraph(more, " " * COLUMN)


def _owners(subject: Subject, entry: Entry) -> Iterator[str]:
    """Yield the owners of an entry, and the fault or action at its root."""
    if entry.first_owner is not None:
        yield _at(subject, "by", entry.first_owner)
    if entry.second_owner is not None and entry.kind in SECOND:
        yield _at(subject, f"{SECOND[entry.kind]} by", entry.second_owner)
    if entry.root is not None:
        yield f"root {entry.root.id}"


def _at(subject: Subject, verb: str, owner: Owner) -> str:
    return f"{verb} {owner.consumer} at {subject.moment(owner.at_us)}"
