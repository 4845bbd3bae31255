"""One entry of a ledger, and the sequence of events that led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from emulator.ledger.entries import Entry, EntryKind, Owner
from emulator.report.event_wording import GENERATION
from emulator.report.refrains import Line
from emulator.report.wording import counted, paragraph

VERBS = {
    EntryKind.REPROCESSED: ("was processed again", "were processed again"),
    EntryKind.LOST: ("was lost", "were lost"),
    EntryKind.TRUNCATED: (
        "is gone from the log, unprocessed",
        "are gone from the log, unprocessed",
    ),
    EntryKind.PARTIAL: ("was cut off under work", "were cut off under work"),
}


def entry_screen(
    title: str,
    entry: Entry,
    lines: Sequence[Line],
    moment: Callable[[int], str],
    term: Callable[[int], str] = lambda _: GENERATION,
) -> Iterator[str]:
    """Yield the entry in a few lines, then what happened, step by step.

    *term*: what the group counts at a time, generations or epochs.
    """
    yield from paragraph(title)
    yield ""
    offsets = (
        f"offsets {entry.first} to {entry.last}" if entry.count > 1 else f"offset {entry.first}"
    )
    verb = VERBS[entry.kind][entry.count > 1]
    text = f"{entry.topic_partition}, {offsets}: {counted(entry.count, 'record')} {verb}"
    yield from paragraph(text, f"{entry.id}  ")
    if entry.cause is not None:
        detail = f" ({entry.detail})" if entry.detail else ""
        yield from paragraph(f"{entry.cause}{detail}", "    because:  ")
    if entry.root is not None:
        root = f"{entry.root.verb} {entry.root.target} at {moment(entry.root.at_us)}"
        yield from paragraph(f"{root} ({entry.root.id})", "    it began: ")
    yield from _owners(entry, moment, term)
    yield ""
    yield from _story(lines, moment)
    yield from ("", "* shows the cause")


def _owners(
    entry: Entry, moment: Callable[[int], str], term: Callable[[int], str]
) -> Iterator[str]:
    """Yield who had the records; those that are gone nobody had, so who would have had them."""
    first, then = entry.first_owner, entry.second_owner
    if entry.kind is EntryKind.TRUNCATED:
        yield from paragraph(_name(first) if first else "nobody", "    owner:    ")
        return
    yield from paragraph(_owner(first, moment, term), "    first:    ")
    if entry.kind is not EntryKind.PARTIAL:
        yield from paragraph(_owner(then, moment, term), "    then:     ")


def _story(lines: Sequence[Line], moment: Callable[[int], str]) -> Iterator[str]:
    """Yield the lines; work stands at its end, so its begin is told if others come between."""
    told_us: list[int] = []
    for line in lines:
        text, began_us = line.text, line.began_us
        if began_us is not None and any(began_us < at_us < line.at_us for at_us in told_us):
            text = f"{text}, begun at {moment(began_us)}"
        yield from paragraph(text, f"  {moment(line.at_us)} {'*' if line.shown else ' '} ")
        told_us.append(line.at_us)


def _owner(owner: Owner | None, moment: Callable[[int], str], term: Callable[[int], str]) -> str:
    if owner is None:
        return "nobody"
    return f"{_name(owner)}, {term(owner.at_us)} {owner.generation}, {moment(owner.at_us)}"


def _name(owner: Owner) -> str:
    return owner.consumer + ("" if owner.incarnation == 1 else f" (start {owner.incarnation})")
